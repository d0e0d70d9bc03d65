/**
 * Groups under load: 64 callers over two instances, 10,000 members, who move meanwhile; instances and the database are
 * killed. On a server of the suite's own; where TEST_DATABASE_URL names a MySQL, on that one, whose sessions are ended
 * instead:
 *
 *   npm run build && TEST_DATABASE_URL=mysql://root@127.0.0.1:3306/ npm run jest -- test/groups-scale
 *
 * RELIABILITY_SCALE lengthens it.
 */
import { describe, expect, it } from '@jest/globals'
import { audit } from './support/audit.js'
import { CAN_START_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { GroupLoad } from './support/group-load.js'
import { Instance } from './support/instance.js'
import { type StoreKind, STORES } from './support/store.js'
import { verified } from './support/verify.js'

/** Only ends a test that hangs: a busy machine may need ten times as long as an idle one. */
const PATIENCE_MS = 900_000 * Math.max(1, SCALE)
const ON_MYSQL = STORES.some(({ name }) => name === 'MySQL')
const onServer = CAN_START_SERVER || ON_MYSQL ? describe : describe.skip

onServer('10,000 members of a group, on a server', () => {
  /** Kills the server; on one that belongs to somebody else, ends the sessions of the database in whatever they do. */
  async function crash(database: TestDatabase): Promise<void> {
    if (!ON_MYSQL) {
      await database.server.kill()
      await database.server.start()
      return
    }
    const own = await database.number('SELECT CONNECTION_ID()')
    const sessions = await database.rows<{ id: number }>(
      'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> ?',
      [own],
    )
    for (const { id } of sessions) await database.execute('KILL ?', [id]).catch(() => undefined)
  }

  it(
    'are never granted more than was allowed, and lose nothing, whoever is killed',
    async () => {
      const database = await TestDatabase.open({ own: !ON_MYSQL })
      const instances = await Promise.all([Instance.start(database.url), Instance.start(database.url)])
      const load = await GroupLoad.prepare(instances, SCALE)
      load.start()
      for (const [n, instance] of instances.entries()) {
        await load.reach(0.2 + 0.4 * n)
        await instance.kill()
        await load.reach(0.25 + 0.4 * n)
        await instance.start()
        await load.reach(0.35 + 0.4 * n)
        await crash(database)
      }
      await load.end()
      await load.verify()
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      figure('10,000 members of a group, two instances', load.figures)
      expect(await Promise.all(instances.map(async (instance) => instance.terminate()))).toEqual([0, 0])
      await database.drop()
    },
    PATIENCE_MS,
  )
})

it(
  '10,000 members of a group, on SQLite, are never granted more than was allowed, and lose nothing when the instance is killed',
  async () => {
    const [sqlite] = STORES as [StoreKind]
    const store = await sqlite.open()
    const instance = await Instance.start(store.url)
    const load = await GroupLoad.prepare([instance], SCALE / 10)
    load.start()
    await load.reach(0.5)
    await instance.kill()
    await instance.start()
    await load.end()
    await load.verify()
    figure('10,000 members of a group, SQLite', load.figures)
    expect(await instance.terminate()).toBe(0)
    expect(await verified(store.url)).toEqual([])
    await store.drop()
  },
  PATIENCE_MS,
)
