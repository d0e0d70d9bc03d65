import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { dueAt, latestDue, type Refusals, type Spell, toldBy, type Told, withRefusals } from './spell.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 10, 21, 22)

/** A refused request, the delay until its instance writes it, and the delay until what is then due is looked for. */
interface Refused {
  readonly at: number
  readonly amount: number
  readonly instance: number
  readonly writtenAfter: number
  readonly lookedAfter: number
}

interface Event {
  readonly type: string
  readonly since: number
  readonly count: number
  readonly requested: number
  /** The time of the telling. */
  readonly at: number
}

/** Lets instances count, write and look, as they do, and returns what is told. */
function run(refused: readonly Refused[]): Event[] {
  const events: Event[] = []
  const counts = new Map<string, Refusals & { instance: number; hour: number }>()
  let spell: Spell | undefined
  const agenda: { at: number; act: () => void }[] = []
  const take = (told: Told, at: number, lookedAfter: number): void => {
    for (const { type, spell: one } of told.events)
      events.push({ type, since: one.since, count: one.count, requested: one.requested, at })
    spell = told.spell
    if (told.spell.stage !== 'over') agenda.push({ at: Math.max(at, dueAt(told.spell)) + lookedAfter, act: look })
  }
  let now = 0
  const look = (): void => {
    if (spell !== undefined && spell.stage !== 'over' && dueAt(spell) <= now) take(toldBy(spell, now, true), now, 0)
  }
  for (const { at, amount, instance, writtenAfter, lookedAfter } of refused) {
    agenda.push({
      at,
      act: () => {
        const hour = Math.floor(at / HOUR)
        const name = `${instance} ${hour}`
        const { firstAt, count, requested } = counts.get(name) ?? { firstAt: at, count: 0, requested: 0 }
        counts.set(name, { instance, hour, firstAt, lastAt: at, count: count + 1, requested: requested + amount })
      },
    })
    agenda.push({
      at: at + writtenAfter,
      act: () => {
        const mine = [...counts].filter(([, one]) => one.instance === instance)
        for (const [name, one] of mine.sort(([, a], [, b]) => a.hour - b.hour)) {
          counts.delete(name)
          take(withRefusals(spell, one, now, true), now, lookedAfter)
        }
      },
    })
  }
  while (agenda.length > 0) {
    agenda.sort((a, b) => a.at - b.at)
    const next = agenda.shift()!
    now = next.at
    next.act()
  }
  return events
}

/** The spells by the words of the contract, from all refusals at once. */
function spellsOf(refused: readonly Refused[]): Refused[][] {
  const spells: Refused[][] = []
  for (const one of [...refused].sort((a, b) => a.at - b.at)) {
    const last = spells.at(-1)?.at(-1)
    if (last === undefined || one.at - last.at >= HOUR) spells.push([one])
    else spells.at(-1)!.push(one)
  }
  return spells
}

function expectTold(refused: readonly Refused[]): void {
  const events = run(refused)
  const expected = spellsOf(refused).flatMap((spell) => {
    const days = [...new Set(spell.map(({ at }) => Math.floor(at / DAY)))]
    return [...days.map(() => 'owner.refused'), 'owner.recovered'].map((type) => [type, spell[0]!.at])
  })
  expect(events.map(({ type, since }) => [type, since])).toEqual(expected)
  for (const spell of spellsOf(refused)) {
    const mine = events.filter(({ since }) => since === spell[0]!.at)
    const sum = spell.reduce((all, { amount }) => all + amount, 0)
    const end = mine.at(-1)!
    expect([end.count, end.requested]).toEqual([spell.length, sum])
    expect(end.at - spell.at(-1)!.at).toBeGreaterThanOrEqual(HOUR)
    expect(end.at - spell.at(-1)!.at).toBeLessThan(HOUR + 10 * SECOND)
    mine.slice(0, -1).forEach(({ at, count }, n) => {
      const day = [...new Set(spell.map((one) => Math.floor(one.at / DAY)))][n]!
      const first = spell.find((one) => Math.floor(one.at / DAY) === day)!
      expect(at - first.at).toBeLessThan(10 * SECOND)
      expect(count).toBeGreaterThanOrEqual(mine[n - 1]?.count ?? 1)
      expect(count).toBeLessThanOrEqual(spell.length)
    })
  }
}

const anyRefused = (writtenAfter: number) =>
  fc.record({
    // Close together, near an hour apart, and around midnight.
    at: fc
      .tuple(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 0, 1, 59 * MINUTE), fc.integer({ min: -3, max: 3 }))
      .map(([hours, minutes, ms]) => START + hours * HOUR + minutes + ms),
    amount: fc.integer({ min: 1, max: 5 }),
    instance: fc.integer({ min: 0, max: 2 }),
    writtenAfter: fc.integer({ min: 0, max: writtenAfter }),
    lookedAfter: fc.integer({ min: 0, max: 2 * SECOND }),
  })
const distinct = (writtenAfter: number) =>
  fc.uniqueArray(anyRefused(writtenAfter), { selector: ({ at }) => at, maxLength: 40 })

describe('spells of refusals', () => {
  it('are told as the contract says, whatever instants of two days have refusals', () => {
    const instants = [0, HOUR - 1, HOUR, 2 * HOUR - 1, 2 * HOUR, 2 * HOUR + 4 * SECOND, 3 * HOUR - 1, 4 * HOUR]
    for (let chosen = 1; chosen < 2 ** instants.length; chosen += 1)
      for (const writtenAfter of [0, 4_999])
        expectTold(
          instants
            .filter((_, n) => (chosen & (2 ** n)) !== 0)
            .map((at, n) => ({
              at: START + at,
              amount: 3,
              instance: n % 2,
              writtenAfter,
              lookedAfter: writtenAfter % 2_000,
            })),
        )
  })

  it('go on by counts of another instance that are written after those of an hour later', () => {
    const one = { amount: 1, lookedAfter: 0 }
    const [first, last] = [
      { ...one, at: START, instance: 0, writtenAfter: 0 },
      { ...one, at: START + HOUR, instance: 1, writtenAfter: 0 },
    ]
    for (const writtenAfter of [2, 4_999]) {
      const between = { ...one, at: START + HOUR - 1, instance: 0, writtenAfter }
      expectTold([first, between, last])
      expectTold([first, between, { ...last, at: START + HOUR + 5 * SECOND - 1 }])
    }
    expectTold([first, last, { ...last, at: START + HOUR + 3 * SECOND, instance: 2 }])
  })

  it('are told as the contract says, for any refusals of three instances', () => {
    fc.assert(fc.property(distinct(4_999), expectTold))
  })

  it('are told at most once, however late counts are written', () => {
    fc.assert(
      fc.property(distinct(30 * HOUR), (refused) => {
        const events = run(refused)
        const told = new Map<number, string[]>()
        for (const { type, since } of events) told.set(since, [...(told.get(since) ?? []), type])
        const firsts = new Set(refused.map(({ at }) => at))
        for (const [since, types] of told) {
          expect(firsts.has(since)).toBe(true)
          expect(types.at(-1)).toBe('owner.recovered')
          expect(types.indexOf('owner.recovered')).toBe(types.length - 1)
          const days = new Set(refused.filter(({ at }) => at >= since).map(({ at }) => Math.floor(at / DAY)))
          expect(types.length - 1).toBeLessThanOrEqual(days.size)
        }
        // One after another.
        expect([...told].flatMap(([, types]) => types)).toEqual(events.map(({ type }) => type))
      }),
    )
  })

  it('are told in order although nobody looked before the next one begins', () => {
    const one = { firstAt: START, lastAt: START, count: 1, requested: 1 }
    const { spell } = withRefusals(undefined, one, START, true)
    const later = START + 3 * HOUR
    const told = withRefusals(spell, { ...one, firstAt: later, lastAt: later }, later, true)
    expect(told.events.map((event) => [event.type, event.spell.since])).toEqual([
      ['owner.refused', START],
      ['owner.recovered', START],
    ])
    expect(toldBy(told.spell, later + DAY, true).events.map((event) => event.spell.since)).toEqual([later, later])
  })

  it('are not told again by counts that were written after their end, unless they have not ended yet', () => {
    const between = (from: number, to: number): Refusals => ({
      firstAt: START + from * MINUTE,
      lastAt: START + to * MINUTE,
      count: 1,
      requested: 1,
    })
    const begun = withRefusals(undefined, between(0, 0), START, true).spell
    const over = toldBy(begun, START + 61 * MINUTE, true).spell
    expect(over.stage).toBe('over')
    // Written two hours later, and those of an hour after: all of one spell.
    const late = withRefusals(over, between(10, 20), START + 180 * MINUTE, true)
    expect(late).toEqual({ spell: { ...over, lastAt: START + 20 * MINUTE }, events: [] })
    expect(withRefusals(late.spell, between(70, 75), START + 181 * MINUTE, true).spell.stage).toBe('over')
    // Written at once: refusals go on.
    const again = withRefusals(over, between(59, 59), START + 62 * MINUTE, true).spell
    expect([again.stage, again.since]).toEqual(['pending', START + 59 * MINUTE])
  })

  it('do not end while the time is in doubt', () => {
    const { spell } = withRefusals(undefined, { firstAt: START, lastAt: START, count: 1, requested: 1 }, START, true)
    const told = toldBy(spell, START + DAY, false)
    expect(told.events.map(({ type }) => type)).toEqual(['owner.refused'])
    expect(toldBy(told.spell, START + DAY, true).events.map(({ type }) => type)).toEqual(['owner.recovered'])
    // Nor by further refusals.
    const at = START + DAY
    const more = withRefusals(told.spell, { firstAt: at, lastAt: at, count: 1, requested: 1 }, at, false)
    expect(more.events).toEqual([])
    expect(toldBy(more.spell, at, true).events.map(({ type, spell: of }) => [type, of.since])).toEqual([
      ['owner.recovered', START],
    ])
    expect(toldBy(more.spell, at + HOUR / 2, true).events).toHaveLength(2)
  })

  it('have sums up to the largest exact number', () => {
    const many = { firstAt: START, lastAt: START, count: 1, requested: Number.MAX_SAFE_INTEGER }
    const { spell } = withRefusals(withRefusals(undefined, many, START, true).spell, many, START, true)
    expect([spell.count, spell.requested]).toEqual([2, Number.MAX_SAFE_INTEGER])
  })

  it('recover from any time that a wrong clock has left', () => {
    const anyTime = fc.integer({ min: -3 * 365, max: 3 * 365 }).map((days) => START + days * DAY)
    const anySpell = fc.record({
      since: anyTime,
      lastAt: anyTime,
      count: fc.constant(1),
      requested: fc.constant(1),
      toldDay: fc.option(anyTime),
      stage: fc.constantFrom('pending' as const, 'told' as const, 'over' as const),
      next: fc.constant(null),
    })
    fc.assert(
      fc.property(anySpell, (left) => {
        let spell: Spell = left
        let now = START
        const look = (): void => {
          // As the statement finds it.
          const isDue = dueAt(spell) <= now || dueAt(spell) > latestDue(now)
          if (spell.stage !== 'over' && isDue) spell = toldBy(spell, now, true).spell
        }
        for (let n = 0; n < 5; n += 1, now += 10 * MINUTE) {
          spell = withRefusals(spell, { firstAt: now, lastAt: now, count: 1, requested: 1 }, now, true).spell
          look()
        }
        expect(spell.stage).toBe('told')
        expect(spell.lastAt).toBe(now - 10 * MINUTE)
        for (let n = 0; n < 70; n += 1, now += MINUTE) look()
        expect(spell.stage).toBe('over')
      }),
    )
  })
})
