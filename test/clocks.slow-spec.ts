import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { verified } from './support/verify.js'
import { bodyOf, fresh, MAIL, owners, tally, times, totalQuota } from './support/wire.js'

/**
 * Instances whose machines' clocks are wrong, on one server: `RELIABILITY_SCALE=40` makes an hour of it, in which usage
 * is added up as well. A server is needed: with SQLite the host's clock is the one that counts.
 */
const onServer = HAS_SERVER ? describe : describe.skip

/** Until the clocks are steady, and a while longer: the idle instance must get to sweep. */
const RUN_MS = 90_000 * SCALE
const SHIFTED = `--import ${pathToFileURL(join(process.cwd(), 'test/support/shifted-clock.mjs')).href}`
const MINUTE_MS = 60_000
const TEN_YEARS_MS = 315_576_000_000

onServer('instances whose clocks are wrong', () => {
  let database: TestDatabase
  /** The last one gets no request but for its metrics. */
  let instances: Instance[] = []

  beforeAll(async () => {
    database = await TestDatabase.open()
    for (const shift of [-11 * MINUTE_MS, TEN_YEARS_MS, -5 * MINUTE_MS, 11 * MINUTE_MS]) {
      const env = { NODE_OPTIONS: SHIFTED, CLOCK_SHIFT_MS: String(shift), LOG_LEVEL: 'warn', METRICS_PUBLIC: 'true' }
      instances.push(await Instance.start(database.url, { ...env, RETENTION_DAYS: '30' }))
    }
  })

  afterAll(async () => {
    const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
    instances = []
    expect(codes).toEqual([0, 0, 0, 0])
  })

  let turn = 0
  const next = (): Instance => instances[(turn += 1) % 3]!
  const at = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString()

  const create = async (settings: object): Promise<Answer> => next().post(MAIL.quotas, settings)
  const consume = async (owner: number, amount = 1, key = fresh('clocks')): Promise<Answer> =>
    next().post(`${MAIL.usage}/consume`, { account_id: owner, amount }, key)
  const reserve = async (owner: number, ttl: number): Promise<Answer> =>
    next().post(`${MAIL.usage}/reserve`, { account_id: owner, amount: 1, ttl_seconds: ttl }, fresh('clocks'))

  it(
    'end nothing early or late, and add up exactly',
    async () => {
      const until = performance.now() + RUN_MS
      const [ending = 0, holding = 0, busy = 0] = owners(3)
      const expect2xx = (answers: readonly Answer[], status: number): void =>
        expect(tally(answers.map(({ status: one, text }) => (one === status ? one : text)))).toEqual({
          [status]: answers.length,
        })
      expect2xx([await create(totalQuota(MAIL, holding, 1_000)), await create(totalQuota(MAIL, busy, 1e9))], 201)
      // What ends in ten minutes has ended by the clock of the idle instance.
      expect2xx(
        await Promise.all(
          times(50).map(async () =>
            create({ account_id: ending, quota_type: 1, total: 1, expire_at: at(10 * MINUTE_MS + RUN_MS) }),
          ),
        ),
        201,
      )
      const holds = await Promise.all(times(50).map(async () => reserve(holding, 600)))
      expect2xx(holds, 201)

      // What ends while we look: how far from its time, as this machine has it, which is the server's.
      const errors: number[] = []
      const ends = async (endsAt: number, over: () => Promise<boolean>): Promise<void> => {
        await sleep(endsAt - 1_000 - Date.now())
        // An answer tells of a moment between the question and the answer, which may be far apart.
        expect((await over()) && Date.now() < endsAt).toBe(false)
        for (;;) {
          const asked = Date.now()
          if (await over()) {
            errors.push(Math.max(0, asked - endsAt, endsAt - Date.now()))
            return
          }
          if (asked > endsAt + 3_000) throw new Error('it does not end')
          await sleep(20)
        }
      }
      const watch = async (): Promise<void> => {
        const [owner = 0, resetting = 0, kept = 0] = owners(3)
        const endsAt = Date.now() + 5_000
        const quota = await create({ account_id: owner, quota_type: 1, total: 5, expire_at: at(5_000) })
        const cycle = { account_id: resetting, quota_type: 2, total: 5, cycle_unit: 'hour', cycle_reset_at: at(5_000) }
        expect2xx([quota, await create(cycle), await create(totalQuota(MAIL, kept, 5))], 201)
        expect2xx([await consume(owner), await consume(resetting)], 200)
        const hold = await reserve(kept, 5)
        expect2xx([hold], 201)
        const held = bodyOf(hold)
        const status = async (): Promise<string> =>
          bodyOf(await next().get(`${MAIL.quotas}/${bodyOf(quota).id}`)).status
        const summary = async (): Promise<{ used: number }> => bodyOf(await next().get(MAIL.summary(resetting)))
        const state = async (): Promise<string> => bodyOf(await next().get(`${MAIL.usage}/${held.id}`)).state
        await Promise.all([
          ends(endsAt, async () => (await status()) === 'expired'),
          ends(endsAt, async () => (await summary()).used === 0),
          ends(Date.parse(held.expires_at), async () => (await state()) === 'expired'),
        ])
      }

      // Meanwhile every kind of usage, on one instance after the other.
      let used = 0
      const work = async (): Promise<void> => {
        while (performance.now() < until) {
          const amount = 1 + Math.floor(Math.random() * 9)
          const key = fresh('clocks')
          const first = await consume(busy, amount, key)
          expect2xx([first, await consume(busy, amount, key)], 200)
          used += amount
          const { id } = bodyOf(first)
          const refund = { amount: 1 }
          if (amount % 3 === 0) {
            expect2xx([await next().post(`${MAIL.usage}/${id}/refund`, refund, fresh('clocks'))], 200)
            used -= 1
          } else if (amount % 3 === 1) {
            const hold = bodyOf(await reserve(busy, 60))
            const settled = amount === 1 ? 'release' : 'commit'
            expect2xx([await next().post(`${MAIL.usage}/${hold.id}/${settled}`, {})], 200)
            if (settled === 'commit') used += 1
          }
          await sleep(50)
        }
      }
      const watched = async (): Promise<void> => {
        while (performance.now() < until - 10_000) await watch()
      }
      await Promise.all([work(), watched()])

      if (SCALE <= 5) {
        const commits = await Promise.all(
          holds.map(async (hold) => next().post(`${MAIL.usage}/${bodyOf(hold).id}/commit`, {})),
        )
        expect2xx(commits, 200)
      }
      expect2xx(await Promise.all(times(50).map(async () => consume(ending))), 200)
      const [quota] = bodyOf(await next().get(`${MAIL.quotas}?account_id=${busy}`)).items
      expect(quota.used).toBe(used)
      const { items } = bodyOf(await next().get(`${MAIL.usage}/series?account_id=${busy}`))
      const added = items.reduce(
        (sum: number, step: { charged: number; refunded: number }) => sum + step.charged - step.refunded,
        0,
      )
      expect(added).toBe(used)
      const rows = await database.rows<{ folded_to: string }>('SELECT folded_to FROM mail_ledger_state')
      const reached = rows[0]?.folded_to ?? ''
      expect(Number.parseInt(reached.slice(0, 8) + reached.slice(9, 13) || '0', 16)).toBeLessThan(Date.now())
      expect(Math.max(...errors)).toBeLessThan(1_000)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      // The machine is named.
      const offsets = await Promise.all(
        instances.map(async (one) => {
          const { text } = await one.get('/metrics')
          return Math.round(Number(/^clock_host_offset_seconds (.*)$/m.exec(text)?.[1]))
        }),
      )
      expect(offsets.map((offset) => Math.round(offset / 60))).toEqual([-11, TEN_YEARS_MS / MINUTE_MS, -5, 11])
      expect(instances[3]?.log).toContain("this machine's clock is 660.0 s later than the database's")
      figure('instances whose clocks are wrong', {
        ended: errors.length,
        'furthest from their time, ms': Math.max(...errors),
        'added up before the end': reached === '' ? 'none' : 'some',
      })
    },
    RUN_MS + 120_000,
  )
})
