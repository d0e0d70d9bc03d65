import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { BEFORE_CAPS, buildRelease, missingRelease, RELEASE } from '../scripts/release.mjs'
import { VERSION } from '../src/version/version.js'
import { audit } from './support/audit.js'
import { runNode } from './support/command.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { unlikeAnswer } from './support/document.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, HttpClient, NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { opened } from './support/opened.js'
import {
  bodyOf,
  cycleQuota,
  fresh,
  inParallel,
  owners,
  shuffled,
  times,
  totalQuota,
  type Wire,
  WIRES,
} from './support/wire.js'
import { verified } from './support/verify.js'

/** Why nothing can be tried here. */
const missing = HAS_SERVER ? missingRelease() : 'there is no MariaDB'
if (missing !== undefined) console.warn(`rolling updates are not tried: ${missing}`)
const whereItCan = missing === undefined ? describe : describe.skip

/** For a machine that is busy with other things. */
const PATIENCE_MS = 300_000
/** More than any owner here spends. */
const ENOUGH = 1_000_000
const OWNERS = 20
const BATCH = 500
const CALLERS = 8
/** Keys sent to both in each channel once both serve, before anything else happens. */
const SENT_TO_BOTH = 300 * SCALE

/** A request with a key that was answered with success, and the answer: what every instance must say again. */
interface Kept {
  readonly path: string
  readonly body: unknown
  readonly key: string
  readonly text: string
}

whereItCan(`${RELEASE.version} and the present version beside it`, () => {
  let folder: string
  let entry: string
  let database: TestDatabase
  let client: HttpClient
  let old: Instance
  let present: Instance

  const kept: Kept[] = []
  /** By channel and owner: what quotas must show as used together. */
  const spent = new Map<string, number>()
  /** By channel: owners whose quotas are not reset. */
  const subjects = { mail: owners(OWNERS), sms: owners(OWNERS) }
  /** Holds that are open. */
  const held: { wire: Wire; owner: number; id: string; amount: number }[] = []

  // What it opens closes itself at the end of the file.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-release-'))
    opened(async () => rm(folder, { recursive: true, force: true }))
    entry = await buildRelease(folder)
    database = await TestDatabase.open()
    client = new HttpClient()
    old = await startOld()
  }, PATIENCE_MS)

  const startOld = async () => Instance.start(database.url, client, {}, entry)
  const startPresent = async () => Instance.start(database.url, client)

  function spend(wire: Wire, owner: number, amount: number): void {
    const name = `${wire.channel} ${owner}`
    spent.set(name, (spent.get(name) ?? 0) + amount)
  }

  /** Sends one request with a key, which must succeed, and keeps the answer. */
  async function keep(instance: Instance, path: string, body: unknown): Promise<ReturnType<typeof bodyOf>> {
    const key = fresh('update')
    const answer = await instance.post(path, body, key)
    expect([200, 201]).toContain(answer.status)
    expect(answer.replayed).toBe(false)
    kept.push({ path, body, key, text: answer.text })
    return bodyOf(answer)
  }

  async function consume(instance: Instance, wire: Wire, owner: number, amount: number) {
    const operation = await keep(instance, `${wire.usage}/consume`, { [wire.owner]: owner, amount })
    spend(wire, owner, amount)
    return operation
  }

  async function reserve(instance: Instance, wire: Wire, owner: number, amount: number): Promise<string> {
    const body = { [wire.owner]: owner, amount, ttl_seconds: 86_400 }
    return (await keep(instance, `${wire.usage}/reserve`, body)).id
  }

  async function settle(instance: Instance, wire: Wire, id: string, act: 'commit' | 'release', amount?: number) {
    const answer = await instance.post(`${wire.usage}/${id}/${act}`, amount === undefined ? undefined : { amount })
    expect(answer).toMatchObject({ status: 200 })
    expect(bodyOf(answer).state).toBe(act === 'commit' ? 'committed' : 'released')
  }

  async function edit(instance: Instance, wire: Wire, id: number, body: object) {
    const answer = await instance.put(`${wire.quotas}/${id}`, body)
    expect(answer).toMatchObject({ status: 200 })
    return bodyOf(answer)
  }

  async function shown(instance: Instance, wire: Wire, id: number) {
    const answer = await instance.get(`${wire.quotas}/${id}`)
    expect(answer).toMatchObject({ status: 200 })
    return bodyOf(answer)
  }

  /** Everything an owner may do with usage, each step with an effect. */
  async function use(instance: Instance, wire: Wire, owner: number): Promise<void> {
    for (const amount of [1, 2, 3]) await consume(instance, wire, owner, amount)
    const { id } = await consume(instance, wire, owner, 9)
    await keep(instance, `${wire.usage}/${id}/refund`, { amount: 4 })
    spend(wire, owner, -4)
    await settle(instance, wire, await reserve(instance, wire, owner, 7), 'commit', 5)
    spend(wire, owner, 5)
    await settle(instance, wire, await reserve(instance, wire, owner, 6), 'release')
    held.push({ wire, owner, id: await reserve(instance, wire, owner, 8), amount: 8 })
  }

  /** A total, a cycle, and one that is edited, disabled, deleted and for every other owner restored. */
  async function furnish(instance: Instance, wire: Wire, owner: number, place: number): Promise<void> {
    await keep(instance, wire.quotas, totalQuota(wire, owner, ENOUGH))
    await keep(instance, wire.quotas, cycleQuota(wire, owner, ENOUGH))
    const { id } = await keep(instance, wire.quotas, totalQuota(wire, owner, 5))
    await edit(instance, wire, id, { total: 50, version: 1 })
    await edit(instance, wire, id, { status: 'disabled' })
    expect(await instance.delete(`${wire.quotas}/${id}`)).toMatchObject({ status: 204 })
    if (place % 2 === 0)
      expect(await instance.post(`${wire.quotas}/${id}/restore`, undefined)).toMatchObject({ status: 200 })
  }

  /** Sends what has a key to an instance once more: the same bytes must come back, and nothing must happen. */
  async function repeats(instance: Instance, requests: readonly Kept[]): Promise<void> {
    await inParallel(CALLERS, requests, async ({ path, body, key, text }) => {
      const answer = await instance.post(path, body, key)
      expect({ path, replayed: answer.replayed, text: answer.text }).toEqual({ path, replayed: true, text })
    })
  }

  /** The books are in order, and the quotas show exactly what was done. */
  async function inOrder(): Promise<void> {
    expect(await audit(database)).toEqual([])
    // On the schema of the release alone the command of this version ends with 2.
    const columns = await database.rows("SHOW COLUMNS FROM mail_act LIKE 'plain_owner_id'")
    if (columns.length > 0) expect(await verified(database.url)).toEqual([])
    for (const wire of WIRES) {
      const rows = await database.rows(
        `SELECT ${wire.owner} AS owner, SUM(used) AS used, SUM(reserved) AS reserved FROM ${wire.channel}_quota ` +
          `WHERE ${wire.owner} IN (${subjects[wire.channel].join()}) GROUP BY ${wire.owner} ORDER BY owner`,
      )
      const counted = rows.map((row) => [Number(row['owner']), Number(row['used']), Number(row['reserved'])])
      const expected = subjects[wire.channel].map((owner) => [
        owner,
        spent.get(`${wire.channel} ${owner}`) ?? 0,
        held.filter((hold) => hold.wire === wire && hold.owner === owner).reduce((sum, { amount }) => sum + amount, 0),
      ])
      expect(counted).toEqual(expected)
    }
  }

  it(
    'begins with what the release stored',
    async () => {
      for (const wire of WIRES) {
        await inParallel(CALLERS, subjects[wire.channel], async (owner, place) => {
          await furnish(old, wire, owner, place)
          await use(old, wire, owner)
        })
        const items = times(BATCH).map((n) => ({
          [wire.owner]: subjects[wire.channel][n % OWNERS]!,
          amount: 1,
          idempotency_key: fresh('item'),
        }))
        const answer = await old.post(`${wire.usage}/consume/batch`, { items })
        expect(answer.status).toBe(200)
        for (const owner of subjects[wire.channel]) spend(wire, owner, BATCH / OWNERS)
      }
      await repeats(old, kept)
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'migrates under load, and lets a key take effect once whichever is asked',
    async () => {
      const serving = [old]
      const load = new Twins(serving, subjects)
      await load.reach(50)
      const began = performance.now()
      present = await startPresent()
      const ready = performance.now() - began
      const alone = load.count
      serving.push(present)
      await load.reach(alone + 2 * SENT_TO_BOTH)
      await load.stop()
      for (const { wire, owner, amount } of load.done) spend(wire, owner, amount)
      kept.push(...load.done)
      figure('rolling update', {
        'present version ready after ms': Math.round(ready),
        'keys during the migration': alone,
        'keys sent to both': load.count - alone,
        'slowest answer ms': Math.round(load.slowest),
        'asked again': load.again,
      })
      await repeats(present, kept)
      await repeats(old, kept)
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'is not finished while the release is there, which is known by what it wrote',
    async () => {
      const [wire] = WIRES
      await consume(old, wire, subjects[wire.channel][0]!, 1)
      const command = async (option: string) =>
        runNode([join(process.cwd(), 'dist/src/migrate.js'), option], { env: { DATABASE_URL: database.url } })
      const before = await database.rows('SELECT name FROM schema_migration ORDER BY id')
      const refused = await command('--finish')
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(
        new RegExp(`\\n {2}${RELEASE.version} {2}what consumed for "admin" \\(${wire.channel}_act `),
      )
      expect(await database.rows('SELECT name FROM schema_migration ORDER BY id')).toEqual(before)
      const { stdout } = await command('--status')
      expect(stdout).toContain(`\nhere     ${RELEASE.version}  `)
      expect(stdout).toContain(`\nhere     ${VERSION}  `)
    },
    PATIENCE_MS,
  )

  it(
    'shows and obeys on one what was set on the other',
    async () => {
      for (const wire of WIRES) {
        const [owner] = owners(1) as [number]
        const { id } = await keep(old, wire.quotas, totalQuota(wire, owner, 10))
        for (const [writer, reader] of [
          [old, present],
          [present, old],
        ] as const) {
          const { version } = await shown(writer, wire, id)
          const edited = await edit(writer, wire, id, { total: 20, version })
          expect(await shown(reader, wire, id)).toMatchObject({ total: 20, version: edited.version })
          const stale = await reader.put(`${wire.quotas}/${id}`, { total: 30, version })
          expect([stale.status, bodyOf(stale).code]).toEqual([409, 'version_mismatch'])
          const tooMuch = await reader.post(`${wire.usage}/consume`, { [wire.owner]: owner, amount: 21 }, fresh('much'))
          expect([tooMuch.status, bodyOf(tooMuch).remaining]).toEqual([409, 20])
          await edit(reader, wire, id, { status: 'disabled' })
          const none = await writer.post(`${wire.usage}/consume`, { [wire.owner]: owner, amount: 1 }, fresh('none'))
          expect([none.status, bodyOf(none).code]).toEqual([409, 'no_active_quota'])
          expect(await writer.delete(`${wire.quotas}/${id}`)).toMatchObject({ status: 204 })
          expect(await reader.get(`${wire.quotas}/${id}`)).toMatchObject({ status: 404 })
          await reader.post(`${wire.quotas}/${id}/restore`, undefined)
          await edit(writer, wire, id, { status: 'active', total: 10 })
        }

        // Neither loses an edit of the other: each adds to the version and leaves its change.
        const before = await shown(old, wire, id)
        await inParallel(CALLERS, times(60), async (n) => {
          await edit(n % 2 === 0 ? old : present, wire, id, { total: 1000 + n })
        })
        const after = await shown(present, wire, id)
        expect(after.version).toBe(Number(before.version) + 60)
        expect(await shown(old, wire, id)).toMatchObject({ total: after.total, version: after.version })

        // The changes that the release wrote since do not name their owner; they are found by it all the same.
        const changes = await present.get(`${wire.quotas}/changes?${wire.owner}=${owner}&page_size=100`)
        expect(bodyOf(changes).items.length).toBe(after.version)
        for (const change of bodyOf(changes).items) expect(change[wire.owner]).toBe(owner)
      }
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'resets and labels beside a release that knows neither',
    async () => {
      for (const wire of WIRES) {
        const [owner] = owners(1) as [number]
        for (const body of [totalQuota(wire, owner, 1000), cycleQuota(wire, owner, 1000)]) {
          const { id } = await keep(old, wire.quotas, body)
          await edit(present, wire, id, { label: 'Ünicode 💡' })
          expect(await edit(old, wire, id, { total: 900 })).toMatchObject({ total: 900, version: 3 })
          expect(await shown(present, wire, id)).toMatchObject({ total: 900, label: 'Ünicode 💡', version: 3 })
          const unknown = await old.put(`${wire.quotas}/${id}`, { label: 'no' })
          expect(unknown.status).toBe(400)

          // What was paid and held before the reset is not the new count's, on the release either.
          const { id: paid } = await keep(old, `${wire.usage}/consume`, { [wire.owner]: owner, amount: 100 })
          const hold = await reserve(old, wire, owner, 50)
          const other = await reserve(present, wire, owner, 40)
          expect(await present.post(`${wire.quotas}/${id}/reset`, {}, fresh('reset'))).toMatchObject({ status: 200 })
          for (const instance of [old, present])
            expect(await shown(instance, wire, id)).toMatchObject({ used: 0, reserved: 0 })
          await keep(old, `${wire.usage}/${paid}/refund`, { amount: 10 })
          await settle(old, wire, hold, 'commit', 30)
          await settle(old, wire, other, 'release')
          for (const instance of [old, present])
            expect(await shown(instance, wire, id)).toMatchObject({ used: 0, reserved: 0 })
          expect(await old.get(`${wire.quotas}/${id}/changes`)).toMatchObject({ status: 200 })

          // A reset among consumes of the release: each lands before it or after.
          const resets: number[] = []
          await inParallel(CALLERS, times(64), async (n) => {
            if (n === 32) {
              resets.push((await present.post(`${wire.quotas}/${id}/reset`, undefined)).status)
            } else await keep(n % 4 === 0 ? present : old, `${wire.usage}/consume`, { [wire.owner]: owner, amount: 1 })
          })
          expect(resets).toEqual([200])
          const [one, two] = [await shown(old, wire, id), await shown(present, wire, id)]
          expect(one.used).toBe(two.used)
          expect(one.used).toBeLessThan(63)
          // Before the next one, so that this one pays for nothing of it.
          await edit(present, wire, id, { status: 'disabled' })
        }
      }
      await repeats(old, kept)
      await repeats(present, kept)
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'lets the release settle what the present version holds, and the other way round',
    async () => {
      for (const wire of WIRES) {
        for (const owner of subjects[wire.channel]) {
          const [first, second] = shuffled([old, present]) as [Instance, Instance]
          const id = await reserve(first, wire, owner, 11)
          await settle(second, wire, id, 'commit', 6)
          spend(wire, owner, 6)
          await keep(first, `${wire.usage}/${id}/refund`, { amount: 2 })
          spend(wire, owner, -2)
        }
      }
      // Those of the release, from before the migration.
      for (const { wire, owner, id, amount } of held.splice(0, held.length / 2)) {
        await settle(present, wire, id, 'commit')
        spend(wire, owner, amount)
      }
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'tells of the rows of both as its document says',
    async () => {
      for (const wire of WIRES) {
        const list = wire.channel === 'mail' ? wire.quotas : `${wire.quotas}/list`
        for (const owner of subjects[wire.channel].slice(0, 5)) {
          const of = `${wire.owner}=${owner}`
          const { id } = bodyOf(await present.get(`${list}?${of}`)).items[0]
          for (const [route, query] of [
            [list, of],
            [list, 'deleted=true'],
            [`${wire.quotas}/{id}/changes`, ''],
            [`${wire.quotas}/changes`, of],
            [`${wire.quotas}/owners`, ''],
            [`${wire.quotas}/expiring`, 'days=90'],
            [`${wire.quotas}/refusals`, of],
            [wire.usage, of],
            [wire.usage, `quota_id=${id}`],
          ] as const) {
            const answer = await present.get(`${route.replace('{id}', String(id))}?${query}`)
            expect([route, answer.status]).toEqual([route, 200])
            expect([route, unlikeAnswer(route, bodyOf(answer))]).toEqual([route, undefined])
          }
        }
      }
    },
    PATIENCE_MS,
  )

  it(
    'goes back: the release alone serves on, started anew too',
    async () => {
      expect(await present.terminate()).toBe(0)
      const serves = async () => {
        for (const wire of WIRES) {
          const [owner] = subjects[wire.channel] as [number]
          await use(old, wire, owner)
          const [another] = owners(1) as [number]
          subjects[wire.channel].push(another)
          await furnish(old, wire, another, 0)
          await use(old, wire, another)
        }
        await repeats(old, kept)
        await inOrder()
      }
      await serves()
      expect(await old.terminate()).toBe(0)
      old = await startOld()
      await serves()
      for (const { wire, owner, id, amount } of held.splice(0)) {
        await settle(old, wire, id, 'commit')
        spend(wire, owner, amount)
      }
      await inOrder()
    },
    PATIENCE_MS,
  )

  it(
    'and forward again: the present version alone',
    async () => {
      present = await startPresent()
      expect(await old.terminate()).toBe(0)
      for (const wire of WIRES) for (const owner of subjects[wire.channel]) await use(present, wire, owner)
      await repeats(present, kept)
      figure('rolling update', { 'keys repeated byte for byte': kept.length })
      await inOrder()
      expect(await present.terminate()).toBe(0)
    },
    PATIENCE_MS,
  )
})

/** Caps have to wait for the end of an update, so that no instance counts past them. */
;(HAS_SERVER && missingRelease(BEFORE_CAPS) === undefined ? describe : describe.skip)(
  `${BEFORE_CAPS.version}, which knows no caps, and the present version beside it`,
  () => {
    const subjects = { mail: owners(OWNERS), sms: owners(OWNERS) }
    /** By channel and owner: what was taken while both served. */
    const taken = new Map<string, number>()
    let database: TestDatabase
    let old: Instance
    let present: Instance
    let load: Twins

    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'quota-release-'))
      opened(async () => rm(folder, { recursive: true, force: true }))
      const entry = await buildRelease(folder, BEFORE_CAPS)
      database = await TestDatabase.open()
      const client = new HttpClient()
      old = await Instance.start(database.url, client, {}, entry)
      for (const wire of WIRES)
        for (const owner of subjects[wire.channel])
          expect(await old.post(wire.quotas, totalQuota(wire, owner, ENOUGH))).toMatchObject({ status: 201 })
      const serving = [old]
      load = new Twins(serving, subjects)
      await load.reach(50)
      present = await Instance.start(database.url, client)
      serving.push(present)
    }, PATIENCE_MS)

    const take = (wire: Wire, owner: number, amount: number): void => {
      const name = `${wire.channel} ${owner}`
      taken.set(name, (taken.get(name) ?? 0) + amount)
    }
    const finish = async () =>
      runNode([join(process.cwd(), 'dist/src/migrate.js'), '--finish'], { env: { DATABASE_URL: database.url } })
    const makeCap = async (wire: Wire, owner: number, total: number) =>
      present.post(wire.quotas, {
        [wire.owner]: owner,
        quota_type: 3,
        total,
        window_seconds: 2_678_400,
        cap: 'enforce',
      })
    const repeats = async (instances: readonly Instance[]): Promise<void> =>
      inParallel(CALLERS, load.done, async ({ path, body, key, text }, place) => {
        const answer = await instances[place % instances.length]!.post(path, body, key)
        expect({ replayed: answer.replayed, text: answer.text }).toEqual({ replayed: true, text })
      })
    const inOrder = async (): Promise<void> => {
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    }

    it(
      'take each key once under load, make no cap, and are not finished',
      async () => {
        await load.reach(load.count + 2 * SENT_TO_BOTH)
        for (const wire of WIRES) {
          const answer = await makeCap(wire, subjects[wire.channel][0]!, ENOUGH)
          expect([answer.status, bodyOf(answer).code]).toEqual([503, 'unavailable'])
        }
        const refused = await finish()
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`  ${BEFORE_CAPS.version}  `)])
        await load.stop()
        for (const { wire, owner, amount } of load.done) take(wire, owner, amount)
        await repeats([old, present])
        await inOrder()
      },
      PATIENCE_MS,
    )

    it(
      'settle and give back what the other took',
      async () => {
        for (const wire of WIRES) {
          for (const [first, second] of [
            [old, present],
            [present, old],
          ] as const) {
            const owner = subjects[wire.channel][1]!
            const held = await first.post(`${wire.usage}/reserve`, { [wire.owner]: owner, amount: 9 }, fresh('hold'))
            expect(held.status).toBe(201)
            const path = `${wire.usage}/${bodyOf(held).id}`
            expect(await second.post(`${path}/commit`, { amount: 7 })).toMatchObject({ status: 200 })
            expect(await first.post(`${path}/refund`, { amount: 2 }, fresh('back'))).toMatchObject({ status: 200 })
            const consumed = await first.post(wire.consume, { [wire.owner]: owner, amount: 6 }, fresh('plain'))
            const back = `${wire.usage}/${bodyOf(consumed).id}/refund`
            expect(await second.post(back, { amount: 1 }, fresh('back'))).toMatchObject({ status: 200 })
            take(wire, owner, 10)
          }
        }
        await inOrder()
      },
      PATIENCE_MS,
    )

    it(
      'caps are made and hold once the older one is gone and the update is finished, without a restart',
      async () => {
        expect(await old.terminate()).toBe(0)
        expect(await finish()).toMatchObject({ code: 0 })
        for (const wire of WIRES) {
          const owner = subjects[wire.channel][0]!
          const cap = await makeCap(wire, owner, 10)
          expect(cap.status).toBe(201)
          const consume = async (amount: number) =>
            (await present.post(wire.consume, { [wire.owner]: owner, amount }, fresh('capped'))).status
          expect([await consume(6), await consume(5), await consume(4), await consume(1)]).toEqual([200, 409, 200, 409])
          take(wire, owner, 10)
          expect(bodyOf(await present.get(`${wire.quotas}/${bodyOf(cap).id}`)).used).toBe(10)
          const rows = await database.rows(
            `SELECT ${wire.owner} AS owner, SUM(used) AS used, SUM(reserved) AS reserved FROM ${wire.channel}_quota WHERE cap IS NULL GROUP BY ${wire.owner} ORDER BY owner`,
          )
          expect(rows.map((row) => [Number(row['owner']), Number(row['used']), Number(row['reserved'])])).toEqual(
            subjects[wire.channel].map((one) => [one, taken.get(`${wire.channel} ${one}`) ?? 0, 0]),
          )
        }
        // What was answered while both served has no cap in it, and is told so for ever.
        await repeats([present])
        await inOrder()
        expect(await present.terminate()).toBe(0)
      },
      PATIENCE_MS,
    )
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
