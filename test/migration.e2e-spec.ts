import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { createChannel, dropChannel } from '../src/database/migrations/1796000000000-baseline.js'
import { migrate, migrateBack, migrationStates } from '../src/database/migrate.js'
import { ENTITIES } from '../src/entities.js'
import { ACT_KINDS } from '../src/ledger/rows/act.entity.js'
import { CHANGE_ACTIONS } from '../src/ledger/rows/change.entity.js'
import { CYCLE_UNITS } from '../src/domain/cycle.js'
import { SETTING_NAMES } from '../src/domain/settings.js'
import { alwaysOnEveryStore, type Store } from './support/store.js'

/** A channel that limits users, as SMS does. */
const TRIAL = { prefix: 'trial', ownerColumn: 'user_id' }

/** A default that equates much, and one that holds few characters. */
const DEFAULTS = ['latin1', 'latin2', 'ascii', 'binary', 'utf16', 'utf8mb4 COLLATE utf8mb4_general_ci']

/** A table's name, its definition and its rows. */
type WrittenTable = [table: string, made: unknown[], rows: unknown[]]

alwaysOnEveryStore('migrations', (kind) => {
  let store: Store
  let dataSource: DataSource

  beforeAll(async () => {
    store = await kind.openEmpty()
    // Several instances starting together: each finds the schema in place when it is done.
    await Promise.all([1, 2, 3].map(async () => migrate(store.config, ENTITIES)))
    const options = dataSourceOptions(store.config, ENTITIES, 'migration')
    // TypeORM compares the schema of a MySQL only under its own name.
    dataSource = await new DataSource(
      kind.name === 'MySQL' && options.type === 'mariadb' ? { ...options, type: 'mysql' } : options,
    ).initialize()
  })

  afterAll(async () => {
    await dataSource.destroy()
  })

  it('result in a schema that equals the entities', async () => {
    if (kind.name === 'SQLite') {
      // SQLite generates ids for a column of type INTEGER alone, which holds 64 bits there; the entities say BIGINT for
      // the servers' sake.
      for (const { columns } of dataSource.entityMetadatas)
        for (const column of columns) if (column.isGenerated) column.type = 'integer'
    } else {
      // Their bytes are BINARY(16), which TypeORM does not know on SQLite.
      for (const { columns } of dataSource.entityMetadatas)
        for (const column of columns)
          if (column.type === 'blob') Object.assign(column, { type: 'binary', length: '16' })
    }
    expect(await differences()).toEqual([])
  })

  async function differences(): Promise<string[]> {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
    return upQueries.map(({ query }) => query)
  }

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
      kind.name === 'SQLite'
        ? "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        : "SHOW FULL TABLES WHERE table_type = 'BASE TABLE'",
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
        // MySQL leaves out a character set that a column has from its table, until a text names it.
        made.map((row) => JSON.parse(JSON.stringify(row).replaceAll(' CHARACTER SET utf8mb4 COLLATE', ' COLLATE'))),
        rows.map((row) => Object.values(row).filter((value) => value !== source.options.database)),
      ])
    }
    return told
  }

  it('give a new channel the tables of the others, and remove them', async () => {
    const runner = dataSource.createQueryRunner()
    // The second time as after a process that was killed before it had written down that this ran.
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await createChannel(runner, TRIAL)
      expect(await tablesOf('trial')).toEqual(await tablesOf('sms'))
    }
    await dropChannel(runner, TRIAL)
    await runner.release()
    expect(JSON.stringify(await written(dataSource))).not.toContain('trial')
  })

  /** A channel's sixteen tables without what depends on its name; indexes and checks are named by a hash of it. */
  async function tablesOf(prefix: string): Promise<string[][]> {
    const tables = (await written(dataSource)).filter(([table]) => table.startsWith(`${prefix}_`))
    expect(tables).toHaveLength(18)
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

  it('continue where a killed process stopped', async () => {
    await dataSource.query('DROP TABLE sms_change')
    await dataSource.query('DROP TABLE mail_hold')
    await dataSource.query('DELETE FROM schema_migration')
    await migrate(store.config, ENTITIES)
    expect(await differences()).toEqual([])
  })

  it('refuse a database that an earlier version made, and change nothing in it', async () => {
    const earlier = await kind.openEmpty()
    const source = await new DataSource(dataSourceOptions(earlier.config, [], 'migration')).initialize()
    try {
      await source.query('CREATE TABLE schema_migration (id int PRIMARY KEY, timestamp bigint, name varchar(255))')
      await source.query("INSERT INTO schema_migration VALUES (1, 1790000000000, 'Ledger1790000000000')")
      for (const use of [migrate, migrateBack, migrationStates])
        await expect(use(earlier.config, ENTITIES)).rejects.toThrow(
          'it was made by a version before 1.0.0 (Ledger1790000000000), whose data this version cannot use',
        )
      expect(await source.query('SELECT name FROM schema_migration')).toHaveLength(1)
    } finally {
      await source.destroy()
      await earlier.drop()
    }
  })

  if (kind.name !== 'SQLite') {
    it.each(DEFAULTS)(
      'name every character set and collation, so that a default of %s changes nothing',
      async (text) => {
        const other = await kind.openEmpty()
        const source = await new DataSource(dataSourceOptions(other.config, ENTITIES, 'migration')).initialize()
        try {
          await source.query(`ALTER DATABASE CHARACTER SET ${text}`)
          await migrate(other.config, ENTITIES)
          const tables: unknown[] = await source.query(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_collation <> 'utf8mb4_bin'",
          )
          expect(tables).toEqual([])
          const columns: Record<'place' | 'collation', string>[] = await source.query(
            "SELECT CONCAT(table_name, '.', column_name) AS place, collation_name AS collation FROM information_schema.columns " +
              'WHERE table_schema = DATABASE() AND collation_name IS NOT NULL',
          )
          const found = new Map(columns.map(({ place, collation }) => [place, collation]))
          expect(columns.filter(({ collation }) => !['ascii_bin', 'utf8mb4_bin'].includes(collation))).toEqual([])
          for (const { tableName, columns: ofEntity } of source.entityMetadatas)
            for (const { databaseName, collation } of ofEntity)
              expect([tableName, databaseName, found.get(`${tableName}.${databaseName}`)]).toEqual([
                tableName,
                databaseName,
                collation,
              ])
        } finally {
          await source.destroy()
          await other.drop()
        }
      },
    )

    it('have room for every word of a list', async () => {
      const columns: { place: string; length: number | string }[] = await dataSource.query(
        "SELECT CONCAT(table_name, '.', column_name) AS place, character_maximum_length AS length FROM information_schema.columns " +
          'WHERE table_schema = DATABASE() AND character_maximum_length IS NOT NULL',
      )
      for (const [column, words] of [
        ['act.kind', ACT_KINDS],
        ['change.action', CHANGE_ACTIONS],
        ['quota.cycle_unit', CYCLE_UNITS],
        ['quota.overrides', [SETTING_NAMES.join(' ').replace('status', 'status:disabled')]],
      ] as const)
        for (const channel of ['mail', 'sms']) {
          const place = `${channel}_${column}`
          const { length } = columns.find((one) => one.place === place) ?? {}
          expect([place, Number(length)]).toEqual([place, expect.any(Number)])
          expect(Math.max(...words.map((word) => word.length))).toBeLessThanOrEqual(Number(length))
        }
    })

    it('give every table a primary key, which clusters require', async () => {
      const without: unknown[] = await dataSource.query(
        "SELECT table_name FROM information_schema.tables t WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND NOT EXISTS (SELECT 1 " +
          'FROM information_schema.table_constraints c WHERE c.table_schema = t.table_schema ' +
          "AND c.table_name = t.table_name AND c.constraint_type = 'PRIMARY KEY')",
      )
      expect(without).toEqual([])
    })

    it('prevent counters below zero in the database itself', async () => {
      await dataSource.query(
        "INSERT INTO mail_quota (quota_type, total, state, created_at, updated_at, account_id) VALUES (1, 1, 'active', NOW(3), NOW(3), 1)",
      )
      await expect(dataSource.query('UPDATE mail_quota SET used = -1')).rejects.toThrow(/constraint/i)
    })
  }
})
