import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { inTime, repeatOnce } from './support/pace.js'
import { bodyOf, fresh, MAIL, tally, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

repeatOnce()

const onServer = HAS_SERVER ? describe : describe.skip

const LOCKED_FOR_MS = 7_000

onServer('one locked owner', () => {
  let database: TestDatabase
  let instance: Instance

  beforeAll(async () => {
    database = await TestDatabase.open()
    instance = await Instance.start(database.url, { LOG_LEVEL: 'warn' })
    for (const owner of times(60)) await instance.post(MAIL.quotas, totalQuota(MAIL, owner + 1, 1_000_000))
  })

  afterAll(async () => {
    expect(await instance.terminate()).toBe(0)
  })

  afterEach(async () => {
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
  })

  /** Keeps rows locked, as a session that hangs would. */
  async function locked(sql: string): Promise<() => Promise<void>> {
    const connection = await createConnection(database.url)
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    await connection.query('START TRANSACTION')
    await connection.query(sql)
    return async () => {
      await connection.query('ROLLBACK')
      await connection.end()
    }
  }

  /** Lines gather for a moment before they are written. */
  async function logged(line: RegExp): Promise<void> {
    const deadline = performance.now() + 5_000
    while (!line.test(instance.log) && performance.now() < deadline) await sleep(20)
    expect(instance.log).toMatch(line)
  }

  const consume = (owner: number, on = instance): Promise<Answer> =>
    on.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, fresh('locked'))

  it.each([
    ['lock row', 'SELECT * FROM mail_owner WHERE owner_id = 2 FOR UPDATE'],
    ['quota', 'SELECT * FROM mail_quota WHERE account_id = 2 FOR UPDATE'],
  ])('whose %s somebody keeps locked for 7 s keeps nobody else waiting for long', async (what, sql) => {
    const release = await locked(sql)
    const others: { status: number; ms: number }[] = []
    const own: Promise<Answer>[] = []
    const began = performance.now()
    const sent: Promise<void>[] = []
    for (const n of times(200)) {
      if (n % 10 === 0) own.push(consume(2))
      // All in the lane of the locked one: its id is even.
      const start = performance.now()
      sent.push(
        consume(4 + 2 * (n % 25)).then(({ status }) => {
          others.push({ status, ms: performance.now() - start })
        }),
      )
      await sleep(Math.max(0, (n + 1) * (LOCKED_FOR_MS / 200) - (performance.now() - began)))
    }
    await release()
    await Promise.all(sent)
    const ownStatuses = tally((await Promise.all(own)).map(({ status }) => status))
    const slow = others.map(({ ms }) => Math.round(ms)).sort((a, b) => b - a)
    figure(`one locked ${what} for 7 s`, {
      'others answered': others.filter(({ status }) => status === 200).length,
      of: others.length,
      'slowest ms': slow[0] ?? 0,
      'median ms': slow[Math.floor(slow.length / 2)] ?? 0,
      'the locked one': JSON.stringify(ownStatuses),
    })
    expect(tally(others.map(({ status }) => status))).toEqual({ 200: 200 })
    // Afterwards it is an owner like any other.
    expect((await consume(2)).status).toBe(200)
    const quick = performance.now()
    expect((await consume(2)).status).toBe(200)
    expect(performance.now() - quick).toBeLessThan(inTime(2_000))
  })

  it('keeps nobody waiting for long where another instance creates a quota for it', async () => {
    const other = await Instance.start(database.url)
    const release = await locked('SELECT * FROM mail_owner WHERE owner_id IN (2, 3) FOR UPDATE')
    const order: string[] = []
    const creates = [2, 3].map(async (owner) => {
      // In two transactions.
      await sleep(owner * 100)
      const { status } = await other.post(MAIL.quotas, totalQuota(MAIL, owner, 1))
      order.push(`create ${status}`)
    })
    await sleep(500)
    for (const n of times(20)) order.push(`consume ${(await consume(4 + n, other)).status}`)
    await Promise.all(creates)
    await release()
    expect(order).toEqual([...times(20).map(() => 'consume 200'), 'create 503', 'create 503'])
    expect((await other.post(MAIL.quotas, totalQuota(MAIL, 2, 1))).status).toBe(201)
    expect(await other.terminate()).toBe(0)
  })

  it('is named, with the way to the session that keeps it locked', async () => {
    const release = await locked('SELECT * FROM mail_owner WHERE owner_id = 2 FOR UPDATE')
    try {
      const refused = await consume(2)
      expect([refused.status, bodyOf(refused).detail]).toEqual([
        503,
        expect.stringContaining('keeps this owner locked'),
      ])
      await logged(/account_id 2 of mail has been kept locked by another session .* since 20/)
      const { text } = await instance.get('/metrics')
      expect(text).toMatch(/http_unavailable_total\{reason="owner_locked"\} [1-9]/)
      expect(Number(/quota_owner_locked_seconds\{channel="mail"\} (\S+)/.exec(text)?.[1])).toBeGreaterThan(5)
      // As docs/run/runbook.md says: the oldest transaction there is, with its session.
      const page = readFileSync('docs/run/runbook.md', 'utf8')
      const sql = /```sql\n(SELECT [^`]*innodb_trx[^`]*)```/.exec(page)?.[1] ?? ''
      const admin = await createConnection(database.url)
      await admin.query(sql.replace('INTERVAL 10 SECOND', 'INTERVAL 2 SECOND')).then(([rows]) => {
        expect(rows).toEqual([expect.objectContaining({ id: expect.any(Number) })])
      })
      await admin.end()
    } finally {
      await release()
    }
    expect((await consume(2)).status).toBe(200)
    await logged(/account_id 2 of mail is no longer locked, after/)
    expect((await instance.get('/metrics')).text).toContain('quota_owner_locked_seconds{channel="mail"} 0')
  })

  it('is named as the group whose quota it shares if that one is kept locked', async () => {
    const groups = `${MAIL.quotas}/groups`
    const group: number = bodyOf(await instance.post(groups, { name: fresh('shared') })).id
    const { account_id: _, ...settings } = totalQuota(MAIL, 0, 1_000) as Record<string, unknown>
    expect((await instance.post(MAIL.quotas, { ...settings, group_id: group })).status).toBe(201)
    expect((await instance.post(`${groups}/${group}/members`, { account_ids: [900] })).status).toBe(200)
    const release = await locked(`SELECT * FROM mail_owner WHERE owner_id = ${-group} FOR UPDATE`)
    try {
      const first = consume(900)
      const isCounted = async (): Promise<boolean> =>
        /quota_owner_locked_seconds\{channel="mail"\} [1-9]/.test((await instance.get('/metrics')).text)
      for (let tries = 0; tries < 100 && !(await isCounted()); tries += 1) await sleep(100)
      // More than may wait for one member: some are refused at once.
      const items = times(1_000).map((n) => ({ account_id: 900, amount: 1, idempotency_key: `later ${n}` }))
      const later = await instance.post(`${MAIL.usage}/consume/batch`, { items })
      expect([later.status, bodyOf(later).detail]).toEqual([503, expect.stringContaining('keeps this owner locked')])
      expect((await first).status).toBe(503)
      await logged(new RegExp(`group ${group} of mail has been kept locked by another session`))
      expect(instance.log).not.toContain('account_id 900')
    } finally {
      await release()
    }
    expect((await consume(900)).status).toBe(200)
    await logged(new RegExp(`group ${group} of mail is no longer locked, after`))
    expect((await instance.get('/metrics')).text).toContain('quota_owner_locked_seconds{channel="mail"} 0')
  })

  it('fills its own part of the queue and no other lane', async () => {
    const small = await Instance.start(database.url, { QUEUE_LIMIT: '40' })
    const release = await locked('SELECT * FROM mail_owner WHERE owner_id = 2 FOR UPDATE')
    const own = times(100).map(async () => consume(2, small))
    await sleep(200)
    const others = await Promise.all(times(20).map(async (n) => consume(1 + 2 * n, small)))
    await release()
    figure('a stuck lane', { 'answered in the other': others.filter(({ status }) => status === 200).length, of: 20 })
    expect(tally(others.map(({ status }) => status))).toEqual({ 200: 20 })
    const ended = tally((await Promise.all(own)).map(({ status }) => status))
    expect(Object.keys(ended).sort()).toEqual(['200', '503'])
    expect(await small.terminate()).toBe(0)
  })

  it('keeps nobody waiting for long where it is the row of a caller that brings in new owners', async () => {
    const groups = `${MAIL.quotas}/groups`
    const group: number = bodyOf(await instance.post(groups, { name: fresh('all'), default: true })).id
    const { account_id: _, ...settings } = totalQuota(MAIL, 0, 1_000) as Record<string, unknown>
    const { id } = bodyOf(await instance.post(MAIL.quotas, { ...settings, group_id: group, per: 'member' }))
    for (const n of times(20)) expect((await consume(4 + n)).status).toBe(200)
    expect((await consume(9_000)).status).toBe(200)
    const release = await locked('SELECT * FROM mail_caller FOR UPDATE')
    const order: string[] = []
    const unseen = [9_001, 9_002].map(async (owner) => {
      // In two transactions.
      await sleep((owner - 9_000) * 100)
      order.push(`new ${(await consume(owner)).status}`)
    })
    await sleep(500)
    for (const n of times(20)) order.push(`known ${(await consume(4 + n)).status}`)
    await Promise.all(unseen)
    await release()
    expect(order).toEqual([...times(20).map(() => 'known 200'), 'new 503', 'new 503'])
    expect((await consume(9_001)).status).toBe(200)
    expect((await instance.delete(`${MAIL.quotas}/${id}`)).status).toBe(204)
    expect((await instance.delete(`${groups}/${group}`)).status).toBe(204)
  })
})
