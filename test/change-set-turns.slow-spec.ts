import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Clock } from '../src/common/clock.js'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, NoAnswer } from './support/http-client.js'
import { ADMIN, Instance, OTHER } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { inTime } from './support/pace.js'
import { verified } from './support/verify.js'
import { bodyOf, fresh, MAIL, owners, times } from './support/wire.js'

const PATIENCE_MS = 600_000
const SETS = Math.round(100 * SCALE)
const OWNERS = 12
const QUOTAS_OF_ONE = 5
/** How many callers make change sets at the same time, half of them as each principal. */
const ACTORS = 8
const MINUTE_MS = 60_000
const SETS_PATH = `${MAIL.quotas}/change-sets`

const onServer = HAS_SERVER ? describe : describe.skip
const importing = (file: string) => `--import ${pathToFileURL(join(process.cwd(), 'test/support', file)).href}`
const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!
const upload = async (instance: Instance, text: string, token = ADMIN) =>
  fetch(`${instance.url}${MAIL.quotas}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
    body: text,
  })

onServer('change sets while resets pass and instances are killed', () => {
  let database: TestDatabase
  let directory: string
  let shiftMs = 0
  const instances: Instance[] = []
  const accounts = owners(OWNERS)
  /** When each process was ready and when it was killed, in milliseconds since 1970. */
  const lives: { pid: number; from: number; to: number }[] = []

  class ShiftedClock extends Clock {
    override now(): number {
      return Date.now() + shiftMs
    }
  }

  const born = (instance: Instance) => lives.push({ pid: instance.pid ?? 0, from: Date.now(), to: Infinity })
  const shift = async (ms: number) => {
    shiftMs += ms
    await writeFile(join(directory, 'shift'), String(shiftMs))
  }
  const at = (ms: number) => new Date(Date.now() + shiftMs + ms).toISOString()

  beforeAll(async () => {
    directory = temporaryFolder('quota-turns-')
    database = await TestDatabase.open()
    await shift(0)
    const env = {
      NODE_OPTIONS: importing('measured-loop.mjs'),
      HELD_LOOP_FILE: join(directory, 'held'),
      SHIFT_FILE: join(directory, 'shift'),
    }
    for (let n = 0; n < 2; n += 1) {
      const instance = await Instance.start(database.url, env)
      instances.push(instance)
      born(instance)
    }
  }, PATIENCE_MS)

  afterAll(async () => {
    await Promise.all(instances.map(async (instance) => instance.terminate()))
  }, PATIENCE_MS)

  /** Asks any instance until one answers. */
  const ask = async (
    method: string,
    path: string,
    sent: { token: string; key?: string; body?: unknown },
  ): Promise<Answer> => {
    for (;;) {
      try {
        const answer = await pick(instances).send(method, path, sent)
        if (answer.status !== 503) return answer
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
      }
      await sleep(50)
    }
  }
  const settled = async (token: string, id: number) => {
    for (;;) {
      const set = bodyOf(await ask('GET', `${SETS_PATH}/${id}`, { token }))
      if (!['preparing', 'applying', 'reverting'].includes(set.state)) return set
      await sleep(50)
    }
  }
  /** What is asked for: half of it moves the next reset to where a cycle may be by then. */
  const change = (): object =>
    pick([
      () => ({ update: { total: { add: 1 + Math.floor(Math.random() * 5) } } }),
      () => ({ update: { total: { percent: 10 } } }),
      () => ({ update: { label: fresh('label').slice(0, 20) } }),
      () => ({
        update: {
          cycle_reset_at: new Date(
            Math.ceil(Date.parse(at(0)) / (60 * MINUTE_MS)) * 60 * MINUTE_MS + 60 * MINUTE_MS,
          ).toISOString(),
        },
      }),
      () => ({ update: { cycle_reset_at: at(90 * MINUTE_MS) } }),
      () => ({ reset: true }),
      () => ({ delete: true }),
    ])()

  let left = SETS
  const ids: number[] = []
  const act = async (token: string): Promise<void> => {
    const applied: { id: number; version: number }[] = []
    while (left > 0) {
      left -= 1
      const filter = Math.random() < 0.2 ? { all: true } : { account_id: pick(accounts) }
      const made = await ask('POST', SETS_PATH, { token, key: fresh('set'), body: { filter, change: change() } })
      expect([made.status, made.text]).toEqual([202, expect.any(String)])
      const set = await settled(token, bodyOf(made).id)
      ids.push(set.id)
      if (Math.random() < 0.1) continue
      // An answer may be lost: the second one is then a stale version.
      await ask('POST', `${SETS_PATH}/${set.id}/apply`, {
        token,
        body: { version: set.version, rows: set.counts.planned },
      })
      const done = await settled(token, set.id)
      applied.push({ id: done.id, version: done.version })
      await ask('POST', `${MAIL.usage}/consume`, {
        token,
        key: fresh('use'),
        body: { account_id: pick(accounts), amount: 1 },
      })
      if (Math.random() < 0.5) continue
      const [undone] = applied.splice(Math.floor(Math.random() * applied.length), 1)
      await ask('POST', `${SETS_PATH}/${undone!.id}/revert`, { token, body: { version: undone!.version } })
      await settled(token, undone!.id)
    }
  }

  it(
    'all end, with sums that agree, and hold no event loop for 50 ms',
    async () => {
      const began = Date.now()
      const columns = 'account_id,quota_type,total,expire_at,cycle_unit,cycle_reset_at'
      const lines = accounts.flatMap((owner) =>
        times(QUOTAS_OF_ONE).map((_, n) =>
          n % 2 === 0 ? `${owner},2,1000,,hour,${at(30 * MINUTE_MS)}` : `${owner},1,1000,2999-01-01T00:00:00Z,,`,
        ),
      )
      const { id } = (await (await upload(instances[0]!, [columns, ...lines].join('\n'))).json()) as { id: number }
      const first = await settled(ADMIN, id)
      await ask('POST', `${SETS_PATH}/${id}/apply`, {
        token: ADMIN,
        body: { version: first.version, rows: lines.length },
      })
      expect((await settled(ADMIN, id)).counts.applied).toBe(lines.length)

      const over = new AbortController()
      let kills = 0
      const actors = Promise.all(times(ACTORS).map(async (_, n) => act(n % 2 === 0 ? ADMIN : OTHER))).finally(() => {
        over.abort()
      })
      const time = (async () => {
        while (!over.signal.aborted) {
          await sleep(300 + Math.random() * 700)
          await shift(Math.random() * 70 * MINUTE_MS)
        }
      })()
      const killing = (async () => {
        while (!over.signal.aborted) {
          await sleep(500 + Math.random() * 2_500)
          const victim = pick(instances)
          lives.findLast(({ pid }) => pid === victim.pid)!.to = Date.now()
          await victim.kill()
          kills += 1
          await victim.start()
          born(victim)
        }
      })()
      await Promise.all([actors, time, killing])

      const states = await database.rows<{ state: string; n: number }>(
        'SELECT state, COUNT(*) AS n FROM mail_change_set GROUP BY state',
      )
      expect(
        states.map(({ state }) => state).filter((state) => !['ready', 'applied', 'reverted'].includes(state)),
      ).toEqual([])
      expect(ids).toHaveLength(SETS)
      // Each row that was applied has its change, and at most one more that takes it back.
      const wrong = await database.rows(
        'SELECT s.id, s.applied, s.reverted, s.kept, COUNT(c.id) AS changes FROM mail_change_set s LEFT JOIN mail_change c ON c.change_set_id = s.id ' +
          'GROUP BY s.id HAVING changes < s.applied + s.reverted + s.kept OR changes > s.applied + 2 * s.reverted + s.kept',
      )
      expect(wrong).toEqual([])
      const counted = 'planned + unchanged + invalid + applied + conflict + reverted + kept'
      expect(
        await database.rows(
          `SELECT s.id FROM mail_change_set s WHERE ${counted} <> (SELECT COUNT(*) FROM mail_change_set_item i WHERE i.set_id = s.id)`,
        ),
      ).toEqual([])
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url, new ShiftedClock())).toEqual([])

      const held = (await readFile(join(directory, 'held'), 'latin1').catch(() => ''))
        .trim()
        .split('\n')
        .filter(Boolean)
      const holds = held
        .map((line) => line.split(' ').map(Number) as [number, number, number])
        .filter(([pid, ended]) => lives.some((life) => life.pid === pid && ended > life.from && ended < life.to))
        .map(([, , ms]) => ms)
      const longest = Math.max(0, ...holds)
      figure('change sets while resets pass and instances are killed', {
        sets: SETS,
        kills,
        hours: Math.round(shiftMs / 3_600_000),
        seconds: Math.round((Date.now() - began) / 1000),
        'longest hold in ms': longest,
      })
      expect(longest).toBeLessThan(inTime(50))
    },
    PATIENCE_MS,
  )
})

onServer('a change set that ends each process that works on it', () => {
  let database: TestDatabase
  let instance: Instance
  const LETHAL = 'a label that ends the process'

  beforeAll(async () => {
    database = await TestDatabase.open()
    const env = { NODE_OPTIONS: importing('lethal-text.mjs'), LETHAL_TEXT: LETHAL }
    instance = await Instance.start(database.url, env)
  }, PATIENCE_MS)

  it(
    'is set aside after the third, and those of others go on',
    async () => {
      const head = 'account_id,quota_type,total,expire_at,label\n'
      const [owner = 0] = owners(1)
      const line = (label: string) => `${owner},1,5,2999-01-01T00:00:00Z,${label}\n`
      const { id: innocent } = (await (await upload(instance, head + line('harmless'), OTHER)).json()) as { id: number }
      // The process may end before it has answered.
      await upload(instance, head + line(LETHAL)).catch(() => undefined)
      let deaths = 0
      const stateOf = async (condition: string) =>
        (await database.rows<{ state: string }>(`SELECT state FROM mail_change_set WHERE ${condition}`))[0]?.state
      while (deaths < 4 && (await stateOf("creator_id = 'admin'")) !== 'failed') {
        const ended = await Promise.race([instance.exited, sleep(200)])
        if (ended === undefined) continue
        deaths += 1
        await instance.start().catch(() => undefined)
      }
      expect(deaths).toBe(3)
      expect(await stateOf(`id = ${innocent}`)).toBe('ready')
      await sleep(1_500)
      expect(instance.pid).toBeDefined()
      expect(instance.log.match(/change set \d+ is set aside/g)).toHaveLength(1)
    },
    PATIENCE_MS,
  )
})
