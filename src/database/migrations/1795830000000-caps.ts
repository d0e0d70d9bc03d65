import { type QueryRunner, TableIndex } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'
import { indexOver } from './index-over.js'

const COLUMNS = [
  ['quota', 'cap', 'varchar(7) NULL'],
  ['quota', 'window_seconds', 'bigint NULL'],
  ['quota', 'thresholds', 'varchar(40) NULL'],
  ['quota', 'window_counts', 'text NULL'],
  ['act', 'caps', 'varchar(600) NULL'],
  ['allocation', 'counted_at', 'datetime(3) NULL'],
] as const

/** Over the computed `deleted`, as the index of labels is: lists of live and of deleted quotas go by the same ones. */
const INDEXES = [
  ['deleted', 'cap', 'id'],
  ['deleted', 'cap', 'state', 'id'],
  ['deleted', 'cap', 'state', 'expire_at'],
] as const

/**
 * Room for caps, and for thresholds. Suits instances of the versions before beside it, which name their columns and
 * write none of these. Caps are made only after `WriteCaps`.
 *
 * MySQL commits at every DDL statement: each step asks first whether it has been taken.
 */
export class Caps1795830000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      for (const [table, column, type] of COLUMNS) {
        if (await runner.hasColumn(`${prefix}_${table}`, column)) continue
        await runner.query(`ALTER TABLE \`${prefix}_${table}\` ADD COLUMN \`${column}\` ${type}`)
      }
      for (const columnNames of INDEXES) {
        if ((await indexOver(runner, `${prefix}_quota`, columnNames)) !== undefined) continue
        await runner.createIndex(`${prefix}_quota`, new TableIndex({ columnNames: [...columnNames] }))
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      for (const columnNames of INDEXES) {
        const index = await indexOver(runner, `${prefix}_quota`, columnNames)
        if (index !== undefined) await runner.dropIndex(`${prefix}_quota`, index)
      }
      for (const [table, column] of COLUMNS)
        await runner.query(`ALTER TABLE \`${prefix}_${table}\` DROP COLUMN \`${column}\``)
    }
  }
}
