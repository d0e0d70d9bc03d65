import { type Act, type ActRow, requestColumns } from '../rows/act.entity.js'
import type { AnyChannel } from '../rows/channel.js'
import { capsOf, capsText, MAX_CAPS_IN_TEXT, NO_CAPS, NONE_REFUSING, refusingIn } from '../rows/counted-caps.js'
import { storedJson } from '../rows/stored-json.js'
import { operationView } from './answers.js'
import { hashRequest } from './command.js'
import type { OperationEntry } from './working-set.js'

/**
 * Is this a plain consume: a consume that one quota paid, the owner's or a group's, without a refund, and that no more
 * caps counted than their text holds? Most operations are plain consumes, so they are stored as one row, that of their
 * act. Everything else is derived from it: the operation, its one allocation, the answer byte for byte, and the hash of
 * the request. Each cap of a group has a row in addition, that of its allocation: nothing else leads from the cap to
 * the acts of all its members.
 *
 * A refund writes separate rows for the operation and its other allocations; the act does not change. Such rows take
 * precedence over the derived ones. See docs/decisions/0050-one-row-a-consume.md.
 */
export function isPlain({ row, allocations, caps = NO_CAPS }: OperationEntry): boolean {
  return row.kind === 'consume' && row.refunded === 0 && allocations.length === 1 && caps.length <= MAX_CAPS_IN_TEXT
}

/** The one row of a plain consume. */
export function plainRow(
  act: Act,
  { row, allocations: [paid], caps = NO_CAPS, wouldRefuse = NONE_REFUSING }: OperationEntry,
): ActRow {
  if (paid === undefined) throw new Error('a plain consume that nothing paid')
  // Member by member: spreading the act would compute the hash, which is computed only when it is read.
  const { id, kind, ownerId, caller, callerName, callerId, idempotencyKey, deduplicationKey, amount, requestId, at } =
    act
  return {
    id,
    kind,
    ownerId,
    quotaId: null,
    operationId: null,
    caller,
    callerName,
    callerId,
    idempotencyKey,
    deduplicationKey,
    requestHash: null,
    amount,
    defaultAmount: null,
    answer: '',
    ...requestColumns(requestId),
    at,
    plainOwnerId: row.ownerId,
    plainQuotaId: paid.quotaId,
    cycleSeq: paid.cycleSeq,
    ownerRemaining: row.ownerRemaining,
    caps: capsText(caps, wouldRefuse),
  }
}

/** The columns of a plain consume's act from which its operation is derived. */
type PlainParts = Pick<
  ActRow,
  'id' | 'plainOwnerId' | 'plainQuotaId' | 'cycleSeq' | 'amount' | 'ownerRemaining' | 'at' | 'caps'
>

/** The operation of a plain consume without rows of its own; undefined for any other act. */
export function plainOperation(act: PlainParts): OperationEntry | undefined {
  const { id, plainOwnerId, plainQuotaId, cycleSeq, amount, ownerRemaining, at, caps } = act
  if (plainOwnerId === null || plainQuotaId === null) return undefined
  if (cycleSeq === null || amount === null || ownerRemaining === null) throw new Error(`act ${id} lacks a part`)
  return {
    row: {
      id,
      ownerId: plainOwnerId,
      kind: 'consume',
      state: 'consumed',
      amount,
      charged: amount,
      refunded: 0,
      ownerRemaining,
      expiresAt: null,
      createdAt: at,
    },
    allocations: [{ quotaId: plainQuotaId, cycleSeq, amount }],
    caps: capsOf(caps),
    plain: true,
  }
}

/** Returns an act with all its columns, including those that are derived for a plain consume. */
export function wholeAct(channel: AnyChannel, stored: ActRow): Act {
  const operation = plainOperation(stored)
  const act = { ...stored, requestId: stored.requestId ?? stored.requestText ?? '' }
  if (operation === undefined) return act
  const { row, allocations, caps } = operation
  return {
    ...act,
    operationId: row.id,
    requestHash: hashRequest({ kind: 'consume', amount: row.amount }, row.ownerId),
    answer: storedJson(operationView(channel, row, allocations, row.createdAt, caps, refusingIn(stored.caps))),
  }
}
