import { beforeAll, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { type Reads, type Transaction, TransactionRunner } from '../src/database/transaction-runner.js'
import { MAX_EXPIRED_AT_ONCE } from '../src/ledger/write/holds.js'
import { Ledger } from '../src/ledger/write/ledger.js'
import { QuotaReader } from '../src/ledger/read/quota-reader.js'
import { RecentCounts } from '../src/ledger/read/recent-counts.js'
import { UsageReader } from '../src/ledger/read/usage-reader.js'
import { Verifier } from '../src/ledger/verify/verifier.js'
import type { Outcome } from '../src/ledger/store/command.js'
import type { MailQuota } from '../src/mail-quota/mail-quota.entity.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { audit } from './support/audit.js'
import { figure } from './support/figures.js'
import { MAIL_API } from './support/channel-api.js'
import { bodyOf, stopSweepers, sweeperOf } from './support/quota-api.js'
import { rowsRead } from './support/rows-read.js'
import { onEveryStore } from './support/store.js'
import { inTime } from './support/pace.js'
import { linesOf } from './support/verify.js'
import { fresh, inParallel, shuffled, times } from './support/wire.js'

/** As many as one owner may have, and many times as many holds. */
const QUOTAS = 200
const HOLDS = 5_000
const HELD = 3
const DAY = 86_400

/** Whose holds they are, and others, one of whom shares its lane. */
const BUSY = 1_000
const OTHERS = [1_001, 1_002]

/**
 * What nobody else may wait for one owner's holds. Ten times what it takes here, so that a busy machine does not
 * matter, and still a part of what it took when every hold was multiplied with quotas and resets.
 */
const PATIENCE_MS = 3_000

/** A clock on which a minute passes between any two looks. */
class PassingClock extends TestClock {
  override now(): number {
    const at = super.now()
    this.pass(60)
    return at
  }
}

onEveryStore('holds of every member of a group', (kind) => {
  let app: TestApp
  const members = times(120).map((n) => 2_000 + n)
  const spender = 1_500

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    const groups = `${MAIL_API.quotas}/groups`
    const parent = bodyOf(201, await app.post(groups, { name: 'all' })).id
    const made = await app.post(groups, { name: 'everybody', default: true, parent_id: parent })
    const { id } = bodyOf(201, made)
    const create = async (settings: object): Promise<void> => {
      bodyOf(201, await app.post(MAIL_API.quotas, { expire_at: app.clock.after(90 * DAY), ...settings }))
    }
    await create({ group_id: parent, quota_type: 1, total: 1_000, cap: 'enforce' })
    await create({ group_id: id, per: 'member', quota_type: 1, total: 1_000 })
    await create({
      account_id: spender,
      cap: 'enforce',
      quota_type: 2,
      total: 10,
      cycle_unit: 'day',
      cycle_reset_at: app.clock.after(DAY),
    })
    // The unit of the nth returns after n + 1 minutes, in an order of its own.
    await inParallel(10, shuffled(members), async (owner) => {
      const body = { account_id: owner, amount: 1, ttl_seconds: 60 * (owner - 2_000 + 1) }
      bodyOf(201, await app.post(MAIL_API.reserve, body, { as: 'usage', key: fresh('hold') }))
    })
  })

  async function refillsAt(owner: number, amount: number): Promise<string | null> {
    const refused = await app.post(MAIL_API.consume, { account_id: owner, amount }, { as: 'usage', key: fresh('much') })
    expect([refused.status, refused.body.code]).toEqual([409, 'quota_exceeded'])
    const checked = bodyOf(200, await app.get(`${MAIL_API.usage}/check?account_id=${owner}&amount=${amount}`))
    expect(checked).toMatchObject({ allowed: false, refills_at: refused.body.refills_at })
    return refused.body.refills_at
  }

  it('say when what is refused fits, however many must return first', async () => {
    const minutes = (n: number): string => app.clock.after(60 * n)
    expect(await refillsAt(2_500, 881)).toBe(minutes(1))
    expect(await refillsAt(2_500, 930)).toBe(minutes(50))
    expect(await refillsAt(2_500, 931)).toBe(minutes(51))
    expect(await refillsAt(2_500, 1_000)).toBe(minutes(120))
    expect(await refillsAt(2_500, 1_001)).toBeNull()
    // This one has a unit of its own, too, which returns before the others that are needed.
    expect(await refillsAt(2_000, 999)).toBe(minutes(119))
  })

  it('return once, however long a check reads them', async () => {
    const [database, runner] = [app.app.get(DataSource), app.app.get(TransactionRunner)]
    const clock = new PassingClock(app.clock.after(0))
    const reader = new QuotaReader(MAIL, database, runner, clock, new RecentCounts(runner, 'holds', clock))
    // The limits are read at 0:00 and 0:01, and once more with the holds at 0:02: 882 are left by then.
    expect(await reader.check(2_500, 884)).toMatchObject({ allowed: false, refills_at: app.clock.after(60 * 4) })
  })

  it('are of the same moment as the limits of a check, though one ends while it reads them', async () => {
    const owner = 1_600
    // Before that of any other.
    const body = { account_id: owner, amount: 60, ttl_seconds: 30 }
    const held = bodyOf(201, await app.post(MAIL_API.reserve, body, { as: 'usage', key: fresh('hold') }))
    // It is released right before the holds are read, wherever the check reads its limits.
    const runner = app.app.get(TransactionRunner)
    const snapshot = runner.snapshot.bind(runner)
    let released = 0
    const releasing = <T>(unit: (transaction: Transaction) => Promise<T>): ((own: Transaction) => Promise<T>) => {
      return async (transaction) => {
        const rows: Transaction['rows'] = async (sql, values) => {
          if (sql.includes('mail_hold') && (released += 1) === 1)
            bodyOf(200, await app.post(`${MAIL_API.usage}/${held.id}/release`, {}, { as: 'usage' }))
          return transaction.rows(sql, values)
        }
        return unit(Object.create(transaction, { rows: { value: rows } }) as Transaction)
      }
    }
    const watching = Object.create(runner, {
      snapshot: { value: async <T>(unit: (own: Transaction) => Promise<T>) => snapshot(releasing(unit)) },
      readsOf: {
        value: (flow: string): Reads => {
          const reads = runner.readsOf(flow)
          return { dialect: runner.dialect, read: async (unit) => reads.read(releasing(unit)) }
        },
      },
    }) as TransactionRunner
    const counts = new RecentCounts(runner, 'holds', app.clock)
    const reader = new QuotaReader(MAIL, app.app.get(DataSource), watching, app.clock, counts)
    const until = app.clock.after(30)
    expect(await reader.check(owner, 870)).toMatchObject({ allowed: false, remaining: 820, refills_at: until })
    expect(released).toBeGreaterThan(0)
    expect(await reader.check(owner, 870)).toMatchObject({ allowed: true, remaining: 880 })
  })

  it('are in the state that a page is of, however long it is read', async () => {
    const [database, runner] = [app.app.get(DataSource), app.app.get(TransactionRunner)]
    const reader = new UsageReader(MAIL, database, runner, new PassingClock(app.clock.after(0)))
    const [{ id }] = await database.query("SELECT id FROM mail_quota WHERE cap = 'enforce' AND account_id < 0")
    const whole = { id: 'admin', name: 'admin', ownOnly: false }
    const states: string[] = []
    let pages = 0
    for (let before: string | null | undefined; before !== null; pages += 1) {
      const page = await reader.ledger(whole, { quotaId: Number(id) }, before, 10, { state: 'reserved' })
      states.push(...page.items.map(({ state }) => state))
      before = page.next_before
    }
    expect(pages).toBeGreaterThan(3)
    expect([...new Set(states)]).toEqual(['reserved'])
  })

  it('say nothing about what an owner waits for alone', async () => {
    const body = { account_id: spender, amount: 10 }
    bodyOf(200, await app.post(MAIL_API.consume, body, { as: 'usage', key: fresh('all') }))
    expect(await refillsAt(spender, 10)).toBe(app.clock.after(DAY))
    expect(await refillsAt(spender, 11)).toBeNull()
  })

  it('are answered for if a counter says more than they hold', async () => {
    await app.app
      .get(DataSource)
      .query("UPDATE mail_quota SET reserved = reserved + 7 WHERE cap = 'enforce' AND reserved > 0")
    expect(await refillsAt(2_500, 983)).toBe(app.clock.after(60 * 120))
    expect(await refillsAt(2_500, 984)).toBeNull()
  })

  it('are recorded as expired but for an owner that another session keeps locked, and counts follow', async () => {
    const database = app.app.get(DataSource)
    await database.query("UPDATE mail_quota SET reserved = reserved - 7 WHERE cap = 'enforce' AND reserved > 0")
    app.clock.pass(3 * DAY)
    const [{ id }] = await database.query("SELECT id FROM mail_quota WHERE per = 'member'")
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${id}`, { total: 2_000 }))
    const isServer = kind.name !== 'SQLite'
    const other = isServer ? await createConnection({ uri: app.store.url }) : undefined
    try {
      await other?.query('START TRANSACTION')
      await other?.query('SELECT * FROM mail_owner WHERE owner_id = 2000 FOR UPDATE')
      const swept = sweeperOf(app, MAIL_API).sweep()
      if (isServer) await expect(swept).rejects.toMatchObject({ reason: 'owner_locked' })
      else await swept
      const left = isServer ? [{ owner_id: 2_000 }] : []
      expect(await database.query('SELECT owner_id FROM mail_hold WHERE owner_id > 0')).toEqual(left)
      const behind = await database.query(
        `SELECT account_id AS owner_id FROM mail_quota WHERE follows = ${id} AND total <> 2000`,
      )
      expect(behind).toEqual(left)
    } finally {
      other?.destroy()
    }
    await sweeperOf(app, MAIL_API).sweep()
    expect(await database.query('SELECT owner_id FROM mail_hold')).toEqual([])
  })
})

onEveryStore('200 quotas with 5,000 holds', (kind) => {
  let app: TestApp
  let ledger: Ledger<MailQuota>
  let reader: QuotaReader<MailQuota>
  const caller = { name: 'holder', id: 'holder', requestId: 'holds', ownOnly: false }

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    ledger = app.app.get<Ledger<MailQuota>>(channelToken(MAIL, Ledger))
    reader = app.app.get<QuotaReader<MailQuota>>(channelToken(MAIL, QuotaReader))
    for (const owner of OTHERS)
      await create(owner, { quota_type: 1, total: 1_000_000, expire_at: app.clock.after(90 * DAY) })
    const half = QUOTAS / 2
    const total = Math.ceil((HOLDS * HELD) / half) + 10
    for (const n of times(half)) await create(BUSY, { quota_type: 1, total, expire_at: app.clock.after(30 * DAY + n) })
    await inParallel(500, times(HOLDS), async (n) => {
      await ledger.reserve(caller, BUSY, HELD, DAY, `hold-${n}`)
    })
    // With a reset in every hour of the holds' day, at a time of its own; the first one ends before it could ever help.
    for (const n of times(half)) {
      const cycle = { quota_type: 2, total: 10, cycle_unit: 'hour', cycle_reset_at: app.clock.after(30 + 17 * n) }
      await create(BUSY, n === 0 ? { ...cycle, expire_at: app.clock.after(20) } : cycle)
    }
  })

  async function create(owner: number, settings: object): Promise<void> {
    bodyOf(201, await app.post(MAIL_API.quotas, { account_id: owner, ...settings }))
  }

  const rows = async <T extends object>(sql: string): Promise<T[]> => app.app.get(DataSource).query(sql)
  const number = async (sql: string): Promise<number> => Number(Object.values((await rows(sql))[0] ?? {})[0])

  /** How long each of the others waited at most for a consume while `work` was done, in milliseconds. */
  async function othersWaitDuring(work: () => Promise<void>): Promise<number> {
    let done = false
    let longest = 0
    const waiting = OTHERS.map(async (owner) => {
      while (!done) {
        const start = performance.now()
        const body = { account_id: owner, amount: 1 }
        bodyOf(200, await app.post(MAIL_API.consume, body, { as: 'usage', key: fresh('other') }))
        longest = Math.max(longest, performance.now() - start)
      }
    })
    try {
      await work()
    } finally {
      done = true
      await Promise.all(waiting)
    }
    return Math.round(longest)
  }

  it('are not read for a refusal of another owner in the same batch', async () => {
    const refused = 1_900
    await create(refused, { quota_type: 1, total: 100, expire_at: app.clock.after(90 * DAY) })
    const holds = await Promise.all(
      times(60).map(async (n) => ledger.reserve(caller, refused, 1, 60 * (n + 1), `one-${n}`)),
    )
    const holdsRead = async (): Promise<number> => rowsRead(kind, app.app.get(DataSource), 'mail_hold')
    const before = await holdsRead()
    const [beside, refusal] = await Promise.allSettled([
      ledger.consume(caller, BUSY, 1, 'beside'),
      ledger.consume(caller, refused, 95, 'for-later'),
    ])
    expect(refusal).toMatchObject({ reason: { extra: { refills_at: app.clock.after(60 * 55) } } })
    expect((await holdsRead()) - before).toBeLessThan(400)
    const { value } = beside as PromiseFulfilledResult<Outcome>
    await ledger.refund(caller, String(value.subject), 1, 'not-beside')
    for (const { subject } of holds) await ledger.release(caller, String(subject))
    // A later batch of this owner would move it.
    await rows(`UPDATE mail_quota SET hold_due_at = NULL WHERE account_id = ${refused}`)
  })

  it('answer quickly when more might fit, in a refusal and in a check', async () => {
    const { total, remaining } = await reader.summary(BUSY)
    expect(total - remaining).toBe(HOLDS * HELD)
    let took = 0
    const waited = await othersWaitDuring(async () => {
      const start = performance.now()
      // All that there is together at no time: the search goes to the end.
      await expect(ledger.consume(caller, BUSY, total, 'too-much')).rejects.toMatchObject({
        code: 'quota_exceeded',
        extra: { refills_at: null },
      })
      expect((await reader.check(BUSY, total)).refills_at).toBeNull()
      // With every hold back, and not before.
      const all = await reader.check(BUSY, total - 10)
      expect(all.refills_at).toBe(app.clock.after(DAY))
      took = Math.round(performance.now() - start)
    })
    figure(`${kind.name}, refills_at of ${QUOTAS} quotas and ${HOLDS} holds`, {
      'three answers, ms': took,
      'others waited, ms': waited,
    })
    expect(waited).toBeLessThan(inTime(PATIENCE_MS))
    expect(took).toBeLessThan(inTime(3 * PATIENCE_MS))
  })

  it('return at one instant without delaying others', async () => {
    app.clock.pass(DAY)
    // At that instant nothing is held, whoever has noticed: the hourly ones but the first have been reset, nothing else
    // was used.
    const half = QUOTAS / 2
    const all = half * (Math.ceil((HOLDS * HELD) / half) + 10) + 10 * (half - 1)
    let took = 0
    const waited = await othersWaitDuring(async () => {
      const start = performance.now()
      const [summary, check, list] = await Promise.all([
        reader.summary(BUSY),
        reader.check(BUSY, all),
        reader.list('reader', { subjects: { ownerId: BUSY }, status: undefined }, { page: 1, pageSize: 100 }),
      ])
      expect(summary).toMatchObject({ used: 0, reserved: 0, remaining: all })
      expect(check).toMatchObject({ allowed: true, remaining: all })
      expect(list.items.map(({ reserved }) => reserved)).toEqual(times(100).map(() => 0))
      expect(await written()).toEqual({ holds: HOLDS, reserved: HOLDS * HELD, expired: 0 })
      // Writers know it too. One that takes little writes down little, so that whoever is in its batch or behind it
      // does not wait for thousands of rows.
      await expect(ledger.consume(caller, BUSY, all + 1, 'one-too-many')).rejects.toMatchObject({
        extra: { remaining: all },
      })
      await ledger.consume(caller, BUSY, 1, 'one')
      took = Math.round(performance.now() - start)
      const { holds, reserved, expired } = await written()
      expect(holds).toBeGreaterThanOrEqual(HOLDS - 2 * MAX_EXPIRED_AT_ONCE)
      expect(reserved).toBe(holds * HELD)
      expect(expired).toBe(HOLDS - holds)
      expect(await reader.summary(BUSY)).toMatchObject({ used: 1, reserved: 0, remaining: all - 1 })
    })
    figure(`${kind.name}, ${HOLDS} holds due at once`, { 'five answers, ms': took, 'others waited, ms': waited })
    expect(waited).toBeLessThan(inTime(PATIENCE_MS))
    await inOrder()
  })

  it('are all recorded as expired before their units are spent, so that no slower clock can settle one', async () => {
    const { remaining } = await reader.summary(BUSY)
    const spent = HOLDS * HELD - 300
    const { holds: before } = await written()
    await ledger.consume(caller, BUSY, spent, 'nearly-everything')
    const { holds, reserved } = await written()
    expect(holds).toBeLessThan(before)
    expect(reserved).toBe(holds * HELD)
    expect(await number('SELECT COUNT(*) AS n FROM mail_quota WHERE used + reserved > total')).toBe(0)
    expect(await reader.summary(BUSY)).toMatchObject({ used: spent + 1, reserved: 0, remaining: remaining - spent })
    await inOrder()
  })

  it('are recorded as expired by the sweeper, step by step, until it is stopped', async () => {
    const before = await reader.summary(BUSY)
    const stop = new AbortController()
    const stopped = sweeperOf(app, MAIL_API).sweep(stop.signal)
    stop.abort()
    await stopped
    expect((await written()).holds).toBeGreaterThan(0)

    const waited = await othersWaitDuring(async () => sweeperOf(app, MAIL_API).sweep())
    figure(`${kind.name}, the sweep of what was left`, { 'others waited, ms': waited })
    expect(waited).toBeLessThan(inTime(PATIENCE_MS))
    expect(await written()).toEqual({ holds: 0, reserved: 0, expired: HOLDS })
    expect(await number('SELECT COUNT(*) AS n FROM mail_quota WHERE hold_due_at IS NOT NULL')).toBe(0)
    expect(await reader.summary(BUSY)).toEqual(before)
    await inOrder()
  })

  /** What is written down of holds. */
  async function written(): Promise<{ holds: number; reserved: number; expired: number }> {
    return {
      holds: await number('SELECT COUNT(*) AS n FROM mail_hold'),
      reserved: await number('SELECT SUM(reserved) AS n FROM mail_quota'),
      expired: await number("SELECT COUNT(*) AS n FROM mail_operation WHERE state = 'expired'"),
    }
  }

  async function inOrder(): Promise<void> {
    if (kind.name !== 'SQLite') expect(await audit({ rows })).toEqual([])
    const verifier = new Verifier(MAIL, app.app.get(DataSource), app.app.get(TransactionRunner), app.clock)
    expect(await linesOf(verifier)).toEqual([])
  }
})
