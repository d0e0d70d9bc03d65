import type { ErrorCode, FieldError } from '../common/service-error.js'
import { EXAMPLE_UUID } from '../http/example.js'
import {
  AmountField,
  ChoiceField,
  ExactTextField,
  InstantField,
  IntegerField,
  KeyField,
  OnlyTrueField,
  OperationIdField,
  PageSizeField,
  ResponseChoice,
  ResponseFlag,
  ResponseId,
  ResponseIds,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
} from '../http/field.decorator.js'
import { CapDto } from '../http/problem.dto.js'
import { statusOf } from '../http/problem.js'
import { problemSchema } from '../http/problem.schema.js'
import { OPERATION_ACTS, type OperationAct } from '../ledger/rows/act.entity.js'
import {
  OPERATION_KINDS,
  OPERATION_STATES,
  type OperationKind,
  type OperationState,
} from '../ledger/rows/operation.entity.js'
import { MAX_AMOUNT } from '../domain/quota.js'
import { periodViolations } from './period.js'

const amount = { max: MAX_AMOUNT } as const
/** The `caller` of a look-up under the keys of all recent principals; no principal has this name. */
export const EVERY_CALLER = '*'

/** The default duration of a hold, in seconds. */
export const DEFAULT_TTL_SECONDS = 600
/** The maximum duration of a hold, in seconds: a day. */
const MAX_TTL_SECONDS = 86_400

/** The body of a consume; each channel adds the owner. */
export abstract class ConsumeFields {
  /** Units to spend, all or none. */
  @AmountField()
  amount!: number
}

/** The maximum size of a batch, in bytes. */
export const BATCH_BYTES = 1_000_000
/** The maximum number of its items. */
export const MAX_BATCH_ITEMS = 1000

/** The body of a batch; each channel adds the class of its items. */
export abstract class BatchFields {
  abstract items: readonly unknown[]
}

/** An item of a batch; each channel adds the owner. */
export abstract class BatchItemFields {
  /** Units to spend, all or none. */
  @AmountField()
  amount!: number

  /** The item's own Idempotency-Key. */
  @KeyField()
  idempotency_key!: string
}

/** The body of a reserve; each channel adds the owner. */
export abstract class ReserveFields {
  /** Units to reserve, all or none. */
  @AmountField()
  amount!: number

  /** The duration of the hold, in seconds, unless it is settled earlier. */
  @IntegerField({
    optional: true,
    min: 1,
    max: MAX_TTL_SECONDS,
    default: DEFAULT_TTL_SECONDS,
    example: DEFAULT_TTL_SECONDS,
  })
  ttl_seconds?: number
}

/** The body of a commit. */
export class CommitDto {
  /** Units of the hold to spend; the others return. Default: all. */
  @AmountField({ optional: true })
  amount?: number
}

/** The body of a refund. */
export class RefundDto {
  /** Charged units to return. Default: all that can still be refunded. */
  @AmountField({ optional: true })
  amount?: number
}

/** The query of a check; each channel adds the owner. */
export abstract class CheckFields {
  /** Units to check. */
  @AmountField()
  amount!: number
}

/**
 * Selects a page of the ledger by exactly one of owner, quota, key and `all`; each channel adds the owner. A key
 * identifies one operation, so the conditions on operations cannot be combined with it.
 */
export abstract class LedgerFields {
  /** Returns only operations that this quota paid for in part, or that this cap counted. The quota may be deleted. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 12 })
  quota_id?: number

  /** Returns only the operation that this key created or refunded; with `caller=*`, one for each caller that sent the key. */
  @KeyField({ optional: true })
  idempotency_key?: string

  /** Returns the channel's newest operations. A page examines at most 2000 acts, so that it may have fewer items, or none, although others follow. */
  @OnlyTrueField()
  all?: 'true'

  /** Name of the principal that sent the key. Default: the caller. `*`: every principal that spent in this channel in the last 31 days, newest operation first, at most 20. Another name, and `*`, require the role of the quotas' routes. */
  @ExactTextField({ optional: true, example: 'mailer' })
  caller?: string

  /** Returns only operations in this state. */
  @ChoiceField(OPERATION_STATES, { optional: true, example: 'reserved' })
  state?: OperationState

  /** Returns only operations of this kind. */
  @ChoiceField(OPERATION_KINDS, { optional: true, example: 'reserve' })
  kind?: OperationKind

  /** Returns only operations created at or after this time. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Returns only operations created before this time. */
  @InstantField({ optional: true })
  to?: string

  /** Returns only operations older than this one. Pass the `next_before` of the previous page. */
  @OperationIdField({ optional: true })
  before?: string

  /** Number of operations on the page. */
  @PageSizeField()
  page_size?: number

  /** Adds to each operation its principal and its key. */
  @OnlyTrueField()
  made_by?: 'true'
}

/** The conditions that can be combined only with an owner or a quota. */
const CONDITIONS = ['state', 'kind', 'from', 'to'] as const

/**
 * Checks the rules between the fields of a ledger query.
 * @param ownerField the field that names the owner
 */
export function ledgerViolations(query: LedgerFields, ownerField: string): FieldError[] {
  const violations = periodViolations(query)
  const owner = (query as unknown as Record<string, unknown>)[ownerField]
  const of = [owner, query.quota_id, query.idempotency_key, query.all].filter((value) => value !== undefined)
  if (of.length !== 1) {
    const message = `exactly one of ${ownerField}, quota_id, idempotency_key and all must be given`
    violations.push({ field: ownerField, message })
  }
  if (query.idempotency_key === undefined && query.caller !== undefined)
    violations.push({ field: 'caller', message: 'may only be combined with idempotency_key' })
  const selector = query.idempotency_key === undefined ? 'all' : 'idempotency_key'
  const foreign =
    query[selector] === undefined ? [] : selector === 'all' ? CONDITIONS : [...CONDITIONS, 'before' as const]
  for (const field of foreign)
    if (query[field] !== undefined) violations.push({ field, message: `may not be combined with ${selector}` })
  return violations
}

/** An act on an operation. */
export class ActDto {
  /** The kind of act. */
  @ResponseChoice(OPERATION_ACTS, { example: 'reserve' })
  kind!: OperationAct

  /** Name of the principal. */
  @ResponseText({ example: 'mailer' })
  actor!: string

  /** Units spent, reserved, charged, or returned. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number

  /** The Idempotency-Key; null for commit and release. */
  @ResponseText({ nullable: true, example: 'msg-8841' })
  idempotency_key!: string | null

  /** The X-Request-Id of the request. */
  @ResponseText({ example: EXAMPLE_UUID })
  request_id!: string

  /** Time of the act. */
  @ResponseInstant()
  at!: string
}

/** The acts on an operation. */
export class ActsDto {
  /** The acts, oldest first; at most 10,000. */
  @ResponseObject(() => ActDto, { isArray: true })
  items!: ActDto[]
}

/** The part of an operation that one quota paid. */
export class AllocationDto {
  /** Id of the quota. */
  @ResponseId({ example: 12 })
  quota_id!: number

  /** Units drawn from it; units that returned later are not subtracted. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number
}

/** The fields of an operation in both channels; each adds the owner. */
export abstract class OperationFields {
  /** Id of the operation, a UUIDv7; increases with time. */
  @ResponseText({ format: 'uuid', example: EXAMPLE_UUID })
  id!: string

  /** The kind of operation. */
  @ResponseChoice(OPERATION_KINDS)
  kind!: OperationKind

  /** The current state. */
  @ResponseChoice(OPERATION_STATES)
  state!: OperationState

  /** Requested units. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number

  /** Units spent, gross; 0 while a hold is open. */
  @ResponseInteger({ ...amount, example: 5 })
  charged!: number

  /** Units of `charged` that returned. */
  @ResponseInteger({ ...amount, example: 0 })
  refunded!: number

  /** The units drawn from each quota, in draw-down order. */
  @ResponseObject(() => AllocationDto, { isArray: true })
  allocations!: AllocationDto[]

  /** Ids of the caps that counted the operation with its whole amount, ascending; absent if there are none. */
  @ResponseIds({ optional: true })
  caps?: number[]

  /** Ids of those observe caps that would have refused it. Only in the first answer and its replays; absent if there are none. */
  @ResponseIds({ optional: true, example: [10] })
  would_refuse?: number[]

  /** The largest amount that the owner could consume right after the operation's last act. */
  @ResponseInteger({ example: 970 })
  owner_remaining!: number

  /** Expiry of the hold; null for a consume. */
  @ResponseInstant({ nullable: true, example: null })
  expires_at!: string | null

  /** Time of the creation. */
  @ResponseInstant()
  created_at!: string
}

/** The principal and the key of an operation. */
export class MadeByDto {
  /** Name of the principal that consumed or reserved. */
  @ResponseText({ example: 'mailer' })
  actor!: string

  /** The Idempotency-Key. */
  @ResponseText({ nullable: true, example: 'msg-8841' })
  idempotency_key!: string | null
}

/** The result of a check. */
export class CheckDto {
  /** Whether the owner's active quotas can pay the amount together, and its caps admit it, at this time. */
  @ResponseFlag()
  allowed!: boolean

  /** The checked units. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  requested!: number

  /** The largest amount that one consume can take: `payable`, limited by the remaining units of each enforce cap; 0 without an active quota that pays. */
  @ResponseInteger({ example: 975 })
  remaining!: number

  /** The units that the quotas can pay together, without caps. */
  @ResponseInteger({ example: 975 })
  payable!: number

  /** The earliest time at which quotas and caps admit the amount if nothing is taken or settled until then: a reset, the end of a hold or of a cap, or a boundary of a rolling cap; null if it is allowed now or there is none. */
  @ResponseInstant({ nullable: true, example: null })
  refills_at!: string | null

  /** The enforce caps that refuse the amount, by id; empty if it is allowed. */
  @ResponseObject(() => CapDto, { isArray: true, example: [] })
  caps!: CapDto[]
}

/** The end of a page of the ledger. */
export abstract class LedgerPageFields {
  /** Pass it as `before` to get the next page; null on the last page. With the scope `own`, a page may have few or no operations and still have a next page. */
  @ResponseText({ nullable: true, format: 'uuid', example: EXAMPLE_UUID })
  next_before!: string | null

  /** The time from which the ledger is complete; operations settled before may have been removed. Absent if nothing was removed. */
  @ResponseInstant({ optional: true })
  begins_at?: string
}

/** The result of a successful item of a batch; each channel adds the operation. */
export abstract class BatchDoneFields {
  /** The HTTP status that the item would have as a separate request. */
  @ResponseChoice([200])
  status!: 200

  /** Whether this is a replay of an earlier answer. */
  @ResponseFlag({ example: false })
  replayed!: boolean
}

/** The codes with which an item of a batch can be refused. */
const BATCH_CODES = [
  'validation_failed',
  'quota_exceeded',
  'no_active_quota',
  'too_many_new_owners',
  'idempotency_key_reused',
  'internal_error',
  'unavailable',
] as const satisfies readonly ErrorCode[]

/** The result of a refused item of a batch. */
export class BatchRefusedDto {
  /** The HTTP status that the item would have as a separate request. */
  @ResponseChoice([...new Set(BATCH_CODES.map(statusOf))])
  status!: number

  /** The problem. */
  @ResponseSchema(problemSchema(BATCH_CODES))
  problem!: object
}
