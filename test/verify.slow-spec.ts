import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { instantToStore } from '../src/database/column.js'
import { EventSequencer } from '../src/ledger/feed/event-sequencer.js'
import { BackgroundVerifier } from '../src/ledger/verify/background-verifier.js'
import { type Finding, type Rule } from '../src/ledger/verify/verify-check.js'
import { findingLine, type Repaired, type Verification, Verifier } from '../src/ledger/verify/verifier.js'
import { Upkeep } from '../src/ledger/upkeep/upkeep.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { SMS } from '../src/sms-quota/sms.channel.js'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './support/channel-api.js'
import { runNode } from './support/command.js'
import { Instance } from './support/instance.js'
import { SCALE } from './support/figures.js'
import { readable, stored } from './support/ids.js'
import { bodyOf, copyQuota, fresh, stopSweepers, sweeperOf } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onEveryStore } from './support/store.js'
import { linesOf, mailVerifierOf } from './support/verify.js'

// The command is that of the last `npm run build`.
const ENTRY = join(process.cwd(), 'dist/src/verify.js')
const APIS = [MAIL_API, SMS_API] as const
const HOUR = 3_600
const DAY = 86_400
const RUN = 'verify-of-a-test'

/** Ids of rows of an owner that has used every kind of act. */
interface Life {
  readonly owner: number
  /** Of type 2, in its second cycle, with usage in it. */
  readonly cycle: number
  /** Of type 1, with thresholds, of which `used` has reached the first, and the open hold. */
  readonly total: number
  readonly deleted: number
  /** A consume of one row. */
  readonly plain: string
  /** A consume that was refunded in part. */
  readonly refunded: string
  /** A consume that two quotas paid. */
  readonly split: string
  readonly open: string
  readonly committed: string
  readonly released: string
  readonly expired: string
  /** A quota of a group that paid for a member, who has no other. */
  readonly shared: number
  /** An open hold of units of it. */
  readonly drawn: string
  /** A consume of the member that it paid, and a cap of the group counted. */
  readonly counted: string
  readonly group: number
}

type Table = 'quota' | 'owner' | 'act' | 'operation' | 'allocation' | 'hold' | 'change' | 'event'

/** A damage to rows of an owner, the rules of the findings, and whether `--repair` repairs all of it. */
interface Damage {
  readonly damage: string
  readonly rules: readonly Rule[]
  readonly repaired?: true
  readonly table: Table
  /** Which rows. */
  readonly where: string
  readonly of: keyof Life
  /** The assignments; absent: the rows are deleted. */
  readonly set?: Readonly<Record<string, string>>
  /** Rows to be inserted instead. */
  readonly insert?: string
}

/** The column of the deduplication key. */
const KEY = 'deduplication_key'
const NO_OPERATION = '01990000-0000-7000-8000-000000000001'
const PAST = "'2020-01-01 00:00:00.000'"
const FUTURE = "'2999-01-01 00:00:00.000'"
const ID: Readonly<Record<Table, readonly string[]>> = {
  quota: ['id'],
  owner: ['owner_id'],
  act: ['id'],
  operation: ['id'],
  allocation: ['operation_id', 'position'],
  hold: ['operation_id', 'owner_id'],
  change: ['id'],
  event: ['seq'],
}

const ofQuota = (of: 'total' | 'cycle' | 'deleted' | 'shared', set: Record<string, string>) =>
  ({ table: 'quota', where: 'id = ?', of, set }) as const
const ofOperation = (of: keyof Life, set?: Record<string, string>) =>
  ({ table: 'operation', where: 'id = ?', of, ...(set === undefined ? {} : { set }) }) as const
const ofAct = (of: keyof Life, set: Record<string, string>, where = 'id = ?') =>
  ({ table: 'act', where, of, set }) as const
const CREATE = "kind = 'create' AND quota_id = ?"
const THRESHOLD = "type = 'quota.threshold_reached' AND quota_id = ?"

// prettier-ignore
const DAMAGES: Damage[] = [
  // Repaired: what one derivable value says.
  { damage: 'used is too low', rules: ['counters'], repaired: true, ...ofQuota('total', { used: 'used - 1' }) },
  { damage: 'used of a deleted quota is too low', rules: ['counters'], repaired: true, ...ofQuota('deleted', { used: '0' }) },
  { damage: 'reserved is too low', rules: ['counters'], repaired: true, ...ofQuota('total', { reserved: '0' }) },
  { damage: 'hold_due_at is missing', rules: ['hold_due'], repaired: true, ...ofQuota('total', { hold_due_at: 'NULL' }) },
  { damage: 'hold_due_at is after the hold', rules: ['hold_due'], repaired: true, ...ofQuota('total', { hold_due_at: FUTURE }) },

  // Created again, without the group that it named.
  { damage: 'the lock row is missing', rules: ['owner_row'], table: 'owner', where: 'owner_id = ?', of: 'owner' },

  // Named: counters, settings, thresholds and events of a quota.
  { damage: 'used is too high', rules: ['counters'], ...ofQuota('total', { used: 'used + 5' }) },
  { damage: 'reserved is too high', rules: ['counters'], ...ofQuota('total', { reserved: 'reserved + 5' }) },
  { damage: 'the version is one too high', rules: ['version'], ...ofQuota('total', { version: 'version + 1' }) },
  { damage: 'total is edited', rules: ['settings'], ...ofQuota('total', { total: 'total + 1' }) },
  { damage: 'total is lowered below what is used', rules: ['settings', 'overdrawn', 'passed'], ...ofQuota('total', { total: '1' }) },
  { damage: 'thresholds are edited', rules: ['settings'], ...ofQuota('total', { thresholds: "'1 95'" }) },
  { damage: 'thresholds are unreadable', rules: ['settings'], ...ofQuota('total', { thresholds: "'90 1'" }) },
  { damage: 'label is edited', rules: ['settings'], ...ofQuota('total', { label: "'other'" }) },
  { damage: 'a quota is disabled', rules: ['settings'], ...ofQuota('cycle', { state: "'disabled'" }) },
  { damage: 'expire_at is edited', rules: ['settings'], ...ofQuota('total', { expire_at: FUTURE }) },
  { damage: 'expire_at of type 1 is missing', rules: ['settings'], ...ofQuota('deleted', { expire_at: 'NULL' }) },
  { damage: 'a quota is expired without expire_at', rules: ['settings'], ...ofQuota('cycle', { state: "'expired'" }) },
  { damage: 'deleted_at is missing', rules: ['settings'], ...ofQuota('deleted', { deleted_at: 'NULL' }) },
  { damage: 'cap is set', rules: ['settings', 'plain_consume', 'allocations'], ...ofQuota('total', { cap: "'observe'" }) },
  { damage: 'cycle_unit is missing', rules: ['settings'], ...ofQuota('cycle', { cycle_unit: 'NULL' }) },
  { damage: 'cycle_unit is edited', rules: ['settings'], ...ofQuota('cycle', { cycle_unit: "'hour'" }) },
  { damage: 'cycle_time_zone is edited', rules: ['settings'], ...ofQuota('cycle', { cycle_time_zone: "'Asia/Kathmandu'" }) },
  { damage: 'cycle_anchor_at is edited', rules: ['settings'], ...ofQuota('cycle', { cycle_anchor_at: PAST }) },
  { damage: 'the end of the cycle is no reset', rules: ['settings'], ...ofQuota('cycle', { cycle_ends_at: "'2999-01-01 00:00:00.001'" }) },
  { damage: 'passed is null', rules: ['passed'], ...ofQuota('total', { passed: 'NULL' }) },
  { damage: 'passed names a threshold that was never reached', rules: ['passed'], ...ofQuota('total', { passed: "'0:1 90'" }) },
  { damage: 'passed names a count that was never begun', rules: ['passed'], ...ofQuota('total', { passed: "'7:1'" }) },
  { damage: 'a threshold event is deleted', rules: ['event'], table: 'event', where: THRESHOLD, of: 'total' },
  { damage: 'the event of a create is deleted', rules: ['event'], table: 'event', where: "type = 'quota.created' AND quota_id = ?", of: 'total' },
  { damage: 'the event of an update is deleted', rules: ['event'], table: 'event', where: "type = 'quota.updated' AND quota_id = ?", of: 'total' },
  { damage: 'the event of a delete is deleted', rules: ['event'], table: 'event', where: "type = 'quota.deleted' AND quota_id = ?", of: 'deleted' },
  { damage: 'an event names another quota', rules: ['event'], table: 'event', where: THRESHOLD, of: 'total', set: { quota_id: 'quota_id + 1000000' } },
  { damage: 'an event names another act', rules: ['event'], table: 'event', where: THRESHOLD, of: 'total', set: { act_id: `X'${NO_OPERATION.replaceAll('-', '')}'` } },
  { damage: 'a change is deleted', rules: ['version', 'event', 'settings'], table: 'change', where: "action = 'update' AND quota_id = ?", of: 'total' },
  { damage: 'a change names another owner', rules: ['change', 'version', 'event'], table: 'change', where: "action = 'create' AND quota_id = ?", of: 'total', set: { owner_id: 'owner_id + 1000000' } },
  { damage: 'a change names no quota', rules: ['change', 'version', 'event', 'settings'], table: 'change', where: "action = 'delete' AND quota_id = ?", of: 'deleted', set: { quota_id: 'quota_id + 1000000' } },
  { damage: 'a change is no JSON', rules: ['change', 'settings'], table: 'change', where: "action = 'update' AND quota_id = ?", of: 'total', set: { after_json: "'{'" } },

  { damage: 'an opening balance is raised', rules: ['settings'], ...ofQuota('total', { opening_used: 'opening_used + 5' }) },
  { damage: 'an opening balance is raised, with used', rules: ['settings', 'counters'], ...ofQuota('total', { opening_used: 'opening_used + 5', used: 'used + 5' }) },
  { damage: 'an opening balance is forgotten', rules: ['settings', 'counters'], ...ofQuota('total', { opening_used: '0' }) },
  { damage: 'an opening balance of an earlier cycle is edited', rules: ['settings'], ...ofQuota('cycle', { opening_used: '2' }) },
  { damage: 'an opening balance is raised in the change', rules: ['settings'], table: 'change', where: "action = 'create' AND quota_id = ?", of: 'total', set: { after_json: `REPLACE(after_json, '"used":5', '"used":55')` } },

  // Quotas of groups.
  { damage: 'an opening balance of a group is forgotten', rules: ['settings', 'counters'], ...ofQuota('shared', { opening_used: '0' }) },
  { damage: 'used of a group is too low', rules: ['counters'], repaired: true, ...ofQuota('shared', { used: 'used - 1' }) },
  { damage: 'reserved of a group is too low', rules: ['counters'], repaired: true, ...ofQuota('shared', { reserved: '0' }) },
  { damage: 'the lock row of a group is missing', rules: ['owner_row'], repaired: true, table: 'owner', where: 'owner_id = -?', of: 'group' },
  { damage: 'used of a group is too high', rules: ['counters'], ...ofQuota('shared', { used: 'used + 5' }) },
  { damage: 'total of a group is edited', rules: ['settings'], ...ofQuota('shared', { total: 'total + 1' }) },
  { damage: 'passed of a group is null', rules: ['passed'], ...ofQuota('shared', { passed: 'NULL' }) },
  { damage: 'a threshold event of a group is deleted', rules: ['event'], table: 'event', where: THRESHOLD, of: 'shared' },
  { damage: 'a hold of a group has no row', rules: ['hold'], table: 'hold', where: 'owner_id < 0 AND operation_id = ?', of: 'drawn' },
  { damage: 'a hold of a group ends at another time', rules: ['hold'], table: 'hold', where: 'owner_id < 0 AND operation_id = ?', of: 'drawn', set: { expires_at: FUTURE } },
  { damage: 'an allocation of a group has another amount', rules: ['allocations', 'counters'], table: 'allocation', where: 'position = 0 AND operation_id = ?', of: 'drawn', set: { amount: 'amount + 1' } },
  { damage: 'what a cap of a group counted has another amount', rules: ['allocations'], table: 'allocation', where: 'operation_id = ?', of: 'counted', set: { amount: 'amount + 1' } },
  { damage: 'what a cap of a group counted has another time', rules: ['allocations'], table: 'allocation', where: 'operation_id = ?', of: 'counted', set: { counted_at: PAST } },
  { damage: 'what a cap of a group counted is of another count', rules: ['allocations', 'counters'], table: 'allocation', where: 'operation_id = ?', of: 'counted', set: { cycle_seq: 'cycle_seq + 1' } },
  { damage: 'what a cap of a group counted has no row', rules: ['counters'], table: 'allocation', where: 'operation_id = ?', of: 'counted' },
  { damage: 'a plain consume that a group paid names none of its caps', rules: ['stray'], ...ofAct('counted', { caps: 'NULL' }) },
  { damage: 'an act on a group names a quota', rules: ['act'], table: 'act', where: "kind = 'group' AND owner_id = -?", of: 'group', set: { quota_id: '1' } },
  { damage: 'a change of a group names none', rules: ['change'], table: 'change', where: 'quota_id IS NULL AND group_id = ?', of: 'group', set: { group_id: 'NULL' } },

  // Named: operations and acts.
  { damage: 'an act has another amount than its operation', rules: ['operation_act'], ...ofAct('released', { amount: 'amount + 1' }) },
  { damage: 'an act names another operation', rules: ['operation_act', 'operation_missing'], ...ofAct('released', { operation_id: `X'${NO_OPERATION.replaceAll('-', '')}'` }) },
  { damage: 'a refunded consume has no operation row', rules: ['operation_missing', 'counters'], ...ofOperation('refunded') },
  { damage: 'a reservation has no operation row', rules: ['operation_missing', 'counters'], ...ofOperation('committed') },
  { damage: 'charged is more than the acts say', rules: ['operation_state', 'counters'], ...ofOperation('committed', { charged: 'charged + 1' }) },
  { damage: 'a refund is forgotten', rules: ['operation_state', 'counters'], ...ofOperation('refunded', { refunded: '0' }) },
  { damage: 'a released hold is committed', rules: ['operation_state'], ...ofOperation('released', { state: "'committed'" }) },
  { damage: 'an expired hold is committed', rules: ['operation_state'], ...ofOperation('expired', { state: "'committed'" }) },
  { damage: 'a consume has an expiry', rules: ['operation_state'], ...ofOperation('split', { expires_at: FUTURE }) },
  { damage: 'an allocation has another amount', rules: ['allocations', 'counters'], table: 'allocation', where: 'position = 0 AND operation_id = ?', of: 'split', set: { amount: 'amount + 1' } },
  { damage: 'an allocation contradicts its act', rules: ['allocations', 'counters'], table: 'allocation', where: 'operation_id = ?', of: 'refunded', set: { amount: '1' } },
  { damage: 'an allocation is deleted', rules: ['allocations', 'counters'], table: 'allocation', where: 'operation_id = ?', of: 'refunded' },
  { damage: 'an allocation names no quota', rules: ['allocations', 'counters'], table: 'allocation', where: 'operation_id = ?', of: 'open', set: { quota_id: 'quota_id + 1000000' } },
  { damage: 'an open hold has no row', rules: ['hold'], table: 'hold', where: 'operation_id = ?', of: 'open' },
  { damage: 'a hold ends at another time', rules: ['hold'], table: 'hold', where: 'operation_id = ?', of: 'open', set: { expires_at: FUTURE } },
  { damage: 'a settled hold has a row', rules: ['hold'], table: 'hold', where: '', of: 'committed', insert: `?, owner_id, ${FUTURE}` },
  { damage: 'a hold has no operation', rules: ['stray'], table: 'hold', where: '', of: 'owner', insert: `X'${NO_OPERATION.replaceAll('-', '')}', ?, ${FUTURE}` },
  { damage: 'an allocation has no operation', rules: ['stray'], table: 'allocation', where: '', of: 'total', insert: `X'${NO_OPERATION.replaceAll('-', '')}', 0, ?, 0, 5, NULL` },
  { damage: 'a plain consume has an allocation', rules: ['stray'], table: 'allocation', where: '', of: 'plain', insert: '?, 0, 1, 0, 5, NULL' },
  { damage: 'a hold is settled twice', rules: ['key', 'settled_once'], table: 'act', where: "operation_id = ? AND kind = 'commit'", of: 'committed', insert: 'copy' },
  { damage: 'a key has two acts', rules: ['key', 'counters'], table: 'act', where: 'id = ?', of: 'plain', insert: 'copy' },
  { damage: 'an act has lost its key', rules: ['key'], ...ofAct('plain', { [KEY]: 'NULL' }) },
  { damage: 'an act has another key', rules: ['key'], ...ofAct('plain', { idempotency_key: "'other'" }) },
  { damage: 'an act names a quota of another owner', rules: ['act', 'event'], ...ofAct('total', { owner_id: 'owner_id + 1000000' }, CREATE) },
  { damage: 'an act on a quota is of a kind for groups', rules: ['act'], ...ofAct('total', { kind: "'group'" }, CREATE) },
  { damage: 'a plain consume has no count', rules: ['plain_consume', 'counters'], ...ofAct('plain', { cycle_seq: 'NULL' }) },
  { damage: 'a plain consume is of a count that was never begun', rules: ['plain_consume', 'counters'], ...ofAct('plain', { cycle_seq: 'cycle_seq + 9' }) },
]

it('lets a pager take its time', async () => {
  // Prints a page, tells on stderr whether it has to wait, and at last what waited at most.
  const script = `
    import { taken, tell } from './dist/src/command.js'
    let most = 0
    for (let page = 0; page < 50; page += 1) {
      tell('x'.repeat(100_000))
      if (page === 0) process.stderr.write('begun')
      most = Math.max(most, process.stdout.writableLength)
      await taken()
    }
    process.stderr.write(' ' + String(most))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  await once(child.stderr, 'data')
  const [said, printed] = await Promise.all([text(child.stderr), text(child.stdout)])
  expect([printed.length, Number(said) <= 100_001]).toEqual([50 * 100_001, true])
})

onEveryStore('verify', (kind) => {
  let app: TestApp
  let dataSource: DataSource
  let transactions: TransactionRunner

  async function begin(): Promise<void> {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    // What is added up while a row is damaged would stay so.
    for (const channel of [MAIL, SMS]) await app.app.get<Upkeep<never>>(channelToken(channel, Upkeep)).onModuleDestroy()
    dataSource = app.app.get(DataSource)
    transactions = app.app.get(TransactionRunner)
  }

  beforeAll(begin)

  const verifier = (api: ChannelApi): Verification =>
    api.channel === 'mail'
      ? new Verifier(MAIL, dataSource, transactions, app.clock)
      : new Verifier(SMS, dataSource, transactions, app.clock)

  async function findings(api: ChannelApi): Promise<Finding[]> {
    const found: Finding[] = []
    for await (const page of verifier(api).pages()) found.push(...page.findings)
    return found
  }

  const lines = async (): Promise<string[]> => [
    ...(await linesOf(verifier(MAIL_API))),
    ...(await linesOf(verifier(SMS_API))),
  ]

  /** Repairs as the command does: page by page. */
  async function repair(api: ChannelApi): Promise<[rule: string, outcome: Repaired | undefined][]> {
    const verification = verifier(api)
    const outcomes: [string, Repaired | undefined][] = []
    for await (const page of verification.pages()) {
      const wrong = page.findings.filter(({ note }) => note !== true)
      const repaired = await verification.repair(wrong, RUN)
      for (const finding of wrong) outcomes.push([finding.rule, repaired.get(finding)])
    }
    return outcomes
  }

  const sql = async (statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    dataSource.query<Record<string, unknown>[]>(statement, stored(values)).then(readable)

  async function quota(api: ChannelApi, owner: number, body: object): Promise<number> {
    return bodyOf(201, await app.post(api.quotas, { [api.owner]: owner, ...body })).id
  }

  const total = async (api: ChannelApi, owner: number, units: number, more: object = {}): Promise<number> =>
    quota(api, owner, { quota_type: 1, total: units, expire_at: app.clock.after(400 * DAY + fresh()), ...more })

  async function consume(api: ChannelApi, owner: number, amount: number): Promise<string> {
    const body = { [api.owner]: owner, amount }
    return bodyOf(200, await app.post(api.consume, body, { key: `consume-${fresh()}` })).id
  }

  async function reserve(api: ChannelApi, owner: number, amount: number, ttl = DAY): Promise<string> {
    const body = { [api.owner]: owner, amount, ttl_seconds: ttl }
    return bodyOf(201, await app.post(api.reserve, body, { key: `reserve-${fresh()}` })).id
  }

  const act = async (api: ChannelApi, id: string, what: string, amount?: number): Promise<unknown> =>
    bodyOf(
      200,
      await app.post(`${api.usage}/${id}/${what}`, amount === undefined ? {} : { amount }, {
        ...(what === 'refund' ? { key: `refund-${fresh()}` } : {}),
      }),
    )

  async function live(api: ChannelApi): Promise<Life> {
    const owner = fresh()
    const deleted = await total(api, owner, 10)
    await consume(api, owner, 4)
    bodyOf(204, await app.delete(`${api.quotas}/${deleted}`))

    const reset = await total(api, owner, 30)
    await consume(api, owner, 20)
    bodyOf(200, await app.post(`${api.quotas}/${reset}/reset`, {}))
    bodyOf(200, await app.put(`${api.quotas}/${reset}`, { status: 'disabled' }))

    const cycle = await quota(api, owner, {
      quota_type: 2,
      total: 10,
      used: 1,
      cycle_unit: 'day',
      cycle_reset_at: app.clock.after(HOUR),
    })
    await consume(api, owner, 7)
    await reserve(api, owner, 2)
    app.clock.pass(HOUR)
    // The hold is one of the cycle before from here on.
    await consume(api, owner, 3)

    const last = await total(api, owner, 1_000, { thresholds: [1, 90], used: 5 })
    bodyOf(200, await app.put(`${api.quotas}/${last}`, { label: 'all of it' }))
    const split = await consume(api, owner, 11)
    await act(api, split, 'refund', 2)
    const plain = await consume(api, owner, 5)
    const refunded = await consume(api, owner, 9)
    await act(api, refunded, 'refund', 4)
    await act(api, await consume(api, owner, 3), 'refund')
    const committed = await reserve(api, owner, 12)
    await act(api, committed, 'commit', 8)
    await act(api, committed, 'refund', 1)
    const released = await reserve(api, owner, 6)
    await act(api, released, 'release')
    const expired = await reserve(api, owner, 13, 60)
    app.clock.pass(61)
    await sweeperOf(app, api).sweep()
    const open = await reserve(api, owner, 14)
    const member = fresh()
    const group = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `group ${fresh()}` })).id
    const path = `${api.quotas}/groups/${group}`
    const shared = bodyOf(
      201,
      await app.post(api.quotas, {
        group_id: group,
        per: 'group',
        quota_type: 1,
        total: 1_000,
        used: 5,
        expire_at: app.clock.after(400 * DAY),
        thresholds: [1],
      }),
    ).id
    const cap = {
      quota_type: 2,
      cap: 'observe',
      total: 5,
      used: 9,
      cycle_unit: 'month',
      cycle_reset_at: app.clock.after(DAY),
    }
    bodyOf(201, await app.post(api.quotas, { group_id: group, per: 'group', ...cap }))
    bodyOf(200, await app.post(`${path}/members`, { [`${api.owner}s`]: [member] }))
    await act(api, await consume(api, member, 21), 'refund', 4)
    const drawn = await reserve(api, member, 3)
    const counted = await consume(api, member, 6)
    bodyOf(200, await app.put(path, { name: `other ${fresh()}` }))
    return {
      ...{ group, shared, drawn, counted },
      owner,
      cycle,
      total: last,
      deleted,
      plain,
      refunded,
      split,
      open,
      committed,
      released,
      expired,
    }
  }

  it.each(APIS)('finds nothing wrong with a little of everything on $name', async (api) => {
    const { owner, cycle } = await live(api)
    expect(await findings(api)).toEqual([])
    // A hold that is due and not written down; a cycle that is over and not rolled; nobody has looked since.
    await reserve(api, owner, 1, 60)
    app.clock.pass(3 * DAY)
    expect(await findings(api)).toEqual([])
    await sweeperOf(app, api).sweep()
    bodyOf(200, await app.put(`${api.quotas}/${cycle}`, { cycle_unit: 'week' }))
    expect(await findings(api)).toEqual([])
  })

  it('treats a lowered total as legal, and reports it', async () => {
    const owner = fresh()
    const id = await total(MAIL_API, owner, 50)
    await consume(MAIL_API, owner, 40)
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${id}`, { total: 10 }))
    expect((await findings(MAIL_API)).map((finding) => findingLine('mail', finding))).toEqual([
      `note: mail overdrawn: quota ${id} of owner ${owner}: ` +
        'expected no more than its total, unless that was lowered; found used 40, reserved 0 of 10',
    ])
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${id}`, { total: 50 }))
  })

  describe('finds the damage', () => {
    // The channels differ in names alone: one on each store, both with RELIABILITY_SCALE=2.
    const apis = SCALE < 2 ? [kind.name === 'SQLite' ? MAIL_API : SMS_API] : APIS

    // As they are stored: a change has the caller's request id as text, also if it looks like an id of ours.
    const raw = async (statement: string, values: unknown[]): Promise<Record<string, unknown>[]> =>
      dataSource.query(
        statement,
        values.map((value) => (value instanceof ArrayBuffer ? Buffer.from(value) : value)),
      )

    async function rowsOf(table: string, where: string, value: unknown): Promise<Record<string, unknown>[]> {
      return raw(`SELECT * FROM ${table} WHERE ${where}`, stored([value]))
    }

    /** Inserts rows as they were read. */
    async function insert(table: string, rows: readonly Record<string, unknown>[]): Promise<void> {
      for (const row of rows) {
        const names = Object.keys(row)
        const columns = names.map((name) => `\`${name}\``).join()
        await raw(`INSERT INTO ${table} (${columns}) VALUES (${names.map(() => '?').join()})`, Object.values(row))
      }
    }

    /** Plants the damage. @returns a function that takes it back */
    async function plant(api: ChannelApi, life: Life, { table: name, where, of, set, insert: values }: Damage) {
      const [table, value] = [`${api.channel}_${name}`, life[of]]
      if (values !== undefined) {
        const [copied] = values === 'copy' ? await rowsOf(table, where, value) : []
        if (copied !== undefined) await insert(table, [{ ...copied, id: stored([NO_OPERATION])[0], [KEY]: null }])
        else await sql(`INSERT INTO ${table} VALUES (${values.replace('owner_id', String(life.owner))})`, [value])
        const id = ID[name][0]!
        const inserted = [NO_OPERATION, value].filter(
          (one, n) => typeof one === 'string' && (n === 0 || values !== 'copy'),
        )
        return async () => sql(`DELETE FROM ${table} WHERE ${id} IN (${inserted.map(() => '?').join()})`, inserted)
      }
      const rows = await rowsOf(table, where, value)
      expect(rows).not.toEqual([])
      if (set === undefined) {
        await sql(`DELETE FROM ${table} WHERE ${where}`, [value])
        return async () => {
          await sql(`DELETE FROM ${table} WHERE ${where}`, [value])
          await insert(table, rows)
        }
      }
      const assignments = Object.entries(set).map(([column, to]) => `${column} = ${to}`)
      await sql(`UPDATE ${table} SET ${assignments.join()} WHERE ${where}`, [value])
      return async () => {
        for (const row of rows) {
          const columns = Object.keys(set)
          await raw(
            `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join()} WHERE ${ID[name].map((id) => `${id} = ?`).join(' AND ')}`,
            [...columns, ...ID[name]].map((column) => row[column]),
          )
        }
      }
    }

    const counters = async (api: ChannelApi) => sql(`SELECT id, used, reserved FROM ${api.channel}_quota ORDER BY id`)

    describe.each(apis)('$name', (api) => {
      // One for all, since each damage is taken back: one for each would take time by the square of their number.
      let life: Life
      beforeAll(async () => {
        life = await live(api)
      })

      it.each(DAMAGES as never[])('$damage', async (one: Damage) => {
        const { rules, repaired } = one
        const before = await counters(api)
        const undo = await plant(api, life, one)
        try {
          const found = await findings(api)
          expect([...new Set(found.map(({ rule }) => rule))].sort()).toEqual([...rules].sort())
          for (const { show } of found) {
            for (const statement of show.split(';').filter((text) => text.trim() !== '')) await sql(statement)
          }
          const outcomes = await repair(api)
          if (repaired) expect(outcomes).toEqual(rules.map((rule) => [rule, 'mended']))
          else {
            const others = outcomes.filter(([rule]) => rule !== 'counters' && rule !== 'totals')
            expect(others.map(([, outcome]) => outcome)).toEqual(others.map(() => 'left'))
            // A repair only raises counters.
            for (const [n, row] of (await counters(api)).entries()) {
              const least = [row['used'], row['reserved'], before[n]!['used'], before[n]!['reserved']].map(Number)
              if (rules[0] !== 'counters') expect(least[0]! >= least[2]! && least[1]! >= least[3]!).toBe(true)
            }
          }
        } finally {
          if (!repaired) {
            await undo()
            for (const { id, used, reserved } of before)
              await sql(`UPDATE ${api.channel}_quota SET used = ?, reserved = ? WHERE id = ?`, [used, reserved, id])
          }
        }
        expect(await findings(api)).toEqual([])
        expect(await counters(api)).toEqual(before)
        await sql(`DELETE FROM ${api.channel}_change WHERE actor = 'verify'`)
      })
    })
  })

  it('records its repairs in the changes of the quota', async () => {
    const { owner, total: id } = await live(MAIL_API)
    const { used, reserved } = bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)) as Record<string, number>
    await sql('UPDATE mail_quota SET used = used - 7 WHERE id = ?', [id])
    expect(await lines()).toEqual([
      `mail counters: quota ${id} of owner ${owner}: expected used ${used}, reserved ${reserved}; ` +
        `found used ${used! - 7}, reserved ${reserved}`,
    ])
    expect(await repair(MAIL_API)).toEqual([['counters', 'mended']])
    const changes = bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}/changes`))
    expect(changes.items[0]).toMatchObject({
      action: 'reset',
      actor: 'verify',
      request_id: RUN,
      before: { used: used! - 7, reserved },
      after: { used, reserved },
    })
    expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used, reserved, version: 2 })
    expect(await lines()).toEqual([])
  })

  it('finds that the unique index of the keys is missing', async () => {
    for (const owner of [fresh(), fresh()]) await total(SMS_API, owner, 1)
    const { indices, tableName } = dataSource.getMetadata(SMS.act)
    const { name } = indices.find(({ isUnique }) => isUnique)!
    await sql(kind.name === 'SQLite' ? `DROP INDEX "${name}"` : `ALTER TABLE ${tableName} DROP INDEX \`${name}\``)
    const told = async () => (await findings(SMS_API)).map(({ rule, found }) => [rule, found])
    expect(await told()).toEqual([['key_index', 'none, and 0 keys occur in several acts']])
    await sql(`UPDATE sms_act SET ${KEY} = X'${'01'.repeat(16)}' WHERE kind = 'create'`)
    expect((await told())[0]).toEqual(['key_index', 'none, and one key occurs in several acts'])
    await sql(`UPDATE sms_act SET ${KEY} = NULL WHERE kind = 'create'`)
    await sql(`CREATE UNIQUE INDEX \`${name}\` ON ${tableName} (${KEY})`)
    expect(await findings(SMS_API)).toEqual([])
  })

  it('names the positions of the feed that have no event', async () => {
    const own = await TestApp.start(await kind.open())
    const sql = async (statement: string): Promise<unknown> => own.app.get(DataSource).query(statement)
    const found = async (): Promise<string[]> =>
      (await linesOf(mailVerifierOf(own))).filter((line) => line.includes(' of the feed')).map((line) => line.slice(12))
    for (let n = 1; n <= 8; n += 1)
      bodyOf(
        201,
        await own.post(MAIL_API.quotas, {
          account_id: n,
          quota_type: 1,
          total: 1,
          expire_at: own.clock.after(DAY),
        }),
      )
    await own.app.get<EventSequencer<never>>(channelToken(MAIL, EventSequencer)).number()
    expect(await found()).toEqual([])
    const none = 'of the feed: expected an event at each position; found none'
    await sql('DELETE FROM mail_event WHERE position IN (1, 4, 5, 8)')
    expect(await found()).toEqual([`position 1 ${none}`, `positions 4 to 5 ${none}`, `position 8 ${none}`])
    await sql('UPDATE mail_event_feed SET removed_to = 4')
    expect(await found()).toEqual([`position 5 ${none}`, `position 8 ${none}`])
    await sql('DELETE FROM mail_event')
    expect(await found()).toEqual([`positions 5 to 8 ${none}`])
    await own.stop()
    await own.store.drop()
  })

  it('reads one snapshot, and blocks neither writers nor the check of readiness', async () => {
    const owner = fresh()
    const id = await total(MAIL_API, owner, 100)
    const seen = await transactions.snapshot(async (transaction) => {
      const used = async (): Promise<unknown> =>
        (await transaction.rows('SELECT used FROM mail_quota WHERE id = ?', [id]))[0]?.['used']
      const before = await used()
      await consume(MAIL_API, owner, 5)
      // A page of owners with long ledgers takes many statements.
      expect((await app.get('/health/ready')).status).toBe(200)
      return [before, await used()].map(Number)
    })
    expect(seen).toEqual([0, 0])
    expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used: 5 })
    // A server says so, too, with the error of one that takes no writes: `TransactionRunner` would wait for its return.
    if (kind.name !== 'SQLite') return
    const write = transactions.snapshot(async (transaction) => transaction.execute('UPDATE mail_quota SET used = 9'))
    await expect(write).rejects.toThrow('a snapshot only reads')
  })

  // Before there are many rows, since each command reads all of them.
  describe('the command', () => {
    const run = async (...args: string[]) => runNode([ENTRY, ...args], { env: { DATABASE_URL: app.store.url } })

    it('exits with 0 without findings, and with 1 with a finding until it is repaired', async () => {
      const { owner, total: id } = await live(SMS_API)
      const well = await run()
      expect(well).toMatchObject({ code: 0, stderr: '' })
      expect(well.stdout).toMatch(
        /^Database .*\n\d+ acts, \d+ operations, \d+ changes, \d+ events, \d+ owners(, \d+ totals)?: 0 contradictions\n$/,
      )

      await sql('UPDATE sms_quota SET used = used - 1 WHERE id = ?', [id])
      const wrong = await run()
      expect(wrong).toMatchObject({ code: 1, stderr: '' })
      expect(wrong.stdout).toContain(`\nsms counters: quota ${id} of owner ${owner}: expected used `)
      expect(wrong.stdout).toMatch(/: 1 contradiction\n$/)
      const told = (await run('--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
      expect(told).toEqual([
        expect.objectContaining({ channel: 'sms', rule: 'counters', where: `quota ${id} of owner ${owner}` }),
        expect.objectContaining({ contradictions: 1, left: 1 }),
      ])

      const repaired = await run('--repair')
      expect(repaired).toMatchObject({ code: 0, stderr: '' })
      expect(repaired.stdout).toMatch(/ - mended\n.*: 1 contradiction, 1 mended, 0 left\n$/)
      expect(await run()).toMatchObject({ code: 0 })

      await sql('UPDATE sms_quota SET version = version + 1 WHERE id = ?', [id])
      const left = await run('--repair')
      expect(left).toMatchObject({ code: 1, stderr: '' })
      expect(left.stdout).toMatch(
        /sms version: .* - left\n {2}SELECT .*;\nversion: look for a missing change, .*\ndocs.*\n.*: 1 contradiction, 0 mended, 1 left\n$/,
      )
      await sql('UPDATE sms_quota SET version = version - 1 WHERE id = ?', [id])
    })

    it('exits with 2 if it cannot verify', async () => {
      const empty = await kind.openEmpty()
      const nothing = await runNode([ENTRY], { env: { DATABASE_URL: empty.url } })
      expect(nothing.code).toBe(2)
      expect(nothing.stderr).toContain('its schema is not that of this version')
      expect(await run('--mend')).toMatchObject({ code: 2, stdout: '' })
      await empty.drop()
    })
  })

  it('has the same result for any number of rows: pages end within an owner', async () => {
    const owner = fresh()
    const id = await total(MAIL_API, owner, 100_000)
    const PARTS = 41
    for (let part = 0; part < PARTS; part += 1) {
      const items = Array.from({ length: 100 }, () => ({
        account_id: owner,
        amount: 1,
        idempotency_key: `many-${fresh()}`,
      }))
      bodyOf(200, await app.post(`${MAIL_API.consume}/batch`, { items }))
    }
    for (let n = 0; n < 12; n += 1) await act(MAIL_API, await consume(MAIL_API, owner, 2), 'refund', 1)
    expect(await lines()).toEqual([])
    await sql('UPDATE mail_quota SET used = used - 1 WHERE id = ?', [id])
    const used = PARTS * 100 + 12
    expect(await lines()).toEqual([
      `mail counters: quota ${id} of owner ${owner}: expected used ${used}, reserved 0; found used ${used - 1}, reserved 0`,
    ])
    await repair(MAIL_API)
    expect(await lines()).toEqual([])
  })

  describe('during concurrent writes', () => {
    /** Writers of all kinds, until what is given has ended. */
    async function whileWriting<T>(work: () => Promise<T>): Promise<T> {
      let over = false as boolean
      const owners = await Promise.all(
        [1, 2, 3].map(async () => {
          const owner = fresh()
          await total(MAIL_API, owner, 1_000_000)
          await total(MAIL_API, owner, 1_000_000)
          return owner
        }),
      )
      const writers = [...owners, ...owners].map(async (owner) => {
        while (!over) {
          await act(MAIL_API, await consume(MAIL_API, owner, 3), 'refund', 1)
          await act(MAIL_API, await reserve(MAIL_API, owner, 4), 'commit', 2)
          await act(MAIL_API, await reserve(MAIL_API, owner, 5), 'release')
          await Promise.all([consume(MAIL_API, owner, 1), consume(MAIL_API, owner, 1), reserve(MAIL_API, owner, 1)])
        }
      })
      try {
        return await work()
      } finally {
        over = true
        await Promise.all(writers)
      }
    }

    it('never reports operations in progress as contradictions', async () => {
      await whileWriting(async () => {
        for (let pass = 0; pass < 20; pass += 1) expect(await linesOf(verifier(MAIL_API))).toEqual([])
      })
      expect(await lines()).toEqual([])
    }, 600_000)

    // On SQLite reads have the one connection to themselves anyhow.
    if (kind.name !== 'SQLite') {
      it('would report them without a snapshot', async () => {
        const read = transactions.read.bind(transactions)
        const moments = Object.create(transactions, { snapshot: { value: read } }) as TransactionRunner
        const wrong = await whileWriting(async () => {
          const found: string[] = []
          for (let pass = 0; pass < 200 && found.length === 0; pass += 1)
            found.push(...(await linesOf(new Verifier(MAIL, dataSource, moments, app.clock))))
          return found
        })
        expect(wrong).not.toEqual([])
      })
    }

    it('examines an owner with more quotas than it reads at a time', async () => {
      const owner = fresh()
      const id = await total(MAIL_API, owner, 100)
      await copyQuota(app, MAIL_API, id, 10_000)
      try {
        const [row] = await sql('SELECT MAX(id) AS last FROM mail_quota WHERE account_id = ?', [owner])
        for (const one of [id, row?.['last']]) await sql('UPDATE mail_quota SET used = 3 WHERE id = ?', [one])
        const found = await findings(MAIL_API)
        const wrong = found.filter(({ rule, ownerId }) => ownerId === owner && rule === 'counters')
        expect(wrong.map(({ where }) => Number(/quota (\d+)/.exec(where)?.[1]))).toEqual([id, Number(row?.['last'])])
      } finally {
        await sql('DELETE FROM mail_quota WHERE account_id = ? AND id > ?', [owner, id])
        await sql('UPDATE mail_quota SET used = 0 WHERE id = ?', [id])
      }
      expect(await lines()).toEqual([])
    })

    it('waits for the owner’s lock, and examines the rows again under it', async () => {
      const owner = fresh()
      const id = await total(MAIL_API, owner, 100)
      await consume(MAIL_API, owner, 7)
      await sql('UPDATE mail_quota SET used = 0 WHERE id = ?', [id])
      const found = await findings(MAIL_API)
      expect(found.map(({ rule }) => rule)).toEqual(['counters'])
      const verification = verifier(MAIL_API)
      let repairing: Promise<Map<Finding, Repaired>> | undefined
      await transactions.write(async (transaction) => {
        const lock = kind.name === 'SQLite' ? '' : ' FOR UPDATE'
        await transaction.rows(`SELECT owner_id FROM mail_owner WHERE owner_id = ?${lock}`, [owner])
        await transaction.execute('UPDATE mail_quota SET used = 7 WHERE id = ?', [id])
        repairing = verification.repair(found, RUN)
        await sleep(300)
      })
      expect([...(await repairing!).values()]).toEqual(['gone'])
      expect(await lines()).toEqual([])
    })

    it('repairs rows during concurrent writes, and loses none of these', async () => {
      const owner = fresh()
      const id = await total(MAIL_API, owner, 1_000_000)
      await consume(MAIL_API, owner, 100)
      let spent = 100
      let over = false as boolean
      const writing = (async () => {
        while (!over) {
          await consume(MAIL_API, owner, 1)
          spent += 1
        }
      })()
      for (let round = 0; round < 10; round += 1) {
        await transactions.write(async (transaction) => {
          await transaction.rows(
            `SELECT owner_id FROM mail_owner WHERE owner_id = ?${kind.name === 'SQLite' ? '' : ' FOR UPDATE'}`,
            [owner],
          )
          await transaction.execute('UPDATE mail_quota SET used = used - 1 WHERE id = ?', [id])
        })
        expect(await repair(MAIL_API)).toEqual([['counters', 'mended']])
      }
      over = true
      await writing
      expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used: spent })
      expect(await lines()).toEqual([])
    })
  })

  describe('in the background', () => {
    const watch = (): BackgroundVerifier => app.app.get<BackgroundVerifier>(channelToken(SMS, BackgroundVerifier))
    const metrics = async (): Promise<string[]> => (await app.get('/metrics')).text.split('\n')

    it('measures the findings and the time of a complete pass', async () => {
      await watch().pass()
      expect(await metrics()).toEqual(
        expect.arrayContaining([
          'quota_drift{channel="sms"} 0',
          `quota_drift_checked_timestamp_seconds{channel="sms"} ${app.clock.now() / 1000}`,
        ]),
      )
      expect((await metrics()).filter((line) => line.includes('checked_timestamp_seconds{channel="mail"}'))).toEqual([])
      const { total: id } = await live(SMS_API)
      await sql('UPDATE sms_quota SET used = used - 1 WHERE id = ?', [id])
      await watch().pass()
      expect(await metrics()).toContain('quota_drift{channel="sms"} 1')
      await repair(SMS_API)
      await watch().pass()
      expect(await metrics()).toContain('quota_drift{channel="sms"} 0')
    })

    it('is part of the service, and does not delay its end', async () => {
      const own = await kind.open()
      const instance = await Instance.start(own.url, { VERIFY_BACKGROUND: 'true' })
      const measured = async (): Promise<string> => (await instance.get('/metrics')).text
      while (!/^quota_drift_checked_timestamp_seconds\{channel="(mail|sms)"\} \d/m.test(await measured()))
        await sleep(50)
      expect(await measured()).toMatch(/^quota_drift\{channel="mail"\} 0$/m)
      expect(await instance.terminate()).toBe(0)
      expect(instance.log).toBe('')
      await own.drop()
    })

    it('sets aside rows that cannot be read, says so once, and says when they are verified again', async () => {
      const own = await TestApp.on(kind)
      const said: string[] = []
      const note = (line: unknown): void => void said.push(String(line))
      own.app.useLogger({ log: note, warn: note, error: note })
      const rename = async (from: string, to: string): Promise<unknown> =>
        own.app.get(DataSource).query(`ALTER TABLE ${from} RENAME TO ${to}`)
      const lines = (text: string): string[] => said.filter((line) => line.includes(text))
      const background = own.app.get<BackgroundVerifier>(channelToken(MAIL, BackgroundVerifier))
      await background.pass()
      const first = background.checkedAt
      expect(first).toBe(own.clock.now())
      own.clock.pass(60)
      await rename('mail_change', 'away')
      // Whoever reads the changes fails three times each.
      const failures = async (): Promise<number> => {
        for (let n = 0; ; n += 1) {
          const error = await background.pass().then(
            () => undefined,
            (reason: unknown) => reason as Error,
          )
          if (error === undefined) return n
          expect(error.message).toMatch(/^\w+: .*mail_change/)
        }
      }
      const times = await failures()
      const told = lines('not verified further in this pass')
      expect(lines('changes are not verified')).toHaveLength(1)
      expect(times).toBe(3 * told.length)
      // What is known is tried once in each pass, and not told again.
      expect(await failures()).toBe(0)
      expect(lines('not verified further')).toEqual(told)
      expect(background.checkedAt).toBe(first)
      await rename('away', 'mail_change')
      expect(await failures()).toBe(0)
      expect(lines('changes are verified again')).toHaveLength(1)
      expect(background.checkedAt).toBe(own.clock.now())
      await own.stop()
      await own.store.drop()
    })

    it('runs by itself, and stops within a page on request', async () => {
      let passes = 0
      const verification = verifier(MAIL_API)
      const endless: Pick<Verification, 'channel' | 'pages'> = {
        channel: 'mail',
        async *pages(signal) {
          for (;;) {
            passes += 1
            for await (const page of verification.pages(signal)) if (page.count < 0) yield page
          }
        },
      }
      const before = new Set(transactions.tasks)
      new BackgroundVerifier(endless, transactions, app.clock, true)
      const [task] = [...transactions.tasks].filter((one) => !before.has(one))
      task?.start()
      while (passes < 2) await sleep(20)
      await task?.stop()
      const last = passes
      await sleep(1_500)
      expect(passes).toBe(last)
    })
  })

  // On a store of its own: it reads all rows again and again, and what it removes is missing in the findings of others.
  describe('of a young store', () => {
    beforeAll(begin)

    it.each(APIS)(
      'finds nothing wrong while events, changes and acts are removed on $name',
      async (api) => {
        const upkeep = app.app.get<Upkeep<never>>(channelToken(api.channel === 'mail' ? MAIL : SMS, Upkeep))
        const sequencer = app.app.get<EventSequencer<never>>(
          channelToken(api.channel === 'mail' ? MAIL : SMS, EventSequencer),
        )
        for (let month = 0; month < 3; month += 1) {
          const { total: id, cycle } = await live(api)
          await sequencer.number()
          app.clock.pass(20 * DAY)
          bodyOf(200, await app.put(`${api.quotas}/${id}`, { total: 900, thresholds: [1, 5, 95] }))
          bodyOf(200, await app.post(`${api.quotas}/${id}/reset`, {}))
          bodyOf(200, await app.put(`${api.quotas}/${cycle}`, { cycle_unit: 'week', thresholds: [10] }))
          expect(await findings(api)).toEqual([])
          while (await upkeep.totals.fold());
          await sql(`UPDATE ${api.channel}_ledger_state SET begins_at = ?`, [
            instantToStore(upkeep.retention.cutoff(30)),
          ])
          const steps = [
            async () => (await upkeep.retention.removeEvents()) > 0,
            async () => (await upkeep.retention.removeChanges(30)) > 0,
          ]
          for (const step of steps) while (await step()) expect(await findings(api)).toEqual([])
          for (let after: string | undefined = ''; after !== undefined;) {
            after = (await upkeep.retention.removeActs(after, upkeep.retention.cutoff(30), 30)).last
            expect(await findings(api)).toEqual([])
          }
        }
      },
      600_000,
    )
  })
})
