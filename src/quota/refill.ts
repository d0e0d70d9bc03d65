import type { Instant } from '../time/instant.js'
import type { CapCount } from './cap.js'
import { cycleAt } from './cycle.js'
import type { Allocation } from './draw-down.js'
import type { QuotaState } from './quota.js'
import { boundaryFrom, countsUntil } from './rolling-window.js'

/** An open hold: its quotas, amounts and expiry. */
export interface Hold {
  operationId: string
  expiresAt: Instant
  allocations: readonly Allocation[]
  /** Its creation time and the caps that counted its whole amount; absent if no cap did. */
  counted?: { readonly at: Instant; readonly caps: readonly CapCount[] }
}

/**
 * The next time at which the quota has more units: its next reset, or for a rolling cap the next boundary at which
 * units leave its window. Null if this is not before the quota's end.
 */
export function nextRefill({ window, cycleEndsAt, expireAt }: QuotaState): Instant | null {
  const next = window == null ? cycleEndsAt : (window[0]?.until ?? null)
  return next !== null && (expireAt === null || next < expireAt) ? next : null
}

/** The units that a quota has left from an instant on, regardless of the present ones: after a reset, or its end. */
interface Turn {
  readonly at: Instant
  readonly place: number
  readonly left: number
}

/** Units that return to a quota: at the end of a hold, or when they leave a window. */
interface Return {
  readonly at: Instant
  readonly place: number
  readonly amount: number
  /** The time when their slot leaves the window of a rolling cap; null for other quotas. */
  readonly slot: Instant | null
}

/** An instant from which more fits than at any earlier one. */
interface Step {
  readonly at: Instant
  readonly capacity: number
}

/**
 * Resets are computed for this much longer than the last hold, so that another hold seldom requires more of them.
 */
const AHEAD_MS = 3_600_000

/**
 * Computes when an owner can consume more than now, if nobody else consumes anything (contract, §4, §7 and §9): when
 * the payers together can pay the amount, and each `enforce` cap admits it. A payer that has ended by then gives
 * nothing, a cap that has ended limits nothing, and a hold that is due by then counts as returned.
 *
 * The candidates are resets of payers and caps and the slot boundaries of rolling caps, all before the end of their
 * quota, and the ends of caps. The amount that fits increases only at a payer's or a cap's first reset, when units
 * leave a window, at the end of a cap and at the end of a hold. So after the last hold's end, only each quota's first
 * reset can be the earliest that fits; before it, every reset can be, and of each rolling cap the first boundary after
 * the end of a hold.
 *
 * The events are sorted once and traversed with a running sum. So the cost is the sum of quotas, slots and holds, not
 * their product, for any number of amounts.
 */
export class Refills {
  /** Payers first, then caps; the fields below refer to quotas by their index here. */
  private readonly quotas: readonly QuotaState[]
  private readonly placeOf: ReadonlyMap<number, number>
  private readonly turns: readonly Turn[]
  private resets: Float64Array | undefined
  private horizon = -Infinity
  private holdsByEnd: readonly Hold[] | undefined
  private steps: readonly Step[] | undefined

  /**
   * @param payers the owner's active payers, rolled; their counters may change later, their settings must not
   * @param holds the owner's open holds, which may change later
   * @param caps the owner's active caps, rolled; only `enforce` caps count
   */
  constructor(
    private readonly payers: readonly QuotaState[],
    private readonly holds: { values(): Iterable<Hold> },
    caps: readonly QuotaState[] = [],
  ) {
    this.quotas = [...payers, ...caps.filter(({ cap }) => cap === 'enforce')]
    this.placeOf = new Map(this.quotas.map(({ id }, place) => [id, place]))
    this.turns = this.quotas.flatMap(turnsOf).sort(byTime)
  }

  /** Call it after counters of the quotas have changed. */
  countersChanged(): void {
    this.steps = undefined
  }

  /** Call it after holds have been opened or closed. */
  holdsChanged(): void {
    this.holdsByEnd = undefined
    this.steps = undefined
  }

  /** The earliest instant from which `amount` fits, or null if there is none. */
  at(amount: number): Instant | null {
    this.steps ??= this.walk()
    // Steps increase in time and amount: a binary search finds the first one that is high enough.
    let from = 0
    let to = this.steps.length
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.steps[middle]?.capacity ?? 0) < amount) from = middle + 1
      else to = middle
    }
    return this.steps[from]?.at ?? null
  }

  private walk(): Step[] {
    const holds = (this.holdsByEnd ??= [...this.holds.values()].sort((a, b) => a.expiresAt - b.expiresAt))
    const returns = this.returnsOf(holds)
    const leaves = this.quotas.flatMap(leavesOf).sort(byTime)
    const outlook = new Outlook(this.quotas, this.payers.length)
    const steps: Step[] = []
    let highest = 0
    let nextReturn = 0
    let nextLeave = 0
    let nextTurn = 0
    for (const at of this.instants(holds, leaves)) {
      for (let one = returns[nextReturn]; one !== undefined && one.at <= at; one = returns[(nextReturn += 1)])
        outlook.returned(one)
      for (let one = leaves[nextLeave]; one !== undefined && one.at <= at; one = leaves[(nextLeave += 1)])
        outlook.left(one)
      for (let turn = this.turns[nextTurn]; turn !== undefined && turn.at <= at; turn = this.turns[(nextTurn += 1)])
        outlook.turned(turn)
      const capacity = outlook.available()
      if (capacity > highest) {
        highest = capacity
        steps.push({ at, capacity })
      }
    }
    return steps
  }

  /** The units that return at the ends of holds, in order, to counts that are still current. */
  private returnsOf(holdsByEnd: readonly Hold[]): Return[] {
    const returns: Return[] = []
    for (const { expiresAt: at, allocations, counted } of holdsByEnd) {
      let whole = 0
      for (const { quotaId, cycleSeq, amount } of allocations) {
        whole += amount
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (place !== undefined) returns.push({ at, place, amount, slot: null })
      }
      for (const { quotaId, cycleSeq } of counted?.caps ?? []) {
        const place = this.placeOfCount(quotaId, cycleSeq)
        if (counted === undefined || place === undefined) continue
        const seconds = this.quotas[place]?.windowSeconds ?? null
        const slot = seconds === null ? null : countsUntil(seconds, counted.at)
        if (slot === null || at < slot) returns.push({ at, place, amount: whole, slot })
      }
    }
    return returns
  }

  private placeOfCount(quotaId: number, cycleSeq: number): number | undefined {
    const place = this.placeOf.get(quotaId)
    return place !== undefined && this.quotas[place]?.cycleSeq === cycleSeq ? place : undefined
  }

  /** The candidate instants, in order. */
  private instants(holdsByEnd: readonly Hold[], leaves: readonly Return[]): Float64Array {
    const latest = holdsByEnd.at(-1)?.expiresAt ?? -Infinity
    if (this.resets === undefined || latest > this.horizon) {
      this.horizon = latest + AHEAD_MS
      this.resets = Float64Array.from(this.quotas.flatMap((quota) => resetsOf(quota, this.horizon))).sort()
    }
    const caps = this.quotas.slice(this.payers.length)
    if (caps.length === 0) return this.resets
    const others = leaves.map(({ at }) => at)
    for (const { windowSeconds, expireAt } of caps) {
      if (expireAt !== null) others.push(expireAt)
      if (windowSeconds == null) continue
      let last = -Infinity
      for (const hold of holdsByEnd) {
        if (hold.expiresAt <= last) continue
        last = boundaryFrom(windowSeconds, hold.expiresAt)
        if (expireAt === null || last < expireAt) others.push(last)
      }
    }
    return Float64Array.from([...this.resets, ...others]).sort()
  }
}

/** The amount that can be consumed as time advances, if nobody consumes anything. */
class Outlook {
  /** Negative if a total was lowered below what is used: returned units first make up for this. */
  private readonly leftOf: number[]
  private readonly hasTurned: Uint8Array
  /** The units of a slot that ends of holds have already returned, by index and slot. */
  private readonly returnedOf = new Map<string, number>()
  /** The sum that the payers can give. */
  private payable = 0

  /** @param quotas the payers, then the `enforce` caps; rolled */
  constructor(
    quotas: readonly QuotaState[],
    private readonly payers: number,
  ) {
    this.leftOf = quotas.map(({ total, used, reserved }) => total - used - reserved)
    this.hasTurned = new Uint8Array(quotas.length)
    for (let place = 0; place < payers; place += 1) this.payable += Math.max(0, this.leftOf[place] ?? 0)
  }

  /** A hold ends. */
  returned({ place, amount, slot }: Return): void {
    if (slot !== null) {
      const key = `${place} ${slot}`
      this.returnedOf.set(key, (this.returnedOf.get(key) ?? 0) + amount)
    }
    this.comesBack(place, amount)
  }

  /** A slot leaves its window, with the units that no hold has already returned. */
  left({ place, amount, slot }: Return): void {
    this.comesBack(place, amount - (this.returnedOf.get(`${place} ${slot}`) ?? 0))
  }

  /** A quota resets or ends. */
  turned({ place, left }: Turn): void {
    this.hasTurned[place] = 1
    this.nowLeft(place, left)
  }

  /** The largest amount that one consume can take. */
  available(): number {
    let least = this.payable
    for (let place = this.payers; place < this.leftOf.length; place += 1)
      least = Math.min(least, this.leftOf[place] ?? 0)
    return least
  }

  private comesBack(place: number, amount: number): void {
    if (this.hasTurned[place] !== 1) this.nowLeft(place, (this.leftOf[place] ?? 0) + amount)
  }

  private nowLeft(place: number, left: number): void {
    if (place < this.payers) this.payable += Math.max(0, left) - Math.max(0, this.leftOf[place] ?? 0)
    this.leftOf[place] = left
  }
}

function byTime(a: { readonly at: Instant }, b: { readonly at: Instant }): number {
  return a.at - b.at
}

function turnsOf(quota: QuotaState, place: number): Turn[] {
  const turns: Turn[] = []
  const refill = nextRefill(quota)
  if (refill !== null && quota.window == null) turns.push({ at: refill, place, left: quota.total })
  // A payer that has ended gives nothing, a cap that has ended limits nothing.
  if (quota.expireAt !== null) turns.push({ at: quota.expireAt, place, left: quota.cap == null ? 0 : Infinity })
  return turns
}

/** The units that leave a rolling cap's window before the cap's end, if no hold ends earlier. */
function leavesOf({ window, expireAt }: QuotaState, place: number): Return[] {
  return (window ?? [])
    .filter(({ until }) => expireAt === null || until < expireAt)
    .map(({ until, used, reserved }) => ({ at: until, place, amount: used + reserved, slot: until }))
}

/** The candidate resets of one quota: those up to `horizon` and the first one after it, all before its end. */
function resetsOf(quota: QuotaState, horizon: Instant): Instant[] {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor } = quota
  const found: Instant[] = []
  if (unit === null || timeZone === null || anchor === null) return found
  let reset = nextRefill(quota)
  while (reset !== null) {
    found.push(reset)
    if (reset > horizon) break
    const next = cycleAt({ unit, timeZone, anchor }, reset).end
    reset = next > reset && (quota.expireAt === null || next < quota.expireAt) ? next : null
  }
  return found
}
