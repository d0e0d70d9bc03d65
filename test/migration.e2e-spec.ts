import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { Callers1795700000000 } from '../src/database/migrations/1795700000000-callers.js'
import { NewChannelMigration, UP_TO_NAMES } from '../src/database/migrations/new-channel-migration.js'
import { migrate } from '../src/database/migrate.js'
import { ENTITIES } from '../src/entities.js'
import { onEveryStore, type Store } from './support/store.js'

const DAY_MS = 86_400_000

/** A channel that limits users, as SMS does. */
class Trial extends NewChannelMigration {
  constructor() {
    super({ prefix: 'trial', ownerColumn: 'user_id' }, UP_TO_NAMES)
  }
}

/** A table's name, its definition and its rows. */
type WrittenTable = [table: string, made: unknown[], rows: unknown[]]

onEveryStore('migrations', (kind) => {
  let store: Store
  let dataSource: DataSource

  beforeAll(async () => {
    store = await kind.openEmpty()
    // Several instances starting together: each finds the schema in place when it is done.
    await Promise.all([1, 2, 3].map(async () => migrate(store.config, ENTITIES)))
    dataSource = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'migration')).initialize()
  })

  afterAll(async () => {
    await dataSource.destroy()
    await store.drop()
  })

  it('result in a schema that equals the entities', async () => {
    if (kind.name === 'SQLite') {
      // SQLite generates ids for a column of type INTEGER alone, which holds 64 bits there; the entities say BIGINT for
      // the servers' sake.
      for (const { columns } of dataSource.entityMetadatas)
        for (const column of columns) if (column.isGenerated) column.type = 'integer'
    }
    const difference = await dataSource.driver.createSchemaBuilder().log()
    expect(difference.upQueries.map(({ query }) => query)).toEqual([])
  })

  it('result in the template of the suites’ own stores', async () => {
    const copy = await kind.open()
    const other = await new DataSource(dataSourceOptions(copy.config, ENTITIES, 'migration')).initialize()
    try {
      expect(await written(other)).toEqual(await written(dataSource))
    } finally {
      await other.destroy()
      await copy.drop()
    }
  })

  /** Every table as the store tells it, with its rows, but for the name of the database. */
  async function written(source: DataSource): Promise<WrittenTable[]> {
    const tables: Record<string, string>[] = await source.query(
      kind.name === 'SQLite' ? "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name" : 'SHOW TABLES',
    )
    const told: WrittenTable[] = []
    for (const [table = ''] of tables.map((row) => Object.values(row))) {
      const made: unknown[] = await source.query(
        kind.name === 'SQLite'
          ? `SELECT sql FROM sqlite_master WHERE tbl_name = '${table}' ORDER BY name`
          : `SHOW CREATE TABLE ${table}`,
      )
      const rows: Record<string, unknown>[] = await source.query(`SELECT * FROM ${table}`)
      told.push([
        table,
        made,
        rows.map((row) => Object.values(row).filter((value) => value !== source.options.database)),
      ])
    }
    return told
  }

  it('give a new channel the tables of the others, and remove them', async () => {
    const runner = dataSource.createQueryRunner()
    // The second time as after a process that was killed before it had written down that this ran.
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await new Trial().up(runner)
      expect(await tablesOf('trial')).toEqual(await tablesOf('sms'))
    }
    await new Trial().down(runner)
    await runner.release()
    expect(JSON.stringify(await written(dataSource))).not.toContain('trial')
  })

  /** A channel's sixteen tables without what depends on its name; indexes and checks are named by a hash of it. */
  async function tablesOf(prefix: string): Promise<string[][]> {
    const tables = (await written(dataSource)).filter(([table]) => table.startsWith(`${prefix}_`))
    expect(tables).toHaveLength(16)
    return tables.map((table) =>
      table
        .flat()
        .map((part) => JSON.stringify(part).replaceAll(`${prefix}_`, ''))
        .map((part) => part.replace(/(IDX|CHK|UQ)_[0-9a-f]+| AUTO_INCREMENT=\d+/g, '$1'))
        .sort(),
    )
  }

  it('run once, however many instances start together', async () => {
    const rows: unknown[] = await dataSource.query('SELECT name FROM schema_migration')
    expect(rows).toHaveLength(dataSource.migrations.length)
    expect(await dataSource.showMigrations()).toBe(false)
  })

  it('can be reverted and run again', async () => {
    await dataSource.undoLastMigration({ transaction: 'none' })
    expect(await dataSource.showMigrations()).toBe(true)
    await dataSource.runMigrations({ transaction: 'none' })
    expect(await dataSource.showMigrations()).toBe(false)
  })

  it('find the callers of the last days, by bytes', async () => {
    const act = async (caller: string, kind: string, agoMs: number) => {
      const at = new Date(Date.now() - agoMs)
      const hex = at.getTime().toString(16).padStart(12, '0')
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}${randomUUID().slice(13)}`
      await dataSource.query(
        "INSERT INTO mail_act (id, kind, owner_id, caller, request, answer, request_id, at) VALUES (?, ?, 1, ?, '', '', '', ?)",
        [id, kind, caller, at.toISOString().slice(0, 23).replace('T', ' ')],
      )
    }
    await act('mailer', 'consume', 20 * DAY_MS)
    await act('mailer', 'reserve', 5 * DAY_MS)
    await act('Mailer', 'refund', 30 * DAY_MS)
    await act('office', 'create', DAY_MS)
    await act('retired', 'consume', 40 * DAY_MS)
    const runner = dataSource.createQueryRunner()
    const migration = new Callers1795700000000()
    await migration.down(runner)
    await migration.up(runner)
    await migration.up(runner)
    await runner.release()
    const rows: { id: string; spent_at: string }[] = await dataSource.query(
      'SELECT id, spent_at FROM mail_caller ORDER BY id',
    )
    expect(rows.map(({ id }) => id)).toEqual(['Mailer', 'mailer'])
    expect(String(rows[1]?.spent_at).slice(0, 10)).toBe(new Date(Date.now() - 5 * DAY_MS).toISOString().slice(0, 10))
    await dataSource.query('DELETE FROM mail_act')
  })

  it('continue where a killed process stopped', async () => {
    await dataSource.query('DROP TABLE sms_change')
    await dataSource.query('DROP TABLE mail_hold')
    await dataSource.query('DELETE FROM schema_migration')
    await migrate(store.config, ENTITIES)
    const difference = await dataSource.driver.createSchemaBuilder().log()
    expect(difference.upQueries.map(({ query }) => query)).toEqual([])
  })

  if (kind.name !== 'SQLite') {
    it('prevent counters below zero in the database itself', async () => {
      await dataSource.query(
        "INSERT INTO mail_quota (quota_type, total, state, created_at, updated_at, account_id) VALUES (1, 1, 'active', NOW(3), NOW(3), 1)",
      )
      await expect(dataSource.query('UPDATE mail_quota SET used = -1')).rejects.toThrow(/constraint/i)
    })
  }
})
