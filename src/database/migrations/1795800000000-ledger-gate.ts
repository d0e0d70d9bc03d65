import { type QueryRunner, Table, TableColumn } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

/**
 * Adds the id up to which acts are closed. Instances of previous versions do not know it and may write acts behind it;
 * only the lag of the totals protects them from these acts.
 *
 * MySQL commits each DDL statement: an existing table was created by an earlier attempt, and its row may be missing. It
 * also exists if a process was killed before it recorded that this migration ran.
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
