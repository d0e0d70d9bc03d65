import { available, countIn, type CapCount, type Limits, settleIn } from '../../domain/cap.js'
import { inForce } from '../../domain/chain.js'
import { follow, isFollowed, unbornCounts } from '../../domain/follow.js'
import type { Allocation } from '../../domain/draw-down.js'
import { isLive, type QuotaState, roll } from '../../domain/quota.js'
import { type Hold, Refills } from '../../domain/refill.js'
import type { Move } from '../../domain/rolling-window.js'
import { nextPassAt } from '../../domain/threshold.js'
import type { Instant } from '../../common/instant.js'
import type { Act } from '../rows/act.entity.js'
import type { AllocationRow } from '../rows/allocation.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import { groupOwner, type GroupRow } from '../rows/group.entity.js'
import type { HoldRow } from '../rows/hold.entity.js'
import type { OperationRow } from '../rows/operation.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { NewEvent } from './new-event.js'

/** The counters that usage changes, and their cycle. */
const COUNTERS = ['used', 'reserved', 'cycleSeq', 'cycleEndsAt', 'holdDueAt', 'window', 'passed'] as const
/**
 * The same of a member's count, with the period that they belong to: the followed quota may have changed it. And the
 * total for which `passed` holds: otherwise `follow` would arm thresholds by the same edit of it again and again.
 */
const FOLLOWING_COUNTERS = [
  ...COUNTERS,
  'total',
  'cycleUnit',
  'cycleTimeZone',
  'cycleAnchorAt',
  'windowSeconds',
  'countBeganAt',
] as const
type Counters = Pick<QuotaState, (typeof COUNTERS)[number]> &
  Partial<Pick<QuotaState, (typeof FOLLOWING_COUNTERS)[number]>>

/** An operation with the allocations of its quotas. */
export interface OperationEntry {
  readonly row: OperationRow
  readonly allocations: readonly Allocation[]
  /** The counts of caps that counted its whole amount when it was made; ids ascending. */
  readonly caps?: readonly CapCount[]
  /** The caps that would have refused it; known only while it is made. */
  readonly wouldRefuse?: readonly number[]
  /** Is its act still its only row? See `plain-consume.ts`. */
  readonly plain?: boolean
}

/** A hold and its owner. */
export interface HeldBy {
  readonly ownerId: number
  readonly hold: Hold
}

/** The open holds of an owner, or of a group, that end first. */
export interface OpenHoldsOf {
  readonly ownerId: number
  readonly holds: readonly Hold[]
  /** Those that end before this instant are all among `holds`; Infinity if there are no others. */
  readonly knownUntil: Instant
}

/** The units of due holds in one count, and for a cap the time when they were counted. */
export interface DueUnits extends Allocation {
  /** Null if the quota paid. */
  readonly countedAt: Instant | null
}

/** The units of a due hold in a cap, not yet recorded as expired. */
interface DueUnitsOfCap {
  readonly cycleSeq: number
  readonly countedAt: Instant
  amount: number
  /** Is it subtracted from the cap's counters here? Not if the cap's count no longer contains it. */
  subtracted: boolean
}

/** The part of the working set that belongs to one owner, or to a group (`groupOwner`). */
export interface OwnerWorkingSet<Q extends QuotaRow> {
  readonly ownerId: number
  /** Every quota of the owner that may be live, and those that a request named. */
  readonly quotas: Set<Q>
  /** Open holds: those that the batch opened, and if a refusal may need them, the earliest that are not due. */
  readonly holds: Map<string, Hold>
  /** The holds that end before this instant are all among `holds`; Infinity if there are no others. */
  holdsKnownUntil: Instant
  /** Its groups, nearest first; undefined for an owner outside groups, and for a group. */
  chain: readonly number[] | undefined
  /** What is in force over its chain; undefined after an edit. */
  limits: Limits<Q> | undefined
  /** The counts among it that do not exist yet. */
  unborn: readonly Q[]
  /** The times when they can pay more; undefined before a refusal needs them, and after an edit. */
  refills: Refills | undefined
}

/**
 * The working set of one batch: data read under the owners' locks, changed in memory request by request, and the rows
 * to write. All quotas are rolled to `now`. It uses no database.
 */
export class WorkingSet<Q extends QuotaRow> {
  private readonly quotas = new Map<number, Q>()
  private readonly loaded = new Map<number, Counters>()
  private readonly touchedIds = new Set<number>()
  /** Quotas from which units were drawn. */
  private readonly drawnIds = new Set<number>()
  private readonly owners = new Map<number, OwnerWorkingSet<Q>>()
  /** Those of them that are groups (`groupOwner`). */
  private readonly groupIds: number[] = []
  private readonly operations = new Map<string, OperationEntry>()
  private readonly actsByDeduplicationKey = new Map<string, Act>()
  private readonly actsById = new Map<string, Act>()
  /** Units of due holds that are not yet recorded as expired, by quota and cycle; of quotas that paid. */
  private readonly dueUnits = new Map<string, number>()
  /** The same for caps, by quota and by count and time (`countedName`), without those recorded meanwhile. */
  private readonly dueUnitsOfCaps = new Map<number, Map<string, DueUnitsOfCap>>()
  /** The sums of those that are subtracted, by quota and cycle. */
  private readonly subtracted = new Map<string, number>()
  /** Groups that a request names, locked. */
  readonly groups = new Map<number, GroupRow>()
  /** Members' counts whose stored settings are not those of the quotas that they follow. */
  readonly outdated = new Set<Q>()
  /** Owners in groups. */
  private readonly chained: OwnerWorkingSet<Q>[] = []
  /** Owners, and groups, whose due holds have been read. */
  readonly dueOwners = new Set<number>()

  readonly newActs: Act[] = []
  readonly newOperations: OperationEntry[] = []
  readonly newHolds = new Map<string, HeldBy>()
  readonly closedHolds: string[] = []
  readonly expiredOperations = new Set<string>()
  readonly changedOperations = new Map<string, OperationEntry>()
  readonly changes: Omit<ChangeRow, 'id'>[] = []
  readonly editedQuotas = new Map<number, Q>()
  /** Written with their acts. */
  readonly events: NewEvent[] = []
  /** The `used` from which on quotas pass a threshold, for those from which units were drawn. */
  private readonly passAt = new Map<number, number>()
  /** Quotas that have reached an armed threshold since the last call of `takeReached`. */
  private reached: Q[] = []

  constructor(readonly now: Instant) {}

  owner(ownerId: number): OwnerWorkingSet<Q> {
    let owner = this.owners.get(ownerId)
    if (owner === undefined) {
      owner = {
        ownerId,
        quotas: new Set(),
        holds: new Map(),
        holdsKnownUntil: this.now,
        chain: undefined,
        limits: undefined,
        unborn: [],
        refills: undefined,
      }
      this.owners.set(ownerId, owner)
      if (ownerId < 0) this.groupIds.push(ownerId)
    }
    return owner
  }

  /** Adds a quota that was read or created; rolls it. The quota that a count follows must have been added. */
  addQuota(quota: Q): void {
    if (this.quotas.has(quota.id)) return
    if (quota.follows === null) {
      const { used, reserved, cycleSeq, cycleEndsAt, holdDueAt, window, passed } = quota
      this.loaded.set(quota.id, { used, reserved, cycleSeq, cycleEndsAt, holdDueAt, window, passed })
      roll(quota, this.now)
    } else {
      this.loaded.set(quota.id, { ...quota })
      this.follow(quota)
    }
    if (quota.cap === null) quota.reserved -= this.dueUnitsOf(quota)
    else for (const due of this.dueUnitsOfCaps.get(quota.id)?.values() ?? []) this.subtractFrom(quota, due)
    this.quotas.set(quota.id, quota)
    this.owner(quota.ownerId).quotas.add(quota)
    this.settingsChanged(quota)
  }

  /** Places an owner in a chain of groups, nearest first; call it before a request is decided. */
  setChain(ownerId: number, chain: readonly number[]): void {
    const owner = this.owner(ownerId)
    owner.chain = chain
    owner.limits = undefined
    this.chained.push(owner)
  }

  /** Brings a member's count to the present. */
  private follow(count: Q): void {
    const followed = this.followedBy(count)
    follow(count, followed, this.isInChain(count), this.now)
    if (count.copiesVersion === followed.copiesVersion) return
    count.copiesVersion = followed.copiesVersion
    this.outdated.add(count)
  }

  /** The quota that a member's count follows. */
  followedBy({ id, follows }: Q): Q {
    const followed = follows === null ? undefined : this.quotas.get(follows)
    if (followed === undefined) throw new Error(`quota ${id} was added before the one that it follows`)
    return followed
  }

  /** Is the group of a quota in the chain of the quota's owner? */
  isInChain({ ownerId, groupId }: Q): boolean {
    return groupId !== null && this.owners.get(ownerId)?.chain?.includes(groupId) === true
  }

  /** Forgets what is in force for the owner of a quota, and for every owner that draws on it. */
  private settingsChanged({ ownerId }: Q): void {
    for (const owner of ownerId < 0 ? this.chained : [this.owner(ownerId)]) {
      owner.limits = undefined
      owner.refills = undefined
    }
  }

  private countersChanged({ ownerId }: Q): void {
    if (ownerId < 0) for (const owner of this.chained) owner.refills?.countersChanged()
    else this.owners.get(ownerId)?.refills?.countersChanged()
  }

  private holdsChanged(ownerId: number): void {
    this.owner(ownerId).refills?.holdsChanged()
    for (const owner of this.chained) owner.refills?.holdsChanged()
  }

  /** The owners in whose working sets the quotas of a chain are. */
  private levelsOf({ ownerId }: OwnerWorkingSet<Q>): OwnerWorkingSet<Q>[] {
    return this.levels(ownerId).map((id) => this.owner(id))
  }

  /** The owner, and the groups of its chain as owners, nearest first. */
  levels(ownerId: number): number[] {
    return [ownerId, ...(this.owner(ownerId).chain ?? []).map(groupOwner)]
  }

  /** Has an owner of the batch a chain? */
  get hasChains(): boolean {
    return this.chained.length > 0
  }

  /** Does the quota belong to a group? It must be in the working set. */
  isOfGroup(quotaId: number): boolean {
    return (this.quotas.get(quotaId)?.ownerId ?? 0) < 0
  }

  quota(id: number): Q | undefined {
    return this.quotas.get(id)
  }

  addOperation(entry: OperationEntry): void {
    this.operations.set(entry.row.id, entry)
  }

  operation(id: string): OperationEntry | undefined {
    return this.operations.get(id)
  }

  /** Adds an act that was read. */
  addAct(act: Act): void {
    this.actsById.set(act.id, act)
    if (act.deduplicationKey !== null) this.actsByDeduplicationKey.set(act.deduplicationKey, act)
  }

  /** The act of this request, committed by an earlier attempt whose answer was lost. */
  actById(id: string): Act | undefined {
    return this.actsById.get(id)
  }

  /** Has the request, or another one with its key, taken effect? */
  hasActOf({ id, deduplicationKey }: { readonly id: string; readonly deduplicationKey: string | null }): boolean {
    return this.actsById.has(id) || (deduplicationKey !== null && this.actsByDeduplicationKey.has(deduplicationKey))
  }

  actByDeduplicationKey(deduplicationKey: string): Act | undefined {
    return this.actsByDeduplicationKey.get(deduplicationKey)
  }

  /** Forgets the records that would be written, of decisions that are only predicted. */
  forgetRecords(): void {
    for (const records of [this.newActs, this.changes, this.events]) records.length = 0
    this.actsById.clear()
  }

  /** Records an act to write; later requests of the batch see it. */
  record(act: Act): void {
    this.newActs.push(act)
    this.addAct(act)
  }

  /** What is in force for the owner over its chain. */
  limits(ownerId: number): Limits<Q> {
    const owner = this.owner(ownerId)
    if (owner.limits === undefined) {
      const [own = [], ...groups] = this.levelsOf(owner).map(({ quotas }) => quotas)
      owner.unborn = unbornCounts(own, groups, this.now)
      owner.limits = inForce([owner.unborn.length === 0 ? own : [...own, ...owner.unborn], ...groups], this.now)
    }
    return owner.limits
  }

  /** The owner's counts that do not exist yet, as rows without an id: its first consume or reserve creates them. */
  unbornCounts(ownerId: number): Omit<Q, 'id'>[] {
    this.limits(ownerId)
    const { now } = this
    return this.owner(ownerId).unborn.map(({ id: _, ...count }) => ({ ...count, ownerId, version: 1, updatedAt: now }))
  }

  /** Adds the owner's new counts. @param ids in the order of `unbornCounts` */
  addCounts(ownerId: number, ids: readonly number[]): void {
    const rows = this.unbornCounts(ownerId)
    for (const [n, row] of rows.entries()) this.addQuota({ ...row, id: ids[n] ?? 0 } as Q)
  }

  /**
   * The earliest instant from which `amount` fits, or null; it does not fit now. Undefined if that depends on holds of
   * the owner and of its groups that are not loaded (`addHolds`). Its data is sorted once for all refusals of a batch.
   */
  refillsAt(ownerId: number, amount: number): Instant | null | undefined {
    const owner = this.owner(ownerId)
    if (owner.refills === undefined) {
      const { payers, caps } = this.limits(ownerId)
      const levels = this.levelsOf(owner)
      // A hold may keep units of several levels.
      const holds = (): Map<string, Hold> =>
        levels.length === 1 ? owner.holds : new Map(levels.flatMap((level) => [...level.holds]))
      // Holds keep no units of the others, which may be groups that are not locked.
      const holding = levels.filter((level) => this.holdsUnits(level.ownerId))
      const knownUntil = Math.min(...holding.map(({ holdsKnownUntil }) => holdsKnownUntil))
      owner.refills = new Refills(payers, { values: () => holds().values(), knownUntil }, caps)
    }
    return owner.refills.at(amount)
  }

  /** The largest amount that one consume of the owner can take now. */
  available(ownerId: number): number {
    return available(this.limits(ownerId))
  }

  /** The number of the owner's live quotas, and of the caps among them; counts of groups' quotas are not among them. */
  liveCounts(ownerId: number): { quotas: number; caps: number } {
    const counts = { quotas: 0, caps: 0 }
    for (const quota of this.owner(ownerId).quotas) {
      if (quota.follows !== null || !isLive(quota, this.now)) continue
      counts.quotas += 1
      if (quota.cap !== null) counts.caps += 1
    }
    return counts
  }

  /**
   * Changes quotas' counters by the allocations of an operation, if the cycle that paid is still the current one. After
   * a reset, the new count does not change. The roll is also written; otherwise the row would keep the old count.
   */
  applyAllocations(parts: readonly Allocation[], by: { used?: 1 | -1; reserved?: 1 | -1 }): void {
    for (const { quotaId, cycleSeq, amount } of parts) {
      const quota = this.quotas.get(quotaId)
      this.touchedIds.add(quotaId)
      if (quota?.cycleSeq !== cycleSeq) continue
      quota.used += (by.used ?? 0) * amount
      quota.reserved += (by.reserved ?? 0) * amount
      if (by.used === 1 || by.reserved === 1) this.drawnIds.add(quotaId)
      if (by.used === 1) this.watch(quota)
      this.countersChanged(quota)
    }
  }

  /**
   * Counts a new operation in caps of its owner.
   * @param caps active
   * @returns the counts
   */
  countInCaps(caps: readonly Q[], move: Move): readonly CapCount[] {
    return caps.map((cap) => {
      this.touchedIds.add(cap.id)
      this.drawnIds.add(cap.id)
      this.countersChanged(cap)
      const count = countIn(cap, this.now, move)
      this.watch(cap)
      return count
    })
  }

  /**
   * Moves the units that caps counted of an operation, if their counts still contain it; otherwise as in
   * `applyAllocations`.
   */
  settleInCaps({ row, caps = NO_CAPS }: OperationEntry, move: Move): void {
    for (const count of caps) {
      const cap = this.quotas.get(count.quotaId)
      this.touchedIds.add(count.quotaId)
      if (cap === undefined || !settleIn(cap, count, row.createdAt, move)) continue
      this.countersChanged(cap)
      this.watch(cap)
    }
  }

  /** Checks whether a quota whose `used` has grown, or whose settings have changed, has reached an armed threshold. */
  watch(quota: Q): void {
    if (quota.thresholds === null) return
    let passAt = this.passAt.get(quota.id)
    if (passAt === undefined) {
      passAt = nextPassAt(quota)
      this.passAt.set(quota.id, passAt)
    }
    if (quota.used >= passAt) this.reached.push(quota)
  }

  /** Returns the quotas that have reached an armed threshold since the last call; usually none. */
  takeReached(): readonly Q[] {
    const { reached } = this
    if (reached.length === 0) return reached
    this.reached = []
    for (const { id } of reached) this.passAt.delete(id)
    return reached
  }

  /** Do holds keep units of quotas of the owner, or of the group (`groupOwner`)? */
  holdsUnits(ownerId: number): boolean {
    return [...this.owner(ownerId).quotas].some(({ reserved }) => reserved > 0)
  }

  /** Adds the earliest holds of owners, and of groups, that were read. */
  addHolds(open: readonly OpenHoldsOf[]): void {
    for (const { ownerId, holds, knownUntil } of open) {
      const owner = this.owner(ownerId)
      for (const hold of holds) owner.holds.set(hold.operationId, hold)
      owner.holdsKnownUntil = knownUntil
    }
  }

  openHold(ownerId: number, hold: Hold): void {
    for (const id of this.ownersOf(ownerId, hold)) this.owner(id).holds.set(hold.operationId, hold)
    this.holdsChanged(ownerId)
    this.newHolds.set(hold.operationId, { ownerId, hold })
    const { expiresAt, allocations, counted } = hold
    const due = ({ quotaId }: { readonly quotaId: number }): void => {
      const quota = this.quotas.get(quotaId)
      if (quota !== undefined) quota.holdDueAt = Math.min(quota.holdDueAt ?? expiresAt, expiresAt)
    }
    allocations.forEach(due)
    counted?.caps.forEach(due)
  }

  closeHold(ownerId: number, operationId: string): void {
    this.removeHold(ownerId, operationId)
    this.holdsChanged(ownerId)
  }

  private removeHold(ownerId: number, operationId: string): void {
    this.owner(ownerId).holds.delete(operationId)
    for (const groupId of this.groupIds) this.owner(groupId).holds.delete(operationId)
    if (!this.newHolds.delete(operationId)) this.closedHolds.push(operationId)
  }

  /** The owner of a hold, and the groups of whose quotas it keeps units. */
  private ownersOf(ownerId: number, hold: Hold): Set<number> {
    const owners = new Set([ownerId])
    if (this.chained.length > 0)
      for (const quotaId of quotasOf(hold)) owners.add(this.quotas.get(quotaId)?.ownerId ?? ownerId)
    return owners
  }

  /** The rows of the holds to write. */
  get holdRows(): HoldRow[] {
    return [...this.newHolds.values()].flatMap(({ ownerId, hold: { operationId, expiresAt }, hold }) =>
      [...this.ownersOf(ownerId, hold)].map((id) => ({ operationId, ownerId: id, expiresAt })),
    )
  }

  /**
   * Adds the units of due holds that are not yet recorded as expired. From now on, `reserved` excludes them, although
   * the stored value includes them; this also applies to quotas added later.
   * @param ownerIds the holds' owners: all of their due holds are given
   */
  addDueUnits(ownerIds: readonly number[], units: readonly DueUnits[]): void {
    for (const ownerId of ownerIds) this.dueOwners.add(ownerId)
    for (const { quotaId, cycleSeq, amount, countedAt } of units) {
      const quota = this.quotas.get(quotaId)
      if (countedAt === null) {
        this.dueUnits.set(cycleOf(quotaId, cycleSeq), amount)
        if (quota?.cycleSeq === cycleSeq) quota.reserved -= amount
      } else {
        const ofCap = { cycleSeq, countedAt, amount, subtracted: false }
        const known = this.dueUnitsOfCaps.get(quotaId) ?? new Map<string, DueUnitsOfCap>()
        this.dueUnitsOfCaps.set(quotaId, known.set(countedName(ofCap), ofCap))
        if (quota !== undefined) this.subtractFrom(quota, ofCap)
      }
    }
  }

  /** Subtracts the units of due holds from a cap's counters. */
  private subtractFrom(cap: Q, due: DueUnitsOfCap): void {
    const { cycleSeq, countedAt, amount } = due
    due.subtracted = settleIn(cap, { quotaId: cap.id, cycleSeq }, countedAt, { reserved: -amount })
    if (due.subtracted) this.subtracts(cap.id, cycleSeq, amount)
  }

  private subtracts(quotaId: number, cycleSeq: number, amount: number): void {
    const name = cycleOf(quotaId, cycleSeq)
    this.subtracted.set(name, (this.subtracted.get(name) ?? 0) + amount)
  }

  /**
   * A quota as stored, including the units of due holds that are not yet recorded as expired: itself if there are none.
   */
  stored(quota: Q): Q {
    const units = this.dueUnitsOf(quota)
    if (units === 0) return quota
    if (quota.cap === null) return { ...quota, reserved: quota.reserved + units }
    const stored = { ...quota }
    for (const { countedAt, amount } of this.dueUnitsHeldBy(quota))
      if (amount > 0) countIn(stored, countedAt, { reserved: amount })
    return stored
  }

  /**
   * Does the batch spend units of a due hold that is not yet recorded as expired? Then the expiry must be recorded in
   * the same transaction: otherwise an instance whose clock is behind could still commit the hold, and the quota would
   * be overdrawn.
   */
  get spendsDueUnits(): boolean {
    return [...this.drawnIds].some((id) => this.spendsDueUnitsOf(id))
  }

  /**
   * Records that due holds have expired. Needs the quotas that paid for them.
   * @param all of them; false: only those whose units the batch has spent
   */
  expireHolds(due: readonly HeldBy[], all: boolean): void {
    for (const { ownerId, hold } of due) {
      const { operationId, allocations } = hold
      if (this.expiredOperations.has(operationId)) continue
      if (!all && !this.spendsUnitsOf(hold)) continue
      for (const { quotaId, cycleSeq, amount } of allocations) {
        const cycle = cycleOf(quotaId, cycleSeq)
        this.dueUnits.set(cycle, (this.dueUnits.get(cycle) ?? 0) - amount)
        this.touchedIds.add(quotaId)
      }
      this.expireInCaps(hold)
      this.removeHold(ownerId, operationId)
      this.expiredOperations.add(operationId)
      const operation = this.operations.get(operationId)
      if (operation !== undefined) operation.row.state = 'expired'
    }
    // Once for all of them, who may be thousands.
    for (const { refills } of this.owners.values()) refills?.holdsChanged()
  }

  private expireInCaps({ allocations, counted }: Hold): void {
    if (counted === undefined) return
    const whole = allocations.reduce((sum, { amount }) => sum + amount, 0)
    for (const { quotaId, cycleSeq } of counted.caps) {
      const due = this.dueUnitsOfCaps.get(quotaId)?.get(countedName({ cycleSeq, countedAt: counted.at }))
      if (due !== undefined) due.amount -= whole
      if (due?.subtracted === true) this.subtracts(quotaId, cycleSeq, -whole)
      this.touchedIds.add(quotaId)
    }
  }

  /** Does the batch spend units of this hold, which is due? */
  spendsUnitsOf(hold: Hold): boolean {
    return quotasOf(hold).some((quotaId) => this.spendsDueUnitsOf(quotaId))
  }

  private spendsDueUnitsOf(quotaId: number): boolean {
    const quota = this.quotas.get(quotaId)
    if (quota === undefined || quota.cap === 'observe' || !this.drawnIds.has(quotaId)) return false
    const dueUnits = this.dueUnitsOf(quota)
    return dueUnits > 0 && quota.used + quota.reserved + dueUnits > quota.total
  }

  private dueUnitsOf(quota: Q): number {
    // Usually no hold is due: this runs for every quota that a batch changes.
    const units = quota.cap === null ? this.dueUnits : this.subtracted
    return units.size === 0 ? 0 : (units.get(cycleOf(quota.id, quota.cycleSeq)) ?? 0)
  }

  /** The units that are subtracted from the current count of a cap. */
  private dueUnitsHeldBy({ id, cycleSeq }: Q): DueUnitsOfCap[] {
    const units = [...(this.dueUnitsOfCaps.get(id)?.values() ?? [])]
    return units.filter((due) => due.subtracted && due.cycleSeq === cycleSeq)
  }

  /**
   * Advances a past `holdDueAt` after all due holds are recorded: to the expiry of the owner's next hold, which is
   * never too late, and costs one look-up. It also advances the time of a hold that was settled early; otherwise every
   * later batch would look again.
   * @param next the expiry of the first stored open hold of each owner
   */
  moveDueTimes(next: ReadonlyMap<number, Instant>): void {
    const first = new Map(next)
    for (const { ownerId, expiresAt } of this.holdRows)
      first.set(ownerId, Math.min(first.get(ownerId) ?? expiresAt, expiresAt))
    for (const ownerId of this.dueOwners) {
      for (const quota of this.owner(ownerId).quotas) {
        if (quota.holdDueAt === null || quota.holdDueAt > this.now || this.dueUnitsOf(quota) > 0) continue
        quota.holdDueAt = quota.reserved > 0 ? (first.get(ownerId) ?? null) : null
        this.touchedIds.add(quota.id)
      }
    }
  }

  /** Marks a quota's settings as edited, or its counters as reset: the draw-down order may have changed. */
  markEdited(quota: Q): void {
    this.editedQuotas.set(quota.id, quota)
    if (isFollowed(quota)) {
      quota.copiesVersion = (quota.copiesVersion ?? 0) + 1
      for (const count of this.quotas.values()) {
        if (count.follows !== quota.id) continue
        this.follow(count)
        this.passAt.delete(count.id)
      }
    }
    this.passAt.delete(quota.id)
    this.watch(quota)
    this.settingsChanged(quota)
  }

  /** Has the settings of the owner's counts written as they are now, which may make them pass thresholds. */
  writeOutdated(ownerId: number): void {
    for (const count of this.outdated) {
      if (count.ownerId !== ownerId) continue
      this.editedQuotas.set(count.id, count)
      if (count.deletedAt === null && count.state !== 'left') this.watch(count)
    }
  }

  /** Those columns of an edited quota that may differ from its row: of a member's count, only those that do. */
  columnsToWrite(stored: Q, columns: readonly (keyof Q & string)[]): readonly (keyof Q & string)[] {
    // Of a count, the whole row was kept.
    const before = this.loaded.get(stored.id) as unknown as Q | undefined
    if (stored.follows === null || before === undefined) return columns
    const differs = (name: keyof Q & string): boolean => stored[name] !== before[name]
    return columns.filter((name) => differs(name === 'labelSearch' ? 'label' : name))
  }

  /** Is there anything to write? */
  get changed(): boolean {
    return (
      this.newActs.length > 0 ||
      this.editedQuotas.size > 0 ||
      this.expiredOperations.size > 0 ||
      this.changedCounters().length > 0
    )
  }

  /** Quotas whose counters changed, with the differences to the stored row. */
  changedCounters(): { id: number; values: Partial<Counters> }[] {
    const changed = []
    for (const id of [...this.touchedIds].sort((a, b) => a - b)) {
      const quota = this.quotas.get(id)
      const before = this.loaded.get(id)
      if (quota === undefined || before === undefined) continue
      const after = this.stored(quota)
      const names = quota.follows === null ? COUNTERS : FOLLOWING_COUNTERS
      let values: Record<string, unknown> | undefined
      for (const name of names) if (after[name] !== before[name]) (values ??= {})[name] = after[name]
      if (values !== undefined) changed.push({ id, values: values as Partial<Counters> })
    }
    return changed
  }
}

function countedName({ cycleSeq, countedAt }: Pick<DueUnitsOfCap, 'cycleSeq' | 'countedAt'>): string {
  return `${cycleSeq} ${countedAt}`
}

function cycleOf(quotaId: number, cycleSeq: number): string {
  return `${quotaId} ${cycleSeq}`
}

/** The quotas that a hold affects: those that paid, and caps. */
export function quotasOf({ allocations, counted }: Hold): number[] {
  const paid = allocations.map(({ quotaId }) => quotaId)
  return counted === undefined ? paid : [...paid, ...counted.caps.map(({ quotaId }) => quotaId)]
}

/** The rows of an operation's allocations: payers, then caps. */
export function allocationRows(entry: OperationEntry): AllocationRow[] {
  const operationId = entry.row.id
  return [
    ...entry.allocations.map((allocation, position) => ({ operationId, position, ...allocation, countedAt: null })),
    ...capRows(entry),
  ]
}

/** Those of the caps that counted it. */
export function capRows({ row, allocations, caps = NO_CAPS }: OperationEntry): AllocationRow[] {
  const { id: operationId, amount, createdAt: countedAt } = row
  return caps.map(({ quotaId, cycleSeq }, n) => {
    return { operationId, position: allocations.length + n, quotaId, cycleSeq, amount, countedAt }
  })
}
