import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm'
import { ChannelMigration, type MigratedChannel } from './channel-migration.js'

/** Creates quotas and the ledger of every write. */
export class Ledger1790000000000 extends ChannelMigration {
  /**
   * MySQL commits each DDL statement, so an aborted attempt leaves the first tables behind: each step checks whether it
   * is already done.
   */
  async up(runner: QueryRunner): Promise<void> {
    for (const channel of this.channels) {
      for (const table of tables(channel, isSqlite(runner))) await runner.createTable(table, true, false, true)
      if (!isSqlite(runner)) await checkCounters(runner, `${channel.prefix}_quota`)
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const channel of [...this.channels].reverse()) {
      for (const table of tables(channel, isSqlite(runner)).reverse()) await runner.dropTable(table.name)
    }
  }
}

/** TypeORM writes no CHECK for MySQL and MariaDB, although both support it. */
async function checkCounters(runner: QueryRunner, table: string): Promise<void> {
  const name = `CHK_${table}_counters`
  const known = (await runner.query(
    'SELECT 1 FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() AND table_name = ? AND constraint_name = ?',
    [table, name],
  )) as unknown[]
  if (known.length > 0) return
  await runner.query(
    `ALTER TABLE \`${table}\` ADD CONSTRAINT \`${name}\` CHECK (\`used\` >= 0 AND \`reserved\` >= 0 AND \`total\` >= 0)`,
  )
}

function isSqlite(runner: QueryRunner): boolean {
  return runner.dataSource.options.type === 'better-sqlite3'
}

function tables({ prefix, ownerColumn, userColumn }: MigratedChannel, sqlite: boolean): Table[] {
  const generatedId: TableColumnOptions = {
    name: 'id',
    type: sqlite ? 'integer' : 'bigint',
    isPrimary: true,
    isGenerated: true,
    generationStrategy: 'increment',
  }
  const integer = (name: string, more: Partial<TableColumnOptions> = {}): TableColumnOptions => ({
    name,
    type: 'bigint',
    ...more,
  })
  const ascii = (name: string, length: number, more: Partial<TableColumnOptions> = {}): TableColumnOptions => ({
    name,
    type: 'varchar',
    length: String(length),
    ...more,
  })
  const instant = (name: string, more: Partial<TableColumnOptions> = {}): TableColumnOptions => ({
    name,
    type: 'datetime',
    precision: 3,
    ...more,
  })
  const text = (name: string): TableColumnOptions => ({ name, type: 'text' })
  const zero = { default: '0' }
  const nullable = { isNullable: true }
  const key = { isPrimary: true }
  const index = (...columnNames: string[]) => ({ columnNames })

  return [
    new Table({
      name: `${prefix}_quota`,
      columns: [
        generatedId,
        { name: 'quota_type', type: 'tinyint' },
        integer('total'),
        integer('used', zero),
        integer('reserved', zero),
        ascii('state', 8),
        instant('expire_at', nullable),
        ascii('cycle_unit', 5, nullable),
        ascii('cycle_time_zone', 64, nullable),
        instant('cycle_anchor_at', nullable),
        instant('cycle_ends_at', nullable),
        integer('cycle_seq', zero),
        instant('hold_due_at', nullable),
        integer('version', { default: '1' }),
        instant('created_at'),
        instant('updated_at'),
        instant('deleted_at', nullable),
        integer(ownerColumn),
        ...(userColumn === undefined ? [] : [integer(userColumn, nullable)]),
      ],
      indices: [
        index('deleted_at', 'id'),
        index('deleted_at', 'state', 'id'),
        index('deleted_at', 'state', 'expire_at'),
        ...[ownerColumn, userColumn]
          .filter((column) => column !== undefined)
          .flatMap((column) => [index(column, 'deleted_at', 'id'), index(column, 'deleted_at', 'state', 'id')]),
      ],
      ...(sqlite ? { checks: [{ expression: '`used` >= 0 AND `reserved` >= 0 AND `total` >= 0' }] } : {}),
    }),
    new Table({
      name: `${prefix}_owner`,
      columns: [integer('owner_id', key), integer('edits', zero)],
    }),
    new Table({
      name: `${prefix}_act`,
      columns: [
        ascii('id', 36, key),
        ascii('kind', 8),
        integer('owner_id'),
        integer('quota_id', nullable),
        ascii('operation_id', 36, nullable),
        ascii('caller', 64),
        ascii('idempotency_key', 255, nullable),
        ascii('once', 32, nullable),
        ascii('request', 32),
        integer('amount', nullable),
        integer('default_amount', nullable),
        text('answer'),
        ascii('request_id', 128),
        instant('at'),
      ],
      indices: [{ columnNames: ['once'], isUnique: true }],
    }),
    new Table({
      name: `${prefix}_operation`,
      columns: [
        ascii('id', 36, key),
        integer('owner_id'),
        ascii('kind', 8),
        ascii('state', 10),
        integer('amount'),
        integer('charged'),
        integer('refunded'),
        integer('owner_remaining'),
        instant('expires_at', nullable),
        instant('created_at'),
      ],
      indices: [index('owner_id', 'id')],
    }),
    new Table({
      name: `${prefix}_allocation`,
      columns: [
        ascii('operation_id', 36, key),
        { name: 'position', type: 'smallint', isPrimary: true },
        integer('quota_id'),
        integer('cycle_seq'),
        integer('amount'),
      ],
      indices: [index('quota_id', 'operation_id')],
    }),
    new Table({
      name: `${prefix}_hold`,
      columns: [ascii('operation_id', 36, key), integer('owner_id'), instant('expires_at')],
      indices: [index('owner_id', 'expires_at'), index('expires_at')],
    }),
    new Table({
      name: `${prefix}_change`,
      columns: [
        generatedId,
        integer('quota_id'),
        ascii('action', 8),
        ascii('actor', 64),
        ascii('request_id', 128),
        instant('at'),
        text('before_json'),
        text('after_json'),
      ],
      indices: [index('quota_id', 'id')],
    }),
  ]
}
