import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { audit, mailOperationsOf } from './support/audit.js'
import { CAN_START_SERVER, HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { Load } from './support/load.js'
import { stop } from './support/stop.js'
import { type Fate, type Statement, TcpProxy } from './support/tcp-proxy.js'
import {
  bodyOf,
  cycleQuota,
  fresh,
  inParallel,
  MAIL,
  owners,
  resultsOf,
  tally,
  times,
  totalQuota,
} from './support/wire.js'
import { verified } from './support/verify.js'

const onServer = HAS_SERVER ? describe : describe.skip
const onOwnServer = CAN_START_SERVER ? describe : describe.skip

/** For a test on a machine that is busy with other things. */
const PATIENCE_MS = 180_000

const consumePath = `${MAIL.usage}/consume`

async function made(instance: Instance, body: object): Promise<number> {
  const answer = await instance.post(MAIL.quotas, body)
  expect(answer.status).toBe(201)
  return bodyOf(answer).id
}

async function usedOf(database: TestDatabase, accounts: readonly number[]): Promise<number> {
  return database.number(`SELECT COALESCE(SUM(used), 0) FROM mail_quota WHERE account_id IN (${accounts.join()})`)
}

/** Is this a statement of a transaction that writes acts, and not of one that tidies up? */
function writesActs({ earlier }: Statement): boolean {
  return earlier.some((statement) => statement.startsWith('INSERT INTO `mail_act`'))
}

/** Sends until there is an answer that is not 503, as a caller should. */
async function persist(send: () => Promise<Answer>): Promise<{ answer: Answer; tries: number }> {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await send()
      if (answer.status !== 503) return { answer, tries }
      expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
    }
    if (tries === 500) throw new Error('never answered')
    await sleep(50)
  }
}

onServer('between the service and its database', () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let instance: Instance

  beforeAll(async () => {
    database = await TestDatabase.open()
    proxy = await TcpProxy.start(database.url)
    instance = await Instance.start(proxy.url)
  })

  afterAll(async () => {
    proxy.rule = undefined
    expect(await instance.terminate()).toBe(0)
  })

  async function inOrder(): Promise<void> {
    proxy.rule = undefined
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
  }

  describe.each<{ fate: Fate; what: string }>([
    { fate: 'swallow', what: 'the answer to COMMIT is lost' },
    { fate: 'cut', what: 'the connection breaks before COMMIT' },
    { fate: { errorAfter: 1180 }, what: 'COMMIT is called failed (1180) and has taken effect' },
    { fate: { error: 1180 }, what: 'COMMIT is called failed (1180) and has not taken effect' },
  ])('$what', ({ fate, what }) => {
    it(
      'drops a change set, and says so',
      async () => {
        const sets = `${MAIL.quotas}/change-sets`
        const filter = { account_id: owners(1)[0] }
        const set = bodyOf(await instance.post(sets, { filter, change: { delete: true } }))
        const state = async (): Promise<string> => bodyOf(await instance.get(`${sets}/${set.id}`)).state
        while ((await state()) === 'preparing') await sleep(20)
        let left = 1
        proxy.rule = ({ text, earlier }) =>
          text === 'COMMIT' && earlier.some((one) => one.startsWith('UPDATE `mail_change_set`')) && left-- > 0
            ? fate
            : 'pass'
        const { status } = await instance.send('DELETE', `${sets}/${set.id}`)
        expect([status, left < 1]).toEqual([204, true])
        proxy.rule = undefined
      },
      PATIENCE_MS,
    )

    it(
      'creates a change set once, and says so',
      async () => {
        const sets = `${MAIL.quotas}/change-sets`
        const [owner] = owners(1)
        let left = 1
        proxy.rule = ({ text, earlier }) =>
          text === 'COMMIT' && earlier.some((one) => one.startsWith('INSERT INTO `mail_change_set`')) && left-- > 0
            ? fate
            : 'pass'
        const body = { filter: { account_id: owner }, change: { delete: true } }
        const { status, text, replayed } = await instance.post(sets, body, `set-${owner}`)
        expect([status, replayed, left < 1]).toEqual([202, false, true])
        proxy.rule = undefined
        expect(await instance.post(sets, body, `set-${owner}`)).toMatchObject({ status: 202, text, replayed: true })
      },
      PATIENCE_MS,
    )

    it(
      'takes effect once, each time',
      async () => {
        const ROUNDS = Math.round(50 * SCALE)
        const [owner] = owners(1) as [number]
        await made(instance, totalQuota(MAIL, owner, 1_000_000))
        let hit = 0
        let committed = 0
        for (const round of times(ROUNDS)) {
          // A few of them twice and three times in a row.
          let left = round % 20 === 0 ? 3 : round % 10 === 0 ? 2 : 1
          proxy.rule = (statement) => {
            if (statement.text !== 'COMMIT' || !writesActs(statement)) return 'pass'
            committed += 1
            if (left === 0) return 'pass'
            left -= 1
            hit += 1
            return fate
          }
          const key = fresh('commit')
          const send = (): Promise<Answer> => instance.post(consumePath, { account_id: owner, amount: 1 }, key)
          const first = await persist(send)
          const again = await send()
          expect([first.answer.status, again.status, again.replayed]).toEqual([200, 200, true])
          expect(again.text).toBe(first.answer.text)
        }
        expect(hit).toBeGreaterThanOrEqual(ROUNDS)
        expect(await usedOf(database, [owner])).toBe(ROUNDS)
        await inOrder()
        figure(what, { rounds: ROUNDS, commits: committed, 'commits hit': hit, used: ROUNDS })
      },
      PATIENCE_MS,
    )
  })

  it(
    'says 503 while no COMMIT is answered, and the retries with the same keys take effect once',
    async () => {
      const accounts = owners(4)
      for (const owner of accounts) await made(instance, totalQuota(MAIL, owner, 1_000))
      let swallowed = 0
      let swallowing = true
      proxy.rule = (statement) => {
        if (
          !swallowing ||
          statement.text !== 'COMMIT' ||
          !statement.earlier.some((text) => text.includes('mail_owner'))
        )
          return 'pass'
        swallowed += 1
        return 'swallow'
      }
      const keys = times(40).map(() => fresh('away'))
      const send = (n: number): Promise<Answer> =>
        instance.post(consumePath, { account_id: accounts[n % 4]!, amount: 1 }, keys[n])
      const began = performance.now()
      const lost = await Promise.all(times(40).map(send))
      const took = performance.now() - began
      expect(tally(lost.map(({ status }) => status))).toEqual({ 503: 40 })
      for (const answer of lost) {
        expect(answer.type).toContain('application/problem+json')
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
      }
      swallowing = false
      const found = await Promise.all(times(40).map(send))
      expect(tally(found.map(({ status }) => status))).toEqual({ 200: 40 })
      expect(await usedOf(database, accounts)).toBe(40)
      await inOrder()
      figure('no COMMIT answered', { 'answered 503 after ms': Math.round(took), 'answers lost': swallowed, used: 40 })
    },
    PATIENCE_MS,
  )

  it(
    'reruns a COMMIT whose answer never comes, while the connection stays',
    async () => {
      const [owner] = owners(1) as [number]
      await made(instance, totalQuota(MAIL, owner, 1_000))
      let left = 1
      proxy.rule = (statement) =>
        statement.text === 'COMMIT' && writesActs(statement) && left-- > 0 ? 'silence' : 'pass'
      const key = fresh('silent')
      const send = (): Promise<Answer> => instance.post(consumePath, { account_id: owner, amount: 1 }, key)
      const began = performance.now()
      const { answer } = await persist(send)
      const took = performance.now() - began
      expect(answer.status).toBe(200)
      expect(took).toBeLessThan(15_000)
      expect((await send()).text).toBe(answer.text)
      expect(await usedOf(database, [owner])).toBe(1)
      await inOrder()
      figure('COMMIT never answered', { 'answered 200 after ms': Math.round(took), used: 1 })
    },
    PATIENCE_MS,
  )

  it(
    'keeps the sum with many callers while commits and statements are lost at random',
    async () => {
      const OPERATIONS = 1_000
      const accounts = owners(8)
      for (const owner of accounts) {
        await made(instance, cycleQuota(MAIL, owner, 100))
        await made(instance, totalQuota(MAIL, owner, 1_000_000))
      }
      const fates: Record<string, number> = {}
      proxy.rule = (statement) => {
        const lost: Fate =
          statement.text !== 'COMMIT' || !writesActs(statement)
            ? Math.random() < 0.01
              ? 'cut'
              : 'pass'
            : Math.random() < 0.1
              ? 'swallow'
              : Math.random() < 0.1
                ? 'cut'
                : Math.random() < 0.1
                  ? { errorAfter: 1180 }
                  : 'pass'
        const name = typeof lost === 'string' ? lost : '1180'
        fates[name] = (fates[name] ?? 0) + 1
        return lost
      }
      await inParallel(40, times(OPERATIONS), async (n) => {
        const key = fresh('random')
        const body = { account_id: accounts[n % accounts.length]!, amount: 1 }
        const { answer } = await persist(() => instance.post(consumePath, body, key))
        expect(answer.status).toBe(200)
      })
      proxy.rule = undefined
      expect(await usedOf(database, accounts)).toBe(OPERATIONS)
      await inOrder()
      figure('statements lost at random', { acknowledged: OPERATIONS, used: OPERATIONS, ...fates })
    },
    PATIENCE_MS,
  )

  describe('a fault at each statement', () => {
    const FATES: readonly Fate[] = [
      { error: 1213 },
      { error: 1205 },
      { error: 1180 },
      { error: 1047 },
      'cut',
      'swallow',
      { errorAfter: 1047 },
      { errorAfter: 1180 },
    ]
    const [first, second, third] = owners(3) as [number, number, number]
    let quotaId: number
    /** Units that `first` should have spent, and held. */
    let used = 0
    let reserved = 0
    let acts = 0
    let actsBefore = 0

    beforeAll(async () => {
      quotaId = await made(instance, totalQuota(MAIL, first, 1_000_000))
      await made(instance, cycleQuota(MAIL, second, 1_000_000))
      await made(instance, totalQuota(MAIL, third, 1_000_000))
      // The hold that is due first, so that none of the others is.
      await instance.post(`${MAIL.usage}/reserve`, { account_id: first, amount: 1, ttl_seconds: 80_000 }, fresh('due'))
      reserved = 1
      actsBefore = await database.number('SELECT COUNT(*) FROM mail_act')
    })

    interface Act {
      readonly status: number
      readonly send: () => Promise<Answer>
      /** Is the same request again answered with the same bytes? */
      readonly replays: boolean
    }

    async function operation(kind: 'consume' | 'reserve'): Promise<string> {
      const answer = await instance.post(`${MAIL.usage}/${kind}`, { account_id: first, amount: 5 }, fresh(kind))
      expect([200, 201]).toContain(answer.status)
      acts += 1
      return `${MAIL.usage}/${bodyOf(answer).id}`
    }

    // Each prepares what it needs, counts what it will do, and is sent under the fault.
    const kinds: Record<string, () => Promise<Act>> = {
      consume: async () => {
        const key = fresh('consume')
        used += 3
        acts += 1
        return {
          status: 200,
          replays: true,
          send: () => instance.post(consumePath, { account_id: first, amount: 3 }, key),
        }
      },
      'consume batch': async () => {
        const items = [first, second, third, first].map((owner) => ({
          account_id: owner,
          amount: 2,
          idempotency_key: fresh('batch'),
        }))
        used += 4
        acts += 4
        return { status: 200, replays: false, send: () => instance.post(`${consumePath}/batch`, { items }) }
      },
      reserve: async () => {
        const key = fresh('reserve')
        reserved += 1
        acts += 1
        return {
          status: 201,
          replays: true,
          send: () =>
            instance.post(`${MAIL.usage}/reserve`, { account_id: first, amount: 1, ttl_seconds: 86_400 }, key),
        }
      },
      commit: async () => {
        const path = await operation('reserve')
        used += 4
        acts += 1
        return { status: 200, replays: true, send: () => instance.post(`${path}/commit`, { amount: 4 }) }
      },
      release: async () => {
        const path = await operation('reserve')
        acts += 1
        return { status: 200, replays: true, send: () => instance.post(`${path}/release`, {}) }
      },
      refund: async () => {
        const path = await operation('consume')
        const key = fresh('refund')
        used += 3
        acts += 1
        return { status: 200, replays: true, send: () => instance.post(`${path}/refund`, { amount: 2 }, key) }
      },
      create: async () => {
        const [owner] = owners(1) as [number]
        const key = fresh('create')
        acts += 1
        return { status: 201, replays: true, send: () => instance.post(MAIL.quotas, totalQuota(MAIL, owner, 9), key) }
      },
      update: async () => {
        // With the version that it replaces: done twice it would be refused.
        const { version } = bodyOf(await instance.get(`${MAIL.quotas}/${quotaId}`))
        const total = 1_000_000 + acts
        acts += 1
        return {
          status: 200,
          replays: false,
          send: () => instance.put(`${MAIL.quotas}/${quotaId}`, { total, version }),
        }
      },
      delete: async () => {
        const id = await made(instance, totalQuota(MAIL, second, 9))
        acts += 2
        return { status: 204, replays: false, send: () => instance.delete(`${MAIL.quotas}/${id}`) }
      },
      restore: async () => {
        const id = await made(instance, totalQuota(MAIL, third, 9))
        expect((await instance.delete(`${MAIL.quotas}/${id}`)).status).toBe(204)
        acts += 3
        return {
          status: 200,
          replays: false,
          send: async () => {
            const answer = await instance.post(`${MAIL.quotas}/${id}/restore`, undefined)
            // Not to gather more live quotas than an owner may have. The change says so, too: `verify` compares them.
            await database.execute("UPDATE mail_quota SET expire_at = '2020-01-01 00:00:00.000' WHERE id = ?", [id])
            await database.execute(
              "UPDATE mail_change SET after_json = JSON_SET(after_json, '$.expire_at', '2020-01-01T00:00:00.000Z') WHERE quota_id = ? AND action = 'create'",
              [id],
            )
            return answer
          },
        }
      },
    }

    /** What tells the statements of one request apart, whatever values they carry. */
    function shape({ text, earlier }: Statement): string {
      const own = text.replaceAll(/'[^']*'|\d+/g, '?').slice(0, 110)
      return text === 'COMMIT' ? `COMMIT after ${(earlier.at(-1) ?? '').slice(0, 40)}` : own
    }

    const BACKGROUND =
      /COUNT\(|DISTINCT|ORDER BY `expire|`owner_id` IS NULL|_refusal`|`position` IS NULL|_event_feed`|_change_set`|_usage_total`|_ledger_state`|OFFSET|AS present|`webhook/

    /** The background's statements come at any time and are none of the request's. */
    function background({ text, earlier }: Statement): boolean {
      const all = [...earlier, text]
      return (
        BACKGROUND.test(all.join()) ||
        (text === 'COMMIT' && earlier.length < 2) ||
        all.some((statement) => /`state` = 'expired'/.test(statement))
      )
    }

    /** What a new connection is told: whether there is one is chance. */
    function setsUp({ text }: Statement): boolean {
      return text.startsWith('SET ') || /@@wsrep_on|@@group_replication|@@auto_increment_increment/.test(text)
    }

    it.each(Object.keys(kinds))(
      'of %s leaves one effect and a right answer',
      async (kind) => {
        const shapes = new Set<string>()
        const plain = await kinds[kind]!()
        proxy.rule = (statement) => {
          if (!background(statement) && !setsUp(statement)) shapes.add(shape(statement))
          return 'pass'
        }
        expect((await plain.send()).status).toBe(plain.status)
        proxy.rule = undefined
        // START TRANSACTION, the lock, what is read, what is written, COMMIT.
        expect(shapes.size).toBeGreaterThanOrEqual(7)

        let faults = 0
        const hit = new Set<string>()
        for (const [place, target] of [...shapes].entries()) {
          for (const [turn, fate] of FATES.entries()) {
            // Ten kinds of request share most statements: every fourth fate of each, so that together they have all.
            if (SCALE < 2 && (place + turn + Object.keys(kinds).indexOf(kind)) % 4 !== 0) continue
            // Carried out and called failed: that is what a COMMIT alone may be.
            if (typeof fate === 'object' && 'errorAfter' in fate && !target.startsWith('COMMIT')) continue
            const act = await kinds[kind]!()
            let fired = 0
            proxy.rule = (statement) => {
              if (fired > 0 || background(statement) || shape(statement) !== target) return 'pass'
              fired += 1
              return fate
            }
            const answer = await act.send()
            proxy.rule = undefined
            const context = `${JSON.stringify(fate)} at ${target}`
            expect([context, answer.status]).toEqual([context, act.status])
            // One of the background's that came by chance while the plain request was looked at.
            if (fired === 0) continue
            hit.add(target)
            if (kind === 'consume batch') {
              expect(resultsOf(answer).map(({ status }) => status)).toEqual([200, 200, 200, 200])
            }
            if (act.replays) {
              const again = await act.send()
              expect([context, again.status, again.replayed, again.text]).toEqual([
                context,
                act.status,
                true,
                answer.text,
              ])
            }
            faults += 1
          }
        }
        const quota = bodyOf(await instance.get(`${MAIL.quotas}/${quotaId}`))
        expect([quota.used, quota.reserved]).toEqual([used, reserved])
        expect((await database.number('SELECT COUNT(*) FROM mail_act')) - actsBefore).toBe(acts)
        await inOrder()
        expect(hit.size).toBeGreaterThanOrEqual(7)
        figure(`a fault at each statement of ${kind}`, { statements: shapes.size, faults, effects: faults })
      },
      PATIENCE_MS,
    )
  })

  it(
    'lets wait what of a caller the queue does not hold, and answers 503 at once to what is beyond',
    async () => {
      const LIMIT = 20
      /** Those in hand, and four times as many that wait. */
      const KEPT = 5 * LIMIT
      const SENT = 150
      const small = await Instance.start(proxy.url, { PRINCIPAL_QUEUE_LIMIT: String(LIMIT) })
      const [owner] = owners(1) as [number]
      await made(small, totalQuota(MAIL, owner, 1_000))
      let open: () => void = () => undefined
      const opened = new Promise<void>((resolve) => (open = resolve))
      proxy.rule = async ({ text }): Promise<Fate> => {
        if (text.includes('`mail_owner`')) await opened
        return 'pass'
      }
      const answers: Answer[] = []
      const keys = times(SENT).map(() => fresh('queue'))
      const send = (key: string): Promise<Answer> => small.post(consumePath, { account_id: owner, amount: 1 }, key)
      const sent = keys.map(async (key) => {
        answers.push(await send(key))
      })
      const deadline = performance.now() + 15_000
      while (answers.length < SENT - KEPT && performance.now() < deadline) await sleep(10)
      expect(tally(answers.map(({ status }) => status))).toEqual({ 503: SENT - KEPT })
      for (const answer of answers) {
        expect(bodyOf(answer).code).toBe('unavailable')
        expect(answer.type).toContain('application/problem+json')
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
      }
      open()
      await Promise.all(sent)
      proxy.rule = undefined
      expect(tally(answers.map(({ status }) => status))).toEqual({ 200: KEPT, 503: SENT - KEPT })
      // Sent again in portions that fit, each takes effect once.
      await inParallel(10, keys, async (key) => {
        expect((await persist(() => send(key))).answer.status).toBe(200)
      })
      expect(await usedOf(database, [owner])).toBe(SENT)
      expect(await small.terminate()).toBe(0)
      await inOrder()
      figure('queue full', { limit: LIMIT, sent: SENT, 200: KEPT, 503: SENT - KEPT, 'used after retries': SENT })
    },
    PATIENCE_MS,
  )
})

onOwnServer('the end of a process', () => {
  const OPERATIONS = Math.round(8_000 * SCALE)
  let database: TestDatabase
  let instances: [Instance, Instance]

  beforeAll(async () => {
    database = await TestDatabase.open({ own: true })
    instances = await Promise.all([Instance.start(database.url), Instance.start(database.url)])
  })

  async function accountsWithQuotas(): Promise<number[]> {
    const accounts = owners(40)
    for (const owner of accounts) {
      await made(instances[0], cycleQuota(MAIL, owner, 50))
      await made(instances[0], totalQuota(MAIL, owner, 1_000_000))
    }
    return accounts
  }

  /** Every acknowledged operation is there, once, and nothing else is. */
  async function nothingLost(load: Load, accounts: readonly number[]): Promise<void> {
    const stored = new Set((await database.rows<{ id: string }>(mailOperationsOf(accounts))).map(({ id }) => id))
    const missing = [...load.acknowledged.values()].filter((id) => !stored.has(id))
    expect(missing).toEqual([])
    expect(stored.size).toBe(load.acknowledged.size)
    expect(await usedOf(database, accounts)).toBe(load.acknowledged.size)
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
  }

  const longer = PATIENCE_MS + 30_000 * SCALE

  it(
    'loses nothing acknowledged when one of two instances is killed under load',
    async () => {
      const accounts = await accountsWithQuotas()
      const load = new Load(instances, accounts, 25, 12)
      let kills = 0
      for (const share of [0.2, 0.4, 0.6, 0.8]) {
        await load.reach(share * OPERATIONS)
        await instances[1].kill()
        kills += 1
        await load.reach(load.acknowledged.size + 200)
        await instances[1].start()
      }
      await load.reach(OPERATIONS)
      await load.stop()
      await nothingLost(load, accounts)
      figure('kill -9 of an instance', { acknowledged: load.acknowledged.size, missing: 0, kills, ...load.counts })
    },
    longer,
  )

  it(
    'loses nothing acknowledged when the database is killed under load',
    async () => {
      const accounts = await accountsWithQuotas()
      const pids = instances.map(({ pid }) => pid)
      const load = new Load(instances, accounts, 25, 12)
      let kills = 0
      for (const share of [0.25, 0.5, 0.75]) {
        await load.reach(share * OPERATIONS)
        await database.server.kill()
        kills += 1
        await sleep(200)
        await database.server.start()
      }
      await load.reach(OPERATIONS)
      await load.stop()
      await nothingLost(load, accounts)
      expect(instances.map(({ pid }) => pid)).toEqual(pids)
      figure('kill -9 of the database', { acknowledged: load.acknowledged.size, missing: 0, kills, ...load.counts })
    },
    longer,
  )

  it(
    'answers 503 while the database is away, and 200 again without a restart',
    async () => {
      const [here] = instances
      const [owner] = owners(1) as [number]
      const id = await made(here, totalQuota(MAIL, owner, 1_000))
      const consumed = bodyOf(await here.post(consumePath, { account_id: owner, amount: 1 }, fresh('before')))
      const held = bodyOf(await here.post(`${MAIL.usage}/reserve`, { account_id: owner, amount: 1 }, fresh('before')))
      const key = fresh('away')
      const requests: Record<string, () => Promise<Answer>> = {
        consume: () => here.post(consumePath, { account_id: owner, amount: 1 }, key),
        batch: () =>
          here.post(`${consumePath}/batch`, {
            items: times(3).map((n) => ({ account_id: owner, amount: 1, idempotency_key: `${key}-${n}` })),
          }),
        reserve: () => here.post(`${MAIL.usage}/reserve`, { account_id: owner, amount: 1 }, `${key}-r`),
        commit: () => here.post(`${MAIL.usage}/${held.id}/commit`, {}),
        refund: () => here.post(`${MAIL.usage}/${consumed.id}/refund`, {}, `${key}-f`),
        create: () => here.post(MAIL.quotas, totalQuota(MAIL, owner, 5), `${key}-c`),
        update: () => here.put(`${MAIL.quotas}/${id}`, { total: 2_000 }),
        read: () => here.get(`${MAIL.quotas}/${id}`),
        list: () => here.get(MAIL.quotas),
        summary: () => here.get(`${MAIL.quotas}/summary/${owner}`),
        check: () => here.get(`${MAIL.usage}/check?account_id=${owner}&amount=1`),
        operation: () => here.get(`${MAIL.usage}/${consumed.id}`),
        ledger: () => here.get(`${MAIL.usage}?account_id=${owner}`),
        changes: () => here.get(`${MAIL.quotas}/${id}/changes`),
        ready: () => here.get('/health/ready'),
      }
      const pid = here.pid
      await database.server.kill()
      let slowest = 0
      await inParallel(20, Object.entries(requests), async ([name, send]) => {
        const began = performance.now()
        const answer = await send()
        slowest = Math.max(slowest, performance.now() - began)
        expect([name, answer.status, answer.type.split(';')[0]]).toEqual([name, 503, 'application/problem+json'])
        expect([name, bodyOf(answer).code]).toEqual([name, 'unavailable'])
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
        expect(answer.text).not.toMatch(/ECONN|SQL|127\.0\.0\.1/)
      })
      expect((await here.get('/health/live')).status).toBe(200)
      // Tries go on for 6 s; a request may first wait for the try that is under way.
      expect(slowest).toBeLessThan(14_000)
      await database.server.start()
      const back = performance.now()
      const statuses: Record<string, number> = {}
      for (const [name, send] of Object.entries(requests)) statuses[name] = (await persist(send)).answer.status
      const returned = performance.now() - back
      expect(Object.entries(statuses).filter(([, status]) => status >= 300)).toEqual([])
      expect(here.pid).toBe(pid)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      figure('the database away', {
        requests: Object.keys(requests).length,
        '503 after at most ms': Math.round(slowest),
        'all answered after its return, ms': Math.round(returned),
      })
    },
    PATIENCE_MS,
  )

  it(
    'answers 503 while the database is frozen, and what was in flight then takes effect once',
    async () => {
      const [here] = instances
      const accounts = owners(4)
      for (const owner of accounts) await made(here, totalQuota(MAIL, owner, 1_000))
      const keys = times(40).map(() => fresh('frozen'))
      const send = (n: number): Promise<Answer> =>
        here.post(consumePath, { account_id: accounts[n % 4]!, amount: 1 }, keys[n])
      const { pid } = database.server
      await stop(pid)
      let slowest = 0
      try {
        await inParallel(40, times(40), async (n) => {
          const began = performance.now()
          const answer = await send(n)
          slowest = Math.max(slowest, performance.now() - began)
          expect(answer.status).toBe(503)
          expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
        })
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await inParallel(40, times(40), async (n) => {
        expect((await persist(() => send(n))).answer.status).toBe(200)
      })
      expect(await usedOf(database, accounts)).toBe(40)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      figure('the database frozen', { requests: 40, '503 after at most ms': Math.round(slowest), used: 40 })
    },
    PATIENCE_MS,
  )

  it(
    'ends in order at SIGTERM under load: true answers, exit code 0, and retries elsewhere are safe',
    async () => {
      const accounts = await accountsWithQuotas()
      const counts: Record<string, number> = {}
      const ROUNDS = 3
      let acknowledged = 0
      for (const round of times(ROUNDS)) {
        const leaving = await Instance.start(database.url, { SHUTDOWN_DELAY_SECONDS: round === 0 ? '0' : '1' })
        const before = acknowledged
        const load = new Load([leaving, instances[0]], accounts, round === 1 ? 25 : 1, 24)
        await load.reach(600)
        expect(await leaving.terminate()).toBe(0)
        await load.reach(load.acknowledged.size + 100)
        await load.stop()
        acknowledged = before + load.acknowledged.size
        for (const [outcome, count] of Object.entries(load.counts)) counts[outcome] = (counts[outcome] ?? 0) + count
        const stored = await database.rows<{ id: string }>(mailOperationsOf(accounts))
        const ids = new Set(stored.map(({ id }) => id))
        expect([...load.acknowledged.values()].filter((id) => !ids.has(id))).toEqual([])
        expect(ids.size).toBe(acknowledged)
        expect(leaving.log).toBe('')
      }
      expect(Object.keys(counts).sort()).toEqual(expect.arrayContaining(['200']))
      expect(await usedOf(database, accounts)).toBe(acknowledged)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      figure('SIGTERM under load', { rounds: ROUNDS, acknowledged, missing: 0, ...counts })
    },
    PATIENCE_MS,
  )
})
