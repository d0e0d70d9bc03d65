/**
 * The service on a MariaDB Galera cluster of three nodes. `npm run test:all` has two of them written to at once, and
 * takes two of them away. That one of them is killed takes minutes, so it is tried on demand alone:
 *
 *   npm run build && QUOTA_GALERA=1 npm run jest -- test/galera
 *
 * It needs mariadb-server, galera-4 and rsync. RELIABILITY_REPORT names a file for the figures, RELIABILITY_SCALE
 * lengthens the load. The time without answers is the promised one, so the machine must do nothing else meanwhile.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nothingLost, PATIENCE_MS, quorumLost, Stall, twoWriters, withQuotas } from './support/cluster.contract.js'
import { figure, SCALE } from './support/figures.js'
import { CAN_START_CLUSTER, Failover, GaleraCluster } from './support/galera.js'
import { Instance } from './support/instance.js'
import { Load } from './support/load.js'

const onCluster = CAN_START_CLUSTER ? describe : describe.skip
const ON_DEMAND = process.env['QUOTA_GALERA'] === '1'

/** What a caller may see of the end of a node, in seconds. */
const MAX_STALL = 7

onCluster('on a Galera cluster', () => {
  let cluster: GaleraCluster

  beforeAll(async () => {
    cluster = await GaleraCluster.start()
  }, PATIENCE_MS)

  afterAll(async () => {
    await cluster.stop()
  }, PATIENCE_MS)

  async function members(): Promise<string[]> {
    return Promise.all(cluster.nodes.map(async (node) => node.status('wsrep_cluster_size')))
  }

  const killed = (): void => {
    let failover: Failover
    let instances: Instance[] = []

    beforeAll(async () => {
      failover = await Failover.start(cluster)
      instances = [await Instance.start(failover.url), await Instance.start(failover.url)]
    })

    afterAll(async () => {
      const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
      await failover.close()
      expect(codes).toEqual([0, 0])
    })

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
        await nothingLost(cluster, load, accounts)
        expect(stalled).toBeLessThanOrEqual(MAX_STALL)
        expect(instances.map(({ pid }) => pid)).toEqual(pids)
      },
      PATIENCE_MS,
    )
  }
  if (ON_DEMAND) describe('with all writes to one node', killed)

  twoWriters(() => cluster)

  quorumLost(() => cluster)
})
