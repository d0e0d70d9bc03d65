import type { Transaction } from '../../database/transaction-runner.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { isDue } from '../store/answers.js'
import { amountOf, type Request } from '../store/command.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { quotasOf, type WorkingSet } from '../store/working-set.js'

/**
 * The number of due holds that a batch records as expired, unless it spends units of more of them. It bounds the wait,
 * however many are due at once.
 */
export const MAX_EXPIRED_AT_ONCE = 200

/** If more are needed, this multiple of them is read. */
const NEXT_LOOK = 10

/**
 * Reads the batch's data on holds, under the owners' locks: the units of due holds, which are subtracted whether or not
 * they are recorded as expired, and the open holds if a refusal must say when they return.
 * @param ownerIds the locked owners; their quotas are in the working set
 */
export async function loadHolds<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): Promise<void> {
  const due = ownersWithDueHolds(workingSet, requests, ownerIds)
  workingSet.addDueUnits(due, await store.dueUnits(transaction, due, workingSet.now))
  // If a request settles a hold too late, it is told that the hold has expired, so the expiry is recorded: it then also
  // holds on an instance with a slower clock.
  const locked = new Set(ownerIds)
  workingSet.expireHolds(
    requests.flatMap(({ command }) => {
      const entry = 'operationId' in command ? workingSet.operation(command.operationId) : undefined
      if (entry === undefined || !locked.has(entry.row.ownerId) || !isDue(entry.row, workingSet.now)) return []
      const { ownerId, id: operationId, expiresAt, createdAt } = entry.row
      const { allocations, caps = NO_CAPS } = entry
      const counted = caps.length === 0 ? {} : { counted: { at: createdAt, caps } }
      return [{ ownerId, hold: { operationId, expiresAt: expiresAt ?? workingSet.now, allocations, ...counted } }]
    }),
    true,
  )
  for (const { ownerId, hold } of await store.openHolds(
    transaction,
    ownersThatMayBeRefused(workingSet, requests, ownerIds),
    workingSet.now,
  )) {
    workingSet.owner(ownerId).holds.set(hold.operationId, hold)
  }
}

/**
 * Records due holds as expired, after the batch is decided: up to the limit of a batch, the earliest first, and beyond
 * it all whose units the batch has spent.
 * @param steady may holds beyond those that the batch needs be recorded?
 * @param loadMissing loads quotas into the working set that it lacks
 */
export async function expireDueHolds<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  steady: boolean,
  loadMissing: (quotaIds: ReadonlySet<number>) => Promise<void>,
): Promise<void> {
  const owners = [...workingSet.dueOwners]
  if (owners.length === 0) return
  for (let limit = MAX_EXPIRED_AT_ONCE; ; limit *= NEXT_LOOK) {
    const due = await store.dueHolds(transaction, owners, workingSet.now, limit)
    await loadMissing(new Set(due.flatMap(({ hold }) => quotasOf(hold))))
    workingSet.expireHolds(due, steady && limit === MAX_EXPIRED_AT_ONCE)
    if (due.length < limit || !workingSet.spendsDueUnits) break
  }
  workingSet.moveDueTimes(await store.nextDue(transaction, owners, workingSet.now))
}

/** Owners with a due quota, and those for which a sweep was requested. */
function ownersWithDueHolds<Q extends QuotaRow>(
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): number[] {
  const asked = new Set(requests.filter(({ command }) => command.kind === 'sweep').map(({ ownerId }) => ownerId))
  return ownerIds.filter(
    (ownerId) =>
      asked.has(ownerId) ||
      [...workingSet.owner(ownerId).quotas].some(({ holdDueAt }) => holdDueAt !== null && holdDueAt <= workingSet.now),
  )
}

/**
 * The owners whose open holds must be known because a refusal would have to say when they return. Others are not read,
 * so that a busy owner with a thousand holds does not read them for each batch.
 */
function ownersThatMayBeRefused<Q extends QuotaRow>(
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): number[] {
  const wanted = new Map<number, number>()
  const edited = new Set<number>()
  for (const { command, ownerId } of requests) {
    wanted.set(ownerId, (wanted.get(ownerId) ?? 0) + (amountOf(command) ?? 0))
    if ('quotaId' in command) edited.add(ownerId)
  }
  return ownerIds.filter((ownerId) => {
    let reserved = false
    for (const quota of workingSet.owner(ownerId).quotas) if (quota.reserved > 0) reserved = true
    return reserved && (edited.has(ownerId) || (wanted.get(ownerId) ?? 0) > workingSet.available(ownerId))
  })
}
