/**
 * The service on a MariaDB Galera cluster of three nodes. `npm run test:faults` has two of them written to at once.
 * That one of them is killed takes minutes, so it is tried on demand alone:
 *
 *   npm run build && QUOTA_GALERA=1 npm run jest -- test/galera
 *
 * It needs mariadb-server, galera-4 and rsync. RELIABILITY_REPORT names a file for the figures, RELIABILITY_SCALE
 * lengthens the load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { audit, mailOperationsOf } from './support/audit.js'
import { figure, SCALE } from './support/figures.js'
import { CAN_START_CLUSTER, Failover, GaleraCluster, type GaleraNode } from './support/galera.js'
import { type Answer, HttpClient } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { Load } from './support/load.js'
import { bodyOf, fresh, MAIL, owners, tally, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

const onCluster = CAN_START_CLUSTER ? describe : describe.skip
const ON_DEMAND = process.env['QUOTA_GALERA'] === '1'

const PATIENCE_MS = 240_000
/** What a caller may see of the end of a node, in seconds. */
const MAX_STALL = 7

const consumePath = `${MAIL.usage}/consume`

async function withQuotas(instance: Instance, count: number): Promise<number[]> {
  const accounts = owners(count)
  for (const owner of accounts) {
    expect((await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 10_000_000))).status).toBe(201)
  }
  return accounts
}

/** Measures how long nothing was acknowledged, in seconds. */
class Stall {
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

onCluster('on a Galera cluster', () => {
  let cluster: GaleraCluster
  let client: HttpClient

  beforeAll(async () => {
    client = new HttpClient()
    cluster = await GaleraCluster.start()
  }, PATIENCE_MS)

  afterAll(async () => {
    client.close()
    await cluster.stop()
  }, PATIENCE_MS)

  /** A node as the one to be asked about the service's tables. */
  function tables(node: GaleraNode) {
    return {
      rows: async <T extends object = Record<string, unknown>>(sql: string) => node.rows<T>(sql, cluster.database),
    }
  }

  /** Every acknowledged operation is there, once, and nothing else is; on every node. */
  async function nothingLost(load: Load, accounts: readonly number[]): Promise<void> {
    for (const node of cluster.nodes) {
      const { rows } = tables(node)
      const of = `account_id IN (${accounts.join()})`
      const stored = new Set((await rows<{ id: string }>(mailOperationsOf(accounts))).map(({ id }) => id))
      expect([...load.acknowledged.values()].filter((id) => !stored.has(id))).toEqual([])
      expect(stored.size).toBe(load.acknowledged.size)
      const [sum] = await rows<{ used: number }>(`SELECT SUM(used) AS used FROM mail_quota WHERE ${of}`)
      expect(Number(sum?.used)).toBe(load.acknowledged.size)
      expect(await audit(tables(node))).toEqual([])
      expect(await verified(node.url(cluster.database))).toEqual([])
    }
  }

  async function members(): Promise<string[]> {
    return Promise.all(cluster.nodes.map(async (node) => node.status('wsrep_cluster_size')))
  }

  const killed = (): void => {
    let failover: Failover
    let instances: Instance[] = []

    beforeAll(async () => {
      failover = await Failover.start(cluster)
      instances = [await Instance.start(failover.url, client), await Instance.start(failover.url, client)]
    }, 90_000)

    afterAll(async () => {
      const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
      await failover.close()
      expect(codes).toEqual([0, 0])
    }, 60_000)

    it.each([1, 2, 3])(
      'loses nothing acknowledged when that node is killed under load, and goes on with the next (%i)',
      async (round) => {
        const pids = instances.map(({ pid }) => pid)
        const accounts = await withQuotas(instances[0]!, 40)
        const load = new Load(instances, accounts, 1, 24)
        const share = Math.round(1_500 * SCALE)
        await load.reach(share)
        const place = failover.current
        const node = cluster.nodes[place]!
        const killed = performance.now()
        const before = load.acknowledged.size
        const stall = new Stall(load)
        await node.kill()
        await load.reach(before + share)
        const stalled = stall.stop()
        expect(failover.current).not.toBe(place)

        const rejoining = new Stall(load)
        const started = performance.now()
        await node.start()
        const rejoined = (performance.now() - started) / 1000
        await load.reach(load.acknowledged.size + share)
        const stalledAgain = rejoining.stop()
        await load.stop()

        figure(`kill -9 of the Galera node written to (${round})`, {
          acknowledged: load.acknowledged.size,
          'stall, s': stalled,
          'rejoined after s': rejoined.toFixed(1),
          'stall while it rejoined, s': stalledAgain,
          'from the end to its return, s': ((performance.now() - killed) / 1000).toFixed(1),
          ...load.counts,
        })
        expect(Object.keys(load.counts).filter((outcome) => outcome !== '200' && outcome !== '503')).toEqual([])
        expect(await members()).toEqual(['3', '3', '3'])
        await nothingLost(load, accounts)
        expect(stalled).toBeLessThanOrEqual(MAX_STALL)
        expect(instances.map(({ pid }) => pid)).toEqual(pids)
      },
      PATIENCE_MS,
    )
  }
  if (ON_DEMAND) describe('with all writes to one node', killed)

  describe('with writers on two nodes at once', () => {
    let instances: Instance[] = []

    beforeAll(async () => {
      const [first, second] = cluster.nodes
      instances = [
        await Instance.start(first.url(cluster.database), client),
        await Instance.start(second.url(cluster.database), client),
      ]
    }, 90_000)

    afterAll(async () => {
      const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
      expect(codes).toEqual([0, 0])
    }, 60_000)

    /** Transactions that lost against one of another node, at COMMIT or before. */
    async function collisions(): Promise<number> {
      return (await cluster.sum('wsrep_local_cert_failures')) + (await cluster.sum('wsrep_local_bf_aborts'))
    }

    /** Sends until there is an answer that is not 503, to the one and the other by turns. */
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
        const before = await collisions()
        const load = new Load(instances, accounts, 1, 24)
        await load.reach(Math.round(4_000 * SCALE))
        await load.stop()
        const collided = (await collisions()) - before
        figure('two Galera nodes written to', { acknowledged: load.acknowledged.size, collided, ...load.counts })
        await nothingLost(load, accounts)
        // Otherwise the nodes had nothing to disagree about.
        expect(collided).toBeGreaterThan(20)
      },
      PATIENCE_MS,
    )

    it(
      'never overdraws a quota that both drain',
      async () => {
        const ROUNDS = 100
        const before = await collisions()
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
        expect(await audit(tables(cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
        figure('drained over two Galera nodes', { rounds: ROUNDS, collided: (await collisions()) - before })
      },
      PATIENCE_MS,
    )

    it(
      'keeps counters and holds while both reserve, settle, consume and edit',
      async () => {
        const [owner] = owners(1) as [number]
        const id = bodyOf(await instances[0]!.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))).id
        const before = await collisions()
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
        expect(await audit(tables(cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
        figure('all kinds of writes to two Galera nodes', { used, collided: (await collisions()) - before })
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
        expect(await audit(tables(cluster.nodes[2]))).toEqual([])
        expect(await verified(cluster.nodes[2].url(cluster.database))).toEqual([])
      },
      PATIENCE_MS,
    )
  })
})
