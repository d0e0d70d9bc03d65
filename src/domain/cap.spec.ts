import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { metOften } from '../../test/support/fast-check.js'
import { quotaState } from '../../test/support/quota-state.js'
import { refillsAt } from '../../test/support/refills.js'
import type { Instant } from '../common/instant.js'
import { available, type CapCount, countIn, refusingCaps, isCap, payable, settleIn, wouldRefuse } from './cap.js'
import { inForce } from './chain.js'
import { type CycleUnit, resetsOf } from './cycle.js'
import { type Allocation, byDrawDown, cut, draw } from './draw-down.js'
import { beginCount, isActive, type QuotaState, remaining, roll, statusAt } from './quota.js'
import { type Hold, nextRefill, Refills } from './refill.js'
import { EMPTY_WINDOW, type Move, slotMilliseconds } from './rolling-window.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = Date.parse('2026-11-21T12:00:00Z')

const rolling = (given: Partial<QuotaState>): QuotaState =>
  quotaState({ quotaType: 3, cap: 'enforce', windowSeconds: 60, window: EMPTY_WINDOW, ...given })

/** Cyclic from an instant on. */
const cyclic = (unit: CycleUnit, timeZone: string, first: Instant): Partial<QuotaState> => ({
  quotaType: 2,
  cycleUnit: unit,
  cycleTimeZone: timeZone,
  cycleAnchorAt: first,
  cycleEndsAt: first,
})

/** An operation as both sides know it: what was asked, and what has become of it. */
interface Operation {
  readonly at: Instant
  readonly amount: number
  readonly expiresAt: Instant | null
  state: 'kept' | 'held' | 'over'
  /** What a kept one has charged and not given back. */
  kept: number
  readonly allocations: readonly Allocation[]
  readonly counts: readonly CapCount[]
  /** The caps that were active then, and how often each quota had been reset by hand, for the model. */
  readonly caps: readonly number[]
  readonly resets: ReadonlyMap<number, number>
}

/** The owner as the rules of this folder keep it, the way the judge asks them. */
class Books {
  readonly operations: Operation[] = []
  now: Instant

  constructor(
    readonly quotas: QuotaState[],
    now: Instant,
  ) {
    this.now = now
  }

  /** Time goes on, and every hold that is due by then is given back. */
  advance(to: Instant): void {
    this.now = to
    for (const one of this.quotas) roll(one, to)
    for (const operation of this.operations) {
      if (operation.state !== 'held' || operation.expiresAt! > to) continue
      operation.state = 'over'
      this.pay(operation.allocations, { reserved: -1 })
      this.count(operation, { reserved: -operation.amount })
    }
  }

  get limits() {
    const { payers, caps } = inForce([this.quotas], this.now)
    return { payers: [...payers].sort(byDrawDown), caps }
  }

  take(amount: number, ttl: number | null, resets: ReadonlyMap<number, number>): Operation | undefined {
    const { payers, caps } = this.limits
    const allocations = draw(payers, amount)
    if (allocations === undefined || refusingCaps(caps, amount).length > 0) return undefined
    this.pay(allocations, ttl === null ? { used: 1 } : { reserved: 1 })
    const counts = caps.map((cap) => countIn(cap, this.now, ttl === null ? { used: amount } : { reserved: amount }))
    const operation: Operation = {
      at: this.now,
      amount,
      expiresAt: ttl === null ? null : this.now + ttl,
      state: ttl === null ? 'kept' : 'held',
      kept: ttl === null ? amount : 0,
      allocations,
      counts,
      caps: caps.map(({ id }) => id),
      resets: new Map(resets),
    }
    this.operations.push(operation)
    return operation
  }

  settle(operation: Operation, charged: number): void {
    this.pay(operation.allocations, { reserved: -1 })
    this.pay(cut(operation.allocations, 0, charged), { used: 1 })
    this.count(operation, { used: charged, reserved: -operation.amount })
    operation.state = 'kept'
    operation.kept = charged
  }

  refund(operation: Operation, back: number): void {
    this.pay(cut(operation.allocations, operation.kept - back, operation.kept), { used: -1 })
    this.count(operation, { used: -back })
    operation.kept -= back
  }

  refillsAt(amount: number): Instant | null {
    const { payers, caps } = this.limits
    const holds = this.operations
      .filter(({ state }) => state === 'held')
      .map(({ at, expiresAt, allocations, counts }, n): Hold => ({
        operationId: String(n),
        expiresAt: expiresAt!,
        allocations,
        counted: { at, caps: counts },
      }))
    return refillsAt(payers, holds, amount, caps)
  }

  private count({ counts, at }: Operation, move: Move): void {
    for (const count of counts)
      settleIn(
        this.quotas.find(({ id }) => id === count.quotaId)!,
        count,
        at,
        move,
      )
  }

  private pay(parts: readonly Allocation[], by: { used?: 1 | -1; reserved?: 1 | -1 }): void {
    for (const { quotaId, cycleSeq, amount } of parts) {
      const paid = this.quotas.find(({ id }) => id === quotaId)!
      if (paid.cycleSeq !== cycleSeq) continue
      paid.used += (by.used ?? 0) * amount
      paid.reserved += (by.reserved ?? 0) * amount
    }
  }
}

/**
 * The same owner, known by its settings and its operations alone: every question adds the whole history up again. No
 * counter, no slot, nothing that is carried from one instant to the next.
 */
class Model {
  /** How often each quota has been reset by hand, or its window changed. */
  readonly resets = new Map<number, number>()

  constructor(
    private readonly quotas: readonly QuotaState[],
    private readonly operations: readonly Operation[],
  ) {}

  /** A new count by hand. */
  reset(id: number): void {
    this.resets.set(id, (this.resets.get(id) ?? 0) + 1)
  }

  /** What a quota counts at an instant, if nothing happens until then. */
  counted(one: QuotaState, at: Instant): { used: number; reserved: number } {
    let used = 0
    let reserved = 0
    for (const operation of this.operations) {
      if ((operation.resets.get(one.id) ?? 0) !== (this.resets.get(one.id) ?? 0)) continue
      if (!this.sameCount(one, operation.at, at)) continue
      const held = operation.state === 'held' && operation.expiresAt! > at
      used += operation.state === 'kept' ? this.share(one, operation, operation.kept) : 0
      reserved += held ? this.share(one, operation, operation.amount) : 0
    }
    return { used, reserved }
  }

  left(one: QuotaState, at: Instant): number {
    const { used, reserved } = this.counted(one, at)
    return one.total - used - reserved
  }

  accepts(amount: number, at: Instant): boolean {
    const active = this.quotas.filter((one) => one.deletedAt === null && statusAt(one, at) === 'active')
    const payers = active.filter((one) => one.cap === null)
    const paid = payers.reduce((sum, one) => sum + Math.max(0, this.left(one, at)), 0)
    return paid >= amount && active.every((one) => one.cap !== 'enforce' || this.left(one, at) >= amount)
  }

  /** Every instant at which anything of the owner resets, ends, returns or leaves a window, one after another. */
  refillsAt(amount: number, now: Instant): Instant | null {
    if (!this.quotas.some((one) => one.cap === null && one.deletedAt === null && statusAt(one, now) === 'active'))
      return null
    const last = this.lastEvent(now)
    const instants = new Set<Instant>()
    for (const { state, expiresAt } of this.operations) if (state === 'held') instants.add(expiresAt!)
    for (const one of this.quotas) {
      if (one.expireAt !== null) instants.add(one.expireAt)
      if (one.cycleUnit !== null) for (const at of this.calendar(one, last + 25 * HOUR)) instants.add(at)
      if (one.windowSeconds === null) continue
      const slot = slotMilliseconds(one.windowSeconds)
      for (let at = now - (now % slot); at <= last + slot; at += slot) instants.add(at)
    }
    return [...instants].sort((a, b) => a - b).find((at) => at > now && this.accepts(amount, at)) ?? null
  }

  /** After this nothing comes back any more but by resets. */
  private lastEvent(now: Instant): Instant {
    let last = now
    for (const { state, expiresAt, at } of this.operations) {
      if (state === 'held') last = Math.max(last, expiresAt!)
      for (const { windowSeconds } of this.quotas)
        if (state !== 'over' && windowSeconds !== null)
          last = Math.max(last, at + windowSeconds * 1000 + slotMilliseconds(windowSeconds))
    }
    return last
  }

  private share({ id, cap }: QuotaState, { allocations, caps }: Operation, units: number): number {
    if (cap !== null) return caps.includes(id) ? units : 0
    return cut(allocations, 0, units).reduce((sum, part) => (part.quotaId === id ? sum + part.amount : sum), 0)
  }

  private sameCount(one: QuotaState, then: Instant, at: Instant): boolean {
    if (one.windowSeconds !== null) {
      const slot = Math.ceil((one.windowSeconds * 1000) / 24)
      const whole = then + one.windowSeconds * 1000
      return at < whole + ((slot - (whole % slot)) % slot)
    }
    if (one.cycleUnit === null) return true
    const until = Math.min(at, (one.expireAt ?? Infinity) - 1)
    return !this.calendar(one, until).some((reset) => reset > then && reset <= until)
  }

  private readonly calendars = new Map<string, Instant[]>()

  /** Resets of a quota from its anchor to an instant, and the next one. */
  private calendar({ cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor }: QuotaState, to: Instant) {
    const key = `${unit} ${timeZone} ${anchor}`
    const known = this.calendars.get(key) ?? []
    const reset = resetsOf({ unit: unit!, timeZone: timeZone!, anchor: anchor! })
    while ((known.at(-1) ?? 0) <= to) known.push(reset(known.length))
    this.calendars.set(key, known)
    return known
  }
}

const anyZone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe')
const quarters = (most: number) => fc.integer({ min: 1, max: most }).map((n) => n * 15 * MINUTE)

const anyPayer = fc.record({
  unit: fc.constantFrom<CycleUnit | null>(null, null, 'hour', 'hour', 'day'),
  zone: anyZone,
  first: quarters(8),
  end: fc.option(quarters(40), { nil: null, freq: 1 }),
  total: fc.integer({ min: 5, max: 60 }),
})
const anyCap = fc.record({
  cap: fc.constantFrom('enforce' as const, 'enforce' as const, 'enforce' as const, 'observe' as const),
  unit: fc.constantFrom<CycleUnit | 'window' | null>('window', 'window', 'window', 'hour', 'day', null),
  seconds: fc.constantFrom(60, 61, 600, 3600, 7201),
  zone: anyZone,
  first: quarters(8),
  end: fc.option(quarters(40), { nil: null, freq: 2 }),
  total: fc.integer({ min: 3, max: 30 }),
})

const anyStep = fc.record({
  what: fc.constantFrom(
    ...([
      'consume',
      'consume',
      'consume',
      'consume',
      'reserve',
      'reserve',
      'commit',
      'release',
      'refund',
      'refund',
    ] as const),
    ...(['wait', 'wait', 'reset', 'total', 'window', 'switch', 'flip'] as const),
  ),
  amount: fc.integer({ min: 1, max: 14 }),
  which: fc.nat(1000),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  after: fc.oneof(
    fc.constant(0),
    fc.nat(20_000),
    fc.nat(10 * MINUTE),
    // To a boundary, and to the last millisecond before it.
    fc.constantFrom(2500, 2499, 25_000, 60_000, 59_999, 62_500, HOUR, HOUR - 1),
    fc.nat(90 * MINUTE),
  ),
  ttl: fc.oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 5000 })).map((seconds) => seconds * 1000),
})
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never

const anyOwner = fc
  .record({
    // Some of these days clocks change somewhere.
    start: fc.constantFrom(
      NOW,
      Date.parse('2026-10-24T22:31:00Z'),
      Date.parse('2026-03-29T00:10:00.250Z'),
      Date.parse('2026-03-08T05:20:00Z'),
    ),
    payers: fc.array(anyPayer, { minLength: 1, maxLength: 3 }),
    caps: fc.array(anyCap, { minLength: 1, maxLength: 3 }),
  })
  .map(({ start, payers, caps }) => ({
    start,
    quotas: [
      ...caps.map(({ cap, unit, seconds, zone, first, end, total }, n) => {
        const common = { id: n + 1, cap, total, expireAt: end === null ? null : start + end }
        if (unit === 'window') return rolling({ ...common, windowSeconds: seconds })
        return quotaState({ ...common, ...(unit === null ? {} : cyclic(unit, zone, start + first)) })
      }),
      ...payers.map(({ unit, zone, first, end, total }, n) =>
        quotaState({
          id: 10 + n,
          total,
          expireAt: end === null ? null : start + end,
          ...(unit === null ? {} : cyclic(unit, zone, start + first)),
        }),
      ),
    ],
  }))

/** What a step does beside taking. @returns whether it did anything */
function settleSome(books: Books, { what, which, part }: Step): void {
  const pick = (state: Operation['state']): Operation | undefined => {
    const some = books.operations.filter((one) => one.state === state && (state === 'held' || one.kept > 0))
    return some[which % Math.max(1, some.length)]
  }
  const held = pick('held')
  if (what === 'commit' && held !== undefined) books.settle(held, Math.max(1, Math.round(part * held.amount)))
  if (what === 'release' && held !== undefined) books.settle(held, 0)
  const kept = pick('kept')
  if (what === 'refund' && kept !== undefined) books.refund(kept, Math.max(1, Math.round(part * kept.kept)))
}

function editSome(books: Books, model: Model, { what, which, amount, part }: Step): void {
  const one = books.quotas[which % books.quotas.length]!
  const begin = (): void => {
    beginCount(one)
    model.reset(one.id)
  }
  if (what === 'reset') begin()
  if (what === 'total') one.total = Math.floor(part * 40)
  if (what === 'switch')
    one.state = one.state === 'disabled' ? statusAt({ ...one, state: 'active' }, books.now) : 'disabled'
  if (what === 'flip' && one.cap !== null) one.cap = one.cap === 'enforce' ? 'observe' : 'enforce'
  if (what === 'window' && one.windowSeconds !== null) {
    one.windowSeconds = 60 + amount * 100
    begin()
  }
}

const countersOf = (quotas: readonly QuotaState[]): unknown =>
  quotas.map(({ id, used, reserved }) => ({ id, used, reserved }))

describe('an owner with payers and caps', () => {
  it('counts, pays and refuses like a model that adds up the whole history, and predicts when an amount fits', () => {
    const seen = { taken: 0, refused: 0, later: 0, never: 0, observed: 0 }
    fc.assert(
      fc.property(anyOwner, fc.array(anyStep, { minLength: 5, maxLength: 30 }), ({ start, quotas }, steps) => {
        const books = new Books(structuredClone(quotas), start)
        const model = new Model(books.quotas, books.operations)
        for (const step of steps) {
          books.advance(books.now + step.after)
          const { now } = books
          if (step.what === 'consume' || step.what === 'reserve') {
            const { amount } = step
            const accepts = model.accepts(amount, now)
            const before = structuredClone(books.quotas)
            const inWay = before.filter(
              (one) => one.cap === 'enforce' && isActive(one, now) && model.left(one, now) < amount,
            )
            expect(refusingCaps(books.limits.caps, amount).map(({ id }) => id)).toEqual(inWay.map(({ id }) => id))
            expect(available(books.limits) >= amount).toBe(accepts)
            if (!accepts) {
              const expected = model.refillsAt(amount, now)
              expect(books.refillsAt(amount)).toBe(expected)
              seen[expected === null ? 'never' : 'later'] += 1
            }
            seen.observed += wouldRefuse(books.limits.caps, amount).length
            const taken = books.take(amount, step.what === 'consume' ? null : step.ttl, model.resets)
            expect(taken !== undefined).toBe(accepts)
            seen[accepts ? 'taken' : 'refused'] += 1
            if (taken === undefined) expect(books.quotas).toEqual(before)
            else {
              // Every acceptance fits every cap that enforces.
              for (const one of books.limits.caps)
                if (one.cap === 'enforce') expect(one.used + one.reserved).toBeLessThanOrEqual(one.total)
              expect(taken.caps).toEqual(
                before.filter((one) => one.cap !== null && isActive(one, now)).map(({ id }) => id),
              )
            }
          }
          settleSome(books, step)
          editSome(books, model, step)
          expect(countersOf(books.quotas)).toEqual(
            books.quotas.map((one) => ({ id: one.id, ...model.counted(one, now) })),
          )
        }
      }),
      { numRuns: 500 },
    )
    for (const times of Object.values(seen)) expect(times).toBeGreaterThan(metOften(100))
  })
})

describe('a rolling cap', () => {
  it('admits no more than its total in any interval of its window, and at most a slot later what an ideal window admits', () => {
    let windows = 0
    const anyCall = fc.record({
      what: fc.constantFrom('consume', 'consume', 'consume', 'reserve', 'commit', 'release', 'refund'),
      amount: fc.integer({ min: 1, max: 4 }),
      which: fc.nat(1000),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      // In permille of the window: mostly close together, so that the cap is full.
      after: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(200), fc.constantFrom(1000, 999, 1042)),
      ttl: fc.integer({ min: 1, max: 200_000 }),
    })
    fc.assert(
      fc.property(
        fc.constantFrom(60, 61, 100, 3600),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(100_000),
        fc.array(anyCall, { minLength: 20, maxLength: 60 }),
        (seconds, total, start, calls) => {
          const cap = rolling({ id: 1, windowSeconds: seconds, total })
          const books = new Books([cap, quotaState({ id: 2, total: 1_000_000 })], NOW + start)
          const { operations } = books
          const whole = seconds * 1000
          const keptOf = (one: Operation): number =>
            one.state === 'held' ? one.amount : one.state === 'kept' ? one.kept : 0
          /** What was taken from an instant on, before another one, less what has come back since. */
          const takenIn = (from: Instant, to: Instant): number =>
            operations.reduce((sum, one) => sum + (one.at >= from && one.at < to ? keptOf(one) : 0), 0)
          for (const call of calls) {
            books.advance(books.now + call.after * seconds)
            const { now } = books
            if (call.what === 'consume' || call.what === 'reserve') {
              // What an ideal window holds now, and what one holds that lets units go a slot late.
              const late = takenIn(now - whole - slotMilliseconds(seconds) + 1, Infinity)
              const ideal = takenIn(now - whole + 1, Infinity)
              const taken = books.take(call.amount, call.what === 'consume' ? null : call.ttl, new Map())
              if (taken === undefined) expect(late + call.amount).toBeGreaterThan(total)
              else expect(ideal + call.amount).toBeLessThanOrEqual(total)
            }
            settleSome(books, call)
            // A stretch holds most where it begins with something taken.
            const most = Math.max(0, ...operations.map(({ at }) => takenIn(at, at + whole)))
            expect(most).toBeLessThanOrEqual(total)
            windows += operations.length
          }
        },
      ),
      { numRuns: 200 },
    )
    expect(windows).toBeGreaterThan(metOften(10_000))
  })

  it('returns a unit at most a 24th of the window late, and never early', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 2_678_400 }), fc.nat(10_000_000), (seconds, after) => {
        const at = NOW + after
        const cap = rolling({ windowSeconds: seconds, total: 5 })
        countIn(cap, at, { used: 5 })
        const then = (now: Instant): number => {
          const copy = { ...cap }
          roll(copy, now)
          return remaining(copy)
        }
        const whole = at + seconds * 1000
        expect(then(whole - 1)).toBe(0)
        expect(then(whole + Math.ceil((seconds * 1000) / 24))).toBe(5)
        const back = nextRefill(cap)!
        expect(then(back - 1)).toBe(0)
        expect(then(back)).toBe(5)
      }),
      { numRuns: 300 },
    )
  })

  it('keeps its counts consistent while its clock steps back and forth', () => {
    const anyMove = fc.record({
      by: fc.oneof(fc.integer({ min: -90_000, max: 90_000 }), fc.integer({ min: -5000, max: 20_000 })),
      amount: fc.integer({ min: 1, max: 6 }),
      what: fc.constantFrom('take', 'take', 'hold', 'commit', 'back'),
      which: fc.nat(100),
    })
    fc.assert(
      fc.property(fc.array(anyMove, { minLength: 10, maxLength: 60 }), (moves) => {
        const cap = rolling({ total: 10 })
        const taken: { at: Instant; count: CapCount; used: number; reserved: number }[] = []
        let now = NOW
        for (const { by, amount, what, which } of moves) {
          now += by
          roll(cap, now)
          if ((what === 'take' || what === 'hold') && remaining(cap) >= amount) {
            const move = { used: what === 'take' ? amount : 0, reserved: what === 'hold' ? amount : 0 }
            taken.push({ at: now, count: countIn(cap, now, move), ...move })
          }
          const one = taken[which % Math.max(1, taken.length)]
          if (one !== undefined && what === 'commit') {
            settleIn(cap, one.count, one.at, { used: one.reserved, reserved: -one.reserved })
            Object.assign(one, { used: one.used + one.reserved, reserved: 0 })
          }
          if (one !== undefined && what === 'back') {
            settleIn(cap, one.count, one.at, { used: -one.used, reserved: -one.reserved })
            Object.assign(one, { used: 0, reserved: 0 })
          }
          expect(cap.used).toBe(cap.window!.reduce((sum, slot) => sum + slot.used, 0))
          expect(cap.reserved).toBe(cap.window!.reduce((sum, slot) => sum + slot.reserved, 0))
          expect(Math.min(cap.used, cap.reserved)).toBeGreaterThanOrEqual(0)
          expect(cap.used + cap.reserved).toBeLessThanOrEqual(cap.total)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('begins a new count after a manual reset, and returns nothing of earlier counts', () => {
    const cap = rolling({ total: 10 })
    const count = countIn(cap, NOW, { used: 7 })
    beginCount(cap)
    expect(cap).toMatchObject({ used: 0, reserved: 0, window: [], cycleSeq: 1 })
    countIn(cap, NOW, { used: 4 })
    expect(settleIn(cap, count, NOW, { used: -7 })).toBe(false)
    expect(cap.used).toBe(4)
  })

  it('continues to empty while it is expired, disabled or deleted', () => {
    for (const given of [{ expireAt: NOW + 1 }, { state: 'disabled' }, { deletedAt: NOW + 1 }] as const) {
      const cap = rolling({ ...given })
      countIn(cap, NOW, { used: 7 })
      roll(cap, NOW + 62_500)
      expect(cap.used).toBe(0)
    }
  })

  it('refills at the next boundary at which units return, before its end', () => {
    const cap = rolling({})
    expect(nextRefill(cap)).toBeNull()
    countIn(cap, NOW + 1, { reserved: 2 })
    expect(nextRefill(cap)).toBe(NOW + 62_500)
    expect(nextRefill({ ...cap, expireAt: NOW + 62_501 })).toBe(NOW + 62_500)
    expect(nextRefill({ ...cap, expireAt: NOW + 62_500 })).toBeNull()
  })
})

describe('a cap of any type', () => {
  it('in mode observe counts beyond its total, refuses nothing and stops at the largest exact number', () => {
    for (const cap of [quotaState({ cap: 'observe', total: 5 }), rolling({ cap: 'observe', total: 5 })]) {
      const limits = { payers: [quotaState({ id: 2, total: 100 })], caps: [cap] }
      expect(wouldRefuse([cap], 5)).toEqual([])
      expect(wouldRefuse([cap], 6)).toEqual([cap])
      countIn(cap, NOW, { used: 60 })
      expect(refusingCaps([cap], 1)).toEqual([])
      expect(available(limits)).toBe(100)
      countIn(cap, NOW, { used: Number.MAX_SAFE_INTEGER })
      expect(cap.used).toBe(Number.MAX_SAFE_INTEGER)
    }
  })

  it('pays nothing', () => {
    const caps = [quotaState({ cap: 'enforce', total: 50 })]
    expect(available({ payers: [], caps })).toBe(0)
    expect(payable([])).toBe(0)
    expect(new Refills([], [], [{ ...caps[0]!, ...cyclic('hour', 'UTC', NOW + HOUR), used: 50 }]).at(1)).toBeNull()
  })

  it('is separated from payers, in order of ids, if it is active', () => {
    const quotas = [
      quotaState({ id: 4, cap: 'enforce' }),
      quotaState({ id: 3 }),
      quotaState({ id: 2, cap: 'observe' }),
      quotaState({ id: 1, cap: 'enforce', state: 'disabled' }),
      quotaState({ id: 5, cap: 'enforce', deletedAt: NOW }),
      quotaState({ id: 6, cap: 'enforce', expireAt: NOW }),
      quotaState({ id: 7, state: 'disabled' }),
    ]
    const { payers, caps } = inForce([quotas], NOW)
    expect(payers.map(({ id }) => id)).toEqual([3])
    expect(caps.map(({ id }) => id)).toEqual([2, 4])
    expect(quotas.filter(isCap)).toHaveLength(5)
  })

  it('returns no more units after a new count has begun', () => {
    const cap = quotaState({ cap: 'enforce', ...cyclic('hour', 'UTC', NOW + HOUR) })
    const count = countIn(cap, NOW, { reserved: 7 })
    expect(settleIn(cap, count, NOW, { reserved: 0 })).toBe(true)
    roll(cap, NOW + HOUR)
    countIn(cap, NOW + HOUR, { reserved: 2 })
    expect(settleIn(cap, count, NOW, { reserved: -7, used: 7 })).toBe(false)
    expect(cap).toMatchObject({ used: 0, reserved: 2 })
  })
})

describe('refills_at of payers and caps', () => {
  const hold = (expiresAt: Instant, quotaId: number, amount: number, caps: number[], at = NOW): Hold => ({
    operationId: `${quotaId} ${expiresAt}`,
    expiresAt,
    allocations: [{ quotaId, cycleSeq: 0, amount }],
    counted: { at, caps: caps.map((id) => ({ quotaId: id, cycleSeq: 0 })) },
  })

  it('is the first instant at which both admit the amount', () => {
    const payer = quotaState({ id: 1, used: 10, ...cyclic('hour', 'UTC', NOW + HOUR) })
    const cap = quotaState({ id: 2, cap: 'enforce', used: 10, ...cyclic('hour', 'UTC', NOW + 90 * MINUTE) })
    const at = (amount: number): Instant | null => refillsAt([payer], [], amount, [cap])
    expect(at(1)).toBe(NOW + 90 * MINUTE)
    cap.used = 6
    expect(at(4)).toBe(NOW + HOUR)
    expect(at(5)).toBe(NOW + 90 * MINUTE)
    expect(at(11)).toBeNull()
  })

  it('examines as many boundaries of a window as necessary', () => {
    const cap = rolling({ id: 2, total: 6 })
    for (const after of [0, 2500, 5000]) countIn(cap, NOW + after, { used: 2 })
    const at = (amount: number): Instant | null => refillsAt([quotaState({ total: 100 })], [], amount, [cap])
    expect([2, 3, 5, 7].map(at)).toEqual([NOW + 60_000, NOW + 62_500, NOW + 65_000, null])
  })

  it('is the end of a cap, which limits nothing from then on', () => {
    const cap = quotaState({ id: 2, cap: 'enforce', used: 10, expireAt: NOW + MINUTE })
    expect(new Refills([quotaState({ total: 100 })], [], [cap]).at(50)).toBe(NOW + MINUTE)
    const ended = quotaState({ total: 100, expireAt: NOW + MINUTE })
    expect(new Refills([ended], [], [cap]).at(50)).toBeNull()
  })

  it('is the end of a hold, which returns its units to payer and cap alike', () => {
    const cap = rolling({ id: 2, total: 10 })
    countIn(cap, NOW, { reserved: 10 })
    const payer = quotaState({ id: 1, total: 100, reserved: 10 })
    expect(new Refills([payer], [hold(NOW + 1, 1, 10, [2])], [cap]).at(5)).toBe(NOW + 1)
    expect(new Refills([payer], [hold(NOW + 5001, 1, 10, [2])], [cap]).at(5)).toBe(NOW + 5001)
    // It leaves the window before it ends.
    expect(new Refills([payer], [hold(NOW + 70_000, 1, 10, [2])], [cap]).at(5)).toBe(NOW + 60_000)
    // It gives back what it kept once, and not again where its slot leaves the window.
    countIn(cap, NOW, { used: 10 })
    expect(new Refills([payer], [hold(NOW + 1, 1, 10, [2])], [cap]).at(5)).toBe(NOW + 60_000)
    expect(new Refills([payer], [hold(NOW + 1, 1, 10, [2])], [cap]).at(11)).toBeNull()
  })

  it('returns nothing of a hold to a later count', () => {
    const cap = quotaState({ id: 2, cap: 'enforce', used: 8, reserved: 2, cycleSeq: 1 })
    const other = rolling({ id: 3 })
    const payer = quotaState({ id: 1, total: 100, reserved: 10 })
    const at = (amount: number): Instant | null => refillsAt([payer], [hold(NOW + 1, 1, 10, [2])], amount, [cap, other])
    expect(at(1)).toBeNull()
    cap.cycleSeq = 0
    expect(at(1)).toBe(NOW + 1)
  })

  it('ignores a rolling cap from its end on', () => {
    const cap = rolling({ id: 2, expireAt: NOW + 30_000 })
    countIn(cap, NOW, { used: 10 })
    const payer = quotaState({ id: 1, total: 10, reserved: 10 })
    const at = (due: Instant): Instant | null => refillsAt([payer], [hold(due, 1, 10, [])], 10, [cap])
    expect(at(NOW + 30_000)).toBe(NOW + 30_000)
    expect(at(NOW + 30_001)).toBe(NOW + 30_001)
  })

  it('ignores observe caps', () => {
    const cap = rolling({ id: 2, cap: 'observe', total: 1 })
    countIn(cap, NOW, { used: 10 })
    const payer = quotaState({ used: 10, ...cyclic('hour', 'UTC', NOW + HOUR) })
    expect(new Refills([payer], [], [cap]).at(10)).toBe(NOW + HOUR)
  })

  it('takes milliseconds with 184 payers, 16 caps and 5,000 holds', () => {
    const payers = Array.from({ length: 184 }, (_, n) =>
      quotaState({
        id: 100 + n,
        total: 1_000_000,
        ...cyclic(n % 2 === 0 ? 'hour' : 'day', 'UTC', NOW + HOUR + n * 7919),
      }),
    )
    const caps = Array.from({ length: 16 }, (_, n) =>
      n % 4 === 3
        ? quotaState({ id: n, cap: 'enforce', total: 1_000_000, ...cyclic('hour', 'UTC', NOW + HOUR + n) })
        : rolling({ id: n, total: 1_000_000, windowSeconds: 60 + n }),
    )
    const counts = caps.map(({ id }) => id)
    const holds = Array.from({ length: 5000 }, (_, n) => {
      const payer = payers[n % payers.length]!
      payer.reserved += 100
      const at = NOW - 1000 + n / 5
      for (const cap of caps) countIn(cap, at, { reserved: 100 })
      return { ...hold(NOW + 1000 + ((n * 17_279) % (24 * HOUR)), payer.id, 100, counts, at), operationId: String(n) }
    })
    const start = process.cpuUsage()
    const refills = new Refills(payers, holds, caps)
    const answers = Array.from({ length: 500 }, (_, n) => refills.at(1_000_000 + n - 499))
    const { user, system } = process.cpuUsage(start)
    const took = (user + system) / 1000
    expect(answers[0]).not.toBeNull()
    // Some 60 ms; payers, caps and holds multiplied are many seconds for a single amount.
    expect(took).toBeLessThan(1500)
  })
})
