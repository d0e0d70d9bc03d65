import type { Transaction } from '../../database/transaction-runner.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { isDue } from '../store/answers.js'
import { amountOf, type Request } from '../store/command.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { type HeldBy, quotasOf, type WorkingSet } from '../store/working-set.js'

/**
 * The number of due holds that a batch records as expired, unless it spends units of more of them. It bounds the wait,
 * however many are due at once.
 */
export const MAX_EXPIRED_AT_ONCE = 200

/** If more are needed, this multiple of them is read. */
const NEXT_LOOK = 10

/** A batch must change rows of more owners, or groups (`groupOwner`), than it has locked; it runs again with them. */
export class MoreLocks extends Error {
  constructor(readonly ownerIds: readonly number[]) {
    super(`a batch needs the locks of ${ownerIds.length} more owners`)
  }
}

/** When a refused amount fits depends on open holds that were not read; the batch runs again with more of them. */
export class MoreHolds extends Error {
  /** @param ownerIds the refused owner and the groups of its chain */
  constructor(readonly ownerIds: readonly number[]) {
    super('a batch needs more of the open holds')
  }
}

/** Which open holds an attempt at a batch reads. */
export interface OpenHoldsWanted {
  /** How many of each owner; `OPEN_HOLDS_AT_FIRST`, or a multiple. */
  readonly limit: number
  /** Owners, and groups, of whose holds an earlier attempt needed more. */
  readonly short: ReadonlySet<number>
}

/**
 * Reads the units of due holds, under the owners' locks: they are subtracted whether or not the holds are recorded as
 * expired.
 * @param ownerIds the locked owners; their quotas are in the working set
 */
export async function loadDueHolds<Q extends QuotaRow>(
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
}

/**
 * Reads the earliest open holds of owners that may be refused, after the units of due holds: a refusal says when held
 * units return.
 */
export async function loadOpenHolds<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
  { limit, short }: OpenHoldsWanted,
): Promise<void> {
  const asking = ownersThatMayBeRefused(workingSet, requests, ownerIds)
  for (const ownerId of ownerIds) if (short.has(ownerId)) asking.add(ownerId)
  const holding = [...asking].filter((ownerId) => workingSet.holdsUnits(ownerId))
  workingSet.addHolds(await store.openHolds(transaction, holding, workingSet.now, limit))
}

/**
 * Records due holds as expired, after the batch is decided: up to the limit of a batch, the earliest first, and beyond
 * it all whose units the batch has spent.
 * @param steady may holds beyond those that the batch needs be recorded?
 * @param locked the locked owners and groups
 * @param loadMissing loads quotas into the working set that it lacks
 * @throws MoreLocks if units of a hold of another owner were spent, which must be locked as well
 */
export async function expireDueHolds<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  steady: boolean,
  locked: ReadonlySet<number>,
  loadMissing: (quotaIds: ReadonlySet<number>) => Promise<void>,
): Promise<void> {
  const owners = [...workingSet.dueOwners]
  if (owners.length === 0) return
  for (let limit = MAX_EXPIRED_AT_ONCE; ; limit *= NEXT_LOOK) {
    const found = await store.dueHolds(transaction, owners, workingSet.now, limit)
    const due = await byOwner(transaction, store, found)
    const own = due.filter(({ ownerId }) => locked.has(ownerId))
    await loadMissing(new Set(own.flatMap(({ hold }) => quotasOf(hold))))
    await loadDueUnitsOf(transaction, store, workingSet, own)
    workingSet.expireHolds(own, steady && limit === MAX_EXPIRED_AT_ONCE)
    const others = due.filter(({ ownerId, hold }) => !locked.has(ownerId) && workingSet.spendsUnitsOf(hold))
    if (others.length > 0) throw new MoreLocks(others.map(({ ownerId }) => ownerId))
    if (found.length < limit || !workingSet.spendsDueUnits) break
  }
  workingSet.moveDueTimes(await store.nextDue(transaction, [...workingSet.dueOwners], workingSet.now))
}

/**
 * Reads the due units of owners and groups whose quotas `due` holds keep units of, but of which no due quota was in the
 * working set: a hold that was found by its group may keep units of counts of its owner.
 */
async function loadDueUnitsOf<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  workingSet: WorkingSet<Q>,
  due: readonly HeldBy[],
): Promise<void> {
  const owners = new Set(
    due.flatMap(({ ownerId, hold }) => [
      ownerId,
      ...quotasOf(hold).map((id) => workingSet.quota(id)?.ownerId ?? ownerId),
    ]),
  )
  const unread = [...owners].filter((ownerId) => !workingSet.dueOwners.has(ownerId))
  if (unread.length > 0) workingSet.addDueUnits(unread, await store.dueUnits(transaction, unread, workingSet.now))
}

/** Holds, each once and with the owner of its operation: those of groups were found by the row of the group. */
async function byOwner<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  found: readonly HeldBy[],
): Promise<HeldBy[]> {
  const ofGroups = found.filter(({ ownerId }) => ownerId < 0).map(({ hold }) => hold.operationId)
  if (ofGroups.length === 0) return [...found]
  const owners = await store.ownersOfOperations(transaction, ofGroups)
  const holds = new Map<string, HeldBy>()
  for (const { ownerId, hold } of found)
    holds.set(hold.operationId, { ownerId: owners.get(hold.operationId) ?? ownerId, hold })
  return [...holds.values()]
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
 * The owners whose open holds may have to be known because a refusal must say when they return. Others are not read at
 * first, so that a busy owner with many holds does not read them for each batch; `MoreHolds` brings in what this
 * estimate leaves out, as when an edit in the same batch lowers a total.
 */
function ownersThatMayBeRefused<Q extends QuotaRow>(
  workingSet: WorkingSet<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): Set<number> {
  const wanted = new Map<number, number>()
  let all = 0
  for (const { command, ownerId } of requests) {
    const amount = amountOf(command) ?? 0
    all += amount
    wanted.set(ownerId, (wanted.get(ownerId) ?? 0) + amount)
  }
  const refused = new Set<number>()
  for (const [ownerId, own] of wanted) {
    const levels = workingSet.levels(ownerId)
    // Others of the batch may take what this owner shares with them.
    const amount = levels.length === 1 ? own : all
    if (amount > workingSet.available(ownerId)) for (const level of levels) refused.add(level)
  }
  return new Set(ownerIds.filter((ownerId) => refused.has(ownerId)))
}
