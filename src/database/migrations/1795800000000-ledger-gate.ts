import { type QueryRunner, Table, TableColumn } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

/**
 * Up to where acts are closed. Instances of the versions before know nothing of it, and write past it; from those the totals are protected by their lag alone.
 *
 * MySQL commits at every DDL statement: a table that is there was made by a try before, and its row may be missing. It may be there already where a process was
 * killed before it had written down that this ran.
 */
export class LedgerGate1795800000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      const table = `${prefix}_ledger_gate`
      const columns = [
        { name: 'id', type: 'bigint', isPrimary: true },
        { name: 'closed_to', type: 'varchar', length: '36' },
      ]
      await runner.createTable(new Table({ name: table, columns: columns.map((one) => new TableColumn(one)) }), true)
      await runner.query(
        `INSERT INTO ${table} (id, closed_to) SELECT 1, '' FROM (SELECT 1 AS one) made WHERE NOT EXISTS (SELECT 1 FROM ${table})`,
      )
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) await runner.dropTable(`${prefix}_ledger_gate`)
  }
}
