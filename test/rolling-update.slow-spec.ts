import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { VERSION } from '../src/common/version.js'
import { audit } from './support/audit.js'
import { type Ended, runNode } from './support/command.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, HttpClient, NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { NextVersion } from './support/next-version.js'
import { bodyOf, fresh, inParallel, owners, shuffled, times, totalQuota, type Wire, WIRES } from './support/wire.js'
import { verified } from './support/verify.js'

/** More than any owner here spends. */
const ENOUGH = 1_000_000
const OWNERS = 20
const CALLERS = 8
/** Keys sent to both in each channel once both serve. */
const SENT_TO_BOTH = 300 * SCALE

/** A request with a key that was answered with success, and the answer: what every instance must say again. */
interface Kept {
  readonly path: string
  readonly body: unknown
  readonly key: string
  readonly text: string
}

;(HAS_SERVER ? describe : describe.skip)('this version and the next one beside it, on one database', () => {
  /** By channel: owners with one quota. */
  const subjects = { mail: owners(OWNERS), sms: owners(OWNERS) }
  /** By channel and owner: what quotas must show as used. */
  const spent = new Map<string, number>()
  const kept: Kept[] = []
  let next: NextVersion
  let database: TestDatabase
  let client: HttpClient
  let older: Instance
  let newer: Instance

  // What it opens closes itself at the end of the file.
  beforeAll(async () => {
    next = await NextVersion.make()
    database = await TestDatabase.open()
    client = new HttpClient()
    older = await Instance.start(database.url, client, { LOG_LEVEL: 'warn' })
    for (const wire of WIRES)
      for (const owner of subjects[wire.channel])
        expect(await older.post(wire.quotas, totalQuota(wire, owner, ENOUGH))).toMatchObject({ status: 201 })
  })

  const startNewer = async (): Promise<Instance> =>
    Instance.start(database.url, client, { LOG_LEVEL: 'warn' }, next.program('main.js'))
  const command = async (...args: string[]): Promise<Ended> =>
    runNode([next.program('migrate.js'), ...args], { env: { DATABASE_URL: database.url } })
  const trials = async (): Promise<number[]> =>
    (await database.rows('SELECT DISTINCT trial FROM mail_quota')).map(({ trial }) => Number(trial))

  function spend(wire: Wire, owner: number, amount: number): void {
    const name = `${wire.channel} ${owner}`
    spent.set(name, (spent.get(name) ?? 0) + amount)
  }

  /** The books are in order, every key is answered as it was, and the quotas show exactly what was done. */
  async function inOrder(instances: readonly Instance[]): Promise<void> {
    for (const instance of instances) {
      await inParallel(CALLERS, kept, async ({ path, body, key, text }) => {
        const answer = await instance.post(path, body, key)
        expect({ path, replayed: answer.replayed, text: answer.text }).toEqual({ path, replayed: true, text })
      })
    }
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
    for (const wire of WIRES) {
      const rows = await database.rows(
        `SELECT ${wire.owner} AS owner, used, reserved FROM ${wire.channel}_quota ORDER BY ${wire.owner}`,
      )
      expect(rows.map((row) => [Number(row['owner']), Number(row['used']), Number(row['reserved'])])).toEqual(
        subjects[wire.channel].map((owner) => [owner, spent.get(`${wire.channel} ${owner}`) ?? 0, 0]),
      )
    }
  }

  it('the newer one migrates under load, and a key takes effect once whichever is asked', async () => {
    const serving = [older]
    const load = new Twins(serving, subjects)
    await load.reach(50)
    const began = performance.now()
    newer = await startNewer()
    const ready = performance.now() - began
    const alone = load.count
    serving.push(newer)
    await load.reach(alone + 2 * SENT_TO_BOTH)
    await load.stop()
    for (const { wire, owner, amount } of load.done) spend(wire, owner, amount)
    kept.push(...load.done)
    figure('rolling update', {
      'newer version ready after ms': Math.round(ready),
      'keys during the migration': alone,
      'keys sent to both': load.count - alone,
      'slowest answer ms': Math.round(load.slowest),
      'asked again': load.again,
    })
    expect(await trials()).toEqual([7])
    await inOrder([older, newer])
  })

  it('each settles and gives back what the other took', async () => {
    for (const wire of WIRES) {
      for (const [first, second] of [
        [older, newer],
        [newer, older],
      ] as const) {
        const owner = subjects[wire.channel][1]!
        const held = await first.post(`${wire.usage}/reserve`, { [wire.owner]: owner, amount: 9 }, fresh('hold'))
        expect(held.status).toBe(201)
        const path = `${wire.usage}/${bodyOf(held).id}`
        expect(await second.post(`${path}/commit`, { amount: 7 })).toMatchObject({ status: 200 })
        expect(await first.post(`${path}/refund`, { amount: 2 }, fresh('back'))).toMatchObject({ status: 200 })
        spend(wire, owner, 5)
      }
    }
    await inOrder([])
  })

  it('the update is not finished while the older one is there, which is named, and is finished after it', async () => {
    const refused = await command('--finish')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`\n  ${VERSION}  `)
    expect(refused.stderr).not.toContain(`\n  ${next.version}  `)
    const { stdout } = await command('--status')
    expect(stdout).toContain(`\nhere     ${VERSION}  `)
    expect(stdout).toContain(`\nhere     ${next.version}  `)
    expect(await trials()).toEqual([7])
    expect(await older.terminate()).toBe(0)
    expect(await command('--finish')).toMatchObject({ code: 0, stderr: '' })
    expect(await trials()).toEqual([8])
    await inOrder([newer])
  })

  it('goes back: the older one alone serves on, and forward again', async () => {
    const refused = await command('--back')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`\n  ${next.version}  `)])
    expect(await newer.terminate()).toBe(0)
    for (const name of [next.uses, next.adds])
      expect((await command('--back')).stdout).toContain(`\ntaken back ${name}\n`)
    older = await Instance.start(database.url, client, { LOG_LEVEL: 'warn' })
    await inOrder([older])
    expect(older.log).not.toContain('newer than this version')
    newer = await startNewer()
    await inOrder([newer])
    // Started anew beside the newer one, as a crash would have it.
    expect(await older.terminate()).toBe(0)
    await older.start()
    // The log may arrive after the answer of readiness.
    for (let left = 600; left > 0 && older.log === ''; left -= 1) await new Promise((done) => setTimeout(done, 50))
    expect(older.log).toMatch(/"level":"warn".*newer than this version/)
    await inOrder([older])
    for (const instance of [older, newer]) expect(await instance.terminate()).toBe(0)
  })
})

/** What an instance answered in the end, and how often it had to be asked. */
interface Heard {
  readonly answer: Answer
  readonly tries: number
}

/** Consumes by many callers, each key sent to all that serve at once. */
class Twins {
  readonly done: (Kept & { wire: Wire; owner: number; amount: number })[] = []
  /** Requests that were not answered at first, as a rolling update may have it. */
  again = 0
  /** The longest wait of a request, in milliseconds. */
  slowest = 0
  private stopped = false
  private readonly running: Promise<void>

  constructor(
    private readonly serving: readonly Instance[],
    private readonly subjects: Record<Wire['channel'], readonly number[]>,
  ) {
    this.running = Promise.all(times(CALLERS).map(async (caller) => this.call(caller))).then(() => undefined)
    // Looked at by reach() and stop().
    this.running.catch(() => undefined)
  }

  get count(): number {
    return this.done.length
  }

  async reach(count: number): Promise<void> {
    while (this.count < count) await Promise.race([sleep(10), this.running])
  }

  async stop(): Promise<void> {
    this.stopped = true
    await this.running
  }

  private async call(caller: number): Promise<void> {
    for (let turn = caller; !this.stopped; turn += 1) {
      const wire = WIRES[turn % WIRES.length]!
      const owner = this.subjects[wire.channel][turn % OWNERS]!
      const amount = 1 + (turn % 3)
      const [path, body, key] = [`${wire.usage}/consume`, { [wire.owner]: owner, amount }, fresh('twin')]
      const heard = await Promise.all(shuffled(this.serving).map(async (one) => this.persist(one, path, body, key)))
      const [{ answer: first }] = heard as [Heard]
      const texts = new Set(heard.map(({ answer }) => answer.text))
      const effects = heard.filter(({ answer }) => !answer.replayed).length
      // An effect whose answer was lost is heard as a replay alone.
      const asked = heard.reduce((sum, { tries }) => sum + tries, 0)
      if (first.status !== 200 || texts.size !== 1 || effects > 1 || (effects === 0 && asked === heard.length)) {
        throw new Error(`${key}: ${JSON.stringify(heard)}`)
      }
      this.done.push({ path, body, key, text: first.text, wire, owner, amount })
    }
  }

  /** Asks until there is an answer, as a caller should. */
  private async persist(instance: Instance, path: string, body: object, key: string): Promise<Heard> {
    for (let tries = 1; ; tries += 1) {
      const began = performance.now()
      try {
        const answer = await instance.post(path, body, key)
        if (answer.status !== 503) return { answer, tries }
        if (!(answer.retryAfter! >= 1)) throw new Error('503 without Retry-After')
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
      } finally {
        this.slowest = Math.max(this.slowest, performance.now() - began)
      }
      this.again += 1
      if (tries === 500) throw new Error('never answered')
      await sleep(50)
    }
  }
}
