import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { VERSION } from '../src/common/version.js'
import { audit } from './support/audit.js'
import { type Ended, runNode } from './support/command.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { MIGRATIONS } from '../src/database/migrations/index.js'
import { findReleased } from '../scripts/released.mjs'
import { buildReleased } from './support/released-version.js'
import { NextVersion } from './support/next-version.js'
import { bodyOf, fresh, inParallel, owners, shuffled, times, totalQuota, type Wire, WIRES } from './support/wire.js'
import { verified } from './support/verify.js'

/** More than any owner here spends. */
const ENOUGH = 1_000_000
const OWNERS = 20
const CALLERS = 8
/** Keys sent to both in each channel once both serve. */
const SENT_TO_BOTH = 300 * SCALE
/** The time limit of building a version, in milliseconds: other suites may use the machine meanwhile. */
const BUILD_MS = 900_000
const PROGRAM = join(process.cwd(), 'dist/src/migrate.js')

/** A request with a key that was answered with success, and the answer: what every instance must say again. */
interface Kept {
  readonly path: string
  readonly body: unknown
  readonly key: string
  readonly text: string
}

/** What two versions did on one database, and what it must show. */
class Books {
  /** By channel: owners with one quota. */
  readonly subjects = { mail: owners(OWNERS), sms: owners(OWNERS) }
  /** By channel and owner: what quotas must show as used. */
  private readonly spent = new Map<string, number>()
  private readonly kept: Kept[] = []

  private constructor(readonly database: TestDatabase) {}

  /** What it opens closes itself at the end of the file. */
  static async open(): Promise<Books> {
    return new Books(await TestDatabase.open())
  }

  /** Starts an instance. @param program its main.js, if it is not the present version */
  async start(program?: string): Promise<Instance> {
    return Instance.start(this.database.url, { LOG_LEVEL: 'warn' }, program)
  }

  async makeQuotas(instance: Instance): Promise<void> {
    for (const wire of WIRES)
      for (const owner of this.subjects[wire.channel])
        expect(await instance.post(wire.quotas, totalQuota(wire, owner, ENOUGH))).toMatchObject({ status: 201 })
  }

  /** Starts a newer instance while callers use the older one, and then sends them to both. */
  async update(older: Instance, startNewer: () => Promise<Instance>, name: string): Promise<Instance> {
    const serving = [older]
    const load = new Twins(serving, this.subjects)
    await load.reach(50)
    const began = performance.now()
    const newer = await startNewer()
    const ready = performance.now() - began
    const alone = load.count
    serving.push(newer)
    await load.reach(alone + 2 * SENT_TO_BOTH)
    await load.stop()
    for (const { wire, owner, amount } of load.done) this.spend(wire, owner, amount)
    this.kept.push(...load.done)
    figure(name, {
      'newer version ready after ms': Math.round(ready),
      'keys during the migration': alone,
      'keys sent to both': load.count - alone,
      'slowest answer ms': Math.round(load.slowest),
      'asked again': load.again,
    })
    return newer
  }

  /** Each settles and gives back what the other took. */
  async settleAcross(older: Instance, newer: Instance): Promise<void> {
    for (const wire of WIRES) {
      for (const [first, second] of [
        [older, newer],
        [newer, older],
      ] as const) {
        const owner = this.subjects[wire.channel][1]!
        const held = await first.post(`${wire.usage}/reserve`, { [wire.owner]: owner, amount: 9 }, fresh('hold'))
        expect(held.status).toBe(201)
        const path = `${wire.usage}/${bodyOf(held).id}`
        expect(await second.post(`${path}/commit`, { amount: 7 })).toMatchObject({ status: 200 })
        expect(await first.post(`${path}/refund`, { amount: 2 }, fresh('back'))).toMatchObject({ status: 200 })
        this.spend(wire, owner, 5)
      }
    }
  }

  /** The books are in order, every key is answered as it was, and the quotas show exactly what was done. */
  async inOrder(instances: readonly Instance[]): Promise<void> {
    for (const instance of instances) {
      await inParallel(CALLERS, this.kept, async ({ path, body, key, text }) => {
        const answer = await instance.post(path, body, key)
        expect({ path, replayed: answer.replayed, text: answer.text }).toEqual({ path, replayed: true, text })
      })
    }
    expect(await audit(this.database)).toEqual([])
    expect(await verified(this.database.url)).toEqual([])
    for (const wire of WIRES) {
      const rows = await this.database.rows(
        `SELECT ${wire.owner} AS owner, used, reserved FROM ${wire.channel}_quota ORDER BY ${wire.owner}`,
      )
      expect(rows.map((row) => [Number(row['owner']), Number(row['used']), Number(row['reserved'])])).toEqual(
        this.subjects[wire.channel].map((owner) => [owner, this.spent.get(`${wire.channel} ${owner}`) ?? 0, 0]),
      )
    }
  }

  private spend(wire: Wire, owner: number, amount: number): void {
    const name = `${wire.channel} ${owner}`
    this.spent.set(name, (this.spent.get(name) ?? 0) + amount)
  }
}

;(HAS_SERVER ? describe : describe.skip)('this version and the next one beside it, on one database', () => {
  let next: NextVersion
  let books: Books
  let older: Instance
  let newer: Instance

  beforeAll(async () => {
    next = await NextVersion.make()
    books = await Books.open()
    older = await books.start()
    await books.makeQuotas(older)
  })

  const startNewer = async (): Promise<Instance> => books.start(next.program('main.js'))
  const command = async (...args: string[]): Promise<Ended> =>
    runNode([next.program('migrate.js'), ...args], { env: { DATABASE_URL: books.database.url } })
  const trials = async (): Promise<number[]> =>
    (await books.database.rows('SELECT DISTINCT trial FROM mail_quota')).map(({ trial }) => Number(trial))

  it('the newer one migrates under load, and a key takes effect once whichever is asked', async () => {
    newer = await books.update(older, startNewer, 'rolling update')
    expect(await trials()).toEqual([7])
    await books.inOrder([older, newer])
  })

  it('each settles and gives back what the other took', async () => {
    await books.settleAcross(older, newer)
    await books.inOrder([])
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
    await books.inOrder([newer])
  })

  it('goes back: the older one alone serves on, and forward again', async () => {
    const refused = await command('--back')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`\n  ${next.version}  `)])
    expect(await newer.terminate()).toBe(0)
    for (const name of [next.uses, next.adds])
      expect((await command('--back')).stdout).toContain(`\ntaken back ${name}\n`)
    older = await books.start()
    await books.inOrder([older])
    expect(older.log).not.toContain('newer than this version')
    newer = await startNewer()
    await books.inOrder([newer])
    // Started anew beside the newer one, as a crash would have it.
    expect(await older.terminate()).toBe(0)
    await older.start()
    // The log may arrive after the answer of readiness.
    for (let left = 600; left > 0 && older.log === ''; left -= 1) await new Promise((done) => setTimeout(done, 50))
    expect(older.log).toMatch(/"level":"warn".*newer than this version/)
    await books.inOrder([older])
    for (const instance of [older, newer]) expect(await instance.terminate()).toBe(0)
  })
})

const RELEASED = findReleased()

;(HAS_SERVER && RELEASED !== undefined ? describe : describe.skip)(
  `the released ${RELEASED?.version} and this version beside it, on one database`,
  () => {
    let program: (name: string) => string
    let books: Books
    let older: Instance
    let newer: Instance
    let released: unknown[]

    beforeAll(async () => {
      program = await buildReleased(RELEASED!.commit)
      books = await Books.open()
      older = await books.start(program('main.js'))
      await books.makeQuotas(older)
      released = await books.database.rows('SELECT name FROM schema_migration ORDER BY id')
    }, BUILD_MS)

    it('this version migrates under load, and a key takes effect once whichever is asked', async () => {
      newer = await books.update(older, async () => books.start(), 'rolling update of the released version')
      await books.inOrder([older, newer])
    })

    it('each settles and gives back what the other took', async () => {
      await books.settleAcross(older, newer)
      await books.inOrder([older, newer])
    })

    it('is finished, taken back, and the released version serves on alone', async () => {
      for (const instance of [older, newer]) expect(await instance.terminate()).toBe(0)
      const command = async (...args: string[]): Promise<Ended> =>
        runNode([PROGRAM, ...args], { env: { DATABASE_URL: books.database.url } })
      expect(await command('--finish')).toMatchObject({ code: 0, stderr: '' })
      for (const { name } of MIGRATIONS.slice(released.length).toReversed())
        expect((await command('--back')).stdout).toContain(`\ntaken back ${name}\n`)
      expect(await books.database.rows('SELECT name FROM schema_migration ORDER BY id')).toEqual(released)
      older = await books.start(program('main.js'))
      await books.inOrder([older])
      expect(await older.terminate()).toBe(0)
    })
  },
)

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
