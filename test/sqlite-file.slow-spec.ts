import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import Database from 'libsql'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { runNode } from './support/command.js'
import { figure } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { STORES } from './support/store.js'
import { inTime, repeatOnce } from './support/pace.js'
import { bodyOf, fresh, MAIL, owners, SMS, tally, times, totalQuota } from './support/wire.js'

repeatOnce()

const AT_ONCE_MS = 1_000

const consumePath = `${MAIL.usage}/consume`

describe('a SQLite file', () => {
  let directory: string
  let path: string
  let instance: Instance

  beforeEach(() => {
    directory = temporaryFolder('quota-file-')
    path = join(directory, 'data', 'quota.db')
  })

  afterEach(async () => {
    await instance.kill()
    rmSync(directory, { recursive: true, force: true })
  })

  async function started(): Promise<{ owner: number; quotaId: number }> {
    instance = await Instance.start(`sqlite:${path}`)
    const [owner] = owners(1) as [number]
    const made = await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))
    await instance.post(SMS.quotas, totalQuota(SMS, owner, 1_000_000))
    return { owner, quotaId: bodyOf(made).id }
  }

  /** Waits until a consume is done. @returns milliseconds */
  async function back(send: () => Promise<Answer>): Promise<number> {
    const began = performance.now()
    while ((await send()).status !== 200) {
      if (performance.now() - began > 30_000) throw new Error('not back')
      await sleep(25)
    }
    return performance.now() - began
  }

  it('whose lock another process keeps lets everything but writes go on, and those are refused in time', async () => {
    const { owner, quotaId } = await started()
    const consume = (wire = MAIL): Promise<Answer> =>
      instance.post(`${wire.usage}/consume`, { [wire.owner]: owner, amount: 1 }, fresh('locked'))
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    const began = performance.now()
    const waits: Record<string, number[]> = { live: [], read: [] }
    let over = false
    const watching = Promise.all(
      Object.entries({ live: '/health/live', read: `${MAIL.quotas}/${quotaId}` }).map(async ([name, asked]) => {
        while (!over) {
          const sent = performance.now()
          expect((await instance.get(asked)).status).toBe(200)
          waits[name]!.push(performance.now() - sent)
          await sleep(20)
        }
      }),
    )
    const first = await Promise.all(times(40).map(async (n) => consume(n % 2 ? MAIL : SMS)))
    const refused = performance.now() - began
    const sent = performance.now()
    const further = await consume()
    const took = performance.now() - sent
    const ready = await instance.get('/health/ready')
    other.exec('UPDATE mail_quota SET total = 999999')
    other.exec('COMMIT')
    other.close()
    const seen = bodyOf(await instance.get(`${MAIL.quotas}/${quotaId}`)).total
    const returned = await back(consume)
    over = true
    await watching
    expect(await instance.terminate()).toBe(0)
    figure('SQLite: another process keeps the lock', {
      'first 503 after ms': Math.round(refused),
      'further 503 after ms': Math.round(took),
      'slowest health answer, ms': Math.round(Math.max(...waits['live']!)),
      'slowest read, ms': Math.round(Math.max(...waits['read']!)),
      'done again after ms': Math.round(returned),
    })
    expect(tally(first.map(({ status }) => status))).toEqual({ 503: 40 })
    expect(first.every(({ retryAfter }) => (retryAfter ?? 0) >= 1)).toBe(true)
    expect(refused).toBeLessThan(inTime(9_000))
    expect([further.status, ready.status]).toEqual([503, 503])
    expect(took).toBeLessThan(inTime(AT_ONCE_MS))
    expect(Math.max(...waits['live']!)).toBeLessThan(inTime(AT_ONCE_MS))
    expect(Math.max(...waits['read']!)).toBeLessThan(inTime(AT_ONCE_MS))
    // What the other has committed is seen: no read stays at what was before the refused writes.
    expect(seen).toBe(999_999)
    expect(returned).toBeLessThan(inTime(2 * AT_ONCE_MS))
  })

  it('is whole by itself after an orderly end, and belongs to its owner alone', async () => {
    const { owner, quotaId } = await started()
    const modes = ['', '-wal', '-shm'].map((end) => (statSync(path + end).mode & 0o777).toString(8))
    const acknowledged: string[] = []
    let leaving = false
    const writing = Promise.all(
      times(8).map(async () => {
        while (!leaving) {
          const answer = await instance.post(consumePath, { account_id: owner, amount: 1 }, fresh('whole'))
          if (answer.status === 200) acknowledged.push(bodyOf(answer).id)
        }
      }),
    )
    const reading = Promise.all(
      times(8).map(async () => {
        while (!leaving) await instance.get(`${MAIL.quotas}/${quotaId}`)
      }),
    )
    while (acknowledged.length < 300) await sleep(10)
    const ended = instance.terminate()
    leaving = true
    await Promise.allSettled([writing, reading])
    expect(await ended).toBe(0)
    const copy = join(directory, 'copy.db')
    copyFileSync(path, copy)
    const database = new Database(copy)
    const { stored } = database.prepare("SELECT COUNT(*) AS stored FROM mail_act WHERE kind = 'consume'").get() as {
      stored: number
    }
    database.close()
    figure('SQLite: a copy of the one file', { acknowledged: acknowledged.length, stored })
    expect(stored).toBe(acknowledged.length)
    expect(modes).toEqual(['600', '600', '600'])
  })

  it('on a full disk is there for reads, refuses writes, and takes them again when there is room', async () => {
    mkdirSync(join(directory, 'data'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', join(directory, 'data')], { stdio: 'ignore' })
    } catch {
      // Only root may make a disk that is full: the next test does without one.
      return
    }
    try {
      const { owner, quotaId } = await started()
      const consume = (): Promise<Answer> => instance.post(consumePath, { account_id: owner, amount: 1 }, fresh('full'))
      const ballast = join(directory, 'data', 'ballast')
      expect(() => writeFileSync(ballast, Buffer.alloc(8_000_000))).toThrow(/ENOSPC/)
      const statuses: number[] = []
      for (let n = 0; n < 40 && (await instance.get('/health/ready')).status === 200; n += 1) {
        statuses.push(...(await Promise.all(times(20).map(consume))).map(({ status }) => status))
      }
      const sent = performance.now()
      const further = await consume()
      const took = performance.now() - sent
      const read = await instance.get(`${MAIL.quotas}/${quotaId}`)
      const ready = await instance.get('/health/ready')
      rmSync(ballast)
      const returned = await back(consume)
      const used: number = bodyOf(await instance.get(`${MAIL.quotas}/${quotaId}`)).used
      expect(await instance.terminate()).toBe(0)
      figure('SQLite: the disk is full', {
        ...tally(statuses),
        'further 503 after ms': Math.round(took),
        'done again after ms': Math.round(returned),
      })
      expect(Object.keys(tally([...statuses, further.status])).filter((status) => status !== '200')).toEqual(['503'])
      expect(took).toBeLessThan(inTime(AT_ONCE_MS))
      expect([read.status, ready.status]).toEqual([200, 503])
      expect(returned).toBeLessThan(inTime(2 * AT_ONCE_MS))
      expect(used).toBe(statuses.filter((status) => status === 200).length + 1)
    } finally {
      execFileSync('umount', ['-l', join(directory, 'data')])
    }
  })
})

describe('a SQLite file that others open and close', () => {
  const folder = temporaryFolder('quota-others-')
  const path = join(folder, 'quota.db')
  /** A process that looks, and ends in order: the last one to close a file takes its `-wal` away. */
  async function usedBySomebodyElse(): Promise<number> {
    const script = `
      const { default: Database } = await import('libsql')
      const database = new Database(process.argv[1])
      process.stdout.write(String(database.prepare('SELECT used FROM mail_quota').get().used))
      database.close()`
    const { stdout, stderr } = await runNode(['--input-type=module', '-e', script, path])
    expect(stderr).toBe('')
    return Number(stdout)
  }

  it('stays one file to all of them', async () => {
    const [owner] = owners(1) as [number]
    // Whoever migrates within the process has the file open before the service has.
    for (const start of times(3)) {
      const instance = await Instance.start(`sqlite:${path}`)
      try {
        if (start === 0) await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))
        for (const round of times(4)) {
          const consumed = await instance.post(consumePath, { account_id: owner, amount: 1 }, fresh('others'))
          expect(consumed.status).toBe(200)
          expect(await usedBySomebodyElse()).toBe(start * 4 + round + 1)
          expect(statSync(`${path}-wal`, { throwIfNoEntry: false })).toBeDefined()
        }
        expect(await instance.terminate()).toBe(0)
      } finally {
        await instance.kill()
      }
    }
  })
})

describe('a SQLite store that may not grow', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.start(await STORES[0]!.open())
  })

  it('answers 503 and not 500, is not ready, and comes back by itself', async () => {
    const [owner] = owners(1) as [number]
    await app.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))
    const source = app.app.get(DataSource)
    const [{ page_count: pages }] = await source.query<[{ page_count: number }]>('PRAGMA page_count')
    await source.query(`PRAGMA max_page_count = ${pages}`)
    const consume = async (): Promise<number> => {
      const { status } = await app.post(consumePath, { account_id: owner, amount: 1 }, { key: fresh('grow') })
      return status
    }
    const statuses: number[] = []
    while (!statuses.includes(503)) {
      if (statuses.length > 2_000) throw new Error('it never was full')
      statuses.push(...(await Promise.all(times(50).map(consume))))
    }
    await source.query('PRAGMA max_page_count = 1000000')
    const began = performance.now()
    while ((await consume()) !== 200) {
      if (performance.now() - began > 10_000) throw new Error('not back')
      await sleep(25)
    }
    expect(Object.keys(tally(statuses))).toEqual(['200', '503'])
    expect((await app.get('/health/ready')).status).toBe(200)
  })
})
