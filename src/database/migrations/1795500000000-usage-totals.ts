import { type QueryRunner, Table, TableColumn } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

/**
 * Adds totals of usage by hour and day, and their progress. Instances of previous versions do not know them; their acts
 * are added up as well.
 *
 * MySQL commits each DDL statement: an existing table was created by an earlier attempt.
 */
export class UsageTotals1795500000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      await runner.createTable(totals(prefix), true, false, true)
      await runner.createTable(state(prefix), true, false, true)
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      await runner.dropTable(`${prefix}_ledger_state`)
      await runner.dropTable(`${prefix}_usage_total`)
    }
  }
}

function totals(prefix: string): Table {
  return new Table({
    name: `${prefix}_usage_total`,
    columns: [
      { name: 'owner_id', type: 'bigint', isPrimary: true },
      { name: 'step', type: 'varchar', length: '4', isPrimary: true },
      { name: 'began_at', type: 'datetime', precision: 3, isPrimary: true },
      { name: 'quota_id', type: 'bigint', isPrimary: true },
      { name: 'cycle_seq', type: 'bigint', isPrimary: true },
      { name: 'charged', type: 'bigint' },
      { name: 'refunded', type: 'bigint' },
      { name: 'refusals', type: 'bigint' },
      { name: 'refused', type: 'bigint' },
    ].map((column) => new TableColumn(column)),
    indices: [{ columnNames: ['step', 'began_at'] }],
  })
}

function state(prefix: string): Table {
  return new Table({
    name: `${prefix}_ledger_state`,
    columns: [
      { name: 'id', type: 'bigint', isPrimary: true },
      { name: 'folded_to', type: 'varchar', length: '36' },
      { name: 'begins_at', type: 'datetime', precision: 3, isNullable: true },
      { name: 'removed_to', type: 'datetime', precision: 3, isNullable: true },
      { name: 'holder', type: 'varchar', length: '36', isNullable: true },
      { name: 'held_until', type: 'datetime', precision: 3, isNullable: true },
    ].map((column) => new TableColumn(column)),
  })
}
