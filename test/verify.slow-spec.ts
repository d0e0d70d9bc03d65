import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { BackgroundVerifier } from '../src/ledger/verify/background-verifier.js'
import type { Finding } from '../src/ledger/verify/verify-check.js'
import { findingLine, type Repaired, type Verification, Verifier } from '../src/ledger/verify/verifier.js'
import { Upkeep } from '../src/ledger/upkeep/upkeep.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { SMS } from '../src/sms-quota/sms.channel.js'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './support/channel-api.js'
import { runNode } from './support/command.js'
import { HttpClient } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { SCALE } from './support/figures.js'
import { bodyOf, fresh, stopSweepers, sweeperOf } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onEveryStore, type Store } from './support/store.js'
import { linesOf } from './support/verify.js'

// The command is that of the last `npm run build`.
const ENTRY = join(process.cwd(), 'dist/src/verify.js')
const APIS = [MAIL_API, SMS_API] as const
const HOUR = 3_600
const DAY = 86_400
const RUN = 'verify-of-a-test'

/** What an owner has after a little of everything: ids by what they are good for. */
interface Life {
  readonly owner: number
  /** Type 2, in its second cycle, with usage in it. */
  readonly cycle: number
  /** Type 1, with the open hold on it. */
  readonly total: number
  readonly deleted: number
  /** A consume of one row. */
  readonly plain: string
  /** One that was refunded in part. */
  readonly refunded: string
  /** One that two quotas paid. */
  readonly split: string
  readonly open: string
  readonly committed: string
  readonly released: string
  readonly expired: string
}

/** One kind of damage. */
interface Damage {
  readonly name: string
  /** What is wrong then, by rule. */
  readonly rules: readonly Finding['rule'][]
  plant(life: Life): Promise<unknown>
  /** Takes back what no repair can. */
  readonly undo?: (life: Life) => Promise<unknown>
  /** Of whose quota the changes tell; not given where nothing of a quota was changed. */
  readonly told?: (life: Life) => number
}

onEveryStore('verify', (kind) => {
  let store: Store
  let app: TestApp
  let dataSource: DataSource
  let transactions: TransactionRunner

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    // What is added up while a row is damaged would stay so.
    for (const channel of [MAIL, SMS]) await app.app.get<Upkeep<never>>(channelToken(channel, Upkeep)).onModuleDestroy()
    dataSource = app.app.get(DataSource)
    transactions = app.app.get(TransactionRunner)
  }, 60_000)

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

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
    dataSource.query(statement, values)

  async function quota(api: ChannelApi, owner: number, body: object): Promise<number> {
    return bodyOf(201, await app.post(api.quotas, { [api.owner]: owner, ...body })).id
  }

  const total = async (api: ChannelApi, owner: number, units: number): Promise<number> =>
    quota(api, owner, { quota_type: 1, total: units, expire_at: app.clock.after(400 * DAY + fresh()) })

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
      cycle_unit: 'day',
      cycle_reset_at: app.clock.after(HOUR),
    })
    await consume(api, owner, 7)
    await reserve(api, owner, 2)
    app.clock.pass(HOUR)
    // The hold is one of the cycle before from here on.
    await consume(api, owner, 3)

    const last = await total(api, owner, 1_000)
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
    return { owner, cycle, total: last, deleted, plain, refunded, split, open, committed, released, expired }
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

  describe('with one kind of damage', () => {
    let life: Life
    beforeEach(() => {
      // Whatever is planted is an owner's of its own.
      life = undefined as never
    })
    const t = (api: ChannelApi, table: string): string => `${api.channel}_${table}`
    const set =
      (api: ChannelApi, table: string, change: string, where: string, id: (life: Life) => unknown) =>
      async (of: Life): Promise<unknown> =>
        sql(`UPDATE ${t(api, table)} SET ${change} WHERE ${where} = ?`, [id(of)])
    const unknownId = '01990000-0000-7000-8000-000000000001'

    const damages = (api: ChannelApi): Damage[] => [
      {
        name: 'a counter that is too high',
        rules: ['counters'],
        plant: set(api, 'quota', 'used = used + 5', 'id', ({ total: id }) => id),
        told: ({ total: id }) => id,
      },
      {
        name: 'a counter of a deleted quota that is too low',
        rules: ['counters'],
        plant: set(api, 'quota', 'used = used - 1', 'id', ({ deleted }) => deleted),
        told: ({ deleted }) => deleted,
      },
      {
        name: 'a counter of holds that is wrong',
        rules: ['counters'],
        plant: set(api, 'quota', 'reserved = 0', 'id', ({ total: id }) => id),
        told: ({ total: id }) => id,
      },
      {
        name: 'no time at which a hold is due',
        rules: ['hold_due'],
        plant: set(api, 'quota', 'hold_due_at = NULL', 'id', ({ total: id }) => id),
        told: ({ total: id }) => id,
      },
      {
        name: 'a time after the hold is due',
        rules: ['hold_due'],
        plant: set(api, 'quota', "hold_due_at = '2999-01-01 00:00:00.000'", 'id', ({ total: id }) => id),
        told: ({ total: id }) => id,
      },
      {
        name: 'no row to be locked',
        rules: ['owner_row'],
        plant: async ({ owner }) => sql(`DELETE FROM ${t(api, 'owner')} WHERE owner_id = ?`, [owner]),
      },
      {
        name: 'a version that no change explains',
        rules: ['version'],
        plant: set(api, 'quota', 'version = version + 1', 'id', ({ total: id }) => id),
        undo: set(api, 'quota', 'version = version - 1', 'id', ({ total: id }) => id),
      },
      {
        name: 'a quota of type 1 without an end',
        rules: ['settings'],
        plant: set(api, 'quota', 'expire_at = NULL', 'id', ({ deleted }) => deleted),
        undo: set(api, 'quota', "expire_at = '2999-01-01 00:00:00.000'", 'id', ({ deleted }) => deleted),
      },
      {
        name: 'a cycle without a unit',
        rules: ['settings'],
        plant: set(api, 'quota', 'cycle_unit = NULL', 'id', ({ cycle }) => cycle),
        undo: set(api, 'quota', "cycle_unit = 'day'", 'id', ({ cycle }) => cycle),
      },
      {
        name: 'a quota that is over and has no end',
        rules: ['settings'],
        plant: set(api, 'quota', "state = 'expired'", 'id', ({ cycle }) => cycle),
        undo: set(api, 'quota', "state = 'active'", 'id', ({ cycle }) => cycle),
      },
      {
        name: 'more spent than there is',
        rules: ['overdrawn'],
        plant: set(api, 'quota', 'total = total - 1000', 'id', ({ total: id }) => id),
        undo: set(api, 'quota', 'total = total + 1000', 'id', ({ total: id }) => id),
      },
      {
        name: 'an act that says another amount',
        rules: ['operation_act'],
        plant: set(api, 'act', 'amount = amount + 1', 'id', ({ released }) => released),
        undo: set(api, 'act', 'amount = amount - 1', 'id', ({ released }) => released),
      },
      {
        name: 'an operation whose act is about another one',
        rules: ['operation_act', 'operation_missing'],
        plant: set(api, 'act', `operation_id = '${unknownId}'`, 'id', ({ released }) => released),
        undo: set(api, 'act', 'operation_id = id', 'id', ({ released }) => released),
      },
      {
        name: 'a refunded consume whose rows are gone',
        rules: ['operation_missing', 'counters'],
        plant: async ({ refunded }) => {
          await sql(`DELETE FROM ${t(api, 'operation')} WHERE id = ?`, [refunded])
          await sql(`DELETE FROM ${t(api, 'allocation')} WHERE operation_id = ?`, [refunded])
        },
        told: ({ total: id }) => id,
      },
      {
        name: 'a reservation whose row is gone',
        rules: ['operation_missing', 'counters'],
        plant: async ({ committed }) => {
          await sql(`CREATE TABLE kept AS SELECT * FROM ${t(api, 'operation')} WHERE id = ?`, [committed])
          await sql(`DELETE FROM ${t(api, 'operation')} WHERE id = ?`, [committed])
        },
        undo: async () => {
          await sql(`INSERT INTO ${t(api, 'operation')} SELECT * FROM kept`)
          await sql('DROP TABLE kept')
        },
      },
      {
        name: 'an operation that was charged more than its acts say',
        rules: ['operation_state', 'counters'],
        plant: set(api, 'operation', 'charged = charged + 1', 'id', ({ committed }) => committed),
        told: ({ total: id }) => id,
      },
      {
        name: 'an operation that forgot a refund',
        rules: ['operation_state', 'counters'],
        plant: set(api, 'operation', 'refunded = 0', 'id', ({ refunded }) => refunded),
        told: ({ total: id }) => id,
      },
      {
        name: 'a released hold that says it was committed',
        rules: ['operation_state'],
        plant: set(api, 'operation', "state = 'committed'", 'id', ({ released }) => released),
        told: ({ total: id }) => id,
      },
      {
        name: 'an expired hold that says it was committed',
        rules: ['operation_state'],
        plant: set(api, 'operation', "state = 'committed'", 'id', ({ expired }) => expired),
        undo: set(api, 'operation', "state = 'expired'", 'id', ({ expired }) => expired),
      },
      {
        name: 'a consume that ends by itself',
        rules: ['operation_state'],
        plant: set(api, 'operation', "expires_at = '2999-01-01 00:00:00.000'", 'id', ({ split }) => split),
        undo: set(api, 'operation', 'expires_at = NULL', 'id', ({ split }) => split),
      },
      {
        name: 'an allocation that is not what its quota paid',
        rules: ['allocations', 'counters'],
        plant: set(api, 'allocation', 'amount = amount + 1', 'position = 0 AND operation_id', ({ split }) => split),
        undo: set(api, 'allocation', 'amount = amount - 1', 'position = 0 AND operation_id', ({ split }) => split),
      },
      {
        name: 'an allocation of a consume that its act contradicts',
        rules: ['allocations', 'counters'],
        plant: set(api, 'allocation', 'amount = 1, position = 1', 'operation_id', ({ refunded }) => refunded),
        undo: set(api, 'allocation', 'amount = 9, position = 0', 'operation_id', ({ refunded }) => refunded),
      },
      {
        name: 'a consume whose allocation is gone',
        rules: ['allocations', 'counters'],
        plant: async ({ refunded }) => sql(`DELETE FROM ${t(api, 'allocation')} WHERE operation_id = ?`, [refunded]),
        told: ({ total: id }) => id,
      },
      {
        name: 'allocations of a quota that is not there',
        rules: ['allocations', 'counters'],
        plant: set(api, 'allocation', 'quota_id = quota_id + 1000000', 'operation_id', ({ open }) => open),
        undo: set(api, 'allocation', 'quota_id = quota_id - 1000000', 'operation_id', ({ open }) => open),
      },
      {
        name: 'a hold that is not written down',
        rules: ['hold'],
        plant: async ({ open }) => sql(`DELETE FROM ${t(api, 'hold')} WHERE operation_id = ?`, [open]),
        told: ({ total: id }) => id,
      },
      {
        name: 'a hold that ends at another time',
        rules: ['hold'],
        plant: set(api, 'hold', "expires_at = '2998-01-01 00:00:00.000'", 'operation_id', ({ open }) => open),
        undo: async ({ open }) =>
          sql(
            `UPDATE ${t(api, 'hold')} SET expires_at = (SELECT expires_at FROM ${t(api, 'operation')} WHERE id = ?) WHERE operation_id = ?`,
            [open, open],
          ),
      },
      {
        name: 'a hold of what was settled',
        rules: ['hold'],
        plant: async ({ committed, owner }) =>
          sql(`INSERT INTO ${t(api, 'hold')} VALUES (?, ?, '2999-01-01 00:00:00.000')`, [committed, owner]),
        told: ({ total: id }) => id,
      },
      {
        name: 'a hold of nothing',
        rules: ['stray'],
        plant: async ({ owner }) =>
          sql(`INSERT INTO ${t(api, 'hold')} VALUES (?, ?, '2999-01-01 00:00:00.000')`, [unknownId, owner]),
        undo: async () => sql(`DELETE FROM ${t(api, 'hold')} WHERE operation_id = ?`, [unknownId]),
      },
      {
        name: 'an allocation of nothing',
        rules: ['stray'],
        plant: async ({ total: id }) =>
          sql(`INSERT INTO ${t(api, 'allocation')} VALUES (?, 0, ?, 0, 5, NULL)`, [unknownId, id]),
        undo: async () => sql(`DELETE FROM ${t(api, 'allocation')} WHERE operation_id = ?`, [unknownId]),
      },
      {
        name: 'an allocation of a consume that has no other row but its act',
        rules: ['stray'],
        plant: async ({ plain, total: id }) =>
          sql(`INSERT INTO ${t(api, 'allocation')} VALUES (?, 0, ?, 0, 5, NULL)`, [plain, id]),
        undo: async ({ plain }) => sql(`DELETE FROM ${t(api, 'allocation')} WHERE operation_id = ?`, [plain]),
      },
      {
        name: 'an act that is settled twice',
        rules: ['key', 'settled_once'],
        plant: async ({ committed }) => copyAct(api, `operation_id = ? AND kind = 'commit'`, committed),
        undo: async () => sql(`DELETE FROM ${t(api, 'act')} WHERE id = ?`, [unknownId]),
      },
      {
        name: 'two acts of one key',
        rules: ['key', 'counters'],
        plant: async ({ plain }) => copyAct(api, 'id = ?', plain),
        undo: async () => sql(`DELETE FROM ${t(api, 'act')} WHERE id = ?`, [unknownId]),
      },
      {
        name: 'a key that nobody would find again',
        rules: ['key'],
        plant: set(api, 'act', 'once = NULL', 'id', ({ plain }) => plain),
      },
      {
        name: 'a key that is another one’s',
        rules: ['key'],
        plant: set(api, 'act', "idempotency_key = CONCAT(idempotency_key, '!')", 'id', ({ plain }) => plain),
        undo: set(
          api,
          'act',
          'idempotency_key = SUBSTR(idempotency_key, 1, LENGTH(idempotency_key) - 1)',
          'id',
          ({ plain }) => plain,
        ),
      },
      {
        name: 'an act on somebody else’s quota',
        rules: ['act'],
        plant: set(api, 'act', 'owner_id = owner_id + 1000000', "kind = 'create' AND quota_id", ({ total: id }) => id),
        undo: set(api, 'act', 'owner_id = owner_id - 1000000', "kind = 'create' AND quota_id", ({ total: id }) => id),
      },
      {
        name: 'an act of no known kind',
        rules: ['act'],
        plant: set(api, 'act', "kind = 'gift'", "kind = 'create' AND quota_id", ({ total: id }) => id),
        undo: set(api, 'act', "kind = 'create'", "kind = 'gift' AND quota_id", ({ total: id }) => id),
      },
      {
        name: 'a plain consume without its cycle',
        rules: ['plain_consume', 'counters'],
        plant: set(api, 'act', 'cycle_seq = NULL', 'id', ({ plain }) => plain),
        undo: set(api, 'act', 'cycle_seq = 0', 'id', ({ plain }) => plain),
      },
      {
        name: 'a plain consume of a cycle that has not been',
        rules: ['plain_consume', 'counters'],
        plant: set(api, 'act', 'cycle_seq = cycle_seq + 9', 'id', ({ plain }) => plain),
        undo: set(api, 'act', 'cycle_seq = cycle_seq - 9', 'id', ({ plain }) => plain),
      },
      {
        name: 'a change that names another owner',
        rules: ['change'],
        plant: set(api, 'change', 'owner_id = owner_id + 1000000', 'quota_id', ({ total: id }) => id),
        undo: set(api, 'change', 'owner_id = owner_id - 1000000', 'quota_id', ({ total: id }) => id),
      },
      {
        name: 'a change of no quota',
        rules: ['change', 'version'],
        plant: set(
          api,
          'change',
          'quota_id = quota_id + 1000000',
          "action = 'delete' AND quota_id",
          (of) => of.deleted,
        ),
        undo: set(
          api,
          'change',
          'quota_id = quota_id - 1000000',
          "action = 'delete' AND quota_id",
          (of) => of.deleted + 1_000_000,
        ),
      },
    ]

    async function copyAct(api: ChannelApi, where: string, id: string): Promise<unknown> {
      const { columns } = dataSource.getMetadata(api.channel === 'mail' ? MAIL.act : SMS.act)
      const names = columns.map(({ databaseName }) => `\`${databaseName}\``)
      const copied = names.map((name) => (name === '`id`' ? `'${unknownId}'` : name === '`once`' ? 'NULL' : name))
      return sql(
        `INSERT INTO ${t(api, 'act')} (${names.join(', ')}) SELECT ${copied.join(', ')} FROM ${t(api, 'act')} WHERE ${where}`,
        [id],
      )
    }

    // The channels differ in names alone: one on each store, both with RELIABILITY_SCALE=2.
    for (const api of SCALE < 2 ? [kind.name === 'SQLite' ? MAIL_API : SMS_API] : APIS) {
      it.each(damages(api) as never[])(
        `sees $name on ${api.name}, and mends what can be derived`,
        async ({ rules, plant, undo, told }: Damage) => {
          life = await live(api)
          const before = await sql(`SELECT used, reserved FROM ${t(api, 'quota')} ORDER BY id`)
          await plant(life)
          const found = await findings(api)
          expect(found.map(({ rule }) => rule)).toEqual(expect.arrayContaining([...rules]))
          expect([...new Set(found.map(({ rule }) => rule))].sort()).toEqual([...rules].sort())
          for (const { where, ownerId } of found) {
            expect(where).toMatch(/\d/)
            if (rules[0] !== 'change') expect(ownerId === null || ownerId % 1_000_000 === life.owner).toBe(true)
          }

          const outcomes = await repair(api)
          if (undo === undefined) {
            expect(outcomes.map(([, outcome]) => outcome)).toEqual(outcomes.map(() => 'mended'))
          } else {
            expect(outcomes.map(([, outcome]) => outcome)).toEqual(outcomes.map(() => 'left'))
            await undo(life)
            // A counter that was raised meanwhile to what the rows seemed to add up to.
            await repair(api)
          }
          expect(await findings(api)).toEqual([])
          expect(await sql(`SELECT used, reserved FROM ${t(api, 'quota')} ORDER BY id`)).toEqual(before)

          const records = await sql(`SELECT quota_id, actor, action FROM ${t(api, 'change')} WHERE actor = 'verify'`)
          const own = records.filter((row) => Number(row['quota_id']) === told?.(life))
          expect(own.length > 0).toBe(told !== undefined)
          await sql(`DELETE FROM ${t(api, 'change')} WHERE actor = 'verify'`)
        },
      )
    }
  })

  it('records its repairs in the changes of the quota', async () => {
    const { owner, total: id } = await live(MAIL_API)
    const { used, reserved } = bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)) as Record<string, number>
    await sql('UPDATE mail_quota SET used = used + 7 WHERE id = ?', [id])
    expect(await lines()).toEqual([
      `mail counters: quota ${id} of owner ${owner}: expected used ${used}, reserved ${reserved}; ` +
        `found used ${used! + 7}, reserved ${reserved}`,
    ])
    expect(await repair(MAIL_API)).toEqual([['counters', 'mended']])
    const changes = bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}/changes`))
    expect(changes.items[0]).toMatchObject({
      action: 'reset',
      actor: 'verify',
      request_id: RUN,
      before: { used: used! + 7, reserved },
      after: { used, reserved },
    })
    expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used, reserved, version: 1 })
    expect(await lines()).toEqual([])
  })

  it('finds that the unique index of the keys is missing', async () => {
    for (const owner of [fresh(), fresh()]) await total(SMS_API, owner, 1)
    const { indices, tableName } = dataSource.getMetadata(SMS.act)
    const { name } = indices.find(({ isUnique }) => isUnique)!
    await sql(kind.name === 'SQLite' ? `DROP INDEX "${name}"` : `ALTER TABLE ${tableName} DROP INDEX \`${name}\``)
    const told = async () => (await findings(SMS_API)).map(({ rule, found }) => [rule, found])
    expect(await told()).toEqual([['key_index', 'none, and 0 keys occur in several acts']])
    await sql(`UPDATE sms_act SET once = 'x' WHERE kind = 'create'`)
    expect((await told())[0]).toEqual(['key_index', 'none, and one key occurs in several acts'])
    await sql(`UPDATE sms_act SET once = NULL WHERE kind = 'create'`)
    await sql(`CREATE UNIQUE INDEX \`${name}\` ON ${tableName} (once)`)
    expect(await findings(SMS_API)).toEqual([])
  })

  it('reads one snapshot, and does not block writers', async () => {
    const owner = fresh()
    const id = await total(MAIL_API, owner, 100)
    const seen = await transactions.snapshot(async (transaction) => {
      const used = async (): Promise<unknown> =>
        (await transaction.rows('SELECT used FROM mail_quota WHERE id = ?', [id]))[0]?.['used']
      const before = await used()
      await consume(MAIL_API, owner, 5)
      return [before, await used()].map(Number)
    })
    expect(seen).toEqual([0, 0])
    expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used: 5 })
    // A server says so, too, with the error of one that takes no writes: `TransactionRunner` would wait for its return.
    if (kind.name !== 'SQLite') return
    const write = transactions.snapshot(async (transaction) => transaction.execute('UPDATE mail_quota SET used = 9'))
    await expect(write).rejects.toThrow('a snapshot only reads')
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
    })

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

    it('waits for the owner’s lock, and examines the rows again under it', async () => {
      const owner = fresh()
      const id = await total(MAIL_API, owner, 100)
      await sql('UPDATE mail_quota SET used = 7 WHERE id = ?', [id])
      const found = await findings(MAIL_API)
      expect(found.map(({ rule }) => rule)).toEqual(['counters'])
      const verification = verifier(MAIL_API)
      let repairing: Promise<Map<Finding, Repaired>> | undefined
      await transactions.write(async (transaction) => {
        const lock = kind.name === 'SQLite' ? '' : ' FOR UPDATE'
        await transaction.rows(`SELECT owner_id FROM mail_owner WHERE owner_id = ?${lock}`, [owner])
        await transaction.execute('UPDATE mail_quota SET used = 0 WHERE id = ?', [id])
        repairing = verification.repair(found, RUN)
        await sleep(300)
      })
      expect([...(await repairing!).values()]).toEqual(['gone'])
      expect(await lines()).toEqual([])
    })

    it('repairs rows during concurrent writes, and loses none of these', async () => {
      const owner = fresh()
      const id = await total(MAIL_API, owner, 1_000_000)
      let spent = 0
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
          await transaction.execute('UPDATE mail_quota SET used = used + 100 WHERE id = ?', [id])
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
      await sql('UPDATE sms_quota SET used = used + 1 WHERE id = ?', [id])
      await watch().pass()
      expect(await metrics()).toContain('quota_drift{channel="sms"} 1')
      await repair(SMS_API)
      await watch().pass()
      expect(await metrics()).toContain('quota_drift{channel="sms"} 0')
    })

    it('is part of the service, and does not delay its end', async () => {
      const own = await kind.open()
      const client = new HttpClient()
      const instance = await Instance.start(own.url, client, { VERIFY_BACKGROUND: 'true' })
      const measured = async (): Promise<string> => (await instance.get('/metrics')).text
      while (!/^quota_drift_checked_timestamp_seconds\{channel="(mail|sms)"\} \d/m.test(await measured()))
        await sleep(50)
      expect(await measured()).toMatch(/^quota_drift\{channel="mail"\} 0$/m)
      expect(await instance.terminate()).toBe(0)
      expect(instance.log).toBe('')
      client.close()
      await own.drop()
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
      const running = new BackgroundVerifier(endless, transactions, app.clock, true)
      running.onApplicationBootstrap()
      while (passes < 2) await sleep(20)
      await running.onModuleDestroy()
      const before = passes
      await sleep(1_500)
      expect(passes).toBe(before)
    })
  })

  describe('the command', () => {
    const run = async (...args: string[]) => runNode([ENTRY, ...args], { env: { DATABASE_URL: store.url } })

    it('exits with 0 without findings, and with 1 with a finding until it is repaired', async () => {
      const { owner, total: id } = await live(SMS_API)
      const well = await run()
      expect(well).toMatchObject({ code: 0, stderr: '' })
      expect(well.stdout).toMatch(
        /^Database .*\n\d+ acts, \d+ operations, \d+ changes, \d+ owners: 0 contradictions\n$/,
      )

      await sql('UPDATE sms_quota SET used = used + 1 WHERE id = ?', [id])
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
      expect(left.stdout).toMatch(/sms version: .* - cannot be mended: .*\n.*: 1 contradiction, 0 mended, 1 left\n$/)
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
})
