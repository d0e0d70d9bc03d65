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
  private steps: readonly Step[] | undefined
  /** The steps if all units of unknown holds returned at once; the same as `steps` if there are none. */
  private soonest: readonly Step[] | undefined

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
    this.steps = undefined
  }

  /** Call it after holds have been opened or closed. */
  holdsChanged(): void {
    this.held = undefined
    this.steps = undefined
  }

  /**
   * The earliest instant from which `amount`, which does not fit now, fits; null if there is none. Undefined if that
   * depends on holds that are not known.
   */
  at(amount: number): Instant | null | undefined {
    if (this.steps === undefined || this.soonest === undefined) {
      this.held ??= this.readHolds()
      const unknown = this.returnsOfUnknown(this.held.units)
      this.steps = this.walk(this.held.returns)
      this.soonest = unknown.length === 0 ? this.steps : this.walk([...this.held.returns, ...unknown])
    }
    // The unknown units return after `knownUntil` or never: if both make no difference, their holds make none.
    const at = firstStep(this.steps, amount)
    return firstStep(this.soonest, amount) === at ? at : undefined
  }

  private walk(returns: readonly Change[]): Step[] {
    const changes = [...returns, ...this.turns, ...this.quotas.flatMap(leavesOf)].sort((a, b) => a.at - b.at)
    // Negative if a total was lowered below what is used: returned units first make up for this.
    const left = this.quotas.map(({ total, used, reserved }) => total - used - reserved)
    const payers = this.payers.length
    const turned = new Uint8Array(left.length)
    let payable = left.slice(0, payers).reduce((sum, units) => sum + Math.max(0, units), 0)
    const steps: Step[] = []
    let highest = 0
    for (const [index, { at, place, returned = 0, left: fixed }] of changes.entries()) {
      const before = left[place] ?? 0
      const after = fixed ?? (turned[place] === 1 ? before : before + returned)
      if (fixed !== undefined) turned[place] = 1
      left[place] = after
      if (place < payers) payable += Math.max(0, after) - Math.max(0, before)
      // An instant counts with all of its changes.
      if (changes[index + 1]?.at === at) continue
      let capacity = payable
      for (let cap = payers; cap < left.length; cap += 1) capacity = Math.min(capacity, left[cap] ?? 0)
      if (capacity > highest) steps.push({ at, capacity: (highest = capacity) })
    }
    return steps
  }

  /**
   * The units that return at the ends of the known holds, to counts that are still current, in order of time; and the
   * units that these holds keep of each count (`countName`).
   */
  private readHolds(): { readonly returns: readonly Change[]; readonly units: ReadonlyMap<string, number> } {
    const returns: Change[] = []
    const units = new Map<string, number>()
    const keeps = (name: string, amount: number): void => void units.set(name, (units.get(name) ?? 0) + amount)
    for (const { expiresAt: at, allocations, counted } of this.holds.values()) {
      let whole = 0
      for (const { quotaId, cycleSeq, amount } of allocations) {
        whole += amount
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (place === undefined) continue
        returns.push({ at, place, returned: amount })
        keeps(countName(place), amount)
      }
      if (counted === undefined) continue
      for (const { quotaId, cycleSeq } of counted.caps) {
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (place === undefined) continue
        const seconds = this.quotas[place]?.windowSeconds ?? null
        const slot = seconds === null ? Infinity : countsUntil(seconds, counted.at)
        returns.push(...returnsBefore(slot, at, place, whole))
        keeps(countName(place, slot), whole)
      }
    }
    return { returns: returns.sort((a, b) => a.at - b.at), units }
  }

  /**
   * What the holds that are not known return, as if it were at the earliest instant at which one of them may end.
   * @param known the units of the others, by count
   */
  private returnsOfUnknown(known: ReadonlyMap<string, number>): Change[] {
    const at = this.holds.knownUntil ?? Infinity
    if (at === Infinity) return []
    return this.quotas.flatMap(({ window, reserved }, place) =>
      (window ?? [{ until: Infinity, reserved }]).flatMap((slot) => {
        const units = slot.reserved - (known.get(countName(place, slot.until)) ?? 0)
        return units > 0 ? returnsBefore(slot.until, at, place, units) : []
      }),
    )
  }

  private placeOfCount(quotaId: number, cycleSeq: number): number | undefined {
    const place = this.placeOf.get(quotaId)
    return place !== undefined && this.quotas[place]?.cycleSeq === cycleSeq ? place : undefined
  }
}

/** The first step that is high enough; steps increase in time and capacity. */
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

/** Names what counts units of a hold: a quota, or a slot of a rolling cap. */
function countName(place: number, slot: Instant = Infinity): string {
  return `${place} ${slot}`
}

/** Units of a hold return at its end, if this is before their slot leaves the window: otherwise they leave with it. */
function returnsBefore(slot: Instant, at: Instant, place: number, units: number): Change[] {
  if (at >= slot) return []
  const returned = { at, place, returned: units }
  return slot < Infinity ? [returned, { at: slot, place, returned: -units }] : [returned]
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
