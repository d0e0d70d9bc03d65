import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ServiceError } from '../../common/service-error.js'
import { MAX_LIVE_QUOTAS, roll } from '../../domain/quota.js'
import type { Hold } from '../../domain/refill.js'
import type { NewSettings, SettingsPatch } from '../../domain/settings.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import type { Act } from '../rows/act.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { OperationView } from '../store/answers.js'
import {
  type Command,
  deduplicationKeyFor,
  deduplicationKeyForSettling,
  type Outcome,
  type Request,
} from '../store/command.js'
import { WorkingSet, type DueUnits, type HeldBy, type OperationEntry } from '../store/working-set.js'
import { Judge } from './judge.js'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-21T12:00:00Z')
const OWNER = 7

const CHANNEL = { name: 'mail', subjects: [{ field: 'account_id', property: 'ownerId' }] } as unknown as Channel

interface Ask {
  key?: string | null
  caller?: string
  id?: string
}

/** What one request came to: its answer, read and as it was sent, or the code of its refusal. */
interface Reply {
  code?: ServiceError['code']
  error?: ServiceError
  body?: string
  replayed?: boolean
  answer?: unknown
}

/** What a database would keep from batch to batch, and nothing else. */
class Tables {
  readonly quotas = new Map<number, QuotaRow>()
  readonly acts: Act[] = []
  readonly operations = new Map<string, OperationEntry>()
  readonly holds = new Map<string, Hold>()
  readonly changes: Omit<ChangeRow, 'id'>[] = []
  private asked = 0

  request(command: Command, { key = null, caller = 'tester', id = `id ${(this.asked += 1)}` }: Ask = {}): Request {
    const settling = command.kind === 'commit' || command.kind === 'release'
    return {
      id,
      ownerId: OWNER,
      caller,
      callerId: caller,
      requestId: 'request',
      key,
      deduplicationKey: settling
        ? deduplicationKeyForSettling(command.operationId)
        : key === null
          ? null
          : deduplicationKeyFor(caller, key),
      command,
    }
  }

  /** Decides requests in one batch, and writes what the working set says is to be written. */
  batch(now: Instant, requests: readonly Request[]): Reply[] {
    const workingSet = new WorkingSet<QuotaRow>(now)
    for (const quota of this.quotas.values()) workingSet.addQuota({ ...quota })
    for (const { id, deduplicationKey, command } of requests) {
      for (const act of this.acts)
        if (act.id === id || (deduplicationKey !== null && act.deduplicationKey === deduplicationKey))
          workingSet.addAct({ ...act })
      const entry = 'operationId' in command ? this.operations.get(command.operationId) : undefined
      if (entry !== undefined && workingSet.operation(entry.row.id) === undefined)
        workingSet.addOperation({ row: { ...entry.row }, allocations: entry.allocations })
    }
    // As in `loadDueHolds`: due holds need a look only where a quota's time for it has come.
    const held = [...this.holds.values()].map((hold) => ({ ownerId: OWNER, hold }))
    const isDue = ({ hold }: HeldBy): boolean => hold.expiresAt <= now
    const due = held.filter(isDue).sort((a, b) => a.hold.expiresAt - b.hold.expiresAt)
    const looksAtDue = [...this.quotas.keys()].some((id) => (workingSet.quota(id)!.holdDueAt ?? Infinity) <= now)
    if (looksAtDue) {
      const units = new Map<string, DueUnits>()
      for (const { hold } of due) {
        for (const { quotaId, cycleSeq, amount } of hold.allocations) {
          const known = units.get(`${quotaId} ${cycleSeq}`)?.amount ?? 0
          units.set(`${quotaId} ${cycleSeq}`, { quotaId, cycleSeq, amount: known + amount, countedAt: null })
        }
      }
      workingSet.addDueUnits([OWNER], [...units.values()])
    }
    const named = new Set(requests.map(({ command }) => ('operationId' in command ? command.operationId : '')))
    workingSet.expireHolds(
      due.filter(({ hold }) => named.has(hold.operationId)),
      true,
    )
    const open = held.filter((one) => !isDue(one)).map(({ hold }) => hold)
    workingSet.addHolds([{ ownerId: OWNER, holds: open, knownUntil: Infinity }])
    const judge = new Judge(CHANNEL, workingSet)
    const replies = requests.map((request) => this.decide(judge, request))
    // As in `sweepHolds`, but that one hold is as many as a batch sweeps of its own accord.
    if (looksAtDue) {
      workingSet.expireHolds(due.slice(0, 1), true)
      while (workingSet.spendsDueUnits) workingSet.expireHolds(due, false)
      const next = Math.min(...open.map(({ expiresAt }) => expiresAt))
      workingSet.moveDueTimes(new Map(open.length === 0 ? [] : [[OWNER, next]]))
    }
    this.write(workingSet)
    return replies
  }

  ask(now: Instant, command: Command, ask: Ask = {}): Reply {
    return this.batch(now, [this.request(command, ask)])[0]!
  }

  create(now: Instant, settings: Partial<NewSettings>, ask: Ask = {}): Reply {
    return this.ask(now, creation(settings), ask)
  }

  private decide(judge: Judge<QuotaRow>, request: Request): Reply {
    try {
      const verdict = judge.decide(request)
      let outcome: Outcome
      if ('outcome' in verdict) outcome = verdict.outcome
      else {
        const id = this.quotas.size + 1
        this.quotas.set(id, { ...verdict.insert[0]!, id })
        outcome = verdict.admit([id])
      }
      return { body: outcome.body, replayed: outcome.replayed, answer: JSON.parse(outcome.body) }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return { code: error.code, error }
    }
  }

  private write(workingSet: WorkingSet<QuotaRow>): void {
    for (const act of workingSet.newActs) {
      if (
        act.deduplicationKey !== null &&
        this.acts.some(({ deduplicationKey }) => deduplicationKey === act.deduplicationKey)
      )
        throw new Error('once, twice')
      this.acts.push(structuredClone(act))
    }
    for (const { row, allocations } of workingSet.newOperations)
      this.operations.set(row.id, structuredClone({ row, allocations }))
    for (const { hold } of workingSet.newHolds.values()) this.holds.set(hold.operationId, structuredClone(hold))
    for (const id of workingSet.expiredOperations) this.operations.get(id)!.row.state = 'expired'
    for (const id of workingSet.closedHolds) if (!this.holds.delete(id)) throw new Error('a hold closed twice')
    for (const { row } of workingSet.changedOperations.values()) {
      const { id, state, charged, refunded, ownerRemaining } = row
      Object.assign(this.operations.get(id)!.row, { state, charged, refunded, ownerRemaining })
    }
    for (const quota of workingSet.editedQuotas.values()) this.quotas.set(quota.id, { ...workingSet.stored(quota) })
    for (const { id, values } of workingSet.changedCounters()) Object.assign(this.quotas.get(id)!, values)
    this.changes.push(...workingSet.changes)
  }
}

function creation(settings: Partial<NewSettings>): Command {
  return {
    kind: 'create',
    subjects: { ownerId: OWNER },
    settings: {
      quotaType: 1,
      total: 10,
      used: 0,
      expireAt: settings.quotaType === 2 ? null : NOW + 30 * DAY,
      cycleUnit: settings.quotaType === 2 ? 'hour' : null,
      cycleResetAt: settings.quotaType === 2 ? NOW + HOUR : null,
      cycleTimeZone: settings.quotaType === 2 ? 'UTC' : null,
      label: null,
      cap: null,
      windowSeconds: null,
      thresholds: [],
      ...settings,
    },
  }
}

const consume = (amount: number): Command => ({ kind: 'consume', amount })
const reserve = (amount: number, ttlSeconds = 600): Command => ({ kind: 'reserve', amount, ttlSeconds })
const commit = (operationId: string, amount?: number): Command => ({ kind: 'commit', operationId, amount })
const release = (operationId: string): Command => ({ kind: 'release', operationId })
const refund = (operationId: string, amount?: number): Command => ({ kind: 'refund', operationId, amount })
const update = (quotaId: number, patch: SettingsPatch, version?: number): Command => ({
  kind: 'update',
  quotaId,
  patch,
  version,
})
const remove = (quotaId: number, version?: number): Command => ({ kind: 'delete', quotaId, version })
const restore = (quotaId: number): Command => ({ kind: 'restore', quotaId })

const tablesWith = (...quotas: Partial<NewSettings>[]): Tables => {
  const tables = new Tables()
  for (const settings of quotas) tables.create(NOW, settings)
  return tables
}

/** What is taken of each quota, with its version; all that an answer which changes nothing must leave alone. */
const counters = (tables: Tables): number[][] =>
  [...tables.quotas.values()].map(({ id, used, reserved, cycleSeq, version }) => [
    id,
    used,
    reserved,
    cycleSeq,
    version,
  ])

/** A quota as it stands at `now`. */
/** A quota as a reader shows it: rolled, and without what due holds keep. */
const standing = (tables: Tables, id: number, now: Instant): QuotaRow => {
  const quota = { ...tables.quotas.get(id)! }
  roll(quota, now)
  for (const { expiresAt, allocations } of tables.holds.values())
    for (const { quotaId, cycleSeq, amount } of allocations)
      if (expiresAt <= now && quotaId === id && cycleSeq === quota.cycleSeq) quota.reserved -= amount
  return quota
}

describe('a consume', () => {
  it('is split in draw-down order, and answers with the operation', () => {
    const tables = tablesWith({ total: 5 }, { quotaType: 2, total: 3 })
    expect(tables.ask(NOW, consume(7), { id: 'one' }).answer).toEqual({
      id: 'one',
      kind: 'consume',
      state: 'consumed',
      account_id: OWNER,
      amount: 7,
      charged: 7,
      refunded: 0,
      allocations: [
        { quota_id: 2, amount: 3 },
        { quota_id: 1, amount: 4 },
      ],
      owner_remaining: 1,
      expires_at: null,
      created_at: formatInstant(NOW),
    })
  })

  it('is refused as a whole, with what remains and when it could fit', () => {
    const tables = tablesWith({ total: 5 }, { quotaType: 2, total: 3 })
    tables.ask(NOW, consume(4))
    tables.ask(NOW, reserve(2, 5400))
    const before = counters(tables)
    const { code, error } = tables.ask(NOW, consume(8))
    expect(code).toBe('quota_exceeded')
    expect(error!.extra).toEqual({
      requested: 8,
      remaining: 2,
      payable: 2,
      caps: [],
      // Even with all that comes back there are no more than 7.
      refills_at: null,
      quotas: [
        { id: 2, group_id: null, total: 3, used: 3, reserved: 0, remaining: 0, refills_at: formatInstant(NOW + HOUR) },
        { id: 1, group_id: null, total: 5, used: 1, reserved: 2, remaining: 2, refills_at: null },
      ],
    })
    // At one o'clock 3 come back, and the hold's 2 at half past.
    expect(tables.ask(NOW, consume(7)).error!.extra).toMatchObject({
      refills_at: formatInstant(NOW + 1.5 * HOUR),
    })
    expect(tables.ask(NOW, consume(5)).error!.extra).toMatchObject({ refills_at: formatInstant(NOW + HOUR) })
    expect(counters(tables)).toEqual(before)
  })

  it('names at most the first 20 quotas of a refusal', () => {
    const tables = tablesWith(...Array.from({ length: 25 }, (_, n) => ({ total: 1, expireAt: NOW + DAY - n })))
    const { quotas, remaining } = tables.ask(NOW, consume(26)).error!.extra as {
      quotas: { id: number }[]
      remaining: number
    }
    expect(remaining).toBe(25)
    expect(quotas.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => 25 - n))
  })

  it('finds no active quota if all are disabled, expired or deleted, and the refusal says so', () => {
    const tables = tablesWith({}, { expireAt: NOW + 1 }, {})
    tables.ask(NOW, update(1, { status: 'disabled' }))
    tables.ask(NOW, remove(3))
    expect(tables.ask(NOW + 1, consume(1)).code).toBe('no_active_quota')
    expect(new Tables().ask(NOW, consume(1)).code).toBe('no_active_quota')
    // One that is there but has nothing is another matter.
    expect(tablesWith({ total: 0 }).ask(NOW, consume(1)).code).toBe('quota_exceeded')
  })

  it('uses the new cycle from its first instant, and the old one until then', () => {
    const tables = tablesWith({ quotaType: 2 })
    expect(tables.ask(NOW, consume(10)).code).toBeUndefined()
    expect(tables.ask(NOW + HOUR - 1, consume(1)).code).toBe('quota_exceeded')
    expect(tables.ask(NOW + HOUR, consume(10)).code).toBeUndefined()
    expect(tables.ask(NOW + HOUR, consume(1)).code).toBe('quota_exceeded')
  })
})

describe('a hold', () => {
  it('keeps its units until a partial commit, and returns the rest, last allocated first', () => {
    const tables = tablesWith({ total: 5, expireAt: NOW + DAY }, { total: 5, expireAt: NOW + 2 * DAY })
    expect(tables.ask(NOW, reserve(8), { id: 'hold' }).answer).toMatchObject({
      state: 'reserved',
      charged: 0,
      owner_remaining: 2,
      expires_at: formatInstant(NOW + 600 * SECOND),
    })
    expect(tables.ask(NOW, consume(3)).code).toBe('quota_exceeded')
    expect(tables.ask(NOW, commit('hold', 6)).answer).toMatchObject({
      state: 'committed',
      amount: 8,
      charged: 6,
      owner_remaining: 4,
      allocations: [
        { quota_id: 1, amount: 5 },
        { quota_id: 2, amount: 3 },
      ],
    })
    expect([...tables.quotas.values()].map(({ used, reserved }) => [used, reserved])).toEqual([
      [5, 0],
      [1, 0],
    ])
  })

  it('no longer counts from the instant it is due, although its expiry is not recorded', () => {
    const tables = tablesWith({})
    tables.ask(NOW, reserve(10, 1), { id: 'hold' })
    expect(tables.ask(NOW + SECOND - 1, consume(1)).code).toBe('quota_exceeded')
    expect(tables.ask(NOW + SECOND, consume(10)).code).toBeUndefined()
    expect(tables.operations.get('hold')!.row.state).toBe('expired')
  })

  it('can be committed until its last millisecond, but not at its end', () => {
    const tables = tablesWith({})
    tables.ask(NOW, reserve(1, 1), { id: 'a' })
    tables.ask(NOW, reserve(1, 1), { id: 'b' })
    expect(tables.ask(NOW + SECOND - 1, commit('a')).answer).toMatchObject({ state: 'committed' })
    for (const late of [commit('b'), release('b')]) {
      const { code, error } = tables.ask(NOW + SECOND, late)
      expect(code).toBe('operation_already_settled')
      expect(error!.extra).toEqual({ state: 'expired' })
    }
  })

  it('expires on time even if its quota has rolled and nobody has read it', () => {
    const tables = tablesWith({ quotaType: 2 })
    tables.ask(NOW, reserve(1, 5400), { id: 'hold' })
    tables.ask(NOW + HOUR, consume(1))
    const { error } = tables.ask(NOW + 5400 * SECOND, commit('hold'))
    expect(error!.extra).toEqual({ state: 'expired' })
    // What somebody was told is written down, for an instance whose clock is behind.
    expect(tables.holds.has('hold')).toBe(false)
    expect(tables.operations.get('hold')!.row.state).toBe('expired')
  })

  it('is settled once: the same act again gets its answer, any other one is refused', () => {
    const settlings = [
      ['commit', commit('hold')],
      ['commit of all', commit('hold', 4)],
      ['commit of some', commit('hold', 3)],
      ['release', release('hold')],
    ] as const
    const same = (a: string, b: string): boolean =>
      a === b || (a.startsWith('commit') && b.startsWith('commit') && !`${a}${b}`.includes('some'))
    for (const [firstName, first] of settlings) {
      const tables = tablesWith({})
      tables.ask(NOW, reserve(4), { id: 'hold' })
      const { body } = tables.ask(NOW, first)
      const before = counters(tables)
      for (const now of [NOW, NOW + DAY]) {
        for (const [name, again] of settlings) {
          const reply = tables.ask(now, again, { caller: 'somebody else' })
          if (same(firstName, name)) expect(reply).toMatchObject({ body, replayed: true })
          else expect(reply.code).toBe('operation_already_settled')
        }
      }
      expect(counters(tables)).toEqual(before)
    }
  })

  it('cannot be committed beyond its units, and stays open after the attempt', () => {
    const tables = tablesWith({})
    tables.ask(NOW, reserve(4), { id: 'hold' })
    expect(tables.ask(NOW, commit('hold', 5))).toMatchObject({ code: 'commit_exceeds_hold' })
    expect(tables.ask(NOW, commit('hold', 4)).answer).toMatchObject({ charged: 4 })
  })

  it('is not a consume', () => {
    const tables = tablesWith({})
    tables.ask(NOW, consume(1), { id: 'spent' })
    for (const settling of [commit('spent'), release('spent')])
      expect(tables.ask(NOW, settling).code).toBe('operation_already_settled')
    for (const unknown of [commit('nowhere'), release('nowhere'), refund('nowhere')])
      expect(tables.ask(NOW, unknown, { key: null }).code).toBe('operation_not_found')
  })
})

describe('a refund', () => {
  it('returns what was allocated last first, and never more than was charged', () => {
    const tables = tablesWith({ total: 5, expireAt: NOW + DAY }, { total: 5, expireAt: NOW + 2 * DAY })
    tables.ask(NOW, consume(8), { id: 'spent' })
    const used = (): number[] => [...tables.quotas.values()].map((quota) => quota.used)
    expect(tables.ask(NOW, refund('spent', 4)).answer).toMatchObject({ charged: 8, refunded: 4, owner_remaining: 6 })
    expect(used()).toEqual([4, 0])
    expect(tables.ask(NOW, refund('spent', 5)).code).toBe('refund_exceeds_charge')
    expect(tables.ask(NOW, refund('spent')).answer).toMatchObject({ charged: 8, refunded: 8 })
    expect(used()).toEqual([0, 0])
    for (const more of [refund('spent', 1), refund('spent')])
      expect(tables.ask(NOW, more).code).toBe('refund_exceeds_charge')
  })

  it('applies to charged units: not to a hold that is open, released or expired', () => {
    const tables = tablesWith({})
    for (const id of ['open', 'released']) tables.ask(NOW, reserve(2), { id })
    tables.ask(NOW, reserve(2, 1), { id: 'expired' })
    tables.ask(NOW, release('released'))
    for (const id of ['open', 'released', 'expired'])
      for (const amount of [undefined, 1])
        expect(tables.ask(NOW + SECOND, refund(id, amount)).code).toBe('refund_exceeds_charge')
  })
})

describe('across a reset', () => {
  it.each(['commit', 'release', 'refund', 'expiry'])('%s neither burdens nor enriches the new cycle', (how) => {
    const tables = tablesWith({ quotaType: 2 })
    tables.ask(NOW, consume(4), { id: 'spent' })
    tables.ask(NOW, reserve(5, how === 'expiry' ? 2 * 3600 : 86_400), { id: 'hold' })
    const later = NOW + 2 * HOUR
    tables.ask(later, consume(3))
    tables.ask(later, reserve(2))
    const after = how === 'expiry' ? later + 1 : later
    if (how === 'commit') expect(tables.ask(later, commit('hold')).answer).toMatchObject({ charged: 5 })
    if (how === 'release') expect(tables.ask(later, release('hold')).answer).toMatchObject({ state: 'released' })
    if (how === 'refund') expect(tables.ask(later, refund('spent')).answer).toMatchObject({ refunded: 4 })
    expect(standing(tables, 1, after)).toMatchObject({ used: 3, reserved: 2 })
    expect(tables.ask(after, consume(5)).answer).toMatchObject({ owner_remaining: 0 })
  })

  it('also changes the last cycle of an expired quota, which no longer rolls', () => {
    const tables = tablesWith({ quotaType: 2, expireAt: NOW + 90 * 60 * SECOND })
    tables.ask(NOW + HOUR, consume(4), { id: 'spent' })
    tables.ask(NOW + HOUR, reserve(3, 86_400), { id: 'hold' })
    const over = NOW + 5 * HOUR
    tables.ask(over, refund('spent', 1))
    tables.ask(over, commit('hold', 2))
    expect(standing(tables, 1, over)).toMatchObject({ used: 5, reserved: 0, cycleEndsAt: NOW + 2 * HOUR })
    // Revived, it is in a new cycle.
    expect(tables.ask(over, update(1, { expireAt: null })).answer).toMatchObject({
      status: 'active',
      used: 0,
      cycle_reset_at: formatInstant(NOW + 6 * HOUR),
    })
    tables.ask(over, refund('spent'))
    expect(standing(tables, 1, over).used).toBe(0)
  })
})

describe('disabled, expired and deleted quotas', () => {
  it.each<[string, (tables: Tables) => Reply]>([
    ['disabled', (tables) => tables.ask(NOW, update(1, { status: 'disabled' }))],
    ['expired', (tables) => tables.ask(NOW, update(1, { expireAt: NOW }))],
    ['deleted', (tables) => tables.ask(NOW, remove(1))],
  ])('still take commits, releases and refunds: %s', (_, end) => {
    const tables = tablesWith({})
    tables.ask(NOW, consume(4), { id: 'spent' })
    tables.ask(NOW, reserve(2), { id: 'committed' })
    tables.ask(NOW, reserve(3), { id: 'released' })
    end(tables)
    expect(tables.ask(NOW, refund('spent', 1)).answer).toMatchObject({ refunded: 1, owner_remaining: 0 })
    expect(tables.ask(NOW, commit('committed')).answer).toMatchObject({ charged: 2 })
    expect(tables.ask(NOW, release('released')).answer).toMatchObject({ state: 'released' })
    expect(tables.quotas.get(1)).toMatchObject({ used: 5, reserved: 0 })
  })
})

describe('a key', () => {
  const onePerKind: [string, Command][] = [
    ['consume', consume(2)],
    ['reserve', reserve(2)],
    ['refund', refund('spent', 2)],
    ['create', creation({ total: 2 })],
  ]

  it.each(onePerKind)('replays the first answer of a %s byte for byte, whatever has become of it', (_, command) => {
    const tables = tablesWith({}, { quotaType: 2 })
    tables.ask(NOW, consume(5), { id: 'spent' })
    const first = tables.ask(NOW, command, { key: 'k', id: 'first' })
    expect(first).toMatchObject({ replayed: false, body: expect.any(String) })
    for (const settling of [commit('first', 1), refund('first'), refund('spent')]) tables.ask(NOW, settling)
    tables.ask(NOW, remove(1))
    const before = counters(tables)
    // In the far future a create's end has come, and the replay is not measured by it.
    for (const now of [NOW, NOW + 400 * DAY]) {
      const again = tables.request(command, { key: 'k' })
      for (const reply of tables.batch(now, [again, tables.request(command, { key: 'k' })]))
        expect(reply).toMatchObject({ replayed: true, body: first.body })
    }
    expect(counters(tables)).toEqual(before)
    expect(tables.acts.filter(({ idempotencyKey }) => idempotencyKey === 'k')).toHaveLength(1)
  })

  it('identifies one request: it is refused with any other one', () => {
    const others: [string, Command][] = [
      ...onePerKind,
      ['another amount', consume(3)],
      ['another time to live', reserve(2, 601)],
      ['another part', refund('spent', 1)],
      ['all that is left', refund('spent')],
      ['another operation', refund('other', 2)],
      ['another total', creation({ total: 3 })],
      ['another end', creation({ total: 2, expireAt: NOW + 1 })],
    ]
    for (const [first, command] of onePerKind) {
      for (const [name, other] of others) {
        if (first === name) continue
        const tables = tablesWith({})
        for (const id of ['spent', 'other']) tables.ask(NOW, consume(3), { id })
        tables.ask(NOW, command, { key: 'k' })
        const count = tables.acts.length
        expect([first, name, tables.ask(NOW, other, { key: 'k' }).code]).toEqual([
          first,
          name,
          'idempotency_key_reused',
        ])
        expect(tables.acts).toHaveLength(count)
      }
    }
  })

  it('identifies a refund of the whole rest, with or without an amount', () => {
    for (const [first, again] of [
      [undefined, 4],
      [4, undefined],
    ]) {
      const tables = tablesWith({})
      tables.ask(NOW, consume(5), { id: 'spent' })
      tables.ask(NOW, refund('spent', 1))
      const { body } = tables.ask(NOW, refund('spent', first), { key: 'k' })
      expect(tables.ask(NOW, refund('spent', again), { key: 'k' })).toMatchObject({ replayed: true, body })
    }
  })

  it('belongs to the caller that sent it', () => {
    const tables = tablesWith({})
    tables.ask(NOW, consume(2), { key: 'k', caller: 'a' })
    expect(tables.ask(NOW, consume(3), { key: 'k', caller: 'b' })).toMatchObject({ replayed: false })
    expect(tables.ask(NOW, consume(3), { key: 'K', caller: 'a' })).toMatchObject({ replayed: false })
    expect(tables.quotas.get(1)!.used).toBe(8)
  })

  it('can be used again after a refusal', () => {
    const tables = tablesWith({ quotaType: 2 })
    expect(tables.ask(NOW, consume(11), { key: 'k' }).code).toBe('quota_exceeded')
    expect(tables.ask(NOW, consume(10), { key: 'k' })).toMatchObject({ replayed: false })
    expect(tables.ask(NOW, consume(1), { key: 'l' }).code).toBe('quota_exceeded')
    expect(tables.ask(NOW + HOUR, consume(1), { key: 'l' })).toMatchObject({ replayed: false })
  })

  it('takes effect once if it is sent twice in one batch', () => {
    const tables = tablesWith({})
    const replies = tables.batch(
      NOW,
      [2, 2, 3].map((amount) => tables.request(consume(amount), { key: 'k' })),
    )
    expect(replies.map(({ code, replayed }) => code ?? replayed)).toEqual([false, true, 'idempotency_key_reused'])
    expect(replies[1]!.body).toBe(replies[0]!.body)
    expect(tables.quotas.get(1)!.used).toBe(2)
  })

  it('is checked after validation and before existence', () => {
    const tables = tablesWith({})
    tables.ask(NOW, consume(1), { key: 'k' })
    expect(tables.ask(NOW, refund('nowhere'), { key: 'k' }).code).toBe('idempotency_key_reused')
    expect(tables.ask(NOW, creation({ expireAt: NOW }), { key: 'k' }).code).toBe('validation_failed')
  })
})

describe('a rerun', () => {
  it.each<[string, Command]>([
    ['consume', consume(2)],
    ['commit', commit('hold')],
    ['update', update(1, { total: 99 })],
    ['delete', remove(1)],
  ])('finds what its own try has done, and answers it as the first success: %s', (_, command) => {
    const tables = tablesWith({})
    tables.ask(NOW, reserve(3), { id: 'hold' })
    const request = tables.request(command, { key: command.kind === 'consume' ? 'k' : null })
    const first = tables.batch(NOW, [request])
    const after = counters(tables)
    expect(tables.batch(NOW + 1, [request])).toEqual(first)
    expect(first[0]!.replayed).toBe(false)
    expect(counters(tables)).toEqual(after)
  })
})

describe('settings', () => {
  it('of a new quota are its answer and its first change', () => {
    const tables = new Tables()
    const { answer } = tables.create(NOW, { quotaType: 2, total: 8, cycleUnit: 'month' })
    expect(answer).toEqual({
      id: 1,
      account_id: OWNER,
      quota_type: 2,
      total: 8,
      used: 0,
      reserved: 0,
      remaining: 8,
      status: 'active',
      expire_at: null,
      cycle_unit: 'month',
      cycle_reset_at: formatInstant(NOW + HOUR),
      cycle_anchor_at: formatInstant(NOW + HOUR),
      cycle_time_zone: 'UTC',
      label: null,
      cap: null,
      window_seconds: null,
      thresholds: [],
      group_id: null,
      per: null,
      follows: null,
      overrides: null,
      version: 1,
      created_at: formatInstant(NOW),
      updated_at: formatInstant(NOW),
    })
    const { before, after, ...change } = tables.changes[0]!
    expect(change).toEqual({
      quotaId: 1,
      groupId: null,
      ownerId: OWNER,
      action: 'create',
      changeSetId: null,
      actor: 'tester',
      actorName: null,
      requestId: 'request',
      at: NOW,
    })
    expect(JSON.parse(before)).toEqual({})
    expect(JSON.parse(after)).toEqual({
      total: 8,
      status: 'active',
      expire_at: null,
      cycle_unit: 'month',
      cycle_reset_at: formatInstant(NOW + HOUR),
      cycle_time_zone: 'UTC',
      label: null,
      cap: null,
      window_seconds: null,
      thresholds: [],
    })
  })

  it('that do not change are no edit and leave no record', () => {
    const tables = tablesWith({ quotaType: 2 })
    const [before, changes, acts] = [{ ...tables.quotas.get(1)! }, tables.changes.length, tables.acts.length]
    const echo: SettingsPatch = { total: 10, status: 'active', expireAt: null, cycleResetAt: NOW + HOUR }
    expect(tables.ask(NOW + 5, update(1, echo, 1)).answer).toMatchObject({ version: 1, updated_at: formatInstant(NOW) })
    expect(tables.ask(NOW + 5, restore(1)).answer).toMatchObject({ version: 1, updated_at: formatInstant(NOW) })
    expect([tables.quotas.get(1), tables.changes.length, tables.acts.length]).toEqual([before, changes, acts])
  })

  it('count every edit, including delete and restore, but not usage', () => {
    const tables = tablesWith({})
    const versions = [update(1, { total: 20 }), consume(1), update(1, { total: 30 }), remove(1), restore(1)].map(
      (command, place) => {
        tables.ask(NOW + place, command)
        return tables.quotas.get(1)!.version
      },
    )
    expect(versions).toEqual([2, 2, 3, 4, 5])
    expect(tables.changes.map(({ action, at, before, after }) => [action, at - NOW, before, after]).slice(1)).toEqual([
      ['update', 0, '{"total":10}', '{"total":20}'],
      ['update', 2, '{"total":20}', '{"total":30}'],
      ['delete', 3, '{"deleted_at":null}', `{"deleted_at":"${formatInstant(NOW + 3)}"}`],
      ['restore', 4, `{"deleted_at":"${formatInstant(NOW + 3)}"}`, '{"deleted_at":null}'],
    ])
  })

  it('are refused by existence, then validation, then version, then state', () => {
    const tables = tablesWith({}, {})
    tables.ask(NOW, remove(2))
    const foreign: SettingsPatch = { cycleUnit: 'day' }
    const codes = [
      update(9, foreign, 9),
      update(2, foreign, 9),
      update(1, foreign, 9),
      update(1, { status: 'expired' }, 9),
      update(1, { status: 'expired' }, 1),
      remove(9, 9),
      remove(2, 9),
      remove(1, 9),
      restore(9),
    ].map((command) => tables.ask(NOW, command).code)
    expect(codes).toEqual([
      'quota_not_found',
      'quota_not_found',
      'validation_failed',
      'version_mismatch',
      'validation_failed',
      'quota_not_found',
      'quota_not_found',
      'version_mismatch',
      'quota_not_found',
    ])
    expect(tables.quotas.get(1)).toMatchObject({ version: 1, deletedAt: null })
    // Deleting again leaves the first time stamp.
    tables.ask(NOW + 1, remove(2))
    expect(tables.quotas.get(2)!.deletedAt).toBe(NOW)
    expect(tables.ask(NOW, remove(1, 1)).code).toBeUndefined()
  })

  it('of a refused update do not change, and a wrong version is answered with the current one', () => {
    const tables = tablesWith({ quotaType: 2 })
    const before = { ...tables.quotas.get(1)! }
    const { error } = tables.ask(NOW + 1, update(1, { total: 1, cycleResetAt: NOW }))
    expect(error!.fields!.map(({ field }) => field)).toEqual(['cycle_reset_at'])
    expect(tables.ask(NOW + 1, update(1, { total: 1 }, 2)).error!.extra).toEqual({ version: 1 })
    expect(tables.quotas.get(1)).toEqual(before)
  })

  it('take effect on the next request of the same batch', () => {
    const tables = tablesWith({}, { expireAt: NOW + DAY })
    const replies = tables.batch(
      NOW,
      [
        update(2, { status: 'disabled' }),
        consume(3),
        update(2, { status: 'active', expireAt: NOW + 99 * DAY }),
        consume(3),
        remove(1),
        consume(10),
        restore(1),
        consume(10),
        creation({ total: 100, expireAt: NOW + 1 }),
        consume(100),
      ].map((command) => tables.request(command)),
    )
    const paid = replies.map(({ answer }) =>
      (answer as Partial<OperationView> | undefined)?.allocations?.map(({ quota_id }) => quota_id),
    )
    expect(paid).toEqual([undefined, [1], undefined, [1], undefined, [2], undefined, undefined, undefined, [3]])
    expect(replies[7]!.code).toBe('quota_exceeded')
  })
})

describe('the limit of live quotas', () => {
  it('applies to a create, a restore and a reviving update, and to nothing else', () => {
    const tables = tablesWith(...Array.from({ length: MAX_LIVE_QUOTAS + 2 }, (_, n) => ({ expireAt: NOW + 1 + n })))
    // They expire one by one; the two that are over, and one deleted, make room for one more.
    const now = NOW + 2
    expect(tables.quotas.size).toBe(MAX_LIVE_QUOTAS)
    tables.ask(now, remove(MAX_LIVE_QUOTAS))
    for (let n = 0; n < 3; n += 1) expect(tables.create(now, {}).code).toBeUndefined()
    for (const command of [creation({}), restore(MAX_LIVE_QUOTAS), update(1, { expireAt: NOW + DAY })])
      expect(tables.ask(now, command).code).toBe('too_many_quotas')

    tables.ask(now, update(3, { status: 'disabled' }))
    expect(tables.ask(now, creation({})).code).toBe('too_many_quotas')
    for (const allowed of [update(1, { total: 5 }), update(1, { expireAt: NOW }), update(4, { expireAt: NOW + DAY })])
      expect(tables.ask(now, allowed).code).toBeUndefined()
    tables.ask(now, remove(1))
    expect(tables.ask(now, restore(1)).answer).toMatchObject({ status: 'expired' })

    tables.ask(now, remove(5))
    expect(tables.ask(now, update(1, { expireAt: NOW + DAY })).answer).toMatchObject({ status: 'active' })
    expect(tables.ask(now, creation({})).code).toBe('too_many_quotas')
  })
})

/**
 * The ledger once more, told unit by unit: each unit of an operation remembers its quota and which of the quota's
 * cycles it came from. Nothing is counted up or down: what a quota has used is the number of units that operations keep
 * of its running cycle.
 */
interface ModelQuota {
  id: number
  total: number
  off: boolean
  deleted: boolean
  version: number
  expireAt: Instant | null
  resetAt: Instant | null
  cycle: number
}
interface ModelOperation {
  id: string
  kind: 'consume' | 'reserve'
  state: string
  units: { quotaId: number; cycle: number }[]
  charged: number
  refunded: number
  expiresAt: Instant | null
  createdAt: Instant
  settled?: { kind: string; amount: number | null; body: string }
}

class Model {
  readonly quotas: ModelQuota[] = []
  readonly operations: ModelOperation[] = []
  readonly keys = new Map<string, { what: string; amount: number; all: number; body: string }>()
  now = NOW

  pass(time: number): void {
    this.now += time
    for (const quota of this.quotas) this.roll(quota)
    for (const operation of this.operations)
      if (operation.state === 'reserved' && operation.expiresAt! <= this.now) operation.state = 'expired'
  }

  roll(quota: ModelQuota): void {
    if (quota.resetAt === null) return
    const came = (): boolean =>
      quota.resetAt! <= this.now && (quota.expireAt === null || quota.resetAt! < quota.expireAt)
    if (came()) quota.cycle += 1
    while (came()) quota.resetAt += HOUR
  }

  over({ expireAt }: ModelQuota): boolean {
    return expireAt !== null && expireAt <= this.now
  }

  private units(quota: ModelQuota, part: (operation: ModelOperation) => ModelOperation['units']): number {
    return this.operations.flatMap(part).filter(({ quotaId, cycle }) => quotaId === quota.id && cycle === quota.cycle)
      .length
  }

  used(quota: ModelQuota): number {
    return this.units(quota, ({ units, charged, refunded }) => units.slice(0, charged - refunded))
  }

  reserved(quota: ModelQuota): number {
    return this.units(quota, ({ units, state }) => (state === 'reserved' ? units : []))
  }

  left(quota: ModelQuota): number {
    return Math.max(0, quota.total - this.used(quota) - this.reserved(quota))
  }

  paying(): ModelQuota[] {
    const lost = ({ resetAt, expireAt }: ModelQuota): number => Math.min(resetAt ?? Infinity, expireAt ?? Infinity)
    return this.quotas
      .filter((quota) => !quota.off && !quota.deleted && !this.over(quota))
      .sort((a, b) => (lost(a) === lost(b) ? a.id - b.id : lost(a) - lost(b)))
  }

  ownerLeft(): number {
    return this.paying().reduce((sum, quota) => sum + this.left(quota), 0)
  }

  /** What a command must come to; remembers what it did, but for the body. */
  expect(
    command: Command,
    key: string,
    id: string,
  ): { code?: string; replay?: string; view?: Record<string, unknown> } {
    const refused = (code: string): { code: string } => ({ code })
    switch (command.kind) {
      case 'consume':
      case 'reserve': {
        const hold = command.kind === 'reserve'
        const before = this.keyed(key, `${command.kind} ${hold ? command.ttlSeconds : ''}`, command.amount)
        if (before !== undefined) return before
        const paying = this.paying()
        if (paying.length === 0) return refused('no_active_quota')
        const free = paying.flatMap((quota) =>
          Array.from({ length: this.left(quota) }, () => ({ quotaId: quota.id, cycle: quota.cycle })),
        )
        if (free.length < command.amount) return refused('quota_exceeded')
        const operation: ModelOperation = {
          id,
          kind: command.kind,
          state: hold ? 'reserved' : 'consumed',
          units: free.slice(0, command.amount),
          charged: hold ? 0 : command.amount,
          refunded: 0,
          expiresAt: hold ? this.now + command.ttlSeconds * SECOND : null,
          createdAt: this.now,
        }
        this.operations.push(operation)
        this.keys.set(key, {
          what: `${command.kind} ${hold ? command.ttlSeconds : ''}`,
          amount: command.amount,
          all: command.amount,
          body: id,
        })
        return { view: this.view(operation) }
      }
      case 'commit':
      case 'release': {
        const operation = this.operations.find((one) => one.id === command.operationId)
        if (operation === undefined) return refused('operation_not_found')
        const all = operation.units.length
        const amount = command.kind === 'commit' ? (command.amount ?? all) : null
        const { settled } = operation
        if (settled?.kind === command.kind && settled.amount === amount) return { replay: settled.body }
        if (operation.state !== 'reserved') return refused('operation_already_settled')
        if (amount !== null && amount > all) return refused('commit_exceeds_hold')
        operation.state = command.kind === 'commit' ? 'committed' : 'released'
        operation.charged = amount ?? 0
        operation.settled = { kind: command.kind, amount, body: id }
        return { view: this.view(operation) }
      }
      case 'refund': {
        const what = `refund ${command.operationId}`
        const before = this.keyed(key, what, command.amount)
        if (before !== undefined) return before
        const operation = this.operations.find((one) => one.id === command.operationId)
        if (operation === undefined) return refused('operation_not_found')
        const all = operation.charged - operation.refunded
        const amount = command.amount ?? all
        if (all === 0 || amount > all) return refused('refund_exceeds_charge')
        operation.refunded += amount
        this.keys.set(key, { what, amount, all, body: id })
        return { view: this.view(operation) }
      }
      case 'update':
      case 'delete':
      case 'restore': {
        const quota = this.quotas.find((one) => one.id === command.quotaId)
        if (quota === undefined || (quota.deleted && command.kind !== 'restore')) return refused('quota_not_found')
        if (command.kind !== 'restore' && command.version !== undefined && command.version !== quota.version)
          return refused('version_mismatch')
        const before = JSON.stringify(quota)
        if (command.kind !== 'update') quota.deleted = command.kind === 'delete'
        else {
          const { total, status, expireAt, cycleResetAt } = command.patch
          quota.total = total ?? quota.total
          quota.off = status === undefined ? quota.off : status === 'disabled'
          quota.expireAt = expireAt === undefined ? quota.expireAt : expireAt
          quota.resetAt = cycleResetAt ?? quota.resetAt
        }
        if (JSON.stringify(quota) !== before) quota.version += 1
        this.roll(quota)
        return {
          view: { id: quota.id, version: quota.version, used: this.used(quota), reserved: this.reserved(quota) },
        }
      }
      case 'reset': {
        const quota = this.quotas.find((one) => one.id === command.quotaId)
        if (quota === undefined || quota.deleted) return refused('quota_not_found')
        if (command.version !== undefined && command.version !== quota.version) return refused('version_mismatch')
        if (this.used(quota) + this.reserved(quota) > 0) quota.cycle += 1
        return { view: { id: quota.id, version: quota.version, used: 0, reserved: 0 } }
      }
      case 'create':
      case 'group':
      case 'members':
      case 'sweep':
      case 'follow':
        throw new Error('not played')
    }
  }

  private keyed(key: string, what: string, amount: number | undefined): { code?: string; replay?: string } | undefined {
    const known = this.keys.get(key)
    if (known === undefined) return undefined
    const same = known.what === what && (amount ?? known.all) === known.amount
    return same ? { replay: known.body } : { code: 'idempotency_key_reused' }
  }

  private view({
    id,
    kind,
    state,
    units,
    charged,
    refunded,
    expiresAt,
    createdAt,
  }: ModelOperation): Record<string, unknown> {
    const allocations: { quota_id: number; amount: number }[] = []
    for (const { quotaId } of units) {
      const last = allocations.at(-1)
      if (last?.quota_id === quotaId) last.amount += 1
      else allocations.push({ quota_id: quotaId, amount: 1 })
    }
    return {
      id,
      kind,
      state,
      account_id: OWNER,
      amount: units.length,
      charged,
      refunded,
      allocations,
      owner_remaining: this.ownerLeft(),
      expires_at: expiresAt === null ? null : formatInstant(expiresAt),
      created_at: formatInstant(createdAt),
    }
  }
}

describe('any sequence of requests', () => {
  /** A move names operations and quotas by number; which one that is, is known only when its turn comes. */
  const pick = fc.nat(30)
  const amount = fc.integer({ min: 1, max: 9 })
  const key = fc.nat(40)
  const anyMove = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('consume' as const), amount, key }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('reserve' as const),
        amount,
        key,
        ttlSeconds: fc.constantFrom(1, 600, 3600, 9000),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('commit' as const),
        pick,
        amount: fc.option(amount, { nil: undefined }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), pick }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('refund' as const),
        pick,
        key,
        amount: fc.option(amount, { nil: undefined }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('update' as const),
        pick,
        patch: fc.oneof(
          fc.record({ total: fc.nat(15) }),
          fc.record({ status: fc.constantFrom('active' as const, 'disabled' as const) }),
          fc.record({ end: fc.constantFrom(null, -HOUR, 0, 1, HOUR, 5000 * SECOND) }),
          fc.record({ reset: fc.constantFrom(1, 1800 * SECOND, 5000 * SECOND) }),
        ),
        version: fc.constantFrom('none', 'none', 'right', 'wrong'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'restore' as const), pick }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('reset' as const),
        pick,
        version: fc.constantFrom('none', 'none', 'right', 'wrong'),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('again' as const), pick }) },
  )
  const anyBatch = fc.record({
    // The next reset, end of a hold or end of a quota, at that very instant and around it, or just some time.
    time: fc.oneof(
      fc.constantFrom(0, 0, 0, 1, SECOND, 1800 * SECOND, HOUR, 3 * HOUR),
      fc.constantFrom('event', 'event', 'before'),
    ),
    moves: fc.array(anyMove, { minLength: 1, maxLength: 4 }),
  })
  type Move = typeof anyMove extends fc.Arbitrary<infer T> ? T : never

  const START: Partial<NewSettings>[] = [
    { quotaType: 2, total: 8 },
    { total: 7, expireAt: NOW + 2 * HOUR },
    { quotaType: 2, total: 6, expireAt: NOW + 3 * HOUR, cycleResetAt: NOW + 1800 * SECOND },
    { total: 9 },
  ]

  const begin = (): { tables: Tables; model: Model } => {
    const [tables, model] = [tablesWith(...START), new Model()]
    for (const { id, total, expireAt, cycleEndsAt } of tables.quotas.values())
      model.quotas.push({
        id,
        total,
        off: false,
        deleted: false,
        version: 1,
        expireAt,
        resetAt: cycleEndsAt,
        cycle: 0,
      })
    return { tables, model }
  }

  const nextEvent = ({ now, quotas, operations }: Model): Instant =>
    [
      ...quotas.flatMap(({ resetAt, expireAt }) => [resetAt, expireAt]),
      ...operations.map(({ state, expiresAt }) => (state === 'reserved' ? expiresAt : null)),
    ].reduce<Instant>((first, at) => (at !== null && at > now && at < first ? at : first), now + DAY)

  const commandOf = (move: Exclude<Move, { kind: 'again' }>, model: Model): Command => {
    const operationId = 'pick' in move ? (model.operations.at(-1 - (move.pick % 8))?.id ?? 'nowhere') : ''
    const quota = 'pick' in move ? model.quotas[move.pick % (model.quotas.length + 1)] : undefined
    switch (move.kind) {
      case 'consume':
        return consume(move.amount)
      case 'reserve':
        return reserve(move.amount, move.ttlSeconds)
      case 'commit':
        return commit(operationId, move.amount)
      case 'release':
        return release(operationId)
      case 'refund':
        return refund(operationId, move.amount)
      case 'delete':
        return remove(quota?.id ?? 99)
      case 'restore':
        return restore(quota?.id ?? 99)
      case 'reset': {
        const version = { none: undefined, right: quota?.version, wrong: 99 }[move.version]
        return { kind: 'reset', quotaId: quota?.id ?? 99, version }
      }
      case 'update': {
        const version = { none: undefined, right: quota?.version, wrong: 99 }[move.version]
        const { patch } = move
        if ('end' in patch) {
          const expireAt = patch.end === null ? (quota?.resetAt == null ? NOW : null) : model.now + patch.end
          return update(quota?.id ?? 99, { expireAt }, version)
        }
        if ('reset' in patch)
          return quota?.resetAt == null
            ? update(quota?.id ?? 99, { total: 5 }, version)
            : update(quota.id, { cycleResetAt: model.now + patch.reset }, version)
        return update(quota?.id ?? 99, patch, version)
      }
    }
  }

  it('has the same result as counting unit by unit, and keeps every promise at each step', () => {
    const met = new Map<string, number>()
    const outcomes = [
      ...['consume done', 'consume replayed', 'consume idempotency_key_reused', 'consume quota_exceeded'],
      ...['reserve done', 'reserve replayed', 'reserve idempotency_key_reused', 'reserve quota_exceeded'],
      ...['commit done', 'commit replayed', 'commit operation_already_settled', 'commit commit_exceeds_hold'],
      ...['release done', 'release replayed', 'release operation_already_settled', 'release operation_not_found'],
      ...['refund done', 'refund replayed', 'refund idempotency_key_reused', 'refund refund_exceeds_charge'],
      ...['update done', 'update quota_not_found', 'update version_mismatch', 'delete done', 'restore done'],
      ...['reset done', 'reset quota_not_found', 'reset version_mismatch'],
      ...['due and not swept', 'lowered below its use'],
    ]
    const missed = (): string[] => outcomes.filter((outcome) => !met.has(outcome))
    const { seed } = fc.readConfigureGlobal()
    const live = (round: number): void =>
      fc.assert(
        fc.property(fc.array(anyBatch, { minLength: 1, maxLength: 25 }), (batches) => {
          const { tables, model } = begin()
          const bodies = new Map<string, string>()
          const sent: Request[] = []
          const lowered = new Set<number>()
          for (const { time, moves } of batches) {
            const event = nextEvent(model) - model.now
            model.pass(typeof time === 'number' ? time : time === 'event' ? event : event - 1)
            const { now } = model

            const stood = new Map(model.quotas.map((quota) => [quota.id, model.used(quota) + model.reserved(quota)]))
            const requests: Request[] = []
            const expected = moves.map((move) => {
              const again = move.kind === 'again' ? sent[move.pick % Math.max(1, sent.length)] : undefined
              const one = move.kind === 'again' ? { kind: 'release' as const, pick: move.pick } : move
              const command = again?.command ?? commandOf(one, model)
              const key = again === undefined ? ('key' in one ? `key ${one.key}` : null) : again.key
              const request = tables.request(command, { key })
              requests.push(request)
              if ('amount' in command || command.kind === 'release') sent.unshift(request)
              return model.expect(command, key ?? '', request.id)
            })
            const replies = tables.batch(now, requests)

            for (const [place, { code, replay, view }] of expected.entries()) {
              const [reply, { id, command }] = [replies[place]!, requests[place]!]
              met.set(`${command.kind} ${code ?? (replay === undefined ? 'done' : 'replayed')}`, 1)
              if (code !== undefined) expect(reply.code).toBe(code)
              else if (replay !== undefined) expect(reply).toMatchObject({ replayed: true, body: bodies.get(replay) })
              else {
                expect(reply.replayed).toBe(false)
                expect(reply.answer).toMatchObject(view!)
                bodies.set(id, reply.body!)
              }
            }

            const settingsMoved = requests.some(({ command }) => 'quotaId' in command)
            for (const { command } of requests)
              if (command.kind === 'update' && command.patch.total !== undefined) lowered.add(command.quotaId)
            for (const quota of model.quotas) {
              const { used, reserved, total } = standing(tables, quota.id, now)
              expect({ used, reserved, total }).toEqual({
                used: model.used(quota),
                reserved: model.reserved(quota),
                total: quota.total,
              })
              expect(Math.min(used, reserved)).toBeGreaterThanOrEqual(0)
              // Above the total only where it was lowered, and from there no further up.
              if (!settingsMoved && used + reserved > total)
                expect(used + reserved).toBeLessThanOrEqual(stood.get(quota.id)!)
              // Nor as it is written down, where due holds still count.
              const written = tables.quotas.get(quota.id)!
              if (written.used + written.reserved > written.total) {
                met.set('lowered below its use', 1)
                expect(lowered.has(quota.id)).toBe(true)
              }
              if (written.reserved > reserved && written.cycleSeq === standing(tables, quota.id, now).cycleSeq)
                met.set('due and not swept', 1)
            }
            const open = model.operations.filter(({ state }) => state === 'reserved').map(({ id }) => id)
            for (const id of open) expect(tables.holds.has(id)).toBe(true)
            for (const id of tables.holds.keys()) expect(tables.operations.get(id)!.row.state).toBe('reserved')
          }
        }),
        { numRuns: 400, ...(seed === undefined ? {} : { seed: seed + round }) },
      )
    // Rare ones may take more histories than the first few hundred.
    for (let round = 0; round === 0 || (round < 10 && missed().length > 0); round += 1) live(round)
    expect(missed()).toEqual([])
  })
})
