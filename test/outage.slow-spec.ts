import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { audit } from './support/audit.js'
import { CAN_START_SERVER, OwnServer, TestDatabase } from './support/database.js'
import { figure } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { inTime, repeatOnce } from './support/pace.js'
import { stop } from './support/stop.js'
import { bodyOf, fresh, inParallel, MAIL, owners, SMS, tally, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

repeatOnce()

const onOwnServer = CAN_START_SERVER ? describe : describe.skip

const PATIENCE_MS = 300_000
/** Much more than an answer takes that waits for nothing, and much less than any wait for the database. */
const AT_ONCE_MS = 1_000
/** Absences up to this length are bridged: requests wait 6 s for the database, and ask again in pauses. */
const BRIDGED_MS = 4_500

interface Timed {
  readonly answer: Answer
  readonly took: number
}

async function timed(send: () => Promise<Answer>): Promise<Timed> {
  const began = performance.now()
  const answer = await send()
  return { answer, took: performance.now() - began }
}

onOwnServer('the database away', () => {
  let database: TestDatabase
  let instance: Instance
  let owner: number
  let quotaId: number
  let operationId: string

  beforeAll(async () => {
    // Only a server that has such a limit from its start counts the connections of each account.
    database = await TestDatabase.open({ own: true, args: ['--max-user-connections=1000'] })
    instance = await Instance.start(database.url)
    owner = owners(1)[0]!
    quotaId = bodyOf(await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))).id
    operationId = bodyOf(await consume()).id
  })

  afterAll(async () => {
    expect(await instance.terminate()).toBe(0)
  })

  afterEach(async () => {
    // A test that failed may have left it down.
    await database.server.start()
    await back()
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
  })

  async function consume(key = fresh('outage')): Promise<Answer> {
    return instance.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, key)
  }

  /** One request of each kind: writes that begin with a look-up or not, and reads. */
  function requests(): Record<string, () => Promise<Answer>> {
    const items = times(3).map(() => ({ account_id: owner, amount: 1, idempotency_key: fresh('item') }))
    return {
      consume: () => consume(),
      batch: () => instance.post(`${MAIL.usage}/consume/batch`, { items }),
      'of the other channel': () => instance.post(`${SMS.usage}/consume`, { user_id: owner, amount: 1 }, fresh('sms')),
      update: () => instance.put(`${MAIL.quotas}/${quotaId}`, { total: 1_000_000 }),
      refund: () => instance.post(`${MAIL.usage}/${operationId}/refund`, { amount: 1 }, fresh('refund')),
      read: () => instance.get(`${MAIL.quotas}/${quotaId}`),
      list: () => instance.get(MAIL.quotas),
      check: () => instance.get(`${MAIL.usage}/check?account_id=${owner}&amount=1`),
      operation: () => instance.get(`${MAIL.usage}/${operationId}`),
      ready: () => instance.get('/health/ready'),
    }
  }

  /** Waits until a consume is done. @returns milliseconds */
  async function back(): Promise<number> {
    const began = performance.now()
    while ((await consume()).status !== 200) {
      if (performance.now() - began > 30_000) throw new Error('not back')
      await sleep(25)
    }
    return performance.now() - began
  }

  /**
   * Sends requests, and waits until their statements wait in the database for a table that is locked. A request that
   * comes when the service already knows that the database is away, from its own work for example, is refused at once.
   */
  async function taken(requests: readonly (() => Promise<Answer>)[]): Promise<readonly Promise<Timed>[]> {
    const holder = await createConnection(database.url)
    holder.on('error', () => undefined)
    await holder.query('LOCK TABLES mail_quota WRITE')
    const answers = requests.map(async (send) => timed(send))
    const waiting = async (): Promise<number> => {
      const sessions = await database.rows(
        "SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for table%' " +
          `AND (info LIKE '%IN (${owner})%' OR info LIKE '%IN (${quotaId})%')`,
      )
      return sessions.length
    }
    while ((await waiting()) < requests.length) await sleep(10)
    return answers
  }

  async function available(use: 'read' | 'write'): Promise<string | undefined> {
    const { text } = await instance.get('/metrics')
    return new RegExp(`^database_available\\{use="${use}"\\} (\\d)`, 'm').exec(text)?.[1]
  }

  /** All kinds of requests, several rounds, one after the other: how long the refusals took. */
  async function refusals(kinds = Object.entries(requests())): Promise<number[]> {
    const took: number[] = []
    for (const [name, send] of times(5).flatMap(() => kinds)) {
      const one = await timed(send)
      expect([name, one.answer.status, bodyOf(one.answer).code]).toEqual([name, 503, 'unavailable'])
      expect(one.answer.retryAfter).toBeGreaterThanOrEqual(1)
      took.push(one.took)
    }
    return took.sort((a, b) => a - b)
  }

  const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)]!

  it('costs the first request its wait and the others nothing, and is over within a second', async () => {
    const before = instance.log.length
    await database.server.kill()
    const first = await timed(() => consume())
    expect(first.answer.status).toBe(503)
    const took = await refusals()
    const flood = await Promise.all(times(100).map(async () => timed(() => consume())))
    const down = [await available('read'), await available('write')]
    expect((await instance.get('/health/live')).status).toBe(200)
    await database.server.start()
    const returned = await back()
    figure('the database away', {
      'first 503 after ms': Math.round(first.took),
      'further 503: median ms': Math.round(median(took)),
      'slowest ms': Math.round(took.at(-1)!),
      'of 100 at once, slowest ms': Math.round(Math.max(...flood.map(({ took }) => took))),
      'done again after ms': Math.round(returned),
    })
    expect(down).toEqual(['0', '0'])
    expect(median(took)).toBeLessThan(inTime(100))
    expect(took.at(-1)).toBeLessThan(inTime(AT_ONCE_MS))
    expect(tally(flood.map(({ answer }) => answer.status))).toEqual({ 503: 100 })
    expect(Math.max(...flood.map(({ took }) => took))).toBeLessThan(inTime(2 * AT_ONCE_MS))
    expect(returned).toBeLessThan(inTime(2 * AT_ONCE_MS))
    expect([await available('read'), await available('write')]).toEqual(['1', '1'])
    expect(instance.log.slice(before).match(/the database is unavailable/g)).toHaveLength(1)
  })

  it('is bridged for what is in hand when it goes, if it comes back in time', async () => {
    const answers: Timed[] = []
    for (let isInTime = false; !isInTime;) {
      const since = performance.now()
      const inHand = await taken([() => consume(), () => instance.get(`${MAIL.quotas}/${quotaId}`)])
      await database.server.kill()
      await sleep(2_000)
      await database.server.start()
      // On a busy machine, a server may need longer to start than the service waits: then it has to be tried again.
      isInTime = performance.now() - since < BRIDGED_MS
      answers.splice(0, 2, ...(await Promise.all(inHand)))
      await back()
    }
    figure('the database away for 2 s', {
      'in hand, answered after ms': answers.map(({ took }) => Math.round(took)).join(' and '),
    })
    expect(answers.map(({ answer }) => answer.status)).toEqual([200, 200])
  })

  it('does not keep an instance from ending in order', async () => {
    const leaving = await Instance.start(database.url)
    await database.server.kill()
    const inHand = leaving.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, fresh('leaving'))
    await sleep(500)
    const began = performance.now()
    const code = await leaving.terminate()
    const took = performance.now() - began
    await database.server.start()
    expect([code, (await inHand).status]).toEqual([0, 503])
    expect(took).toBeLessThan(inTime(15_000))
  })

  it('without a word, is known after one wait as well', async () => {
    const { pid } = database.server
    await stop(pid)
    let first: Timed[]
    let took: number[]
    try {
      // More reads than the pool has connections: whoever waits for one waits no longer than the others.
      first = await Promise.all(
        times(60).map(async (n) => timed(() => (n < 30 ? consume() : instance.get(`${MAIL.quotas}/${quotaId}`)))),
      )
      await sleep(2_500)
      took = await refusals()
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    const returned = await back()
    figure('the database frozen', {
      'first 503 after at most ms': Math.round(Math.max(...first.map(({ took }) => took))),
      'further 503: median ms': Math.round(median(took)),
      'slowest ms': Math.round(took.at(-1)!),
      'done again after ms': Math.round(returned),
    })
    expect(tally(first.map(({ answer }) => answer.status))).toEqual({ 503: 60 })
    expect(Math.max(...first.map(({ took }) => took))).toBeLessThan(inTime(9_000))
    expect(median(took)).toBeLessThan(inTime(100))
    expect(took.at(-1)).toBeLessThan(inTime(AT_ONCE_MS))
    expect(returned).toBeLessThan(inTime(3 * AT_ONCE_MS))
  })

  it('is not what a few killed connections are', async () => {
    const before = instance.log
    const statuses: number[] = []
    for (const _round of times(10)) {
      const answers = Promise.all(
        times(20).map(async (n) => (n % 2 ? consume() : instance.get(`${MAIL.quotas}/${quotaId}`))),
      )
      const sessions = await database.rows<{ id: number }>(
        'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
      )
      // The test's own sessions may be among them: its pool replaces them.
      for (const { id } of sessions.slice(0, 3)) await database.execute(`KILL ${id}`).catch(() => undefined)
      statuses.push(...(await answers).map(({ status }) => status))
      expect([await available('read'), await available('write')]).toEqual(['1', '1'])
    }
    expect(tally(statuses)).toEqual({ 200: 200 })
    expect(instance.log).toBe(before)
  })

  describe('for an account of little rights', () => {
    let limited: Instance
    let url: URL

    beforeAll(async () => {
      url = new URL(database.url)
      const [name, password] = ['limited', 'secret']
      await database.execute(`CREATE USER '${name}'@'127.0.0.1' IDENTIFIED BY '${password}'`)
      await database.execute(
        `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${url.pathname.slice(1)}\`.* TO '${name}'@'127.0.0.1'`,
      )
      url.username = name
      url.password = password
      limited = await Instance.start(url.toString(), { LOG_LEVEL: 'warn' })
    })

    afterAll(async () => {
      expect(await limited.terminate()).toBe(0)
    })

    const spend = (): Promise<Answer> =>
      limited.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, fresh('limited'))
    const read = (): Promise<Answer> => limited.get(`${MAIL.quotas}/${quotaId}`)

    it('a server that accepts no writes is away for writes, and reads go on', async () => {
      await database.execute('SET GLOBAL read_only = 1')
      const first = await timed(spend)
      const further = await timed(spend)
      const reads = await Promise.all(times(10).map(read))
      const ready = await limited.get('/health/ready')
      // It may lack what others have committed.
      const unknown = `${MAIL.usage}/00000000-0000-7000-8000-000000000000/refund`
      const absent = await limited.post(unknown, {}, fresh('absent'))
      await database.execute('SET GLOBAL read_only = 0')
      const began = performance.now()
      while ((await spend()).status !== 200) await sleep(25)
      const returned = performance.now() - began
      figure('a read-only server', {
        'first 503 after ms': Math.round(first.took),
        'further 503 after ms': Math.round(further.took),
        'reads answered 200': reads.filter(({ status }) => status === 200).length,
        'done again after ms': Math.round(returned),
      })
      const answers = [first.answer, further.answer, ready, absent]
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503])
      for (const answer of answers) {
        expect(bodyOf(answer).detail).toMatch(/^The database is read-only/)
      }
      expect((await limited.get('/metrics')).text).toMatch(
        /http_unavailable_total\{reason="database_read_only"\} [1-9]/,
      )
      expect(further.took).toBeLessThan(inTime(AT_ONCE_MS))
      expect(tally(reads.map(({ status }) => status))).toEqual({ 200: 10 })
      expect(returned).toBeLessThan(inTime(2 * AT_ONCE_MS))
      // Readiness is read once a second for all who ask.
      await sleep(1_100)
      expect((await limited.get('/health/ready')).status).toBe(200)
    })

    it('a server whose writes all wait for one lock is away for writes, and reads go on', async () => {
      const backup = await createConnection(database.url)
      await backup.query('FLUSH TABLES WITH READ LOCK')
      const before = limited.log.length
      const first = await spend()
      while (!limited.log.slice(before).includes('accepts no writes')) await sleep(25)
      const further = await timed(spend)
      const reads = await Promise.all(times(10).map(read))
      const ready = await limited.get('/health/ready')
      await backup.query('UNLOCK TABLES')
      await backup.end()
      while ((await spend()).status !== 200) await sleep(25)
      expect([first.status, further.answer.status, ready.status]).toEqual([503, 503, 503])
      expect(further.took).toBeLessThan(inTime(AT_ONCE_MS))
      expect(tally(reads.map(({ status }) => status))).toEqual({ 200: 10 })
      await sleep(1_100)
      expect((await limited.get('/health/ready')).status).toBe(200)
    })

    it('a server whose disk is full is not ready, and says so, until there is room', async () => {
      // As InnoDB answers where a file cannot grow; what the probe writes needs no room.
      await database.execute(
        "CREATE TRIGGER disk_full BEFORE INSERT ON mail_act FOR EACH ROW SIGNAL SQLSTATE 'HY000' " +
          "SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table ''mail_act'' is full'",
      )
      const first = await timed(spend)
      const further = await timed(spend)
      const reads = await Promise.all(times(10).map(read))
      await sleep(1_100)
      const ready = await limited.get('/health/ready')
      await database.execute('DROP TRIGGER disk_full')
      expect(limited.log).toMatch(/accepts no writes[^\n]*1114/)
      const began = performance.now()
      while ((await limited.get('/health/ready')).status !== 200) await sleep(500)
      const returned = performance.now() - began
      figure('a full disk at the server', {
        'first 503 after ms': Math.round(first.took),
        'further 503 after ms': Math.round(further.took),
        'reads answered 200': reads.filter(({ status }) => status === 200).length,
        'ready again after ms': Math.round(returned),
      })
      for (const { status, text } of [first.answer, further.answer, ready]) {
        expect([status, text]).toEqual([503, expect.stringContaining('disk of the database is full')])
      }
      expect(first.took).toBeLessThan(inTime(AT_ONCE_MS))
      expect(tally(reads.map(({ status }) => status))).toEqual({ 200: 10 })
      expect(returned).toBeLessThan(inTime(15_000))
      expect((await spend()).status).toBe(200)
      expect(limited.log).toMatch(/the database is available again after/)
    })

    it('an account with too many connections is asked to come later, and the others are served', async () => {
      // The one connection that is allowed belongs to somebody else, from the moment of the limit on.
      const taken = await createConnection({ uri: url.toString() })
      await allow(1)
      for (const { id } of await database.rows<{ id: number }>(
        "SELECT id FROM information_schema.processlist WHERE user = 'limited'",
      )) {
        if (id !== taken.threadId) await database.execute(`KILL ${id}`).catch(() => undefined)
      }
      const refused = await Promise.all([timed(spend), timed(read)])
      const metrics = await limited.get('/metrics')
      await taken.end()
      await allow(0)
      const began = performance.now()
      while ((await spend()).status !== 200) await sleep(25)
      const returned = performance.now() - began
      figure('too many connections', {
        statuses: refused.map(({ answer }) => answer.status).join(' and '),
        'after ms': refused.map(({ took }) => Math.round(took)).join(' and '),
        'done again after ms': Math.round(returned),
      })
      expect(refused.map(({ answer }) => [answer.status, bodyOf(answer).code])).toEqual([
        [503, 'unavailable'],
        [503, 'unavailable'],
      ])
      expect(refused.every(({ answer }) => (answer.retryAfter ?? 0) >= 1)).toBe(true)
      expect(metrics.text).toContain('database_available{use="write"} 1')
      expect(returned).toBeLessThan(inTime(2 * AT_ONCE_MS))
      await inParallel(10, times(40), async () => {
        expect((await spend()).status).toBe(200)
      })
    })

    /** The number of connections that the account may have at once; 0 stands for any. */
    async function allow(connections: number): Promise<void> {
      await database.execute(`ALTER USER 'limited'@'127.0.0.1' WITH MAX_USER_CONNECTIONS ${connections}`)
    }
  })
})

onOwnServer('the disk of the binary log is full', () => {
  it(
    'COMMIT does not come back: the server accepts no writes, and reads go on, until there is room',
    async () => {
      const log = temporaryFolder('quota-binlog-')
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=1777', 'tmpfs', log], { stdio: 'ignore' })
      } catch {
        // Only root may make a disk that is full.
        return
      }
      const server = await OwnServer.start({ args: [`--log-bin=${join(log, 'log')}`, '--binlog-format=ROW'] })
      try {
        const setting = await createConnection(server.url)
        await setting.query('CREATE DATABASE quota')
        await setting.end()
        const instance = await Instance.start(new URL('/quota', server.url).toString())
        const path = `${MAIL.quotas}/${bodyOf(await instance.post(MAIL.quotas, totalQuota(MAIL, 1, 1_000_000))).id}`
        const spend = (): Promise<Answer> =>
          instance.post(`${MAIL.usage}/consume`, { account_id: 1, amount: 1 }, fresh('binlog'))
        const ballast = join(log, 'ballast')
        expect(() => writeFileSync(ballast, Buffer.alloc(4_000_000))).toThrow(/ENOSPC/)
        const first: number[] = []
        const began = performance.now()
        while (!instance.log.includes('accepts no writes') && performance.now() - began < 60_000) {
          first.push(Math.round((await timed(spend)).took))
        }
        const noticed = performance.now() - began
        // Longer than several probes, each of which finds the one before it in its way.
        await sleep(5_000)
        const further = await timed(spend)
        const ready = await instance.get('/health/ready')
        const reads = await Promise.all(times(10).map(async () => instance.get(path)))
        rmSync(ballast)
        const room = performance.now()
        while ((await spend()).status !== 200) await sleep(250)
        const returned = performance.now() - room
        figure('the disk of the binary log is full', {
          'known after ms': Math.round(noticed),
          'first requests, ms': first.join(' '),
          'further 503 after ms': Math.round(further.took),
          'reads answered 200': reads.filter(({ status }) => status === 200).length,
          'done again after ms': Math.round(returned),
        })
        expect(instance.log).toContain('accepts no writes')
        expect([further.answer.status, ready.status]).toEqual([503, 503])
        expect(further.took).toBeLessThan(inTime(AT_ONCE_MS))
        expect(tally(reads.map(({ status }) => status))).toEqual({ 200: 10 })
        // The server looks once a minute whether there is room.
        expect(returned).toBeLessThan(inTime(75_000))
        expect(await instance.terminate()).toBe(0)
      } finally {
        await server.kill()
        await server.stop()
        execFileSync('umount', ['-l', log])
        rmSync(log, { recursive: true, force: true })
      }
    },
    2 * PATIENCE_MS,
  )
})
