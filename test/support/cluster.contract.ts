import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { audit, mailOperationsOf } from './audit.js'
import type { TestDatabase } from './database.js'
import { figure, SCALE } from './figures.js'
import { GroupLoad } from './group-load.js'
import type { Answer } from './http-client.js'
import { Instance } from './instance.js'
import { Load } from './load.js'
import { verified } from './verify.js'
import { bodyOf, fresh, MAIL, owners, tally, times, totalQuota } from './wire.js'

/** One server of a cluster. */
export interface ClusterNode {
  readonly port: number
  /** The URL of a database, which it does not create. */
  url(database?: string): string
  /** The rows committed anywhere in the cluster at this moment, as this node sees them. */
  rows<T extends object = Record<string, unknown>>(sql: string, database?: string): Promise<T[]>
  /** Crashes it. */
  kill(): Promise<void>
  /** Starts it again after a crash, and waits until it is synchronized. */
  start(): Promise<void>
}

/** Three servers that commit together. */
export interface Cluster {
  /** For figures. */
  readonly kind: string
  readonly nodes: readonly [ClusterNode, ClusterNode, ClusterNode]
  readonly database: string
  /** The number of transactions that lost a conflict with another node so far, at COMMIT or before. */
  collisions(): Promise<number>
  /** Does what an operator does if only the first node is left, and must continue. */
  goOnAlone(): Promise<void>
}

export const PATIENCE_MS = 240_000

const consumePath = `${MAIL.usage}/consume`

export async function withQuotas(instance: Instance, count: number): Promise<number[]> {
  const accounts = owners(count)
  for (const owner of accounts) {
    expect((await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 10_000_000))).status).toBe(201)
  }
  return accounts
}

/** A node, for queries on the service's tables. */
export function tables(cluster: Cluster, node: ClusterNode): Pick<TestDatabase, 'rows'> {
  return {
    rows: async <T extends object = Record<string, unknown>>(sql: string) => node.rows<T>(sql, cluster.database),
  }
}

/** Every acknowledged operation exists, once, and no other does; on every node. */
export async function nothingLost(cluster: Cluster, load: Load, accounts: readonly number[]): Promise<void> {
  for (const node of cluster.nodes) {
    const { rows } = tables(cluster, node)
    const of = `account_id IN (${accounts.join()})`
    const stored = new Set((await rows<{ id: string }>(mailOperationsOf(accounts))).map(({ id }) => id))
    expect([...load.acknowledged.values()].filter((id) => !stored.has(id))).toEqual([])
    expect(stored.size).toBe(load.acknowledged.size)
    const [sum] = await rows<{ used: number }>(`SELECT SUM(used) AS used FROM mail_quota WHERE ${of}`)
    expect(Number(sum?.used)).toBe(load.acknowledged.size)
    expect(await audit(tables(cluster, node))).toEqual([])
    expect(await verified(node.url(cluster.database))).toEqual([])
  }
}

/** Measures the longest time without an acknowledgement, in seconds. */
export class Stall {
  longest = 0
  private readonly timer: NodeJS.Timeout

  constructor(load: Load) {
    let known = load.acknowledged.size
    let since = performance.now()
    this.timer = setInterval(() => {
      const now = performance.now()
      if (load.acknowledged.size > known) {
        known = load.acknowledged.size
        since = now
      }
      this.longest = Math.max(this.longest, (now - since) / 1000)
    }, 10)
  }

  stop(): number {
    clearInterval(this.timer)
    return Math.round(this.longest * 100) / 100
  }
}

/** Two instances, each on its own node, that spend from the same quotas. */
export function twoWriters(started: () => Cluster): void {
  describe('with writers on two nodes at once', () => {
    let cluster: Cluster
    let instances: Instance[] = []

    beforeAll(async () => {
      cluster = started()
      const [first, second] = cluster.nodes
      instances = [
        await Instance.start(first.url(cluster.database)),
        await Instance.start(second.url(cluster.database)),
      ]
    }, 90_000)

    afterAll(async () => {
      const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
      expect(codes).toEqual([0, 0])
    }, 60_000)

    /** Sends to both in turn until there is an answer other than 503. */
    async function persist(n: number, send: (instance: Instance) => Promise<Answer>): Promise<Answer> {
      for (let attempt = 0; attempt < 200; attempt += 1) {
        const answer = await send(instances[(n + attempt) % 2]!)
        if (answer.status !== 503) return answer
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
        await sleep(50)
      }
      throw new Error('never answered')
    }

    it(
      'keeps the sum of what both consume from the same quotas',
      async () => {
        const accounts = await withQuotas(instances[0]!, 4)
        const before = await cluster.collisions()
        const load = new Load(instances, accounts, 1, 24)
        await load.reach(Math.round(4_000 * SCALE))
        await load.stop()
        const collided = (await cluster.collisions()) - before
        figure(`two nodes of ${cluster.kind} written to`, {
          acknowledged: load.acknowledged.size,
          collided,
          ...load.counts,
        })
        await nothingLost(cluster, load, accounts)
        // Otherwise the nodes had no conflicts.
        expect(collided).toBeGreaterThan(20)
      },
      PATIENCE_MS,
    )

    it(
      'grants members of a group no more than was allowed, and loses nothing, whoever is killed',
      async () => {
        const [first, second] = cluster.nodes
        const load = await GroupLoad.prepare(instances, SCALE / 4)
        load.start()
        await load.reach(0.3)
        await instances[1]!.kill()
        await instances[1]!.start()
        await load.reach(0.5)
        await second.kill()
        await second.start()
        await load.end()
        // From now on, the first node has what the second one has committed.
        await first.rows('SELECT 1')
        await load.verify()
        figure(`10,000 members of a group, two nodes of ${cluster.kind}`, load.figures)
        for (const node of cluster.nodes) {
          expect(await audit(tables(cluster, node))).toEqual([])
          expect(await verified(node.url(cluster.database))).toEqual([])
        }
      },
      PATIENCE_MS,
    )

    it(
      'never overdraws a quota that both drain',
      async () => {
        const ROUNDS = Math.round(25 * SCALE)
        const before = await cluster.collisions()
        for (let round = 0; round < ROUNDS; round += 1) {
          const [owner] = owners(1) as [number]
          const id = bodyOf(await instances[0]!.post(MAIL.quotas, totalQuota(MAIL, owner, 10))).id
          const answers = await Promise.all(
            times(100).map(async (n) => {
              const key = fresh('drain')
              return persist(n, (instance) => instance.post(consumePath, { account_id: owner, amount: 1 }, key))
            }),
          )
          expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 10, 409: 90 })
          expect(bodyOf(await instances[1]!.get(`${MAIL.quotas}/${id}`)).used).toBe(10)
        }
        expect(await audit(tables(cluster, cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
        figure(`drained over two nodes of ${cluster.kind}`, {
          rounds: ROUNDS,
          collided: (await cluster.collisions()) - before,
        })
      },
      PATIENCE_MS,
    )

    it(
      'deletes no group that gets members or groups below, and makes no circle and no fourth level',
      async () => {
        const groups = `${MAIL.quotas}/groups`
        const send = async (n: number, by: (instance: Instance) => Promise<Answer>): Promise<number> =>
          (await persist(n, by)).status
        const group = async (parent_id: number | null = null): Promise<number> => {
          const name = fresh('group')
          return bodyOf(await persist(0, (instance) => instance.post(groups, { name, parent_id }, name))).id
        }
        const under = (n: number, id: number, parent_id: number): Promise<number> =>
          send(n, (instance) => instance.put(`${groups}/${id}`, { parent_id }))
        const ROUNDS = Math.round(40 * SCALE)
        const outcomes: string[] = []
        for (let round = 0; round < ROUNDS; round += 1) {
          const [first, second] = [round % 2, (round + 1) % 2]
          const [left, above, one, two, top, middle] = (await Promise.all(
            times(6).map(async (n) => group(n === 5 ? await group() : null)),
          )) as [number, number, number, number, number, number]
          const account_ids = owners(3)
          const remove = (n: number, id: number) => send(n, (instance) => instance.delete(`${groups}/${id}`))
          const raced = [
            [send(first, (i) => i.post(`${groups}/${left}/members`, { account_ids })), remove(second, left)],
            [send(first, (i) => i.post(groups, { name: fresh('below'), parent_id: above })), remove(second, above)],
            [under(first, one, two), under(second, two, one)],
            [send(first, (i) => i.post(groups, { name: fresh('low'), parent_id: middle })), under(second, top, two)],
          ]
          for (const race of raced) outcomes.push((await Promise.all(race)).join())
        }
        const { rows } = tables(cluster, cluster.nodes[2])
        const levels = times(3).map((n) => `JOIN mail_group g${n + 1} ON g${n + 1}.id = g${n}.parent_id`)
        for (const wrong of [
          'mail_owner o JOIN mail_group g ON g.id = o.group_id AND g.deleted_at IS NOT NULL',
          'mail_group g JOIN mail_group p ON p.id = g.parent_id AND p.deleted_at IS NOT NULL WHERE g.deleted_at IS NULL',
          'mail_group g JOIN mail_group p ON p.id = g.parent_id AND g.id = p.parent_id',
          `mail_group g0 ${levels.join(' ')}`,
        ])
          expect([wrong, await rows(`SELECT * FROM ${wrong}`)]).toEqual([wrong, []])
        figure(`changes of groups that exclude each other, on two nodes of ${cluster.kind}`, tally(outcomes))
      },
      PATIENCE_MS,
    )

    it(
      'keeps counters and holds while both reserve, settle, consume and edit',
      async () => {
        const [owner] = owners(1) as [number]
        const id = bodyOf(await instances[0]!.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))).id
        const before = await cluster.collisions()
        let used = 0
        await Promise.all(
          times(24).map(async (caller) => {
            for (const round of times(20)) {
              const n = caller + round
              const [first, second] = [fresh('mixed'), fresh('mixed')]
              const body = { account_id: owner, amount: 3 }
              const held = await persist(n, (instance) => instance.post(`${MAIL.usage}/reserve`, body, first))
              expect(held.status).toBe(201)
              const settling = `${MAIL.usage}/${bodyOf(held).id}/${n % 3 === 0 ? 'release' : 'commit'}`
              const settled = await persist(n + 1, (instance) => instance.post(settling, {}))
              expect(settled.status).toBe(200)
              const consumed = await persist(n, (instance) => instance.post(consumePath, body, second))
              expect(consumed.status).toBe(200)
              const edit = { total: 1_000_000 + 100 * caller + round }
              if (round % 5 === 0) {
                const edited = await persist(n, (instance) => instance.put(`${MAIL.quotas}/${id}`, edit))
                expect(edited.status).toBe(200)
              }
              used += n % 3 === 0 ? 3 : 6
            }
          }),
        )
        const quota = bodyOf(await instances[1]!.get(`${MAIL.quotas}/${id}`))
        expect([quota.used, quota.reserved]).toEqual([used, 0])
        expect(await audit(tables(cluster, cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
        figure(`all kinds of writes to two nodes of ${cluster.kind}`, {
          used,
          collided: (await cluster.collisions()) - before,
        })
      },
      PATIENCE_MS,
    )

    it(
      'keeps the sum while both refund the same operations, in parts',
      async () => {
        const OPERATIONS = 40
        const [owner] = await withQuotas(instances[0]!, 1)
        const ids: string[] = []
        for (const n of times(OPERATIONS)) {
          const answer = await instances[n % 2]!.post(consumePath, { account_id: owner, amount: 10 }, fresh('refunded'))
          ids.push(bodyOf(answer).id)
        }
        const statuses = await Promise.all(
          ids.flatMap((id, place) =>
            times(12).map(async (n) => {
              const key = fresh('refund')
              const send = (instance: Instance) => instance.post(`${MAIL.usage}/${id}/refund`, { amount: 1 }, key)
              return (await persist(place + n, send)).status
            }),
          ),
        )
        // Ten units each: two of twelve refunds find nothing left.
        expect(tally(statuses)).toEqual({ 200: OPERATIONS * 10, 409: OPERATIONS * 2 })
        expect(await audit(tables(cluster, cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
      },
      PATIENCE_MS,
    )
  })
}

/** Two of the three nodes die: the third must refuse everything, and nothing may be lost when it continues. */
export function quorumLost(started: () => Cluster): void {
  describe('with two of three nodes gone', () => {
    it(
      'answers 503 and nothing else, and loses nothing when the last one goes on and the others are back',
      async () => {
        const cluster = started()
        const [last, ...others] = cluster.nodes
        const instance = await Instance.start(last.url(cluster.database))
        const accounts = await withQuotas(instance, 8)
        const load = new Load([instance], accounts, 1, 8)
        await load.reach(Math.round(300 * SCALE))
        const gone = performance.now()
        await Promise.all(others.map(async (node) => node.kill()))

        // Until the cluster expels the dead nodes, writers wait for them.
        const probe = { account_id: accounts[0], amount: 1 }
        const extra = fresh('quorum')
        const said: number[] = []
        while (said.slice(-5).filter((status) => status === 503).length < 5) {
          const answer = await instance.post(consumePath, probe, extra)
          expect([200, 503]).toContain(answer.status)
          if (answer.status === 503) expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
          said.push(answer.status)
          await sleep(100)
        }
        const refusing = (performance.now() - gone) / 1000
        expect((await instance.get('/health/ready')).status).toBe(503)
        expect((await instance.get(`${MAIL.quotas}/summary/${accounts[0]}`)).status).toBe(503)
        const known = load.acknowledged.size
        await sleep(2_000)
        expect(load.acknowledged.size).toBe(known)

        const decided = performance.now()
        await cluster.goOnAlone()
        await load.reach(known + Math.round(300 * SCALE))
        const serving = (performance.now() - decided) / 1000
        for (const node of others) await node.start()
        await load.reach(load.acknowledged.size + Math.round(300 * SCALE))
        await load.stop()
        const answer = await instance.post(consumePath, probe, extra)
        expect(answer.status).toBe(200)
        load.acknowledged.set(extra, bodyOf(answer).id)
        expect(Object.keys(load.counts).filter((outcome) => outcome !== '200' && outcome !== '503')).toEqual([])
        await nothingLost(cluster, load, accounts)
        figure(`quorum of ${cluster.kind} lost`, {
          'refusing after s': refusing.toFixed(1),
          'serving again after s': serving.toFixed(1),
          acknowledged: load.acknowledged.size,
          ...load.counts,
        })
        expect(await instance.terminate()).toBe(0)
      },
      PATIENCE_MS,
    )
  })
}
