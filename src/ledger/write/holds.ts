import type { Transaction } from '../../database/unit-of-work.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { isDue } from '../store/answers.js'
import { amountOf, type Request } from '../store/command.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { quotasOf, type WorkingSet } from '../store/working-set.js'

/**
 * Due holds that a batch writes down as expired, unless it spends what more of them return. However many are due at
 * once, nobody waits long for them.
 */
export const MAX_EXPIRED_AT_ONCE = 200

/** Where more of them are to be found, so many times as many are read. */
const NEXT_LOOK = 10

/**
 * Reads what a batch must know of holds, under the owners' locks: what the due ones still keep, which is subtracted
 * whether or not they are written down as expired, and the open ones where a refusal has to say when they return.
 * @param ownerIds the owners that are locked; their quotas are in the working set
 */
export async function loadHolds<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): Promise<void> {
  const due = ownersWithDueHolds(workingSet, requests, ownerIds)
  workingSet.overdue(due, await store.dueUnits(transaction, due, workingSet.now))
  // Of what a request settles too late it is told that it has expired: then so it is, on an instance with a slower
  // clock as well.
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
 * Writes due holds down as expired, once the batch is decided: as many as one batch may, the earliest first, and beyond
 * these all that it leans on.
 * @param steady may more be written down than what the batch leans on?
 * @param loadMissing takes quotas into the working set that are not there yet
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
    if (due.length < limit || !workingSet.leans) break
  }
  workingSet.moveDueTimes(await store.nextDue(transaction, owners, workingSet.now))
}

/** Where a quota's due time has come, and where a sweep was asked for. */
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
 * Owners whose open holds must be known, since a refusal would have to say when they return. Everybody else's are left
 * alone, so that a busy owner with a thousand of them does not read them for each batch.
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
