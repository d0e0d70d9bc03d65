import { beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { channelToken } from '../../src/channel-api/ledger.module.js'
import { ServiceError } from '../../src/common/service-error.js'
import { statusOf } from '../../src/http/problem.js'
import type { Caller, Outcome } from '../../src/ledger/store/command.js'
import { Ledger } from '../../src/ledger/write/ledger.js'
import { QuotaReader } from '../../src/ledger/read/quota-reader.js'
import { Sweeper } from '../../src/ledger/upkeep/sweeper.js'
import { UsageReader } from '../../src/ledger/read/usage-reader.js'
import type { MailQuota } from '../../src/mail-quota/mail-quota.entity.js'
import { MAIL } from '../../src/mail-quota/mail.channel.js'
import { type CycleUnit, CYCLE_UNITS } from '../../src/domain/cycle.js'
import type { Status } from '../../src/domain/quota.js'
import type { SettingsPatch } from '../../src/domain/settings.js'
import { SMS } from '../../src/sms-quota/sms.channel.js'
import { TestApp, TOKENS } from './app.js'
import { onEveryStore } from './store.js'
import { type Ask, type Given, type ModelOperation, type SettingsBody, UsageModel } from './usage.model.js'

/**
 * Random histories of owners, run on the service and on a model, whose answers must be equal.
 *
 * Several owners exist concurrently on one clock, one step each at a time, so that one transaction takes them together.
 * Most histories use the ledger and the readers of the mail channel in the application directly; HTTP_SHARE of them
 * use HTTP, to SMS. A step over HTTP costs about four times as much: 100 histories over HTTP take as long as 400
 * without it.
 *
 * MODEL_RUNS: histories on each store. A failing run prints its seed and path; MODEL_SEED repeats a series.
 */
const SEED = Number(process.env['MODEL_SEED'] ?? process.env['PROPERTY_SEED'] ?? Date.now() % 2 ** 31)
const HTTP_SHARE = 0.2
const STEPS = 40
const MAX_OWNERS = 24
const MAX_FIRST = 5

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

// --- Commands --------------------------------------------------------------------------------------------------------

// Small quotas and large amounts: most operations need several quotas.
const amount = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.integer({ min: 1, max: 40 }))
const total = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 9 }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }) },
  { weight: 1, arbitrary: fc.constant(1_000_000_000_000) },
)
const which = fc.nat({ max: 30 })
const span = fc.oneof(
  fc.integer({ min: 1, max: 120 }).map((seconds) => seconds * 1000),
  fc.integer({ min: 1, max: 48 }).map((hours) => hours * HOUR),
  fc.integer({ min: 1, max: 400 }).map((days) => days * DAY),
)
const unit = fc.constantFrom(...CYCLE_UNITS)
const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu')
const label = fc.constantFrom('a', 'İ', ' e\u0301 ', '💣')
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

const create = fc.record({
  kind: fc.constant('create' as const),
  type: fc.constantFrom(1 as const, 2 as const),
  total,
  used: fc.option(fc.nat(), { nil: undefined, freq: 3 }),
  endsIn: maybe(span),
  resetsIn: span,
  unit,
  zone: maybe(zone),
  label: fc.option(label, { nil: undefined, freq: 3 }),
  keyed: fc.boolean(),
})

const command = fc.oneof(
  { withCrossShrink: true },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause' as const) }) },
  { weight: 14, arbitrary: fc.record({ kind: fc.constant('consume' as const), amount }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      amount,
      ttl: fc.option(fc.oneof(fc.integer({ min: 1, max: 7200 }), fc.integer({ min: 7200, max: 86_400 })), {
        nil: undefined,
        freq: 5,
      }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      which,
      amount: fc.option(amount, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('release' as const), which }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('refund' as const),
      which,
      amount: fc.option(amount, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('again' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('otherWithKey' as const), which, amount }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      items: fc.array(fc.record({ amount, keyOf: maybe(fc.nat({ max: 3 })) }), { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 4, arbitrary: create },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      which,
      total: maybe(total),
      status: fc.option(fc.constantFrom('active', 'active', 'active', 'disabled', 'disabled', 'expired'), {
        nil: undefined,
        freq: 3,
      }),
      end: maybe(fc.oneof(fc.constant('never' as const), fc.constant('now' as const), span)),
      unit: fc.option(unit, { nil: undefined, freq: 3 }),
      zone: fc.option(zone, { nil: undefined, freq: 3 }),
      reset: fc.option(fc.oneof(fc.constantFrom('shown' as const, 'former' as const, 'now' as const), span, span), {
        nil: undefined,
        freq: 3,
      }),
      label: fc.option(fc.option(label), { nil: undefined, freq: 3 }),
      version: fc.option(fc.constantFrom(0, 0, 1), { nil: undefined, freq: 4 }),
      whole: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), which, version: maybe(fc.constantFrom(0, 0, 1)) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('restore' as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('reset' as const),
      which,
      version: maybe(fc.constantFrom(0, 0, 1)),
      keyed: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('check' as const), amount }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('get' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('ledger' as const),
      quota: maybe(which),
      before: maybe(which),
      size: fc.integer({ min: 1, max: 6 }),
    }),
  },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

const meanwhile = fc.record({
  jump: fc.oneof(
    { weight: 24, arbitrary: fc.constant({ by: 0 }) },
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 900_000 }).map((by) => ({ by })) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 30 }).map((hours) => ({ by: hours * HOUR })) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 500 }).map((days) => ({ by: days * DAY })) },
    // To a time at which something changes by itself, or a millisecond off.
    { weight: 10, arbitrary: fc.record({ event: fc.nat({ max: 4 }), beside: fc.constantFrom(-1, 0, 0, 0, 1) }) },
  ),
  sweep: fc.integer({ min: 0, max: 5 }).map((n) => n === 5),
})

const history = fc.record({
  first: fc.array(create, { minLength: 1, maxLength: MAX_FIRST, size: 'max' }),
  commands: fc.array(command, { minLength: STEPS, maxLength: STEPS }),
})

const world = fc.record({
  // Before the ends of months and the changes of clocks.
  start: fc.constantFrom(
    '2026-11-21T12:00:00.000Z',
    '2027-01-30T22:00:00.000Z',
    '2027-03-27T20:00:00.000Z',
    '2027-10-30T20:00:00.000Z',
    '2028-02-28T12:00:00.000Z',
  ),
  meanwhile: fc.array(meanwhile, { minLength: STEPS, maxLength: STEPS }),
  owners: fc.array(history, { minLength: 1, maxLength: MAX_OWNERS, size: 'max' }),
})

// --- Requests to the service -----------------------------------------------------------------------------------------

interface Seen {
  quotas: unknown[]
  summary: unknown
}

/** One way to call the service. */
interface Way {
  /** The number of steps between two reads of every counter; reads cost most. */
  readonly readEvery: number
  subjects(owner: number): object
  owner(owner: number): object
  ask(owner: number, ask: Ask): Promise<Given | Given[]>
  /** The owner's live quotas of these, newest first, and the summary. */
  see(owner: number, quotas: readonly number[]): Promise<Seen>
  sweep(): Promise<void>
}

/** Drops the members of a problem that the contract does not fix. */
function bare(problem: Record<string, unknown>): object {
  const { type: _type, title: _title, status: _status, detail: _detail, ...more } = problem
  const { request_id: _request, errors: _errors, ...rest } = more
  if (rest['code'] === 'quota_exceeded') return rest
  return { code: rest['code'] }
}

/** Without HTTP: the ledger and its readers, as the application created them. */
function direct({ app }: TestApp): Way {
  const ledger = app.get<Ledger<MailQuota>>(channelToken(MAIL, Ledger))
  const quotas = app.get<QuotaReader<MailQuota>>(channelToken(MAIL, QuotaReader))
  const usage = app.get<UsageReader<MailQuota>>(channelToken(MAIL, UsageReader))
  const sweeper = app.get<Sweeper<MailQuota>>(channelToken(MAIL, Sweeper))
  const caller: Caller = { name: 'model', id: 'model', requestId: 'model', ownOnly: false }

  const given = async (status: number, outcome: Promise<Outcome>): Promise<Given> => {
    try {
      const { body, replayed } = await outcome
      return { status, body: JSON.parse(body) as unknown, text: body, replayed }
    } catch (error) {
      return refused(error)
    }
  }
  const refused = (error: unknown): Given => {
    if (!(error instanceof ServiceError)) throw error
    return {
      status: statusOf(error.code),
      body: bare({ code: error.code, ...error.extra }),
      text: '',
      replayed: false,
    }
  }
  const shown = async (body: Promise<object>): Promise<Given> =>
    body.then((value) => ({ status: 200, body: value, text: JSON.stringify(value), replayed: false }), refused)
  const instant = (text: string | null): number | null => (text === null ? null : Date.parse(text))
  const patchOf = (body: SettingsBody): SettingsPatch => ({
    ...(body.total === undefined ? {} : { total: body.total }),
    ...(body.status === undefined ? {} : { status: body.status as Status }),
    ...(body.expire_at === undefined ? {} : { expireAt: instant(body.expire_at) }),
    ...(body.cycle_unit === undefined ? {} : { cycleUnit: body.cycle_unit as CycleUnit | null }),
    ...(body.cycle_reset_at === undefined ? {} : { cycleResetAt: instant(body.cycle_reset_at) }),
    ...(body.cycle_time_zone === undefined ? {} : { cycleTimeZone: body.cycle_time_zone }),
    ...(body.label === undefined ? {} : { label: body.label }),
  })

  return {
    readEvery: 3,
    subjects: (owner) => ({ account_id: owner, user_id: null }),
    owner: (owner) => ({ account_id: owner }),
    sweep: async () => sweeper.sweep(),
    async ask(owner, ask) {
      switch (ask.kind) {
        case 'create': {
          const { body } = ask
          const settings = {
            quotaType: body.quota_type as 1 | 2,
            total: body.total!,
            used: body.used ?? 0,
            expireAt: instant(body.expire_at ?? null),
            cycleUnit: (body.cycle_unit ?? null) as CycleUnit | null,
            cycleResetAt: instant(body.cycle_reset_at ?? null),
            cycleTimeZone: body.quota_type === 1 ? null : (body.cycle_time_zone ?? 'UTC'),
            label: body.label ?? null,
            cap: null,
            windowSeconds: null,
            thresholds: [],
          }
          return given(201, ledger.create(caller, owner, { ownerId: owner, userId: null }, settings, ask.key ?? null))
        }
        case 'update':
          return given(200, ledger.update(caller, ask.quota, patchOf(ask.body), ask.body.version))
        case 'delete':
          return ledger
            .remove(caller, ask.quota, ask.version)
            .then(() => ({ status: 204, body: undefined, text: '', replayed: false }), refused)
        case 'restore':
          return given(200, ledger.restore(caller, ask.quota))
        case 'reset':
          return given(200, ledger.reset(caller, ask.quota, ask.version, ask.key ?? null))
        case 'consume':
          return given(200, ledger.consume(caller, owner, ask.amount, ask.key))
        case 'reserve':
          return given(201, ledger.reserve(caller, owner, ask.amount, ask.ttl ?? 600, ask.key))
        case 'batch':
          return Promise.all(
            ask.items.map(async (item) => given(200, ledger.consume(caller, owner, item.amount, item.key))),
          )
        case 'commit':
          return given(200, ledger.commit(caller, ask.operation, ask.amount))
        case 'release':
          return given(200, ledger.release(caller, ask.operation))
        case 'refund':
          return given(200, ledger.refund(caller, ask.operation, ask.amount, ask.key))
        case 'check':
          return shown(quotas.check(owner, ask.amount))
        case 'get':
          return shown(usage.get(caller, ask.operation))
        case 'ledger': {
          const of = ask.quota === undefined ? { ownerId: owner } : { quotaId: ask.quota }
          return shown(usage.ledger(caller, of, ask.before, ask.size))
        }
      }
    },
    async see(owner, ids) {
      const [summary, ...each] = await Promise.all([
        quotas.summary(owner),
        ...ids.map(async (id) => quotas.get(id).catch(() => undefined)),
      ])
      return { summary, quotas: each.filter((quota) => quota !== undefined).reverse() }
    },
  }
}

/** Over HTTP, on kept connections. */
function overHttp({ app, url }: TestApp): Way {
  const sweeper = app.get<Sweeper<never>>(channelToken(SMS, Sweeper))
  const quotas = `${url}/api/sms/admin/quota`
  const usage = `${url}/api/sms/quota/usage`

  const send = async (method: string, to: string, body?: object, key?: string): Promise<Given> => {
    const response = await fetch(to, {
      method,
      headers: {
        Authorization: `Bearer ${TOKENS.admin}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const parsed = text === '' ? undefined : JSON.parse(text)
    return {
      status: response.status,
      body: response.ok ? parsed : bare(parsed),
      text,
      replayed: response.headers.get('Idempotency-Replayed') === 'true',
    }
  }
  const query = (parameters: Record<string, string | number | undefined>): string =>
    Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${value!}`)
      .join('&')

  return {
    readEvery: 8,
    subjects: (owner) => ({ user_id: owner }),
    owner: (owner) => ({ user_id: owner }),
    sweep: async () => sweeper.sweep(),
    async ask(owner, ask) {
      switch (ask.kind) {
        case 'create':
          return send('POST', quotas, { user_id: owner, ...ask.body }, ask.key)
        case 'update':
          return send('PUT', `${quotas}/${ask.quota}`, ask.body)
        case 'delete':
          return send('DELETE', `${quotas}/${ask.quota}?${query({ version: ask.version })}`)
        case 'restore':
          return send('POST', `${quotas}/${ask.quota}/restore`)
        case 'reset':
          return send('POST', `${quotas}/${ask.quota}/reset`, { version: ask.version }, ask.key)
        case 'consume':
          return send('POST', `${usage}/consume`, { user_id: owner, amount: ask.amount }, ask.key)
        case 'reserve':
          return send('POST', `${usage}/reserve`, { user_id: owner, amount: ask.amount, ttl_seconds: ask.ttl }, ask.key)
        case 'batch': {
          const items = ask.items.map((item) => ({ user_id: owner, amount: item.amount, idempotency_key: item.key }))
          const answer = await send('POST', `${usage}/consume/batch`, { items })
          expect(answer.status).toBe(200)
          const { results } = answer.body as { results: Record<string, unknown>[] }
          return results.map(({ status, replayed, operation, problem }) => ({
            status: status as number,
            body: operation ?? bare(problem as Record<string, unknown>),
            text: JSON.stringify(operation),
            replayed: replayed === true,
          }))
        }
        case 'commit':
          return send('POST', `${usage}/${ask.operation}/commit`, { amount: ask.amount })
        case 'release':
          return send('POST', `${usage}/${ask.operation}/release`)
        case 'refund':
          return send('POST', `${usage}/${ask.operation}/refund`, { amount: ask.amount }, ask.key)
        case 'check':
          return send('GET', `${usage}/check?${query({ user_id: owner, amount: ask.amount })}`)
        case 'get':
          return send('GET', `${usage}/${ask.operation}`)
        case 'ledger': {
          const of = ask.quota === undefined ? { user_id: owner } : { quota_id: ask.quota }
          return send('GET', `${usage}?${query({ ...of, before: ask.before, page_size: ask.size })}`)
        }
      }
    },
    async see(owner) {
      const [list, summary] = await Promise.all([
        send('GET', `${quotas}/list?${query({ user_id: owner, page_size: 100 })}`),
        send('GET', `${quotas}/summary?${query({ user_id: owner })}`),
      ])
      return { quotas: (list.body as { items: unknown[] }).items, summary: summary.body }
    },
  }
}

// --- Running a history -----------------------------------------------------------------------------------------------

/** One owner: turns commands into requests that fit the current state, and compares the answers. */
class Life {
  private readonly asked: Exclude<Ask, { kind: 'get' | 'check' | 'ledger' }>[] = []
  private keyCount = 0

  constructor(
    private readonly owner: number,
    private readonly way: Way,
    readonly model: UsageModel,
  ) {}

  private newKey(): string {
    this.keyCount += 1
    return `${this.owner} ${this.keyCount}`
  }

  async step(command: Command): Promise<void> {
    const ask = this.askOf(command)
    if (ask === undefined) return
    if (ask.kind !== 'get' && ask.kind !== 'check' && ask.kind !== 'ledger') this.asked.push(ask)
    const given = await this.way.ask(this.owner, ask)
    const expected = this.model.expect(ask, given)
    const bare = (answer: Given): object => ({ status: answer.status, body: answer.body, replayed: answer.replayed })
    expect({ ask, answer: Array.isArray(given) ? given.map(bare) : bare(given) }).toEqual({ ask, answer: expected })
  }

  /** Compares every counter. */
  async compare(everything: boolean): Promise<void> {
    const { model } = this
    const seen = await this.way.see(
      this.owner,
      model.quotas.map(({ id }) => id),
    )
    const live = model.quotas.filter(({ deleted }) => !deleted).reverse()
    expect(seen).toEqual({ quotas: live.map((quota) => model.showQuota(quota)), summary: model.summary() })
    if (!everything) return
    for (const quota of [undefined, ...model.quotas.slice(0, 2)]) {
      const ask: Ask = { kind: 'ledger', quota: quota?.id, before: undefined, size: 100 }
      const { body } = (await this.way.ask(this.owner, ask)) as Given
      expect(body).toEqual(model.ledger(quota?.id, undefined, 100))
    }
  }

  private operation(which: number, prefer: (operation: ModelOperation) => boolean): ModelOperation | undefined {
    const { operations } = this.model
    const preferred = operations.filter(prefer)
    // One in four uses an unsuitable target.
    const from = preferred.length > 0 && which % 4 !== 0 ? preferred : operations
    return from.at(-1 - (which % Math.max(1, from.length)))
  }

  private askOf(command: Command): Ask | undefined {
    const { model } = this
    const quota = 'which' in command ? model.quotas[command.which % Math.max(1, model.quotas.length)] : undefined
    switch (command.kind) {
      case 'pause':
        return undefined
      case 'create': {
        const text = (after: number): string => new Date(model.now + after).toISOString()
        const body: SettingsBody =
          command.type === 1
            ? { quota_type: 1, total: command.total, expire_at: text(command.endsIn ?? DAY) }
            : {
                quota_type: 2,
                total: command.total,
                cycle_unit: command.unit,
                cycle_reset_at: text(command.resetsIn),
                ...(command.zone === undefined ? {} : { cycle_time_zone: command.zone }),
                ...(command.endsIn === undefined ? {} : { expire_at: text(command.endsIn) }),
              }
        if (command.label !== undefined) body.label = command.label
        if (command.used !== undefined) body.used = command.used % (command.total + 1)
        return { kind: 'create', body, key: command.keyed ? this.newKey() : undefined }
      }
      case 'update':
        return quota === undefined ? undefined : { kind: 'update', quota: quota.id, body: this.patch(command) }
      case 'delete': {
        if (quota === undefined) return undefined
        const version = command.version === undefined ? undefined : quota.version + command.version
        return { kind: 'delete', quota: quota.id, version }
      }
      case 'reset': {
        if (quota === undefined) return undefined
        const version = command.version === undefined ? undefined : quota.version + command.version
        return { kind: 'reset', quota: quota.id, version, key: command.keyed ? this.newKey() : undefined }
      }
      case 'restore': {
        const deleted = model.quotas.filter((each) => each.deleted)
        const chosen = deleted[command.which % Math.max(1, deleted.length)] ?? quota
        return chosen === undefined ? undefined : { kind: 'restore', quota: chosen.id }
      }
      case 'consume':
      case 'reserve':
        // An owner without paying quotas gets one now and then; otherwise histories would end in refusals.
        if (command.amount % 2 === 0 && model.paying().length === 0) return this.createOne()
        return { ...command, key: this.newKey() }
      case 'batch': {
        const items: { amount: number; key: string }[] = []
        for (const item of command.items) {
          const key = item.keyOf === undefined ? undefined : items[item.keyOf]?.key
          items.push({ amount: item.amount, key: key ?? this.newKey() })
        }
        return { kind: 'batch', items }
      }
      case 'commit': {
        const isOpen = (each: ModelOperation): boolean => model.stateOf(each) === 'reserved'
        // There is no open hold: create one for the next step.
        if (command.which % 4 !== 0 && !model.operations.some(isOpen)) {
          return { kind: 'reserve', amount: command.amount ?? 7, ttl: 86_400, key: this.newKey() }
        }
        const found = this.operation(command.which, isOpen)
        if (found === undefined) return undefined
        return { kind: 'commit', operation: found.id, amount: this.part(command, found.amount) }
      }
      case 'release': {
        const found = this.operation(command.which, (each) => model.stateOf(each) === 'reserved')
        return found === undefined ? undefined : { kind: 'release', operation: found.id }
      }
      case 'refund': {
        const found = this.operation(command.which, ({ charged, refunded }) => charged > refunded)
        if (found === undefined) return undefined
        const amount = this.part(command, found.charged - found.refunded)
        return { kind: 'refund', operation: found.id, amount, key: this.newKey() }
      }
      case 'again': {
        const ask = this.asked.at(-1 - (command.which % Math.max(1, this.asked.length)))
        // A create that is repeated without a key is a new one, and may no longer lie in the future.
        return ask?.kind === 'create' ? this.createAgain(ask) : ask
      }
      case 'otherWithKey': {
        const keys = this.asked.flatMap((ask) => ('key' in ask && ask.key !== undefined ? [ask.key] : []))
        const key = keys[command.which % Math.max(1, keys.length)]
        return key === undefined ? undefined : { kind: 'consume', amount: command.amount, key }
      }
      case 'check':
        return command
      case 'get': {
        const found = this.operation(command.which, () => true)
        return found === undefined ? undefined : { kind: 'get', operation: found.id }
      }
      case 'ledger': {
        const of = command.quota === undefined ? undefined : model.quotas[command.quota % model.quotas.length]
        const before = command.before === undefined ? undefined : this.operation(command.before, () => true)
        return { kind: 'ledger', quota: of?.id, before: before?.id, size: command.size }
      }
    }
  }

  /** The amount of a commit or a refund: mostly a part of the available one. */
  private part(command: { which: number; amount: number | undefined }, whole: number): number | undefined {
    if (command.amount === undefined || whole === 0 || command.which % 5 === 0) return command.amount
    return 1 + (command.amount % whole)
  }

  private createOne(): Ask {
    const reset = new Date(this.model.now + DAY).toISOString()
    const body = { quota_type: 2, total: 20, cycle_unit: 'day', cycle_reset_at: reset }
    return { kind: 'create', body, key: undefined }
  }

  private createAgain(ask: Extract<Ask, { kind: 'create' }>): Ask | undefined {
    return ask.key === undefined ? undefined : ask
  }

  private patch(command: Extract<Command, { kind: 'update' }>): SettingsBody {
    const { model } = this
    const quota = model.quotas[command.which % model.quotas.length]!
    const text = (after: number): string => new Date(model.now + after).toISOString()
    const resetAt = (): string => {
      if (command.reset === 'now') return text(0)
      if (typeof command.reset === 'number') return text(command.reset)
      const shown = (command.reset === 'former' ? quota.formerReset : null) ?? quota.resetAt
      return shown === null ? text(HOUR) : new Date(shown).toISOString()
    }
    const end = command.end === 'never' ? null : text(command.end === 'now' ? 0 : (command.end ?? 0))
    const body: SettingsBody = {
      ...(command.whole ? (model.showQuota(quota) as SettingsBody) : {}),
      ...(command.total === undefined ? {} : { total: command.total }),
      ...(command.status === undefined ? {} : { status: command.status }),
      ...(command.end === undefined ? {} : { expire_at: end }),
      ...(command.unit === undefined ? {} : { cycle_unit: command.unit }),
      ...(command.zone === undefined ? {} : { cycle_time_zone: command.zone }),
      ...(command.reset === undefined ? {} : { cycle_reset_at: resetAt() }),
      ...(command.label === undefined ? {} : { label: command.label }),
    }
    if (command.version !== undefined) body.version = quota.version + command.version
    else if (!command.whole) delete body.version
    // Also tries fields of the other type, but not each time.
    if (quota.type === 1 && command.which % 6 !== 0) {
      for (const name of ['cycle_unit', 'cycle_reset_at', 'cycle_time_zone'] as const) {
        if (body[name] !== null) body[name] = undefined
      }
      if (body.expire_at === null) body.expire_at = undefined
    }
    // A body must have a field.
    return Object.entries(body).some(([name, value]) => name !== 'version' && value !== undefined)
      ? body
      : { ...body, total: quota.total }
  }
}

/** @param histories the number of histories on each store, unless MODEL_RUNS overrides it */
export function usageEqualsItsModel(histories: number): void {
  const runs = Number(process.env['MODEL_RUNS'] ?? histories)

  onEveryStore('a service and its model', (kind) => {
    let app: TestApp
    let owners = 0
    let steps = 0

    beforeAll(async () => {
      app = await TestApp.on(kind)
    })

    async function live(
      way: Way,
      { start, meanwhile: between, owners: histories }: typeof world extends fc.Arbitrary<infer T> ? T : never,
    ): Promise<void> {
      // Every world starts afresh, so that a seed and a path repeat it alone.
      app.clock.set(start)
      const lives = histories.map(() => {
        owners += 1
        return new Life(owners, way, new UsageModel(way.subjects(owners), way.owner(owners), app.clock.now()))
      })
      const all = async (act: (life: Life, place: number) => Promise<void>): Promise<void> => {
        const results = await Promise.allSettled(lives.map(act))
        for (const result of results) if (result.status === 'rejected') throw result.reason
      }
      for (let n = 0; n < MAX_FIRST; n += 1) {
        await all(async (life, place) => life.step(histories[place]!.first[n] ?? { kind: 'pause' }))
      }
      for (const [n, { jump, sweep }] of between.entries()) {
        const now = app.clock.now()
        if ('by' in jump) app.clock.set(now + jump.by)
        else {
          const events = [...new Set(lives.flatMap(({ model }) => model.events()))].sort((a, b) => a - b)
          const event = events[jump.event % Math.max(1, events.length)]
          if (event !== undefined) app.clock.set(Math.max(now, event + jump.beside))
        }
        for (const { model } of lives) model.advance(app.clock.now())
        if (sweep) await way.sweep()
        // Data without recent writes must be read correctly, too.
        if (n % way.readEvery === 0) await all(async (life) => life.compare(false))
        await all(async (life, place) => life.step(histories[place]!.commands[n]!))
        const everything = n % way.readEvery === 0 || n === between.length - 1
        await all(async (life) => life.compare(everything))
        steps += lives.length
      }
    }

    describe.each([
      ['past HTTP', direct, 1 - HTTP_SHARE],
      ['over HTTP', overHttp, HTTP_SHARE],
    ])('%s', (_, wayTo, share) => {
      it('answer alike', async () => {
        const before = steps
        for (let round = 0; steps - before < runs * share * STEPS; round += 1) {
          // One world at a time: a second one may contain more histories than requested.
          await fc.assert(
            fc.asyncProperty(world, async (drawn) => live(wayTo(app), drawn)),
            // Shrinking a history takes many minutes: it is useful for the analysis of a failure, not for its
            // detection.
            { numRuns: 1, seed: (SEED + round) % 2 ** 31, endOnFailure: process.env['MODEL_SHRINK'] === undefined },
          )
        }
      }, 600_000)
    })
  })
}
