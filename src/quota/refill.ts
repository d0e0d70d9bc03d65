import { nextBoundary } from './cycle.js'
import type { Allocation } from './draw-down.js'
import type { Instant } from './instant.js'
import { type QuotaState, remaining } from './quota.js'

/** An open hold: what it keeps from which quotas, and until when. */
export interface Hold {
  operationId: string
  expiresAt: Instant
  allocations: readonly Allocation[]
}

/** The quota's next reset where it comes before the quota's end, else null: refilled after the end helps nobody. */
export function nextRefill(quota: QuotaState): Instant | null {
  const { cycleEndsAt, expireAt } = quota
  return cycleEndsAt !== null && (expireAt === null || cycleEndsAt < expireAt) ? cycleEndsAt : null
}

/** Units that return to a quota when a hold is due. */
interface Return {
  readonly at: Instant
  readonly place: number
  readonly amount: number
}

/** From an instant on a quota gives as much as this, whatever is used or held now: it has been reset, or is over. */
interface Turn {
  readonly at: Instant
  readonly place: number
  readonly capacity: number
}

/** A reset from which more fits than from any before it. */
interface Step {
  readonly at: Instant
  readonly capacity: number
}

/**
 * Resets are looked up this much further than the last hold lasts, so that another hold seldom asks for more of them.
 */
const AHEAD_MS = 3_600_000

/**
 * When an owner's quotas can pay more than now: at resets of theirs, before their end, if nobody else took anything
 * until then (contract, §4 and §7). A quota that is over by then gives nothing, a hold that is due by then is counted
 * as returned.
 *
 * Capacity grows at a quota's first reset and at the end of a hold, and only shrinks otherwise. So beyond the last
 * hold's end no reset but each quota's first one can be the earliest that fits; before it every reset may be.
 *
 * What happens is sorted once and walked with a running sum, so that it costs quotas and holds added up, not
 * multiplied, however many amounts are asked.
 */
export class Refills {
  private readonly placeOf: ReadonlyMap<number, number>
  private readonly turns: readonly Turn[]
  private resets: Float64Array | undefined
  private horizon = -Infinity
  private returns: readonly Return[] | undefined
  private steps: readonly Step[] | undefined

  /**
   * @param quotas the owner's active quotas, rolled; their counters may move later on, their settings may not
   * @param holds the owner's open holds, which may become others later on
   */
  constructor(
    private readonly quotas: readonly QuotaState[],
    private readonly holds: { values(): Iterable<Hold> },
  ) {
    this.placeOf = new Map(quotas.map(({ id }, place) => [id, place]))
    this.turns = quotas.flatMap(turnsOf).sort(byTime)
  }

  /** To be called when counters of the quotas have moved. */
  countersChanged(): void {
    this.steps = undefined
  }

  /** To be called when holds have been opened or closed. */
  holdsChanged(): void {
    this.returns = undefined
    this.steps = undefined
  }

  /** The earliest reset from which `amount` could fit, or null where there is none. */
  at(amount: number): Instant | null {
    this.steps ??= this.walk()
    // Steps rise in both: the first one that is high enough is found by halving.
    let from = 0
    let to = this.steps.length
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.steps[middle]?.capacity ?? 0) < amount) from = middle + 1
      else to = middle
    }
    return this.steps[from]?.at ?? null
  }

  private sortedReturns(): Return[] {
    const returns: Return[] = []
    for (const { expiresAt: at, allocations } of this.holds.values()) {
      for (const { quotaId, cycleSeq, amount } of allocations) {
        const place = this.placeOf.get(quotaId)
        if (place !== undefined && this.quotas[place]?.cycleSeq === cycleSeq) returns.push({ at, place, amount })
      }
    }
    return returns.sort(byTime)
  }

  private walk(): Step[] {
    const { quotas, turns } = this
    const returns = (this.returns ??= this.sortedReturns())
    const latest = returns.at(-1)?.at ?? -Infinity
    if (this.resets === undefined || latest > this.horizon) {
      this.horizon = latest + AHEAD_MS
      this.resets = Float64Array.from(quotas.flatMap((quota) => resetsOf(quota, this.horizon))).sort()
    }
    // Negative where a total was lowered below what is taken: what returns then fills that up first.
    const left = quotas.map(({ total, used, reserved }) => total - used - reserved)
    const turned = new Uint8Array(quotas.length)
    const gives = quotas.map(remaining)
    let capacity = gives.reduce((sum, one) => sum + one, 0)
    const give = (place: number, units: number): void => {
      capacity += units - (gives[place] ?? 0)
      gives[place] = units
    }
    const steps: Step[] = []
    let highest = 0
    let nextReturn = 0
    let nextTurn = 0
    for (const at of this.resets) {
      for (let one = returns[nextReturn]; one !== undefined && one.at <= at; one = returns[(nextReturn += 1)]) {
        if (turned[one.place] === 1) continue
        const free = (left[one.place] ?? 0) + one.amount
        left[one.place] = free
        give(one.place, Math.max(0, free))
      }
      for (let turn = turns[nextTurn]; turn !== undefined && turn.at <= at; turn = turns[(nextTurn += 1)]) {
        turned[turn.place] = 1
        give(turn.place, turn.capacity)
      }
      if (capacity > highest) {
        highest = capacity
        steps.push({ at, capacity })
      }
    }
    return steps
  }
}

function byTime(a: { readonly at: Instant }, b: { readonly at: Instant }): number {
  return a.at - b.at
}

function turnsOf(quota: QuotaState, place: number): Turn[] {
  const turns: Turn[] = []
  const refill = nextRefill(quota)
  if (refill !== null) turns.push({ at: refill, place, capacity: quota.total })
  if (quota.expireAt !== null) turns.push({ at: quota.expireAt, place, capacity: 0 })
  return turns
}

/** Reset times of one quota worth looking at: those up to `horizon` and the first one after it, all before its end. */
function resetsOf(quota: QuotaState, horizon: Instant): Instant[] {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor } = quota
  const found: Instant[] = []
  if (unit === null || timeZone === null || anchor === null) return found
  let reset = nextRefill(quota)
  while (reset !== null) {
    found.push(reset)
    if (reset > horizon) break
    const next = nextBoundary({ unit, timeZone, anchor }, reset).end
    reset = next > reset && (quota.expireAt === null || next < quota.expireAt) ? next : null
  }
  return found
}
