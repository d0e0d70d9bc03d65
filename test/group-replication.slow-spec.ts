/**
 * The service on a group of three MySQL servers, of which each may be written to, and on one with a single primary. It
 * needs MySQL 8.4 or later with its plug-in: MYSQLD and MYSQL_PLUGIN_DIR name them where they are not found.
 *
 *   npm run build && MYSQLD=/opt/mysql/bin/mysqld npm run jest -- test/group-replication
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nothingLost, PATIENCE_MS, quorumLost, Stall, twoWriters, withQuotas } from './support/cluster.contract.js'
import { figure, SCALE } from './support/figures.js'
import { Failover } from './support/galera.js'
import { CAN_START_GROUP, Group } from './support/group-replication.js'
import { Instance } from './support/instance.js'
import { Load } from './support/load.js'

const onGroup = CAN_START_GROUP ? describe : describe.skip

onGroup('on a group of MySQL servers that may all be written to', () => {
  let cluster: Group

  beforeAll(async () => {
    cluster = await Group.start('all')
  }, PATIENCE_MS)

  afterAll(async () => {
    await cluster.stop()
  }, PATIENCE_MS)

  twoWriters(() => cluster)

  it(
    'loses nothing acknowledged when the node written to is killed under load, and goes on with the next',
    async () => {
      const failover = await Failover.start(cluster)
      const instance = await Instance.start(failover.url)
      const accounts = await withQuotas(instance, 8)
      const load = new Load([instance], accounts, 1, 8)
      const share = Math.round(300 * SCALE)
      await load.reach(share)
      const place = failover.current
      const stall = new Stall(load)
      await cluster.nodes[place]!.kill()
      await load.reach(load.acknowledged.size + share)
      const stalled = stall.stop()
      expect(failover.current).not.toBe(place)
      await cluster.nodes[place]!.start()
      await load.reach(load.acknowledged.size + share)
      await load.stop()
      figure('kill -9 of the node of Group Replication written to', {
        acknowledged: load.acknowledged.size,
        'stall, s': stalled,
        ...load.counts,
      })
      expect(Object.keys(load.counts).filter((outcome) => outcome !== '200' && outcome !== '503')).toEqual([])
      await nothingLost(cluster, load, accounts)
      expect(await instance.terminate()).toBe(0)
      await failover.close()
    },
    PATIENCE_MS,
  )

  quorumLost(() => cluster)
})

onGroup('on a group of MySQL servers with one primary', () => {
  it(
    'is a single server, and goes on with the next primary without a loss',
    async () => {
      const cluster = await Group.start('one')
      const failover = await Failover.start(cluster)
      const instance = await Instance.start(failover.url)
      const accounts = await withQuotas(instance, 8)
      const edits = async (): Promise<unknown> =>
        cluster.nodes[failover.current]!.rows('SELECT SUM(edits) AS edits FROM mail_owner', cluster.database)
      const before = await edits()
      const load = new Load([instance], accounts, 1, 8)
      const share = Math.round(300 * SCALE)
      await load.reach(share)
      // On a cluster that may be written to anywhere each consume would have moved them.
      expect(await edits()).toEqual(before)

      const [primary, ...others] = cluster.nodes
      const stall = new Stall(load)
      await primary.kill()
      const known = load.acknowledged.size
      // A proxy goes where the primary is, as soon as there is one.
      const follow = setInterval(() => {
        for (const node of others) {
          node.isPrimary().then(
            (is) => {
              if (is) failover.current = cluster.nodes.indexOf(node)
            },
            () => undefined,
          )
        }
      }, 200)
      await load.reach(known + share)
      const stalled = stall.stop()
      clearInterval(follow)
      await primary.start()
      await load.reach(load.acknowledged.size + share)
      await load.stop()
      figure('kill -9 of the one primary of Group Replication', {
        acknowledged: load.acknowledged.size,
        'stall, s': stalled,
        ...load.counts,
      })
      expect(Object.keys(load.counts).filter((outcome) => outcome !== '200' && outcome !== '503')).toEqual([])
      await nothingLost(cluster, load, accounts)
      expect(await instance.terminate()).toBe(0)
      await failover.close()
      await cluster.stop()
    },
    2 * PATIENCE_MS,
  )
})
