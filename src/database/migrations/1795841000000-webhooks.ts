import { type MigrationInterface, type QueryRunner, Table, TableColumn, type TableColumnOptions } from 'typeorm'

/**
 * Adds the state of webhook endpoints, their queues, and the instances that know them. Instances of previous versions
 * do not use them.
 *
 * MySQL commits each DDL statement: an existing table was created by an earlier attempt.
 */
export class Webhooks1795841000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables()) await runner.createTable(table, true, false, true)
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { name } of tables().reverse()) await runner.dropTable(name)
  }
}

function tables(): Table[] {
  const key = (name: string, length: number): TableColumnOptions => ({ ...ascii(name, length), isPrimary: true })
  const nullable = { isNullable: true }
  return [
    table('webhook', [
      key('name', 64),
      ascii('state', 8),
      { ...ascii('holder', 36), ...nullable },
      { ...instant('held_until'), ...nullable },
      integer('delivered'),
      integer('failed'),
      integer('waiting'),
      integer('failures_in_row'),
      { ...instant('attempt_at'), ...nullable },
      { ...integer('attempt_status'), ...nullable },
      { ...ascii('attempt_error', 200), ...nullable },
      { name: 'progress', type: 'text' },
    ]),
    table(
      'webhook_delivery',
      [
        key('name', 64),
        key('channel', 8),
        { ...integer('position'), isPrimary: true },
        instant('at'),
        integer('attempts'),
        instant('next_at'),
      ],
      ['name', 'next_at'],
      ['name', 'at'],
    ),
    table('webhook_reader', [key('name', 64), key('instance', 36), instant('seen_at')]),
  ]
}

function table(name: string, columns: TableColumnOptions[], ...indices: string[][]): Table {
  return new Table({
    name,
    columns: columns.map((column) => new TableColumn(column)),
    indices: indices.map((columnNames) => ({ columnNames })),
  })
}

const ascii = (name: string, length: number): TableColumnOptions => ({ name, type: 'varchar', length: String(length) })
const integer = (name: string): TableColumnOptions => ({ name, type: 'bigint' })
const instant = (name: string): TableColumnOptions => ({ name, type: 'datetime', precision: 3 })
