import type { Instant } from '../time/instant.js'
import type { CapCount } from './cap.js'
import { nextBoundary } from './cycle.js'
import type { Allocation } from './draw-down.js'
import type { QuotaState } from './quota.js'
import { boundaryFrom, countsUntil } from './rolling-window.js'

/** An open hold: what it keeps from which quotas, and until when. */
export interface Hold {
  operationId: string
  expiresAt: Instant
  allocations: readonly Allocation[]
  /** When it was made and the caps that counted it, with its whole amount; absent where no cap did. */
  counted?: { readonly at: Instant; readonly caps: readonly CapCount[] }
}

/**
 * When more can be taken, before the quota's end, else null: refilled after the end helps nobody. It is the next reset,
 * of a rolling cap the next boundary at which something leaves its window.
 */
export function nextRefill({ window, cycleEndsAt, expireAt }: QuotaState): Instant | null {
  const next = window == null ? cycleEndsAt : (window[0]?.until ?? null)
  return next !== null && (expireAt === null || next < expireAt) ? next : null
}

/** From an instant on a quota has this much left, whatever is used or held now: it has been reset, or is over. */
interface Turn {
  readonly at: Instant
  readonly place: number
  readonly left: number
}

/** Units that come back to a quota: at the end of a hold, or because they leave a window. */
interface Return {
  readonly at: Instant
  readonly place: number
  readonly amount: number
  /** When the slot that counts them leaves the window of a rolling cap; null for any other quota. */
  readonly slot: Instant | null
}

/** An instant from which more fits than at any before it. */
interface Step {
  readonly at: Instant
  readonly capacity: number
}

/**
 * Resets are looked up this much further than the last hold lasts, so that another hold seldom asks for more of them.
 */
const AHEAD_MS = 3_600_000

/**
 * When an owner can take more than now, if nobody else took anything until then (contract, §4, §7 and §9): the payers
 * together pay it, and each `enforce` cap lets it pass. A payer that is over by then gives nothing, a cap that is over
 * bounds nothing, a hold that is due by then is counted as returned.
 *
 * The instants looked at are resets of payers and caps and the boundaries between slots of rolling caps, all before
 * the end of their quota, and the ends of caps. What fits grows at a payer's or a cap's first reset, where units leave
 * a window, at the end of a cap and at the end of a hold, and only shrinks otherwise. So beyond the last hold's end no
 * reset but each quota's first one can be the earliest that fits; before it every reset may be, and of each rolling cap
 * the first boundary after the end of a hold.
 *
 * What happens is sorted once and walked with a running sum, so that it costs quotas, slots and holds added up, not
 * multiplied, however many amounts are asked.
 */
export class Refills {
  /** Payers first, then caps; a quota's place here is its place everywhere below. */
  private readonly quotas: readonly QuotaState[]
  private readonly placeOf: ReadonlyMap<number, number>
  private readonly turns: readonly Turn[]
  private resets: Float64Array | undefined
  private horizon = -Infinity
  private holdsByEnd: readonly Hold[] | undefined
  private steps: readonly Step[] | undefined

  /**
   * @param payers the owner's active payers, rolled; their counters may move later on, their settings may not
   * @param holds the owner's open holds, which may become others later on
   * @param caps the owner's active caps, rolled; only those that enforce count
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

  /** To be called when counters of the quotas have moved. */
  countersChanged(): void {
    this.steps = undefined
  }

  /** To be called when holds have been opened or closed. */
  holdsChanged(): void {
    this.holdsByEnd = undefined
    this.steps = undefined
  }

  /** The earliest instant from which `amount` could be taken, or null where there is none. */
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

  /** What comes back at the ends of holds, in their order: to the counts that still run. */
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

  /** The instants worth looking at, in order. */
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

/** What can be taken, as time goes on and nobody takes anything. */
class Outlook {
  /** Negative where a total was lowered below what is taken: what comes back then fills that up first. */
  private readonly leftOf: number[]
  private readonly hasTurned: Uint8Array
  /** What ends of holds have given back of what a slot counts, by place and slot. */
  private readonly returnedOf = new Map<string, number>()
  /** What the payers give together. */
  private payable = 0

  /** @param quotas the payers, then the caps that enforce; rolled */
  constructor(
    quotas: readonly QuotaState[],
    private readonly payers: number,
  ) {
    this.leftOf = quotas.map(({ total, used, reserved }) => total - used - reserved)
    this.hasTurned = new Uint8Array(quotas.length)
    for (let place = 0; place < payers; place += 1) this.payable += Math.max(0, this.leftOf[place] ?? 0)
  }

  /** A hold has ended. */
  returned({ place, amount, slot }: Return): void {
    if (slot !== null) {
      const key = `${place} ${slot}`
      this.returnedOf.set(key, (this.returnedOf.get(key) ?? 0) + amount)
    }
    this.comesBack(place, amount)
  }

  /** A slot has left its window, with what no hold has given back before. */
  left({ place, amount, slot }: Return): void {
    this.comesBack(place, amount - (this.returnedOf.get(`${place} ${slot}`) ?? 0))
  }

  /** A quota has been reset, or is over. */
  turned({ place, left }: Turn): void {
    this.hasTurned[place] = 1
    this.nowLeft(place, left)
  }

  /** What one consume could take. */
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
  // A payer that is over gives nothing, a cap that is over bounds nothing.
  if (quota.expireAt !== null) turns.push({ at: quota.expireAt, place, left: quota.cap == null ? 0 : Infinity })
  return turns
}

/** What leaves a rolling cap's window before the cap's end, if no hold ended before. */
function leavesOf({ window, expireAt }: QuotaState, place: number): Return[] {
  return (window ?? [])
    .filter(({ until }) => expireAt === null || until < expireAt)
    .map(({ until, used, reserved }) => ({ at: until, place, amount: used + reserved, slot: until }))
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
