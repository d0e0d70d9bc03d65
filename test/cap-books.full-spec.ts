import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { FOLD_LAG_MS } from '../src/ledger/rows/act-id.js'
import { Upkeep } from '../src/ledger/upkeep/upkeep.js'
import { LAZY_MS } from '../src/ledger/totals/totals-updater.js'
import type { Repaired } from '../src/ledger/verify/verifier.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { TestApp } from './support/app.js'
import { audit } from './support/audit.js'
import { MAIL_API } from './support/channel-api.js'
import { readable, stored } from './support/ids.js'
import { type Body, bodyOf, fresh, ledgerOf, stopSweepers, sweeperOf } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'
import { mailVerifierOf, outcomesOf } from './support/verify.js'

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
/** Longer than totals lag behind. */
const LAG = (FOLD_LAG_MS + LAZY_MS) / 1000 + 1

onEveryStore('the books of caps', (kind) => {
  let app: TestApp
  let owner: number
  let upkeep: Upkeep<never>

  beforeAll(async () => {
    app = await TestApp.on(kind)
    upkeep = app.app.get<Upkeep<never>>(channelToken(MAIL, Upkeep))
    // Adding up is done here, step by step; and what is damaged is not swept while it is looked at.
    await stopSweepers(app)
    await upkeep.onModuleDestroy()
  })

  beforeEach(() => {
    owner = fresh()
  })

  const sql = async (statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    app.app.get(DataSource).query<Record<string, unknown>[]>(statement, stored(values)).then(readable)
  const verify = async (options?: { repair: boolean }): Promise<[string, Repaired | undefined][]> =>
    outcomesOf(mailVerifierOf(app), options)

  const quota = async (body: object): Promise<number> =>
    bodyOf(201, await app.post(MAIL_API.quotas, { account_id: owner, ...body })).id
  const total = async (amount: number, more: object = {}): Promise<number> =>
    quota({ quota_type: 1, total: amount, expire_at: app.clock.after(2_000 * DAY), ...more })
  const cycle = async (amount: number, unit: string, more: object = {}): Promise<number> =>
    quota({ quota_type: 2, total: amount, cycle_unit: unit, cycle_reset_at: app.clock.after(HOUR), ...more })
  const rolling = async (amount: number, seconds: number, cap = 'enforce'): Promise<number> =>
    quota({ quota_type: 3, total: amount, window_seconds: seconds, cap })
  const consume = async (amount: number): Promise<Body> =>
    bodyOf(200, await app.post(MAIL_API.consume, { account_id: owner, amount }, { key: `k${fresh()}` }))
  const reserve = async (amount: number, ttl = DAY): Promise<Body> =>
    bodyOf(
      201,
      await app.post(MAIL_API.reserve, { account_id: owner, amount, ttl_seconds: ttl }, { key: `k${fresh()}` }),
    )
  const act = async (id: string, what: string, amount?: number): Promise<Body> =>
    bodyOf(
      200,
      await app.post(
        `${MAIL_API.usage}/${id}/${what}`,
        amount === undefined ? {} : { amount },
        what === 'refund' ? { key: `k${fresh()}` } : {},
      ),
    )
  async function fold(): Promise<void> {
    app.clock.pass(LAG)
    while (await upkeep.totals.fold());
  }

  /** What a series adds up to: charged, refunded, refused. */
  async function series(of: string, step = 'day', days = 20): Promise<number[]> {
    const from = encodeURIComponent(app.clock.after(-days * DAY))
    const { items } = bodyOf(200, await app.get(`${MAIL_API.usage}/series?${of}&step=${step}&from=${from}`))
    return ['charged', 'refunded', 'refused'].map((name) =>
      (items as Body[]).reduce<number>((sum, item) => sum + Number(item[name] ?? 0), 0),
    )
  }

  interface Life {
    readonly large: number
    readonly hourly: number
    readonly minute: number
    readonly daily: number
    readonly plain: string
    readonly refunded: string
    readonly split: string
    readonly open: string
    readonly committed: string
  }

  /** A little of everything, under three caps and two payers. */
  async function live(): Promise<Life> {
    const hourly = await cycle(500, 'hour', { cap: 'enforce' })
    const minute = await rolling(300, MINUTE)
    const daily = await rolling(40, DAY, 'observe')
    await cycle(10, 'day')
    const large = await total(1_000)
    const split = (await consume(14)).id
    await act(split, 'refund', 2)
    app.clock.pass(2 * HOUR)
    // What the smaller one has, so that the next are paid by one.
    await consume(10)
    const plain = (await consume(20)).id
    const refunded = (await consume(30)).id
    await act(refunded, 'refund', 10)
    app.clock.pass(5)
    const open = (await reserve(40)).id
    const committed = (await reserve(50)).id
    await act(committed, 'commit', 45)
    await act(committed, 'refund', 5)
    await act((await reserve(60)).id, 'release')
    await reserve(15, 3)
    app.clock.pass(4)
    return { large, hourly, minute, daily, plain, refunded, split, open, committed }
  }

  it('agree with the ledger if a settled operation belongs to an earlier cycle that is not rolled yet', async () => {
    const ids = [await cycle(100, 'hour'), await cycle(100, 'hour', { cap: 'enforce' })]
    const [refunded, committed, released] = [await consume(5), await reserve(4), await reserve(3)]
    app.clock.pass(2 * HOUR)
    await act(refunded.id, 'refund')
    expect(await verify()).toEqual([])
    await act(committed.id, 'commit', 1)
    await act(released.id, 'release')
    expect(await verify()).toEqual([])
    for (const id of ids)
      expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))).toMatchObject({ used: 0, reserved: 0 })
  })

  it('do not contradict a counter that stopped at the largest exact number', async () => {
    const payer = await total(1_000)
    const cap = await total(5, { cap: 'observe' })
    const { id } = await consume(1)
    await consume(2)
    const most = Number.MAX_SAFE_INTEGER
    const set = async (amount: number, counted: number): Promise<void> => {
      await sql('UPDATE mail_act SET amount = ? WHERE id = ?', [amount, id])
      await sql('UPDATE mail_quota SET used = ? WHERE id = ?', [counted, cap])
    }
    // As if units had been refunded since the counter stopped.
    await set(most, most - 1_000)
    const found = (await verify()).map(([line]) => line)
    expect(found.some((line) => line.includes(`quota ${payer} `))).toBe(true)
    expect(found.filter((line) => line.includes(`quota ${cap} `))).toEqual([])
    await set(1, 3)
    expect(await verify()).toEqual([])
  })

  it('agree with the ledger after any acts, before and after these are added up, and as time passes', async () => {
    const { hourly, minute, daily } = await live()
    const inOrder = async (): Promise<void> => {
      expect(await verify()).toEqual([])
      if (kind.name !== 'SQLite') expect(await audit({ rows: sql as never })).toEqual([])
    }
    await inOrder()
    await sweeperOf(app, MAIL_API).sweep()
    await inOrder()
    await consume(1)
    await fold()
    await inOrder()
    await consume(2)
    bodyOf(200, await app.post(`${MAIL_API.quotas}/${daily}/reset`, {}))
    await consume(3)
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${minute}`, { window_seconds: 90 }))
    await consume(4)
    bodyOf(204, await app.delete(`${MAIL_API.quotas}/${hourly}`))
    await consume(5)
    await inOrder()
    app.clock.pass(DAY)
    await inOrder()
    await consume(6)
    await fold()
    await inOrder()
  })

  it("contain each operation once in the owner's usage, and in each cap", async () => {
    const { large, hourly, minute, daily } = await live()
    const took = [14 + 10 + 20 + 30 + 45, 10 + 2 + 5, 0]
    const said = async (): Promise<number[][]> =>
      Promise.all(
        [`account_id=${owner}`, ...[hourly, minute, daily].map((id) => `quota_id=${id}`)].map(async (of) => series(of)),
      )
    expect(await said()).toEqual([took, took, took, took])
    const ofPayer = await series(`quota_id=${large}`)
    await fold()
    expect(await said()).toEqual([took, took, took, took])
    expect(await series(`account_id=${owner}`, 'hour')).toEqual(took)
    expect(await series(`quota_id=${large}`)).toEqual(ofPayer)
    // Refusals are the owner's; what would have been refused was taken.
    const refusal = await app.post(MAIL_API.consume, { account_id: owner, amount: 1_000 }, { key: `k${fresh()}` })
    expect(refusal.status).toBe(409)
    await ledgerOf(app, MAIL_API).refusals.flush()
    expect(await series(`account_id=${owner}`)).toEqual([took[0], took[1], 1_000])
  })

  describe('with damage', () => {
    afterEach(async () => {
      await sql('DELETE FROM mail_allocation WHERE quota_id IN (SELECT id FROM mail_quota WHERE account_id = ?)', [
        owner,
      ])
      for (const table of ['act', 'operation', 'hold', 'change', 'event', 'usage_total', 'owner'])
        await sql(`DELETE FROM mail_${table} WHERE owner_id = ?`, [owner])
      await sql('UPDATE mail_event_feed SET removed_to = last_position')
      await sql('DELETE FROM mail_quota WHERE account_id = ?', [owner])
      // The totals of all owners still contain those.
      await outcomesOf(mailVerifierOf(app), { repair: true })
    })

    interface Damage {
      readonly name: string
      readonly plant: (life: Life) => Promise<unknown>
      /** What is found, and what becomes of it. */
      readonly found: readonly [rule: string, outcome: Repaired][]
    }
    const damages: Damage[] = [
      {
        name: 'a cap that counts too much',
        plant: async ({ hourly }) => sql('UPDATE mail_quota SET used = used + 5 WHERE id = ?', [hourly]),
        found: [['counters', 'left']],
      },
      {
        name: 'a cap that counts too little',
        plant: async ({ hourly }) => sql('UPDATE mail_quota SET used = 0, reserved = 0 WHERE id = ?', [hourly]),
        found: [['counters', 'mended']],
      },
      {
        name: 'a rolling cap that has lost its window',
        plant: async ({ minute }) =>
          sql("UPDATE mail_quota SET window_counts = '', used = 0, reserved = 0 WHERE id = ?", [minute]),
        found: [['counters', 'mended']],
      },
      {
        name: 'a rolling cap whose window says more',
        plant: async ({ daily }) => {
          const [row] = await sql('SELECT window_counts FROM mail_quota WHERE id = ?', [daily])
          const text = String(row?.['window_counts']).replace(/:(\d+)/, (_, used: string) => `:${Number(used) + 7}`)
          return sql('UPDATE mail_quota SET window_counts = ?, used = used + 7 WHERE id = ?', [text, daily])
        },
        found: [['counters', 'left']],
      },
      {
        name: 'a rolling cap whose sums are not its window',
        plant: async ({ minute }) => sql('UPDATE mail_quota SET used = used + 1 WHERE id = ?', [minute]),
        found: [['counters', 'left']],
      },
      {
        name: 'a window that nobody can read',
        plant: async ({ minute }) => sql("UPDATE mail_quota SET window_counts = 'x' WHERE id = ?", [minute]),
        found: [['counters', 'mended']],
      },
      {
        name: 'a cap without the time at which a hold is due',
        plant: async ({ minute }) => sql('UPDATE mail_quota SET hold_due_at = NULL WHERE id = ?', [minute]),
        found: [['hold_due', 'mended']],
      },
      {
        name: 'totals of a cap that are lost',
        plant: async ({ daily }) => {
          await fold()
          return sql('DELETE FROM mail_usage_total WHERE quota_id = ?', [daily])
        },
        found: [['totals', 'mended']],
      },
      {
        name: 'a consume that names a cap which it never had',
        plant: async ({ plain }) => sql("UPDATE mail_act SET caps = ' 1:0' WHERE id = ?", [plain]),
        found: [
          ['plain_consume', 'left'],
          ['counters', 'left'],
          ['counters', 'left'],
          ['counters', 'left'],
        ],
      },
      {
        name: 'caps that nobody can read',
        plant: async ({ plain }) => sql("UPDATE mail_act SET caps = 'x' WHERE id = ?", [plain]),
        found: [
          ['plain_consume', 'left'],
          ['counters', 'left'],
          ['counters', 'left'],
          ['counters', 'left'],
        ],
      },
      {
        name: 'a refunded consume whose rows are gone',
        plant: async ({ refunded }) => {
          await sql('DELETE FROM mail_operation WHERE id = ?', [refunded])
          await sql('DELETE FROM mail_allocation WHERE operation_id = ?', [refunded])
        },
        found: [
          ['operation_missing', 'left'],
          // Without the refund, each quota and cap has counted more.
          ['counters', 'mended'],
          ['counters', 'mended'],
          ['counters', 'mended'],
          ['counters', 'mended'],
        ],
      },
      {
        name: 'a cap that counted another amount than was taken',
        plant: async ({ committed }) =>
          sql('UPDATE mail_allocation SET amount = 1 WHERE operation_id = ? AND counted_at IS NOT NULL', [committed]),
        found: [['allocations', 'left']],
      },
      {
        name: 'a payer in the place of a cap',
        plant: async ({ split }) => sql('UPDATE mail_allocation SET counted_at = NULL WHERE operation_id = ?', [split]),
        found: [
          ['allocations', 'left'],
          ['allocations', 'left'],
          // Of the count that still runs.
          ['counters', 'left'],
        ],
      },
      {
        name: 'a rolling cap without a window',
        plant: async ({ minute }) => sql('UPDATE mail_quota SET window_seconds = NULL WHERE id = ?', [minute]),
        found: [
          ['settings', 'left'],
          ['settings', 'left'],
        ],
      },
    ]
    it.each(damages)('$name is named, and mended where that can be', async ({ plant, found }) => {
      const life = await live()
      expect(await verify()).toEqual([])
      await plant(life)
      const ruleOf = ([line, outcome]: readonly [string, Repaired | undefined]): unknown => [
        line.split(':')[0]?.replace('mail ', ''),
        outcome,
      ]
      const outcomes = await verify({ repair: true })
      expect(outcomes.map(ruleOf)).toEqual(found)
      const left = (await verify()).length
      expect(left > 0).toBe(found.some(([, outcome]) => outcome === 'left'))
    })
  })

  it('reach farther back than acts are kept: removed acts still count and are shown, and no repair guesses', async () => {
    const noon = Math.ceil(app.clock.now() / 1_000 / DAY) * DAY + DAY / 2
    app.clock.set(noon * 1_000)
    const yearly = await cycle(100, 'year', { cap: 'enforce' })
    const month = await rolling(50, 31 * DAY)
    const watched = await rolling(15, 31 * DAY, 'observe')
    const payer = await total(1_000)
    const caps = [yearly, month, watched]
    app.clock.pass(2 * HOUR)
    const send = async (amount: number, key: string) =>
      app.post(MAIL_API.consume, { account_id: owner, amount }, { key })
    const [removedKey, keptKey] = [`k${fresh()}`, `k${fresh()}`]
    const first = bodyOf(200, await send(20, removedKey)).id
    await act((await consume(12)).id, 'refund', 2)
    await act((await reserve(9)).id, 'commit', 5)
    app.clock.pass(10 * DAY)
    const kept = await send(8, keptKey)
    await fold()
    const usedOf = async (ids: readonly number[]): Promise<number[]> =>
      Promise.all(ids.map(async (id) => bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)).used))
    const said = async (): Promise<number[][]> =>
      Promise.all(
        [`account_id=${owner}`, ...[...caps, payer].map((id) => `quota_id=${id}`)].map(async (of) =>
          series(of, 'day', 40),
        ),
      )
    const took = [20 + 12 + 5 + 8, 2, 0]
    expect(await said()).toEqual(Array.from({ length: 5 }, () => took))

    // The first day's acts go while they still count in windows of 31 days.
    app.clock.pass(20.5 * DAY)
    await fold()
    const keeper = await TestApp.start(app.store, { clock: app.clock, env: { RETENTION_DAYS: '30' } })
    await keeper.app.get<Upkeep<never>>(channelToken(MAIL, Upkeep)).round()
    await keeper.stop()
    expect(bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`)).items).toHaveLength(1)
    expect((await app.get(`${MAIL_API.usage}/${first}`)).status).toBe(404)
    expect(await verify()).toEqual([])
    expect(await usedOf([...caps, payer])).toEqual([43, 43, 43, 43])
    expect(await said()).toEqual(Array.from({ length: 5 }, () => took))
    expect((await send(8, `k${fresh()}`)).status).toBe(409)
    expect((await send(8, keptKey)).text).toBe(kept.text)
    expect((await send(7, removedKey)).headers['idempotency-replayed']).not.toBe('true')
    expect(await usedOf([...caps, payer])).toEqual([50, 50, 50, 50])
    expect(await verify()).toEqual([])

    // A repair restores what the rows say and never takes for spent, or for free, what nothing confirms any more.
    const columns = ['used', 'window_counts'] as const
    for (const id of [yearly, month]) {
      const [row] = await sql('SELECT used, window_counts FROM mail_quota WHERE id = ?', [id])
      await sql('UPDATE mail_quota SET used = 0, window_counts = ? WHERE id = ?', [id === month ? '' : null, id])
      const outcomes = await verify({ repair: true })
      expect(outcomes.map(([line, outcome]) => [line.split(':')[0], outcome])).toEqual([['mail counters', 'left']])
      expect(await usedOf([id])).toEqual([15])
      // Only totals tell of what was removed. Of a window they say nothing: it is held to the rows from below.
      expect((await verify()).length).toBe(id === yearly ? 1 : 0)
      await sql(`UPDATE mail_quota SET ${columns.map((name) => `${name} = ?`).join()} WHERE id = ?`, [
        ...columns.map((name) => row![name]),
        id,
      ])
      expect(await verify({ repair: true })).toEqual([])
      expect(await usedOf([id])).toEqual([50])
    }

    // A unit leaves the window a 24th of it late at most; the year's limit goes on.
    app.clock.pass(1.8 * DAY)
    expect(await usedOf(caps)).toEqual([50, 15, 15])
    await consume(35)
    expect(await usedOf(caps)).toEqual([85, 50, 50])
    await fold()
    expect(await verify()).toEqual([])
    app.clock.pass(366 * DAY)
    await consume(50)
    expect(await usedOf([...caps, payer])).toEqual([50, 50, 50, 135])
    expect(await verify()).toEqual([])
  })
})
