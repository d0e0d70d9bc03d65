import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance, OTHER } from './support/instance.js'
import { type Fate, TcpProxy } from './support/tcp-proxy.js'
import {
  bodyOf,
  cycleQuota,
  fresh,
  inParallel,
  MAIL,
  owners,
  resultsOf,
  shuffled,
  SMS,
  tally,
  times,
  totalQuota,
  type Wire,
  WIRES,
} from './support/wire.js'
import { verified } from './support/verify.js'

/** For a test on a machine that is busy with other things. */
const PATIENCE_MS = 180_000 * Math.max(1, SCALE)

// Two processes of the built service on one database: what one of them keeps in memory is no help to the other.
const onServer = HAS_SERVER ? describe : describe.skip

onServer('two instances on one database', () => {
  let database: TestDatabase
  let instances: [Instance, Instance]
  let loweredTotals = false

  beforeAll(async () => {
    database = await TestDatabase.open()
    // Started together on an empty database: they migrate once.
    instances = await Promise.all([Instance.start(database.url), Instance.start(database.url)])
  })

  afterAll(async () => {
    const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
    expect(codes).toEqual([0, 0])
    expect(instances.map((instance) => instance.log)).toEqual(['', ''])
  })

  afterEach(async () => {
    expect(await audit(database, { loweredTotals })).toEqual([])
    expect(await verified(database.url)).toEqual([])
  }, PATIENCE_MS)

  /** One of the two, by turns. */
  function instance(turn: number): Instance {
    return instances[turn % 2]!
  }

  async function made(body: object, wire: Wire = MAIL): Promise<number> {
    const answer = await instance(0).post(wire.quotas, body)
    expect(answer.status).toBe(201)
    return bodyOf(answer).id
  }

  async function usedBy(wire: Wire, ownerIds: readonly number[]): Promise<number> {
    return database.number(
      `SELECT COALESCE(SUM(used), 0) FROM ${wire.channel}_quota WHERE ${wire.owner} IN (${ownerIds.join()})`,
    )
  }

  it(
    'gives 8 parallel requests with one key one effect and the same bytes',
    async () => {
      const ROUNDS = Math.round(50 * SCALE)
      let replays = 0
      for (const round of times(ROUNDS)) {
        const wire = WIRES[round % WIRES.length]!
        const [owner] = owners(1) as [number]
        const key = fresh('one')
        const create = round % 10 === 9
        if (!create) await made(totalQuota(wire, owner, 1000), wire)
        const answers = await Promise.all(
          times(8).map(async (n) => {
            if (create) return instance(n).post(wire.quotas, totalQuota(wire, owner, 7), key)
            if (round % 10 === 8)
              return instance(n).post(`${wire.usage}/reserve`, { [wire.owner]: owner, amount: 7 }, key)
            return instance(n).post(`${wire.usage}/consume`, { [wire.owner]: owner, amount: 7 }, key)
          }),
        )
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
        expect(tally(answers.map(({ status, replayed }) => `${status} ${replayed ? 'replayed' : 'first'}`))).toEqual(
          create || round % 10 === 8 ? { '201 first': 1, '201 replayed': 7 } : { '200 first': 1, '200 replayed': 7 },
        )
        const effects = await database.rows(
          `SELECT COUNT(*) AS quotas, SUM(total) AS total, SUM(used + reserved) AS taken FROM ${wire.channel}_quota WHERE ${wire.owner} = ?`,
          [owner],
        )
        expect(effects.map((row) => Object.values(row).map(Number))).toEqual([create ? [1, 7, 0] : [1, 1000, 7]])
        replays += 7
      }
      figure('one key, 8 at once', { rounds: ROUNDS, effects: ROUNDS, replays, differing: 0 })
    },
    PATIENCE_MS,
  )

  it(
    'takes keyed operations once each, sent three times in any order',
    async () => {
      const OPERATIONS = Math.round(1_500 * SCALE)
      const accounts = owners(40)
      for (const owner of accounts) {
        // Two quotas, so that some amounts are split.
        await made(cycleQuota(MAIL, owner, 200))
        await made(totalQuota(MAIL, owner, 1_000_000))
      }
      const operations = times(OPERATIONS).map((n) => ({
        account_id: accounts[n % accounts.length]!,
        amount: 1 + (n % 9),
        idempotency_key: fresh('sum'),
      }))
      const sum = operations.reduce((total, { amount }) => total + amount, 0)
      // A tenth goes by itself, the rest in batches of any size.
      const parcels: (typeof operations)[] = []
      for (let rest = shuffled([...operations, ...operations, ...operations]); rest.length > 0;) {
        const size = Math.random() < 0.9 ? 1 : 1 + Math.floor(Math.random() * 180)
        parcels.push(rest.slice(0, size))
        rest = rest.slice(size)
      }
      const operationOf = new Map<string, string>()
      let firsts = 0
      let differing = 0
      let refused = 0
      const take = (key: string, text: string, replayed: boolean) => {
        const known = operationOf.get(key)
        if (known !== undefined && known !== text) differing += 1
        operationOf.set(key, text)
        if (!replayed) firsts += 1
      }
      await inParallel(16, parcels, async (parcel, place) => {
        const [first] = parcel
        if (parcel.length === 1 && first !== undefined) {
          const { idempotency_key: key, ...body } = first
          const answer = await instance(place).post(`${MAIL.usage}/consume`, body, key)
          expect(answer.status).toBe(200)
          take(key, answer.text, answer.replayed)
          return
        }
        const answer = await instance(place).post(`${MAIL.usage}/consume/batch`, { items: parcel })
        expect(answer.status).toBe(200)
        const results = resultsOf(answer)
        parcel.forEach(({ idempotency_key: key }, n) => {
          const result = results[n]!
          if (result.status !== 200) refused += 1
          else take(key, JSON.stringify(result.operation), result.replayed)
        })
      })
      expect(operationOf.size).toBe(OPERATIONS)
      expect([firsts, differing, refused]).toEqual([OPERATIONS, 0, 0])
      expect(await usedBy(MAIL, accounts)).toBe(sum)
      figure('keyed operations sent three times', {
        operations: OPERATIONS,
        sent: 3 * OPERATIONS,
        requests: parcels.length,
        used: sum,
        expected: sum,
      })
    },
    PATIENCE_MS,
  )

  it(
    'lets exactly 10 of 200 parallel callers have a total of 10',
    async () => {
      const ROUNDS = Math.round(15 * SCALE)
      const counts: Record<string, number> = {}
      for (const round of times(ROUNDS)) {
        const wire = WIRES[round % WIRES.length]!
        const [owner] = owners(1) as [number]
        await made(totalQuota(wire, owner, 10), wire)
        const answers = await Promise.all(
          times(200).map(async (n) =>
            instance(n).post(`${wire.usage}/consume`, { [wire.owner]: owner, amount: 1 }, fresh('ten')),
          ),
        )
        expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 10, 409: 190 })
        expect(new Set(answers.filter(({ status }) => status === 409).map((answer) => bodyOf(answer).code))).toEqual(
          new Set(['quota_exceeded']),
        )
        for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
        expect(await usedBy(wire, [owner])).toBe(10)
      }
      figure('total 10, 200 callers', { rounds: ROUNDS, ...counts })
    },
    PATIENCE_MS,
  )

  describe('12 writers of usage and 4 of settings', () => {
    const PER_WRITER = 60

    it(
      'lose nothing on one quota',
      async () => {
        const [owner] = owners(1) as [number]
        const id = await made(totalQuota(MAIL, owner, 1_000_000))
        let used = 0
        let edits = 0
        const usage = times(12).map(async (writer) => {
          for (const n of times(PER_WRITER)) {
            const here = instance(writer + n)
            if (n % 3 < 2) {
              const amount = 1 + (n % 5)
              const consumed = await here.post(`${MAIL.usage}/consume`, { account_id: owner, amount }, fresh('use'))
              expect(consumed.status).toBe(200)
              used += amount
              if (n % 6 === 0) {
                const path = `${MAIL.usage}/${bodyOf(consumed).id}/refund`
                expect((await instance(writer + n + 1).post(path, { amount: 1 }, fresh('refund'))).status).toBe(200)
                used -= 1
              }
            } else {
              const reserved = await here.post(`${MAIL.usage}/reserve`, { account_id: owner, amount: 4 }, fresh('hold'))
              expect(reserved.status).toBe(201)
              const path = `${MAIL.usage}/${bodyOf(reserved).id}`
              const settled =
                n % 2 === 0
                  ? await instance(writer + n + 1).post(`${path}/commit`, { amount: 3 })
                  : await instance(writer + n + 1).post(`${path}/release`, {})
              expect(settled.status).toBe(200)
              if (n % 2 === 0) used += 3
            }
          }
        })
        const settings = times(4).map(async (writer) => {
          for (const n of times(PER_WRITER)) {
            const total = 1_000_000 + writer * PER_WRITER + n + 1
            const answer = await instance(writer + n).put(`${MAIL.quotas}/${id}`, { total })
            expect(answer.status).toBe(200)
            expect(bodyOf(answer).total).toBe(total)
            edits += 1
          }
        })
        await Promise.all([...usage, ...settings])

        const quota = bodyOf(await instance(1).get(`${MAIL.quotas}/${id}`))
        expect([quota.used, quota.reserved, quota.version]).toEqual([used, 0, 1 + edits])
        // Each edit starts from what the one before it left.
        const changes = await database.rows<{ before_json: string; after_json: string }>(
          'SELECT before_json, after_json FROM mail_change WHERE quota_id = ? ORDER BY id',
          [id],
        )
        for (const n of times(edits)) {
          expect(JSON.parse(changes[n + 1]!.before_json).total).toBe(JSON.parse(changes[n]!.after_json).total)
        }
        expect(JSON.parse(changes.at(-1)!.after_json).total).toBe(quota.total)
        figure('12 writers of usage, 4 of settings', {
          used: quota.used,
          expected: used,
          edits,
          version: quota.version,
        })
      },
      PATIENCE_MS,
    )

    it(
      'lose updates where each reads and then writes: the load is able to show it',
      async () => {
        await database.execute('CREATE TABLE control (id INT PRIMARY KEY, used INT NOT NULL, version INT NOT NULL)')
        await database.execute('INSERT INTO control VALUES (1, 0, 1)')
        const write = async (column: 'used' | 'version'): Promise<void> => {
          for (const _ of times(PER_WRITER)) {
            const value = await database.number(`SELECT ${column} FROM control WHERE id = 1`)
            await database.execute(`UPDATE control SET ${column} = ? WHERE id = 1`, [value + 1])
          }
        }
        await Promise.all([...times(12).map(() => write('used')), ...times(4).map(() => write('version'))])
        const [row] = await database.rows<{ used: number; version: number }>('SELECT used, version FROM control')
        expect(row!.used).toBeLessThan(12 * PER_WRITER)
        expect(row!.version).toBeLessThan(1 + 4 * PER_WRITER)
        figure('the control, read then write', {
          used: row!.used,
          expected: 12 * PER_WRITER,
          version: row!.version,
          edits: 4 * PER_WRITER,
        })
      },
      PATIENCE_MS,
    )
  })

  it(
    'resets a quota among 50 parallel consumes, and loses and gives away nothing',
    async () => {
      const ROUNDS = 20
      let consumes = 0
      let resets = 0
      for (const round of times(ROUNDS)) {
        const wire = WIRES[round % WIRES.length]!
        const [owner] = owners(1) as [number]
        const total = 1_000_000
        const id = await made(round % 4 < 2 ? totalQuota(wire, owner, total) : cycleQuota(wire, owner, total), wire)
        const resetting = times(3).map((n) => 10 * (n + 1))
        const answers = await Promise.all(
          times(53).map(async (n) => {
            if (resetting.includes(n)) return instance(n).post(`${wire.quotas}/${id}/reset`, {}, fresh('reset'))
            return instance(n).post(
              `${wire.usage}/consume`,
              { [wire.owner]: owner, amount: 1 + (n % 7) },
              fresh('among'),
            )
          }),
        )
        expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 53 })
        const spent = answers.flatMap((answer, n) => (resetting.includes(n) ? [] : [bodyOf(answer).amount as number]))
        // What each reset took off, and what is there now, is all that was spent: nothing lost, nothing given away.
        const changes = bodyOf(await instance(round).get(`${wire.quotas}/${id}/changes`)).items as {
          action: string
          before: { used: number }
        }[]
        const takenOff = changes.filter(({ action }) => action === 'reset').map(({ before }) => before.used)
        const quota = bodyOf(await instance(round).get(`${wire.quotas}/${id}`))
        const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
        expect(sum(takenOff) + Number(quota.used)).toBe(sum(spent))
        expect([quota.reserved, quota.version, quota.remaining]).toEqual([0, 1, total - quota.used])
        consumes += spent.length
        resets += takenOff.length
      }
      // Were there nothing to take off, nothing would be shown.
      expect(resets).toBeGreaterThan(ROUNDS)
      figure('resets among consumes', { rounds: ROUNDS, consumes, resets, differing: 0 })
    },
    PATIENCE_MS,
  )

  it(
    'lets one of two owners have a key, never both',
    async () => {
      const ROUNDS = Math.round(50 * SCALE)
      const accounts = owners(8)
      for (const owner of accounts) await made(totalQuota(MAIL, owner, 1_000_000))
      let won = 0
      await inParallel(8, times(ROUNDS), async (round) => {
        const [a, b] = shuffled(accounts) as [number, number]
        const key = fresh('fought')
        const send = async (owner: number, turn: number): Promise<Answer> =>
          instance(turn).post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, key)
        const answers = await Promise.all([send(a, round), send(b, round + 1)])
        expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 1, 422: 1 })
        expect(bodyOf(answers.find(({ status }) => status === 422)!).code).toBe('idempotency_key_reused')
        won += 1
        // The key of another caller is another key.
        const other = await instance(round).send('POST', `${MAIL.usage}/consume`, {
          token: OTHER,
          key,
          body: { account_id: a, amount: 1 },
        })
        expect([other.status, other.replayed]).toEqual([200, false])
        won += 1
      })
      expect(await usedBy(MAIL, accounts)).toBe(won)
      figure('one key, two owners', { rounds: ROUNDS, 'one success and one 422': ROUNDS, both: 0 })
    },
    PATIENCE_MS,
  )

  it(
    'keeps the books while quotas are edited, deleted and restored during batches',
    async () => {
      loweredTotals = true
      const ROUNDS = 25
      const accounts = owners(12)
      const ids: number[] = []
      for (const owner of accounts) {
        ids.push(await made(totalQuota(MAIL, owner, 3_000)))
        ids.push(await made(cycleQuota(MAIL, owner, 3_000)))
      }
      const answered = new Map<string, { item: { amount: number }; operation: string }>()
      const edited: Record<string, number> = {}
      const refused: Record<string, number> = {}
      const consuming = times(6).map(async (writer) => {
        for (const round of times(ROUNDS)) {
          const items = times(60).map(() => ({
            account_id: accounts[Math.floor(Math.random() * accounts.length)]!,
            amount: 1 + Math.floor(Math.random() * 20),
            idempotency_key: fresh('batch'),
          }))
          const answer = await instance(writer + round).post(`${MAIL.usage}/consume/batch`, { items })
          expect(answer.status).toBe(200)
          resultsOf(answer).forEach((result, n) => {
            if (result.status === 200) {
              answered.set(items[n]!.idempotency_key, { item: items[n]!, operation: JSON.stringify(result.operation) })
            } else {
              expect(['quota_exceeded', 'no_active_quota']).toContain(result.problem.code)
              refused[result.problem.code] = (refused[result.problem.code] ?? 0) + 1
            }
          })
        }
      })
      const editing = times(4).map(async (writer) => {
        for (const round of times(ROUNDS * 4)) {
          const path = `${MAIL.quotas}/${ids[Math.floor(Math.random() * ids.length)]!}`
          const here = instance(writer + round)
          const [kind, answer] = await [
            async () => ['delete', await here.delete(path)] as const,
            async () => ['restore', await here.post(`${path}/restore`, undefined)] as const,
            async () => ['total', await here.put(path, { total: 2_000 + Math.floor(Math.random() * 2_000) })] as const,
            async () => ['status', await here.put(path, { status: round % 8 < 4 ? 'disabled' : 'active' })] as const,
          ][round % 4]!()
          const allowed = { delete: [204, 404], restore: [200], total: [200, 404], status: [200, 404] }[kind]
          expect(allowed).toContain(answer.status)
          edited[`${kind} ${answer.status}`] = (edited[`${kind} ${answer.status}`] ?? 0) + 1
        }
      })
      await Promise.all([...consuming, ...editing])
      const sum = [...answered.values()].reduce((total, { item }) => total + item.amount, 0)
      expect(await usedBy(MAIL, accounts)).toBe(sum)
      // Whatever has become of the quotas since, a success stays one.
      const again = [...answered.values()]
      for (let start = 0; start < again.length; start += 500) {
        const part = again.slice(start, start + 500)
        const answer = await instance(start / 500).post(`${MAIL.usage}/consume/batch`, {
          items: part.map(({ item }) => item),
        })
        resultsOf(answer).forEach((result, n) => {
          expect([result.replayed, JSON.stringify(result.operation)]).toEqual([true, part[n]!.operation])
        })
      }
      figure('edits, deletes and restores during batches', {
        consumed: answered.size,
        used: sum,
        ...refused,
        ...edited,
      })
    },
    PATIENCE_MS,
  )

  it(
    'reads on one instance what the other has just written',
    async () => {
      const PAIRS = 10 * Math.round(20 * SCALE)
      let stale = 0
      await inParallel(10, times(10), async (worker) => {
        const [owner] = owners(1) as [number]
        const id = await made(totalQuota(MAIL, owner, 1_000_000))
        let used = 0
        let version = 1
        for (const n of times(PAIRS / 10)) {
          const writer = instance(worker + n)
          const reader = instance(worker + n + 1)
          if (n % 4 === 0) {
            const total = 1_000_000 + n + 1
            expect((await writer.put(`${MAIL.quotas}/${id}`, { total })).status).toBe(200)
            version += 1
            const quota = bodyOf(await reader.get(`${MAIL.quotas}/${id}`))
            if (quota.total !== total || quota.version !== version) stale += 1
            continue
          }
          const answer = await writer.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 2 }, fresh('pair'))
          expect(answer.status).toBe(200)
          used += 2
          if (n % 4 === 1) {
            // The first of these is gathered with other owners', the second with lists of theirs, the third is the same
            // page for all.
            const [summary, list, newest] = await Promise.all(
              [`/summary/${owner}`, `?account_id=${owner}`, '?page_size=100'].map(async (path) =>
                bodyOf(await reader.get(`${MAIL.quotas}${path}`)),
              ),
            )
            const among = (items: { id: number; used: number }[]): number | undefined =>
              items.find((quota) => quota.id === id)?.used
            if (summary.used !== used || among(list.items) !== used || among(newest.items) !== used) stale += 1
          } else if (n % 4 === 2) {
            if ((await reader.get(`${MAIL.usage}/${bodyOf(answer).id}`)).text !== answer.text) stale += 1
          } else {
            const page = bodyOf(await reader.get(`${MAIL.usage}?account_id=${owner}&page_size=1`))
            if (page.items[0].id !== bodyOf(answer).id) stale += 1
          }
        }
      })
      expect(stale).toBe(0)
      figure('write, then read on the other instance', { pairs: PAIRS, stale })
    },
    PATIENCE_MS,
  )

  it(
    'replays 1,000 answers byte for byte, whatever has become of them',
    async () => {
      const accounts = owners(20)
      const quotas: number[] = []
      const answers: { path: string; body: object; key: string | undefined; first: Answer }[] = []
      const act = async (turn: number, path: string, body: object, key?: string): Promise<Answer> => {
        const first = await instance(turn).post(path, body, key)
        expect([200, 201]).toContain(first.status)
        answers.push({ path, body, key, first })
        return first
      }
      await inParallel(10, accounts, async (owner, turn) => {
        quotas.push(bodyOf(await act(turn, SMS.quotas, totalQuota(SMS, owner, 1_000_000), fresh('create'))).id)
        for (const n of times(7)) {
          const body = { user_id: owner, amount: 5 + n }
          const consumed = bodyOf(await act(turn, `${SMS.usage}/consume`, body, fresh('consume')))
          await act(turn, `${SMS.usage}/${consumed.id}/refund`, n % 2 === 0 ? { amount: 2 } : {}, fresh('refund'))
          const kept = bodyOf(await act(turn, `${SMS.usage}/reserve`, body, fresh('reserve')))
          await act(turn, `${SMS.usage}/${kept.id}/commit`, n % 2 === 0 ? { amount: 3 } : {})
          await act(turn, `${SMS.usage}/${kept.id}/refund`, { amount: 1 }, fresh('refund'))
          const released = bodyOf(await act(turn, `${SMS.usage}/reserve`, body, fresh('reserve')))
          await act(turn, `${SMS.usage}/${released.id}/release`, {})
        }
      })
      expect(answers).toHaveLength(1000)
      await inParallel(10, quotas, async (id, turn) => {
        expect((await instance(turn).put(`${SMS.quotas}/${id}`, { total: 10, status: 'disabled' })).status).toBe(200)
        if (turn % 2 === 0) expect((await instance(turn).delete(`${SMS.quotas}/${id}`)).status).toBe(204)
      })
      loweredTotals = true
      let equal = 0
      await inParallel(20, shuffled(answers), async ({ path, body, key, first }, turn) => {
        const again = await instance(turn).post(path, body, key)
        expect([again.status, again.replayed, again.text]).toEqual([first.status, true, first.text])
        equal += 1
      })
      figure('replays', { sent: answers.length, 'equal by bytes': equal })
    },
    PATIENCE_MS,
  )

  it(
    'keeps a consume of an owner that is just getting its first quota under the lock',
    async () => {
      const ROUNDS = Math.round(8 * SCALE)
      const proxy = await TcpProxy.start(database.url)
      const slow = await Instance.start(proxy.url)
      try {
        for (const _ of times(ROUNDS)) {
          const [owner] = owners(1) as [number]
          const consume = async (by: Instance): Promise<Answer> =>
            by.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, fresh('first'))
          // Between the look for the owner's row and the look for its quotas the other instance makes both;
          // between that and the update the other instance spends.
          let quotas = 0
          let spent: Promise<Answer> | undefined
          proxy.rule = async ({ text, earlier }): Promise<Fate> => {
            if (!earlier.some((statement) => statement.includes('`mail_owner`'))) return 'pass'
            if (quotas++ === 0) await made(totalQuota(MAIL, owner, 10))
            if (text.startsWith('UPDATE `mail_quota`')) {
              spent ??= consume(instance(0))
              // Under the owner's lock the other one has to wait for this very statement.
              await Promise.race([spent, sleep(200)])
            }
            return 'pass'
          }
          const mine = await consume(slow)
          proxy.rule = undefined
          const others = await (spent ?? consume(instance(0)))
          expect([200, 409]).toContain(mine.status)
          expect(others.status).toBe(200)
          expect(await usedBy(MAIL, [owner])).toBe([mine, others].filter(({ status }) => status === 200).length)
        }
      } finally {
        await slow.terminate()
        await proxy.close()
      }
      figure('consume during the first create', { rounds: ROUNDS, lost: 0 })
    },
    PATIENCE_MS,
  )
})
