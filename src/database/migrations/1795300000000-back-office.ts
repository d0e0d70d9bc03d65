import { type QueryRunner, Table, TableColumn, TableIndex } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'
import { indexOver } from './index-over.js'

/** The number of rows that one statement fills, so that none holds its locks for long. */
const STEP = 1_000

const DELETED = '`deleted_at` IS NOT NULL'

/**
 * Adds the data of the back office: labels, deleted quotas, indexes of changes by their filters, acts of an operation,
 * counts of refusals.
 *
 * Release 0.1.0 may run on this schema, since its statements name their columns: each new column is nullable or
 * computed. MySQL commits each DDL statement, so an aborted attempt leaves a part behind: each step checks whether it
 * is already done.
 */
export class BackOffice1795300000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix, ownerColumn } of this.channels) {
      await addColumn(runner, `${prefix}_quota`, 'label', text(runner, 120))
      await addColumn(runner, `${prefix}_quota`, 'label_search', text(runner, 361))
      await addColumn(runner, `${prefix}_quota`, 'deleted', `tinyint AS (${DELETED}) VIRTUAL`)
      await tellTypeOrm(runner, `${prefix}_quota`)
      await addColumn(runner, `${prefix}_change`, 'owner_id', 'bigint NULL')
      for (const [table, ...columnNames] of indexes(prefix)) {
        if ((await indexOver(runner, table, columnNames)) !== undefined) continue
        await runner.createIndex(table, new TableIndex({ columnNames }))
      }
      await runner.createTable(refusals(prefix), true, false, true)
      await nameOwners(runner, `${prefix}_change`, `${prefix}_quota`, ownerColumn)
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of [...this.channels].reverse()) {
      await runner.dropTable(`${prefix}_refusal`)
      for (const [table, ...columnNames] of indexes(prefix).reverse()) {
        const index = await indexOver(runner, table, columnNames)
        if (index !== undefined) await runner.dropIndex(table, index)
      }
      await runner.query(`ALTER TABLE \`${prefix}_change\` DROP COLUMN \`owner_id\``)
      for (const column of ['deleted', 'label_search', 'label']) {
        await runner.query(`ALTER TABLE \`${prefix}_quota\` DROP COLUMN \`${column}\``)
      }
      await forgetByTypeOrm(runner, `${prefix}_quota`)
      // The previous release does not know the action `reset`.
      await runner.query(`DELETE FROM \`${prefix}_change\` WHERE \`action\` = 'reset'`)
    }
  }
}

function isSqlite(runner: QueryRunner): boolean {
  return runner.dataSource.options.type === 'better-sqlite3'
}

function text(runner: QueryRunner, length: number): string {
  // SQLite compares text by code points by default, and has no such collation.
  return `varchar(${length})${isSqlite(runner) ? '' : ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'} NULL`
}

// On SQLite, TypeORM's addColumn would copy the whole table; on MySQL, it would omit the column's collation.
async function addColumn(runner: QueryRunner, table: string, column: string, type: string): Promise<void> {
  if (await runner.hasColumn(table, column)) return
  await runner.query(`ALTER TABLE \`${table}\` ADD COLUMN \`${column}\` ${type}`)
}

/** TypeORM keeps the expressions of computed columns in a separate table, to compare schemas. */
async function tellTypeOrm(runner: QueryRunner, table: string): Promise<void> {
  await forgetByTypeOrm(runner, table)
  const schema = isSqlite(runner) ? 'NULL' : 'DATABASE()'
  await runner.query(
    `INSERT INTO \`typeorm_metadata\` (\`type\`, \`schema\`, \`table\`, \`name\`, \`value\`) VALUES ('GENERATED_COLUMN', ${schema}, '${table}', 'deleted', ?)`,
    [DELETED],
  )
}

async function forgetByTypeOrm(runner: QueryRunner, table: string): Promise<void> {
  await runner.query(
    `DELETE FROM \`typeorm_metadata\` WHERE \`type\` = 'GENERATED_COLUMN' AND \`table\` = '${table}' AND \`name\` = 'deleted'` +
      (isSqlite(runner) ? '' : ' AND `schema` = DATABASE()'),
  )
}

function indexes(prefix: string): [table: string, ...columns: string[]][] {
  return [
    [`${prefix}_quota`, 'deleted', 'id'],
    [`${prefix}_quota`, 'deleted', 'label_search', 'id'],
    [`${prefix}_change`, 'owner_id', 'id'],
    [`${prefix}_change`, 'actor', 'id'],
    [`${prefix}_change`, 'action', 'id'],
    [`${prefix}_change`, 'request_id', 'id'],
    [`${prefix}_change`, 'at', 'id'],
    [`${prefix}_act`, 'operation_id'],
  ]
}

function refusals(prefix: string): Table {
  return new Table({
    name: `${prefix}_refusal`,
    columns: [
      { name: 'hour', type: 'datetime', precision: 3, isPrimary: true },
      { name: 'owner_id', type: 'bigint', isPrimary: true },
      { name: 'code', type: 'varchar', length: '16', isPrimary: true },
      { name: 'count', type: 'bigint' },
      { name: 'requested', type: 'bigint' },
      { name: 'last_at', type: 'datetime', precision: 3 },
    ].map((column) => new TableColumn(column)),
    indices: [{ columnNames: ['owner_id', 'hour'] }],
  })
}

/** Sets the owner of changes that release 0.1.0 wrote. */
async function nameOwners(runner: QueryRunner, change: string, quota: string, ownerColumn: string): Promise<void> {
  for (let last = 0; ;) {
    const rows = (await runner.query(
      `SELECT \`id\` FROM \`${change}\` WHERE \`owner_id\` IS NULL AND \`id\` > ? ORDER BY \`id\` LIMIT ${STEP}`,
      [last],
    )) as { id: number | string }[]
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => Number(id))
    await runner.query(
      `UPDATE \`${change}\` SET \`owner_id\` = (SELECT q.\`${ownerColumn}\` FROM \`${quota}\` q WHERE q.\`id\` = \`${change}\`.\`quota_id\`) ` +
        `WHERE \`id\` IN (${ids.join(', ')}) AND \`owner_id\` IS NULL`,
    )
    last = ids.at(-1) ?? last
  }
}
