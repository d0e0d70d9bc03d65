import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { SCALE } from './support/figures.js'
import { Instance } from './support/instance.js'
import { bodyOf, WIRES } from './support/wire.js'

const PATIENCE_MS = 600_000
/** RELIABILITY_SCALE=5 makes 50,000 of it. */
const ROWS = Math.round(10_000 * SCALE)
const QUOTAS = 100
const KILLS = 3

const onServer = HAS_SERVER ? describe : describe.skip

onServer.each(WIRES)('a change set of $channel whose instances are killed', (wire) => {
  let database: TestDatabase
  const instances: Instance[] = []

  beforeAll(async () => {
    database = await TestDatabase.open()
    // One after the other: the first migrates.
    for (let n = 0; n < 2; n += 1) instances.push(await Instance.start(database.url))
    // Rows as creates have made them, of many owners.
    const table = `${wire.channel}_quota`
    const first = bodyOf(
      await instances[0]!.post(wire.quotas, {
        [wire.owner]: 1,
        quota_type: 1,
        total: 100,
        expire_at: '2099-01-01T00:00:00Z',
      }),
    )
    const columns = 'quota_type, total, used, reserved, state, expire_at, cycle_seq, version, created_at, updated_at'
    const digits = `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ')})`
    await database.execute(
      `INSERT INTO ${table} (${wire.owner}, ${columns}) SELECT 1 + FLOOR(n.n / ${QUOTAS}), ${columns} FROM ${table} q ` +
        `CROSS JOIN (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM ${digits} a, ${digits} b, ${digits} c, ${digits} e, ${digits} f) n ` +
        `WHERE q.id = ${first.id} AND n.n > 0 AND n.n < ${ROWS}`,
    )
    await database.execute(
      `INSERT IGNORE INTO ${wire.channel}_owner (owner_id) SELECT DISTINCT ${wire.owner} FROM ${table}`,
    )
  }, PATIENCE_MS)

  const path = (id: number, more = '') => `${wire.quotas}/change-sets/${id}${more}`
  const read = async (id: number) => {
    for (const instance of instances) {
      const answer = await instance.get(path(id)).catch(() => undefined)
      if (answer?.status === 200) return bodyOf(answer)
    }
    return undefined
  }
  const settled = async (id: number) => {
    for (;;) {
      const set = await read(id)
      if (set !== undefined && !['preparing', 'applying', 'reverting'].includes(set.state)) return set
      await sleep(200)
    }
  }
  /** Kills whoever works on it, three times on the way, and starts it again. */
  const killing = async (id: number, left: 'planned' | 'applied') => {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const below = ROWS - (ROWS * kill) / (KILLS + 1)
      for (;;) {
        const set = await read(id)
        if (set !== undefined && set.counts[left] < below) break
        await sleep(20)
      }
      const victim = instances[kill % 2]!
      await victim.kill()
      await victim.start()
    }
  }

  it(
    'does each row once, as it was shown, and takes each back once',
    async () => {
      const made = bodyOf(
        await instances[0]!.post(`${wire.quotas}/change-sets`, {
          filter: { all: true },
          change: { update: { total: { add: 7 } } },
        }),
      )
      const set = await settled(made.id)
      expect(set.counts).toMatchObject({ rows: ROWS, planned: ROWS })
      // Somebody edits some of them in between.
      const [table, items] = [`${wire.channel}_quota`, `${wire.channel}_change_set_item`]
      const edited = await database.number(`SELECT COUNT(*) FROM ${table} WHERE id % 20 = 0`)
      await database.execute(`UPDATE ${table} SET total = 1, version = version + 1 WHERE id % 20 = 0`)
      await instances[0]!.post(path(made.id, '/apply'), { version: set.version, rows: set.counts.planned })
      await killing(made.id, 'planned')
      const done = await settled(made.id)
      expect(done.counts).toMatchObject({ applied: ROWS - edited, conflict: edited, planned: 0 })
      const wrong = async (condition: string) =>
        database.number(
          `SELECT COUNT(*) FROM ${items} i JOIN ${table} q ON q.id = i.quota_id WHERE i.set_id = ${made.id} AND (${condition})`,
        )
      expect(await wrong("i.outcome = 'applied' AND (q.total <> 107 OR q.version <> 2)")).toBe(0)
      expect(await wrong("i.outcome = 'conflict' AND q.total <> 1")).toBe(0)
      const changes = `${wire.channel}_change WHERE change_set_id = ${made.id}`
      expect(await database.number(`SELECT COUNT(*) FROM ${changes}`)).toBe(ROWS - edited)
      expect(await database.number(`SELECT COUNT(DISTINCT quota_id) FROM ${changes}`)).toBe(ROWS - edited)

      const kept = await database.number(`SELECT COUNT(*) FROM ${table} WHERE id % 30 = 1`)
      await database.execute(`UPDATE ${table} SET total = 2, version = version + 1 WHERE id % 30 = 1`)
      await instances[0]!.post(path(made.id, '/revert'), { version: done.version })
      await killing(made.id, 'applied')
      const back = await settled(made.id)
      expect(back.counts).toMatchObject({ reverted: ROWS - edited - kept, kept, conflict: edited, applied: 0 })
      expect(await wrong("i.outcome = 'reverted' AND (q.total <> 100 OR q.version <> 3)")).toBe(0)
      expect(await wrong("i.outcome = 'kept' AND q.total <> 2")).toBe(0)
      expect(await database.number(`SELECT COUNT(*) FROM ${changes}`)).toBe(2 * (ROWS - edited) - kept)
    },
    PATIENCE_MS,
  )
})
