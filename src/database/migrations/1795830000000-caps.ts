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

/** Over the computed `deleted`, as the index of labels: lists of live and of deleted quotas use the same indexes. */
const INDEXES = [
  ['deleted', 'cap', 'id'],
  ['deleted', 'cap', 'state', 'id'],
  ['deleted', 'cap', 'state', 'expire_at'],
] as const

/**
 * Adds the columns of caps and thresholds. Instances of previous versions may run on this schema: their statements name
 * their columns and write none of these. Caps are created only after `WriteCaps`.
 *
 * MySQL commits each DDL statement: each step checks whether it is already done.
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
