import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Response } from 'supertest'
import { CYCLE_UNITS } from '../../src/domain/cycle.js'
import { TestApp } from './app.js'
import { ChainModel, type Count, type Expected, type Operation, type Quota, type Rule } from './chain.model.js'
import type { ChannelApi } from './channel-api.js'
import { type Body, bodyOf, fresh, START, stopSweepers, stopUpkeep, sweeperOf } from './quota-api.js'
import { forSharedRules } from './store.js'
import { contradictionsOf } from './verify.js'

/**
 * Random histories of owners in groups, run on the service and on a model, whose answers must be equal: moves, changed
 * parents, a default group, shared quotas, members' counts with overrides, caps of each kind, holds and their ends.
 *
 * A failing run prints its seed; MODEL_SEED repeats a series, MODEL_RUNS sets the number of histories a channel.
 */
const SEED = Number(process.env['MODEL_SEED'] ?? process.env['PROPERTY_SEED'] ?? Date.now() % 2 ** 31)
const STEPS = 60
const OWNERS = 4
const GROUPS = 5
/** Every counter is compared after so many steps; these reads cost most. */
const COMPARE_EVERY = 4

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const which = fc.nat({ max: 60 })
// Larger than most of what one quota has: several levels pay.
const amount = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 16 }) }, fc.integer({ min: 1, max: 40 }))
const total = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.integer({ min: 0, max: 40 }))
const span = fc.oneof(
  fc.integer({ min: 1, max: 59 }).map((minutes) => minutes * MINUTE),
  fc.integer({ min: 1, max: 48 }).map((hours) => hours * HOUR),
  fc.integer({ min: 1, max: 60 }).map((days) => days * DAY),
)
const unit = fc.constantFrom(...CYCLE_UNITS)
const windowSeconds = fc.constantFrom(60, 3600, 7200, 86_400)
const maybe = <T>(value: fc.Arbitrary<T>, freq = 2): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq })

const create = fc.record({
  kind: fc.constant('create' as const),
  // Most of them belong to groups.
  level: fc.nat({ max: OWNERS + 2 * GROUPS - 1 }),
  perMember: fc.boolean(),
  type: fc.constantFrom(1 as const, 2 as const, 2 as const, 3 as const),
  cap: fc.constantFrom('enforce' as const, 'observe' as const, null, null, null, null),
  total,
  endsIn: span,
  unit,
  resetsIn: span,
  windowSeconds,
})

const command = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant('consume' as const), which, amount }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('reserve' as const), which, amount, minutes: maybe(which) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('settle' as const), which, amount: maybe(amount) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('refund' as const), which, amount: maybe(amount) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('check' as const), which, amount }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      items: fc.array(fc.record({ which, amount }), { minLength: 2, maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('again' as const), which }) },
  { weight: 5, arbitrary: create },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('edit' as const),
      which,
      field: fc.constantFrom('total', 'total', 'status', 'end', 'unit', 'reset', 'window', 'cap'),
      total,
      span,
      unit,
      windowSeconds,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('editCount' as const), which, total: maybe(total) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('giveBack' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restore' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reset' as const), which }) },
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('move' as const), which, group: fc.nat({ max: GROUPS }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('parent' as const), which, group: fc.nat({ max: GROUPS }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('default' as const), which }) },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

const jump = fc.oneof(
  { weight: 16, arbitrary: fc.constant({ by: 0 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 * MINUTE }).map((by) => ({ by })) },
  { weight: 2, arbitrary: span.map((by) => ({ by })) },
  // To a time at which something changes by itself, or a millisecond off.
  { weight: 8, arbitrary: fc.record({ event: fc.nat({ max: 5 }), beside: fc.constantFrom(-1, 0, 0, 0, 1) }) },
)

const world = fc.record({
  first: fc.array(create, { minLength: 14, maxLength: 18 }),
  groups: fc.array(which, { minLength: OWNERS, maxLength: OWNERS }),
  steps: fc.array(fc.record({ jump, command, sweep: fc.nat({ max: 5 }) }), { minLength: STEPS, maxLength: STEPS }),
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never

/** One world: turns commands into requests that fit the model's state, and compares the answers. */
class Life {
  readonly model: ChainModel
  private readonly owners = Array.from({ length: OWNERS }, fresh)
  private groups: number[] = []
  private readonly done: { path: string; body: object; key: string; text: string }[] = []

  constructor(
    private readonly api: ChannelApi,
    private readonly app: TestApp,
  ) {
    this.model = new ChainModel(app.clock.now())
  }

  private get groupsPath(): string {
    return `${this.api.quotas}/groups`
  }

  private async read(path: string): Promise<Body> {
    return bodyOf(200, await this.app.get(path))
  }

  async begin({ first, groups }: World): Promise<void> {
    for (let n = 0; n < GROUPS; n += 1) {
      // A chain of three, and a chain of two.
      const parent = n === 0 || n === 3 ? null : this.groups[n - 1]!
      const body = { name: `group ${fresh()}`, parent_id: parent }
      const { id } = bodyOf(201, await this.app.post(this.groupsPath, body)) as { id: number }
      this.groups.push(id)
      this.model.parents.set(id, parent)
    }
    for (const [n, group] of groups.entries()) await this.move(this.owners[n]!, this.groups[group % (GROUPS + 1)])
    for (const one of first) await this.create(one)
  }

  /** What a channel has once: its default group. */
  async end(): Promise<void> {
    const { defaultGroup } = this.model
    if (defaultGroup !== null) bodyOf(200, await this.app.put(`${this.groupsPath}/${defaultGroup}`, { default: false }))
  }

  // --- Comparing -----------------------------------------------------------------------------------------------------

  private equals(given: Response, expected: Expected): void {
    const names = Object.keys(expected)
    const absent = ['caps', 'would_refuse', 'code'].filter((name) => name in given.body && !names.includes(name))
    const picked = Object.fromEntries([...names, ...absent].map((name) => [name, given.body[name]]))
    expect(picked).toEqual(expected)
  }

  /** Compares every counter. */
  async compare(): Promise<void> {
    const { model, api } = this
    for (const owner of this.owners) {
      const group_id = model.groupOf(owner)
      this.equals(await this.app.get(api.summary(owner)), { group_id, ...model.summary(owner) })
    }
    for (const group of this.groups)
      this.equals(await this.app.get(`${this.groupsPath}/${group}/summary`), model.groupSummary(group))
    for (const quota of model.quotas) {
      if (quota.rule.deleted) continue
      this.equals(await this.app.get(`${api.quotas}/${quota.id}`), model.quotaShown(quota))
    }
    for (const count of model.counts) {
      if (count.follows === null || count.deleted) continue
      this.equals(await this.app.get(`${api.quotas}/${count.id!}`), model.countShown(count))
    }
  }

  /** Compares the lists of operations, and which counts there are. */
  async compareLedgers(): Promise<void> {
    const { model, api } = this
    const counts = model.counts.flatMap((count) => (count.follows === null ? [] : [{ id: count.id!, count }]))
    for (const one of [...model.quotas, ...counts]) {
      const { items } = await this.read(`${api.usage}?quota_id=${one.id}&page_size=100`)
      expect({ of: one.id, ids: items.map(({ id }: Body) => id) }).toEqual({ of: one.id, ids: model.usageOf(one) })
    }
    for (const quota of model.quotas.filter(({ per }) => per === 'member')) {
      const { items } = await this.read(`${api.list}?follows=${quota.id}&page_size=100`)
      const live = model.counts.filter(({ follows, deleted }) => follows === quota && !deleted)
      expect(items.map(({ id }: Body) => id).sort()).toEqual(live.map(({ id }) => id).sort())
    }
  }

  // --- Acts ----------------------------------------------------------------------------------------------------------

  async step(command: Command): Promise<void> {
    const { model, api, app } = this
    switch (command.kind) {
      case 'consume':
        return this.take(this.ownerAt(command.which), command.amount, null)
      case 'reserve':
        return this.take(this.ownerAt(command.which), command.amount, ((command.minutes ?? 9) + 1) * 60)
      case 'batch':
        return this.batch(command.items.map((item) => ({ owner: this.ownerAt(item.which), amount: item.amount })))
      case 'check': {
        const owner = this.ownerAt(command.which)
        const answer = await app.get(`${api.usage}/check?${api.owner}=${owner}&amount=${command.amount}`)
        this.equals(answer, model.check(owner, command.amount))
        return undefined
      }
      case 'settle': {
        const operation = this.operationAt(command.which, (one) => model.stateOf(one) === 'reserved')
        if (operation === undefined) return undefined
        const part = command.amount === undefined ? operation.amount : 1 + (command.amount % (operation.amount + 1))
        const released = command.which % 3 === 0
        const answer = released
          ? await app.post(`${api.usage}/${operation.id}/release`)
          : await app.post(`${api.usage}/${operation.id}/commit`, { amount: part })
        // What is settled answers its repetition by the first answer, which is not of interest here.
        if (['committed', 'released'].includes(operation.state)) return undefined
        this.equals(answer, model.settle(operation, released ? 0 : part))
        return undefined
      }
      case 'refund': {
        const operation = this.operationAt(command.which, (one) => one.charged > one.refunded)
        if (operation === undefined) return undefined
        const left = operation.charged - operation.refunded
        if (left === 0) return undefined
        const part = command.amount === undefined ? left : 1 + (command.amount % (left + 1))
        const answer = await app.post(
          `${api.usage}/${operation.id}/refund`,
          { amount: part },
          { key: `refund ${fresh()}` },
        )
        this.equals(answer, model.refund(operation, part))
        return undefined
      }
      case 'again': {
        const request = this.done[command.which % Math.max(1, this.done.length)]
        if (request === undefined) return undefined
        const answer = await app.post(request.path, request.body, { key: request.key })
        expect(answer.text).toBe(request.text)
        return undefined
      }
      case 'create':
        return this.create(command)
      case 'edit':
        return this.edit(command)
      case 'editCount':
      case 'giveBack':
        return this.override(command)
      case 'delete':
      case 'restore':
        return this.remove(command)
      case 'reset': {
        const found = this.countAt(command.which)
        if (found === undefined || found.deleted || (found.follows === null && found.rule.deleted)) return undefined
        bodyOf(200, await app.post(`${api.quotas}/${found.id!}/reset`))
        found.resets += 1
        return undefined
      }
      case 'move':
        return this.move(this.ownerAt(command.which), this.groups[command.group])
      case 'parent': {
        const group = this.groups[command.which % GROUPS]!
        const parent = this.groups[command.group] ?? null
        const answer = await app.put(`${this.groupsPath}/${group}`, { parent_id: parent })
        const fits = parent !== group && model.fits(group, parent)
        expect({ group, parent, status: answer.status }).toEqual({ group, parent, status: fits ? 200 : 400 })
        if (fits) model.parents.set(group, parent)
        return undefined
      }
      case 'default': {
        const group = model.defaultGroup ?? this.groups[command.which % GROUPS]!
        bodyOf(200, await app.put(`${this.groupsPath}/${group}`, { default: model.defaultGroup === null }))
        model.defaultGroup = model.defaultGroup === null ? group : null
        return undefined
      }
    }
  }

  private ownerAt(place: number): number {
    return this.owners[place % OWNERS]!
  }

  private operationAt(place: number, prefer: (operation: Operation) => boolean): Operation | undefined {
    const { operations } = this.model
    const preferred = operations.filter(prefer)
    const from = preferred.length > 0 && place % 5 !== 0 ? preferred : operations
    return from.at(-1 - (place % Math.max(1, from.length)))
  }

  private countAt(place: number, follows = false): Count | undefined {
    const found = this.model.counts.filter((count) => !follows || count.follows !== null)
    return found[place % Math.max(1, found.length)]
  }

  /** The ids of an owner's counts by the quota that they follow; new ones are known only to the service. */
  private async idsOf(owner: number): Promise<(follows: number) => number | undefined> {
    const { model, api } = this
    if (model.unborn(owner, model.above(model.groupOf(owner))).length === 0) return () => undefined
    const { items } = await this.read(`${api.list}?${api.owner}=${owner}&page_size=100`)
    return (follows) => items.find((item: Body) => item.follows === follows)?.id
  }

  private async take(owner: number, amount: number, ttl: number | null): Promise<void> {
    const { api } = this
    const key = `key ${fresh()}`
    const path = ttl === null ? api.consume : api.reserve
    const body = { [api.owner]: owner, amount, ...(ttl === null ? {} : { ttl_seconds: ttl }) }
    const answer = await this.app.post(path, body, { key })
    if (answer.status < 300) this.done.push({ path, body, key, text: answer.text })
    this.equals(answer, this.model.take({ owner, amount, ttl }, await this.idsOf(owner), answer.body.id))
  }

  /** Items of several owners, who may share what pays: they are decided in their order. */
  private async batch(items: readonly { owner: number; amount: number }[]): Promise<void> {
    const { api } = this
    const body = items.map(({ owner, amount }) => ({ [api.owner]: owner, amount, idempotency_key: `key ${fresh()}` }))
    const { results } = bodyOf(200, await this.app.post(`${api.consume}/batch`, { items: body }))
    for (const [place, { owner, amount }] of items.entries()) {
      const { operation, problem } = results[place]
      const idOf = await this.idsOf(owner)
      const expected = this.model.take({ owner, amount, ttl: null }, idOf, operation?.id)
      this.equals({ body: operation ?? problem } as Response, expected)
    }
  }

  private async create({ level, ...wanted }: Extract<Command, { kind: 'create' }>): Promise<void> {
    const { model, api, app } = this
    const owner = level < OWNERS ? this.owners[level]! : -this.groups[(level - OWNERS) % GROUPS]!
    const per = owner > 0 ? null : wanted.perMember ? 'member' : 'group'
    const { type } = wanted
    const rule: Rule = {
      type,
      cap: type === 3 ? (wanted.cap ?? 'enforce') : wanted.cap,
      // Caps bound several payers together.
      total: wanted.total * (type === 3 || wanted.cap !== null ? 3 : 1),
      disabled: false,
      deleted: false,
      expireAt: type === 1 ? model.now + wanted.endsIn : null,
      unit: type === 2 ? wanted.unit : null,
      anchor: type === 2 ? model.now + wanted.resetsIn : null,
      resetAt: type === 2 ? model.now + wanted.resetsIn : null,
      windowSeconds: type === 3 ? wanted.windowSeconds : null,
      period: 0,
    }
    const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
    const body = {
      ...(owner > 0 ? { [api.owner]: owner } : { group_id: -owner, per }),
      quota_type: type,
      cap: rule.cap,
      total: rule.total,
      expire_at: time(rule.expireAt),
      ...(type === 2 ? { cycle_unit: rule.unit, cycle_reset_at: time(rule.resetAt) } : {}),
      ...(type === 3 ? { window_seconds: rule.windowSeconds } : {}),
    }
    const { id } = bodyOf(201, await app.post(api.quotas, body)) as { id: number }
    model.create(id, owner, per, rule)
  }

  private quotaAt(place: number): Quota | undefined {
    // The quotas of groups are of most interest.
    const { quotas } = this.model
    const shared = quotas.filter(({ owner }) => owner < 0)
    const from = shared.length > 0 && place % 3 !== 0 ? shared : quotas
    return from[place % Math.max(1, from.length)]
  }

  private async edit(command: Extract<Command, { kind: 'edit' }>): Promise<void> {
    const { model, api, app } = this
    const quota = this.quotaAt(command.which)
    if (quota === undefined || quota.rule.deleted) return
    const { rule } = quota
    const put = async (body: object): Promise<void> => {
      bodyOf(200, await app.put(`${api.quotas}/${quota.id}`, body))
    }
    const after = model.now + command.span
    if (command.field === 'total') {
      await put({ total: command.total })
      rule.total = command.total
    } else if (command.field === 'status') {
      await put({ status: rule.disabled ? 'active' : 'disabled' })
      rule.disabled = !rule.disabled
    } else if (command.field === 'end') {
      await put({ expire_at: new Date(after).toISOString() })
      rule.expireAt = after
      model.roll(rule)
    } else if (command.field === 'unit' && rule.type === 2) {
      await put({ cycle_unit: command.unit })
      if (rule.unit !== command.unit) Object.assign(rule, { unit: command.unit, anchor: rule.resetAt })
    } else if (command.field === 'reset' && rule.type === 2) {
      await put({ cycle_reset_at: new Date(after).toISOString() })
      if (rule.resetAt !== after) Object.assign(rule, { resetAt: after, anchor: after })
    } else if (command.field === 'window' && rule.type === 3) {
      await put({ window_seconds: command.windowSeconds })
      if (rule.windowSeconds !== command.windowSeconds) rule.period += 1
      rule.windowSeconds = command.windowSeconds
    } else if (command.field === 'cap' && rule.cap !== null) {
      rule.cap = rule.cap === 'enforce' ? 'observe' : 'enforce'
      await put({ cap: rule.cap })
    }
  }

  /** Edits a setting of a member's count, or gives one back. */
  private async override(command: Extract<Command, { kind: 'editCount' | 'giveBack' }>): Promise<void> {
    const { model, api, app } = this
    const count = this.countAt(command.which, true)
    if (count === undefined || count.deleted || !['active', 'disabled'].includes(model.statusOf(count))) return
    const put = async (body: object): Promise<void> => {
      bodyOf(200, await app.put(`${api.quotas}/${count.id!}`, body))
    }
    if (command.kind === 'giveBack') {
      const { overrides } = model.countShown(count) as { overrides: string[] }
      const kept = overrides.slice(0, -1)
      await put({ overrides: kept })
      if (!kept.includes('total')) delete count.own.total
      if (!kept.includes('status')) delete count.own.disabled
    } else if (command.total !== undefined) {
      await put({ total: command.total })
      if (command.total !== model.totalOf(count)) count.own.total = command.total
    } else {
      const disabled = model.statusOf(count) === 'active'
      await put({ status: disabled ? 'disabled' : 'active' })
      count.own.disabled = disabled
    }
  }

  private async remove({ kind, which: place }: Extract<Command, { kind: 'delete' | 'restore' }>): Promise<void> {
    const { model, api, app } = this
    const count = this.countAt(place, true)
    const quota = this.quotaAt(place)
    const target =
      place % 2 === 0 && count !== undefined ? { id: count.id, of: count } : { id: quota?.id, of: quota?.rule }
    if (target.of === undefined || target.of.deleted !== (kind === 'restore')) return
    if (kind === 'delete') bodyOf(204, await app.delete(`${api.quotas}/${target.id!}`))
    else bodyOf(200, await app.post(`${api.quotas}/${target.id!}/restore`))
    target.of.deleted = kind === 'delete'
    model.advance(model.now)
  }

  private async move(owner: number, group: number | undefined): Promise<void> {
    const { model, api, app, groupsPath } = this
    const present = model.memberships.get(owner)
    if (group !== undefined) {
      bodyOf(200, await app.post(`${groupsPath}/${group}/members`, { [`${api.owner}s`]: [owner] }))
      model.memberships.set(owner, group)
    } else if (present !== undefined) {
      bodyOf(204, await app.delete(`${groupsPath}/${present}/members/${owner}`))
      model.memberships.delete(owner)
    }
  }
}

/** @param histories the number of histories a channel, unless MODEL_RUNS overrides it */
export function chainsEqualTheirModel(histories: number): void {
  const runs = Number(process.env['MODEL_RUNS'] ?? histories)

  forSharedRules('owners in groups and their model', (kind, channels) => {
    let app: TestApp
    let latest = 0

    beforeAll(async () => {
      app = await TestApp.on(kind)
      await stopSweepers(app)
      await stopUpkeep(app)
    })

    afterAll(async () => {
      // What has left a window by the end of a history does not return for one that begins earlier.
      app.clock.set(latest)
      expect(await contradictionsOf(app)).toEqual([])
    })

    const live = async (api: ChannelApi, drawn: World): Promise<void> => {
      app.clock.set(START)
      const life = new Life(api, app)
      try {
        await life.begin(drawn)
        for (const [n, { jump: by, command: one, sweep }] of drawn.steps.entries()) {
          const now = app.clock.now()
          const events = [...new Set(life.model.events())].sort((a, b) => a - b)
          const event = 'by' in by ? now + by.by : (events[by.event % Math.max(1, events.length)] ?? now) + by.beside
          app.clock.set(Math.max(now, event))
          life.model.advance(app.clock.now())
          if (sweep === 0) await sweeperOf(app, api).sweep()
          await life.step(one)
          if (n % COMPARE_EVERY === 0) await life.compare()
        }
        await life.compare()
        await life.compareLedgers()
      } finally {
        latest = Math.max(latest, app.clock.now())
        await life.end()
      }
    }

    describe.each(channels.map((api) => [api.name, api] as const))('%s', (_, api) => {
      it('answer alike', async () => {
        await fc.assert(
          fc.asyncProperty(world, async (drawn) => live(api, drawn)),
          // Shrinking a history takes minutes: it is useful for the analysis of a failure.
          { numRuns: runs, seed: SEED, endOnFailure: process.env['MODEL_SHRINK'] === undefined },
        )
      }, 600_000)
    })
  })
}
