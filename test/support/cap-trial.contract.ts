import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { DataSource } from 'typeorm'
import { CYCLE_UNITS } from '../../src/domain/cycle.js'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { CapTrialReader, type TrialBounds } from '../../src/ledger/read/cap-trial-reader.js'
import type { TrialSettings } from '../../src/domain/cap-trial.js'
import type { QuotaRow } from '../../src/ledger/rows/quota.entity.js'
import { TotalsStore } from '../../src/ledger/totals/totals-store.js'
import type { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal } from './quota-api.js'

/** TRIAL_RUNS: random histories of an owner, and a third as many of a group. A failing run prints its seed and path. */
const RUNS = Number(process.env['TRIAL_RUNS'] ?? 6)
const SEED = Number(process.env['MODEL_SEED'] ?? process.env['PROPERTY_SEED'] ?? Date.now() % 2 ** 31)
const ABSENT = Number.MAX_SAFE_INTEGER

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

// --- Histories -------------------------------------------------------------------------------------------------------

const amount = fc.integer({ min: 1, max: 30 })
/** Less than most operations. */
const some = fc.integer({ min: 1, max: 5 })
const which = fc.nat({ max: 40 })
const who = fc.nat({ max: 2 })
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
const pause = fc.oneof(
  fc.constantFrom(1, 999, SECOND, MINUTE, HOUR, DAY),
  fc.integer({ min: 1, max: 30 * MINUTE }),
  fc.integer({ min: 1, max: 40 }).map((hours) => hours * HOUR),
)
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pause' as const), pause }) },
  // The next midnight, or a millisecond before.
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('midnight' as const), early: fc.nat({ max: 1 }) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('consume' as const), who, amount, again: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      who,
      amount,
      ttl: fc.oneof(fc.integer({ min: 1, max: 3_600 }), fc.integer({ min: 3_600, max: 86_400 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      items: fc.array(fc.record({ who, amount }), { minLength: 2, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('at once' as const),
      who,
      amounts: fc.array(amount, { minLength: 2, maxLength: 5 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('commit' as const), which, amount: maybe(some) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const), which }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('refund' as const), which, amount: maybe(some) }) },
)

const total = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 60, max: 400 }))
const cap = fc.oneof(
  fc.record({ quota_type: fc.constant(1), total }),
  fc.record({
    quota_type: fc.constant(2),
    total,
    cycle_unit: fc.constantFrom(...CYCLE_UNITS),
    // After the beginning, and beyond the end.
    resetsIn: fc.oneof(fc.constantFrom(1, HOUR, DAY, 40 * DAY), fc.integer({ min: 1, max: 5 * DAY })),
    cycle_time_zone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'),
  }),
  fc.record({
    quota_type: fc.constant(3),
    total,
    window_seconds: fc.oneof(
      fc.constantFrom(60, 3_600, 86_400, 604_800),
      fc.integer({ min: 60, max: 3_600 }),
      fc.integer({ min: 3_600, max: 400_000 }),
    ),
  }),
)
type Cap = typeof cap extends fc.Arbitrary<infer C> ? C : never
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** More than the life of most holds and the cycles of most caps. */
const history = fc.record({
  caps: fc.array(cap, { minLength: 2, maxLength: 6 }),
  before: fc.array(step, { maxLength: 6 }),
  steps: fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }),
})

/** The settings in a body, as the service reads them. */
function trialSettings(body: Body): TrialSettings {
  return {
    quotaType: body.quota_type,
    total: body.total,
    cycleUnit: body.cycle_unit ?? null,
    cycleResetAt: body.cycle_reset_at === undefined ? null : Date.parse(body.cycle_reset_at),
    cycleTimeZone: body.cycle_time_zone ?? null,
    windowSeconds: body.window_seconds ?? null,
  }
}

/** What was refused of one cap, by the beginning of the day. */
type ByDay = Map<number, { count: number; requested: number }>

/** Operations of some owners as callers make them, and what the answers said about caps. */
class Callers {
  /** Settled or not. */
  private readonly operations: string[] = []
  /** By the id of the cap. */
  readonly refused = new Map<number, ByDay>()
  /** The operations that at least one cap would have refused. */
  readonly observed: ByDay = new Map()
  count = 0

  constructor(
    private readonly app: TestApp,
    private readonly api: ChannelApi,
    private readonly owners: readonly number[],
  ) {}

  async run(one: Step): Promise<void> {
    const { app, api } = this
    switch (one.kind) {
      case 'pause':
        app.clock.pass(one.pause / 1000)
        return
      case 'midnight':
        app.clock.set(this.today + DAY - one.early)
        return
      case 'consume': {
        const key = `k${fresh()}`
        const body = { ...this.owner(one.who), amount: one.amount }
        this.made(await app.post(api.consume, body, { key }))
        // A replay counts nothing.
        if (one.again) await app.post(api.consume, body, { key })
        return
      }
      case 'reserve': {
        const body = { ...this.owner(one.who), amount: one.amount, ttl_seconds: one.ttl }
        this.made(await app.post(api.reserve, body, { key: `k${fresh()}` }))
        return
      }
      case 'batch': {
        const items = one.items.map((item) => ({
          ...this.owner(item.who),
          amount: item.amount,
          idempotency_key: `k${fresh()}`,
        }))
        const { results } = bodyOf(200, await app.post(`${api.consume}/batch`, { items }))
        for (const { status, operation } of results) this.made({ status, body: operation })
        return
      }
      case 'at once': {
        const bodies = one.amounts.map((units) => ({ ...this.owner(one.who), amount: units }))
        for (const answer of await Promise.all(
          bodies.map(async (body) => app.post(api.consume, body, { key: `k${fresh()}` })),
        ))
          this.made(answer)
        return
      }
      case 'commit':
      case 'refund':
      case 'release': {
        const id = this.operations[one.which % Math.max(1, this.operations.length)]
        if (id === undefined) return
        const body = 'amount' in one && one.amount !== undefined ? { amount: one.amount } : {}
        const key = one.kind === 'refund' ? { key: `k${fresh()}` } : {}
        const answer = await app.post(`${api.usage}/${id}/${one.kind}`, body, key)
        if (answer.status !== 409) bodyOf(200, answer)
      }
    }
  }

  /** Forgets what was counted so far; earlier operations can still be settled. */
  begin(): void {
    this.count = 0
    this.refused.clear()
    this.observed.clear()
  }

  private owner(place: number): Body {
    return { [this.api.owner]: this.owners[place % this.owners.length] }
  }

  private made({ status, body }: { status: number; body: Body }): void {
    if (status === 409) return
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`)
    this.operations.push(body.id)
    this.count += 1
    for (const id of body.would_refuse ?? []) add(this.refused, id, this.today, body.amount)
    if (body.would_refuse !== undefined) addTo(this.observed, this.today, body.amount)
  }

  private get today(): number {
    return Math.floor(this.app.clock.now() / DAY) * DAY
  }
}

function add(of: Map<number, ByDay>, id: number, day: number, units: number): void {
  const known = of.get(id) ?? new Map()
  addTo(known, day, units)
  of.set(id, known)
}

function addTo(days: ByDay, day: number, units: number, times = 1): void {
  const { count, requested } = days.get(day) ?? { count: 0, requested: 0 }
  days.set(day, { count: count + times, requested: requested + units })
}

const shown = (days: ByDay = new Map()): Body => ({
  would_refuse: [...days.values()].reduce(
    (sum, { count, requested }) => ({ count: sum.count + count, requested: sum.requested + requested }),
    { count: 0, requested: 0 },
  ),
  by_day: [...days].map(([day, sum]) => ({ day: new Date(day).toISOString(), ...sum })),
})

/** A cap on trial (contract, §15), for either channel. */
export function capTrialContract(api: ChannelApi, app: () => TestApp): void {
  const path = `${api.quotas}/caps/preview`
  const groups = `${api.quotas}/groups`
  const trial = async (body: object): Promise<Body> => bodyOf(200, await app().post(path, body))
  const trialOfGroup = async (id: number, body: object): Promise<Body> =>
    bodyOf(200, await app().post(`${groups}/${id}/caps/preview`, body))
  /** The same with other bounds. */
  const readerWith = (bounds: Partial<TrialBounds>): CapTrialReader<QuotaRow> => {
    const { channel } = ledgerOf(app(), api)
    const [dataSource, transactions] = [app().app.get(DataSource), app().app.get(TransactionRunner)]
    const all = { operations: 1_000_000, members: 100_000, part: 100, page: 50, owners: 10, ...bounds }
    return new CapTrialReader(channel, dataSource, transactions, app().clock, all)
  }
  const create = async (body: object): Promise<number> => bodyOf(201, await app().post(api.quotas, body)).id
  const payers = async (owner: number, more: object = {}): Promise<void> => {
    const of = { [api.owner]: owner, ...more }
    const { clock } = app()
    await create({ ...of, quota_type: 1, total: 1_000_000, expire_at: clock.after(9_999_999) })
    // Spent first, so that some operations have two payers, and others none but this.
    await create({ ...of, quota_type: 2, total: 25, cycle_unit: 'day', cycle_reset_at: clock.after(3_600) })
  }
  const consume = async (owner: number, units: number): Promise<Body> =>
    bodyOf(200, await app().post(api.consume, { [api.owner]: owner, amount: units }, { key: `k${fresh()}` }))
  /** The body of a real cap, created now; a trial gets the same later. */
  const settings = (one: Cap): Body => {
    if (!('resetsIn' in one)) return one
    const { resetsIn, ...rest } = one
    return { ...rest, cycle_reset_at: app().clock.after(resetsIn / 1000) }
  }
  const made = async (of: object, sent: Body): Promise<number> =>
    create({
      ...of,
      ...sent,
      cap: 'observe',
      ...(sent.quota_type === 1 ? { expire_at: app().clock.after(9_999_999) } : {}),
    })
  /** Passes the time until the period since `start` has whole days. @returns the days */
  const wholeDays = (start: number): number => {
    const days = Math.ceil((app().clock.now() - start) / DAY) || 1
    app().clock.set(start + days * DAY)
    return days
  }
  /** Steps until 31 days have passed. */
  const live = async (callers: Callers, steps: readonly Step[]): Promise<void> => {
    const end = app().clock.now() + 30 * DAY
    for (const one of steps) if (one.kind !== 'pause' || app().clock.now() + one.pause <= end) await callers.run(one)
  }

  describe('a cap on trial', () => {
    it('counts and refuses what a real one did, whatever its type and whatever happened', async () => {
      await fc.assert(
        fc.asyncProperty(history, async ({ caps, before, steps }) => {
          const owner = fresh()
          await payers(owner)
          await create({ [api.owner]: owner, quota_type: 3, total: 200, window_seconds: 40_000, cap: 'enforce' })
          const callers = new Callers(app(), api, [owner])
          for (const one of before) await callers.run(one)
          app().clock.pass(1)
          callers.begin()
          const start = app().clock.now()
          const sent = caps.map(settings)
          const ids: number[] = []
          for (const body of sent) ids.push(await made({ [api.owner]: owner }, body))
          await live(callers, steps)
          const days = wholeDays(start)
          for (const [n, body] of sent.entries())
            expect(await trial({ [api.owner]: owner, ...body, days })).toEqual({
              days,
              operations: callers.count,
              ...shown(callers.refused.get(ids[n] ?? 0)),
              complete: true,
            })
          // What the answers said is what was counted.
          await ledgerOf(app(), api).refusals.flush()
          const { items } = bodyOf(200, await app().get(`${api.quotas}/refusals?${api.owner}=${owner}`))
          const observed: ByDay = new Map()
          for (const { hour, code, count, requested } of items.reverse())
            if (code === 'quota_observed') addTo(observed, Math.floor(Date.parse(hour) / DAY) * DAY, requested, count)
          expect(shown(observed)).toEqual(shown(callers.observed))
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true },
      )
    }, 600_000)

    it('of a group counts and refuses what a real shared one did, of all members and those below', async () => {
      await fc.assert(
        fc.asyncProperty(history, async ({ caps, before, steps }) => {
          const owners = [fresh(), fresh(), fresh()] as const
          const parent = bodyOf(201, await app().post(groups, { name: `group ${fresh()}` })).id
          const child = bodyOf(201, await app().post(groups, { name: `group ${fresh()}`, parent_id: parent })).id
          for (const [group, members] of [
            [parent, owners.slice(0, 1)],
            [child, owners.slice(1)],
          ] as const)
            bodyOf(200, await app().post(`${groups}/${group}/members`, { [`${api.owner}s`]: members }))
          for (const owner of owners) await payers(owner)
          const stranger = fresh()
          await payers(stranger)
          const callers = new Callers(app(), api, owners)
          for (const one of before) await callers.run(one)
          app().clock.pass(1)
          callers.begin()
          const start = app().clock.now()
          const sent = caps.map(settings)
          const ids: number[] = []
          for (const body of sent) ids.push(await made({ group_id: parent }, body))
          await live(callers, steps)
          await consume(stranger, 20)
          const days = wholeDays(start)
          const inPieces = readerWith({ part: 4, page: 2, owners: 2 })
          for (const [n, body] of sent.entries()) {
            const expected = {
              days,
              operations: callers.count,
              ...shown(callers.refused.get(ids[n] ?? 0)),
              complete: true,
            }
            expect(await trialOfGroup(parent, { ...body, days })).toEqual(expected)
            expect(await inPieces.ofGroup('admin', parent, trialSettings(body), days)).toEqual(expected)
          }
        }),
        { numRuns: Math.ceil(RUNS / 3), seed: SEED, endOnFailure: true },
      )
    }, 600_000)

    it('changes nothing', async () => {
      const owner = fresh()
      await payers(owner)
      await consume(owner, 7)
      const before = await app().get(api.summary(owner))
      const body = { [api.owner]: owner, quota_type: 3, total: 6, window_seconds: 60 }
      expect(await trial(body)).toMatchObject({ days: 30, operations: 1, would_refuse: { count: 1, requested: 7 } })
      expect(bodyOf(200, await app().get(api.summary(owner)))).toEqual(before.body)
      const changes = bodyOf(200, await app().get(`${api.quotas}/changes?${api.owner}=${owner}`))
      expect(changes.items.map(({ action }: Body) => action)).toEqual(['create', 'create'])
    })

    it('takes a reset in the past, so that all cycles are whole', async () => {
      const owner = fresh()
      await payers(owner)
      const { clock } = app()
      clock.set(Math.ceil(clock.now() / DAY) * DAY + 2 * DAY + 12 * HOUR)
      for (let day = 0; day < 3; day += 1) {
        await consume(owner, 6)
        clock.pass(86_400)
      }
      const body = { [api.owner]: owner, quota_type: 2, total: 10, cycle_unit: 'day', days: 5 }
      const midnight = Math.floor(clock.now() / DAY) * DAY
      const past = { ...body, cycle_reset_at: new Date(midnight - 9 * DAY).toISOString() }
      expect(await trial(past)).toMatchObject({ operations: 3, would_refuse: { count: 0 }, by_day: [] })
      const later = { ...body, cycle_reset_at: new Date(midnight + DAY).toISOString() }
      expect(await trial(later)).toMatchObject({ operations: 3, would_refuse: { count: 2, requested: 12 } })
    })

    it('tells the days in UTC, to the millisecond', async () => {
      const owner = fresh()
      await payers(owner)
      const { clock } = app()
      const midnight = (Math.floor(clock.now() / DAY) + 1) * DAY
      for (const at of [midnight - 1, midnight, midnight + DAY - 1]) {
        clock.set(at)
        await consume(owner, 2)
      }
      const day = (at: number, count: number) => ({ day: new Date(at).toISOString(), count, requested: 2 * count })
      const { by_day: days } = await trial({ [api.owner]: owner, quota_type: 1, total: 1, days: 3 })
      expect(days).toEqual([day(midnight - DAY, 1), day(midnight, 2)])
    })

    it('returns what a commit does not keep, and what is refunded, to the count that holds it', async () => {
      const owner = fresh()
      await payers(owner)
      const { clock } = app()
      const reserve = { [api.owner]: owner, amount: 10 }
      const { id } = bodyOf(201, await app().post(api.reserve, reserve, { key: `k${fresh()}` }))
      bodyOf(200, await app().post(`${api.usage}/${id}/commit`, { amount: 4 }))
      await consume(owner, 6)
      await consume(owner, 1)
      const body = { [api.owner]: owner, quota_type: 1, total: 10, days: 1 }
      expect((await trial(body)).would_refuse).toEqual({ count: 1, requested: 1 })
      clock.pass(3_600)
      const resetAt = new Date(clock.now()).toISOString()
      await consume(owner, 10)
      bodyOf(200, await app().post(`${api.usage}/${id}/refund`, {}, { key: `k${fresh()}` }))
      await consume(owner, 4)
      // The refund is of the cycle before.
      const cycle = { ...body, quota_type: 2, cycle_unit: 'month', cycle_reset_at: resetAt }
      expect((await trial(cycle)).would_refuse).toEqual({ count: 2, requested: 5 })
    })

    it('begins with its period, half-open at the end of a hold', async () => {
      const owner = fresh()
      await payers(owner)
      const { clock } = app()
      await consume(owner, 3)
      clock.pass(60)
      const reserve = { [api.owner]: owner, amount: 8, ttl_seconds: 60 }
      bodyOf(201, await app().post(api.reserve, reserve, { key: `k${fresh()}` }))
      clock.pass(59.999)
      await consume(owner, 3)
      clock.pass(0.001)
      await consume(owner, 7)
      clock.pass(86_400 - 120)
      // The first consume is at the beginning.
      const body = { [api.owner]: owner, quota_type: 1, total: 13, days: 1 }
      expect(await trial(body)).toMatchObject({ operations: 4, would_refuse: { count: 1, requested: 3 } })
      clock.pass(0.001)
      expect(await trial(body)).toMatchObject({ operations: 3, would_refuse: { count: 0, requested: 0 } })
    })

    it('is about the newest operations if there are too many, each once', async () => {
      const owner = fresh()
      await payers(owner)
      const consumed: string[] = []
      for (let units = 1; units <= 6; units += 1) {
        consumed.push((await consume(owner, units)).id)
        app().clock.pass(60)
      }
      const body = { quota_type: 1, total: 0 }
      const tried = async (bounds: Partial<TrialBounds>) =>
        readerWith({ part: 3, page: 2, ...bounds }).ofOwner('admin', owner, trialSettings(body), 1)
      const all = { operations: 6, would_refuse: { count: 6, requested: 21 }, complete: true }
      expect(await tried({ operations: 6 })).toMatchObject(all)
      const newest = { operations: 4, would_refuse: { count: 4, requested: 18 }, complete: false }
      expect(await tried({ operations: 4 })).toMatchObject(newest)
      // A refunded consume has rows of both kinds.
      for (const id of consumed) bodyOf(200, await app().post(`${api.usage}/${id}/refund`, {}, { key: `k${fresh()}` }))
      expect(await tried({ operations: 6 })).toMatchObject(all)
      expect(await tried({ operations: 4 })).toMatchObject(newest)
    })

    it('of a group is about as many members as can be read', async () => {
      const owners = [fresh(), fresh(), fresh()]
      const { id } = bodyOf(201, await app().post(groups, { name: `group ${fresh()}` }))
      bodyOf(200, await app().post(`${groups}/${id}/members`, { [`${api.owner}s`]: owners }))
      for (const owner of owners) {
        await payers(owner)
        await consume(owner, 2)
      }
      const tried = async (members: number) =>
        readerWith({ members, page: 2 }).ofGroup('admin', id, trialSettings({ quota_type: 1, total: 3 }), 1)
      expect(await tried(3)).toMatchObject({ operations: 3, would_refuse: { count: 2 }, complete: true })
      expect(await tried(2)).toMatchObject({ operations: 2, would_refuse: { count: 1 }, complete: false })
    })

    it('is not complete where operations of the period have been removed', async () => {
      const { store } = ledgerOf(app(), api)
      const removed = async (beginsAt: number): Promise<void> =>
        app()
          .app.get(TransactionRunner)
          .write(async (transaction) => {
            await new TotalsStore(store).lockState(transaction)
            const sql = `UPDATE ${store.state.table} SET ${store.state.column('beginsAt')} = ?`
            await transaction.execute(sql, [store.state.bind('beginsAt', beginsAt)])
          })
      const start = app().clock.now() - 2 * DAY
      const body = { [api.owner]: fresh(), quota_type: 1, total: 1, days: 2 }
      await removed(start + 1)
      expect(await trial(body)).toMatchObject({ complete: false })
      await removed(start)
      expect(await trial(body)).toMatchObject({ complete: true })
      // Long ago, for the other tests.
      await removed(0)
    })

    it('of an owner without operations has counted none', async () => {
      const none = { days: 30, operations: 0, would_refuse: { count: 0, requested: 0 }, by_day: [], complete: true }
      const body = { quota_type: 3, total: 0, window_seconds: 60 }
      expect(await trial({ ...body, [api.owner]: ABSENT })).toEqual(none)
      const { id } = bodyOf(201, await app().post(groups, { name: `group ${fresh()}` }))
      expect(await trialOfGroup(id, body)).toEqual(none)
      bodyOf(204, await app().delete(`${groups}/${id}`))
      for (const absent of [id, ABSENT])
        expect(refusal(await app().post(`${groups}/${absent}/caps/preview`, body))).toEqual([404, 'group_not_found'])
    })

    it('of the default group is about everybody in no group', async () => {
      const { id } = bodyOf(201, await app().post(groups, { name: `group ${fresh()}`, default: true }))
      const [alone, elsewhere] = [fresh(), fresh()]
      const other = bodyOf(201, await app().post(groups, { name: `group ${fresh()}` })).id
      bodyOf(200, await app().post(`${groups}/${other}/members`, { [`${api.owner}s`]: [elsewhere] }))
      app().clock.pass(40 * 86_400)
      for (const owner of [alone, elsewhere]) {
        await payers(owner)
        await consume(owner, 5)
      }
      const body = { quota_type: 1, total: 4, days: 1 }
      expect(await trialOfGroup(id, body)).toMatchObject({ operations: 1, would_refuse: { count: 1, requested: 5 } })
      bodyOf(200, await app().put(`${groups}/${id}`, { default: false }))
      expect(await trialOfGroup(id, body)).toMatchObject({ operations: 0 })
    })

    it('names every mistake at once', async () => {
      const broken = async (body: object): Promise<string[]> => Object.keys(brokenFields(await app().post(path, body)))
      const of = { [api.owner]: 7 }
      expect(await broken({ quota_type: 4, total: -1, days: 32, label: 'x', cap: 'observe', expire_at: null })).toEqual(
        expect.arrayContaining([api.owner, 'quota_type', 'total', 'days', 'label', 'cap', 'expire_at']),
      )
      expect(await broken({ ...of, quota_type: 2, total: 1, window_seconds: 60, days: 0 })).toEqual(
        expect.arrayContaining(['days', 'window_seconds', 'cycle_unit', 'cycle_reset_at']),
      )
      expect(await broken({ ...of, quota_type: 3, total: 1, cycle_unit: 'day', cycle_time_zone: 'Mars' })).toEqual(
        expect.arrayContaining(['window_seconds', 'cycle_unit', 'cycle_time_zone']),
      )
      expect(await broken({ ...of, quota_type: 1, total: 1, group_id: 5 })).toEqual(['group_id'])
      const group = await app().post(`${groups}/7/caps/preview`, { ...of, quota_type: 1, total: 1 })
      expect(Object.keys(brokenFields(group))).toEqual([api.owner])
      const nulls = { window_seconds: null, cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      await trial({ ...of, ...nulls, quota_type: 1, total: 1 })
    })
  })
}
