import type { Instant } from '../common/instant.js'
import type { CapCount } from './cap.js'
import type { Allocation } from './draw-down.js'
import { endOf, type QuotaState } from './quota.js'
import { countsUntil } from './rolling-window.js'

/** An open hold: its quotas, amounts and expiry. */
export interface Hold {
  operationId: string
  expiresAt: Instant
  allocations: readonly Allocation[]
  /** Its creation time and the caps that counted its whole amount; absent if no cap did. */
  counted?: { readonly at: Instant; readonly caps: readonly CapCount[] }
}

/** The open holds of an owner, and of the groups of its chain: all of them, or the earliest. They may change later. */
export interface OpenHolds {
  values(): Iterable<Hold>
  /** Those that end before this instant are all among the values; absent if all are. */
  readonly knownUntil?: Instant
}

/**
 * The next time at which the quota has more units: its next reset, or for a rolling cap the next boundary at which
 * units leave its window. Null if this is not before the quota's end.
 */
export function nextRefill(quota: QuotaState): Instant | null {
  const { window, cycleEndsAt } = quota
  const next = window == null ? cycleEndsAt : (window[0]?.until ?? null)
  const end = endOf(quota)
  return next !== null && (end === null || next < end) ? next : null
}

/** A change of what a quota has left, if nobody takes or settles anything. */
interface Change {
  readonly at: Instant
  readonly place: number
  /** The units that return; negative for units that a hold returned before their slot leaves the window. */
  readonly returned?: number
  /** What is left from now on, regardless of earlier and later changes: after a first reset, or at the end. */
  readonly left?: number
}

/** The units that holds keep: by the place of the quota, and by the end of the slot of its window. */
type KeptUnits = readonly ReadonlyMap<Instant, number>[]

/** The slot of a quota without a window. */
const NO_SLOT = Infinity

/** An instant from which more fits than at any earlier one. */
interface Step {
  readonly at: Instant
  readonly capacity: number
}

/**
 * Computes when an owner can consume more than now, if nobody takes or settles anything (contract, §4 and §9): when the
 * payers together can pay the amount, and each `enforce` cap admits it. A payer that has ended gives nothing, a cap
 * that has ended limits nothing, and a hold returns its units at its end.
 *
 * What fits changes only at a quota's first reset, at its end, at the end of a hold and when units leave a window.
 * These changes are sorted once and added up. So the cost is the sum of quotas, slots and holds, not their product, for
 * any number of amounts.
 */
export class Refills {
  /** Payers first, then caps; the fields below refer to quotas by their index here. */
  private readonly quotas: readonly QuotaState[]
  private readonly placeOf: ReadonlyMap<number, number>
  private readonly turns: readonly Change[]
  private held: ReturnType<Refills['readHolds']> | undefined
  private walk: Walk | undefined
  /** The walk if all units of unknown holds returned at once; the same as `walk` if there are none. */
  private soonest: Walk | undefined

  /**
   * @param payers the owner's active payers, rolled; their counters may change later, their settings must not
   * @param caps the owner's active caps, rolled; only `enforce` caps count
   */
  constructor(
    private readonly payers: readonly QuotaState[],
    private readonly holds: OpenHolds,
    caps: readonly QuotaState[] = [],
  ) {
    this.quotas = [...payers, ...caps.filter(({ cap }) => cap === 'enforce')]
    this.placeOf = new Map(this.quotas.map(({ id }, place) => [id, place]))
    this.turns = this.quotas.flatMap(turnsOf)
  }

  /** Call it after counters of the quotas have changed. */
  countersChanged(): void {
    this.walk = undefined
  }

  /** Call it after holds have been opened or closed. */
  holdsChanged(): void {
    this.held = undefined
    this.walk = undefined
  }

  /**
   * The earliest instant from which `amount`, which does not fit now, fits; null if there is none. Undefined if that
   * depends on holds that are not known.
   */
  at(amount: number): Instant | null | undefined {
    if (this.walk === undefined || this.soonest === undefined) {
      const { returns, units } = (this.held ??= this.readHolds())
      const others = [...this.turns, ...this.quotas.flatMap(leavesOf)]
      const unknown = this.returnsOfUnknown(units)
      this.walk = new Walk(this.quotas, this.payers.length, returns, others)
      this.soonest =
        unknown.length === 0 ? this.walk : new Walk(this.quotas, this.payers.length, returns, [...others, ...unknown])
    }
    // The unknown units return after `knownUntil` or never: if both make no difference, their holds make none.
    const at = this.walk.firstWith(amount)
    return this.soonest.firstWith(amount) === at ? at : undefined
  }

  /**
   * The units that return at the ends of the known holds, to counts that are still current, in order of time; and the
   * units that these holds keep.
   */
  private readHolds(): { readonly returns: readonly Change[]; readonly units: KeptUnits } {
    const returns: Change[] = []
    const units = this.quotas.map(() => new Map<Instant, number>())
    const keeps = (place: number, slot: Instant, amount: number): void =>
      void units[place]?.set(slot, (units[place].get(slot) ?? 0) + amount)
    for (const { expiresAt: at, allocations, counted } of this.holds.values()) {
      let whole = 0
      for (const { quotaId, cycleSeq, amount } of allocations) {
        whole += amount
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (place === undefined) continue
        returns.push({ at, place, returned: amount })
        keeps(place, NO_SLOT, amount)
      }
      if (counted === undefined) continue
      for (const { quotaId, cycleSeq } of counted.caps) {
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (place === undefined) continue
        const seconds = this.quotas[place]?.windowSeconds ?? null
        const slot = seconds === null ? NO_SLOT : countsUntil(seconds, counted.at)
        returns.push(...returnsBefore(slot, at, place, whole))
        keeps(place, slot, whole)
      }
    }
    return { returns: returns.sort((a, b) => a.at - b.at), units }
  }

  /**
   * What the holds that are not known return, as if it were at the earliest instant at which one of them may end.
   * @param known the units of the others, by count
   */
  private returnsOfUnknown(known: KeptUnits): Change[] {
    const at = this.holds.knownUntil ?? Infinity
    if (at === Infinity) return []
    return this.quotas.flatMap(({ window, reserved }, place) =>
      (window ?? [{ until: NO_SLOT, reserved }]).flatMap((slot) => {
        const units = slot.reserved - (known[place]?.get(slot.until) ?? 0)
        return units > 0 ? returnsBefore(slot.until, at, place, units) : []
      }),
    )
  }

  private placeOfCount(quotaId: number, cycleSeq: number): number | undefined {
    const place = this.placeOf.get(quotaId)
    return place !== undefined && this.quotas[place]?.cycleSeq === cycleSeq ? place : undefined
  }
}

/** Adds changes up in order of time, as far as somebody asks. */
class Walk {
  private readonly others: readonly Change[]
  private readonly left: number[]
  private readonly turned: Uint8Array
  private payable: number
  private nextReturn = 0
  private nextOther = 0
  /** They increase in time and capacity. */
  private readonly steps: Step[] = []
  private highest = 0

  /**
   * @param payers the number of quotas that pay; those after them are caps
   * @param returns in order of time
   * @param others in any order
   */
  constructor(
    quotas: readonly QuotaState[],
    private readonly payers: number,
    private readonly returns: readonly Change[],
    others: readonly Change[],
  ) {
    this.others = [...others].sort((a, b) => a.at - b.at)
    // Negative if a total was lowered below what is used: returned units first make up for this.
    this.left = quotas.map(({ total, used, reserved }) => total - used - reserved)
    this.turned = new Uint8Array(quotas.length)
    this.payable = this.left.slice(0, payers).reduce((sum, units) => sum + Math.max(0, units), 0)
  }

  /** The earliest instant from which at least `amount` fits; null if there is none. */
  firstWith(amount: number): Instant | null {
    while (this.highest < amount) {
      const at = this.step()
      if (at === undefined) return null
      const capacity = this.capacity()
      if (capacity > this.highest) this.steps.push({ at, capacity: (this.highest = capacity) })
    }
    return firstStep(this.steps, amount)
  }

  /** Applies all changes of the next instant; undefined if there is none. */
  private step(): Instant | undefined {
    const { returns, others } = this
    const at = Math.min(returns[this.nextReturn]?.at ?? Infinity, others[this.nextOther]?.at ?? Infinity)
    if (at === Infinity) return undefined
    this.nextReturn = this.applyAll(returns, this.nextReturn, at)
    this.nextOther = this.applyAll(others, this.nextOther, at)
    return at
  }

  /** Applies the changes of an instant. @returns the index of the first later one */
  private applyAll(changes: readonly Change[], from: number, at: Instant): number {
    let index = from
    for (let change = changes[index]; change?.at === at; change = changes[index]) {
      this.apply(change)
      index += 1
    }
    return index
  }

  private apply({ place, returned = 0, left: fixed }: Change): void {
    const before = this.left[place] ?? 0
    const after = fixed ?? (this.turned[place] === 1 ? before : before + returned)
    if (fixed !== undefined) this.turned[place] = 1
    this.left[place] = after
    if (place < this.payers) this.payable += Math.max(0, after) - Math.max(0, before)
  }

  private capacity(): number {
    let capacity = this.payable
    for (let cap = this.payers; cap < this.left.length; cap += 1) capacity = Math.min(capacity, this.left[cap] ?? 0)
    return capacity
  }
}

/** The first step that is high enough; null if there is none. */
function firstStep(steps: readonly Step[], amount: number): Instant | null {
  let from = 0
  let to = steps.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((steps[middle]?.capacity ?? 0) < amount) from = middle + 1
    else to = middle
  }
  return steps[from]?.at ?? null
}

/** Units of a hold return at its end, if this is before their slot leaves the window: otherwise they leave with it. */
function returnsBefore(slot: Instant, at: Instant, place: number, units: number): Change[] {
  if (at >= slot) return []
  const returned = { at, place, returned: units }
  return slot < NO_SLOT ? [returned, { at: slot, place, returned: -units }] : [returned]
}

/** The first reset of a payer or cap, and its end, from which a payer gives nothing and a cap limits nothing. */
function turnsOf(quota: QuotaState, place: number): Change[] {
  const reset = quota.window == null ? nextRefill(quota) : null
  const turns: Change[] = reset === null ? [] : [{ at: reset, place, left: quota.total }]
  const end = endOf(quota)
  if (end !== null) turns.push({ at: end, place, left: quota.cap == null ? 0 : Infinity })
  return turns
}

/** The units that leave a rolling cap's window. */
function leavesOf({ window }: QuotaState, place: number): Change[] {
  return (window ?? []).map(({ until: at, used, reserved }) => ({ at, place, returned: used + reserved }))
}
