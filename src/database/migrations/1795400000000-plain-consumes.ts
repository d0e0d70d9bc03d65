import { type QueryRunner, TableIndex } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'
import { indexOver } from './index-over.js'

/** Null in every act except a plain consume. */
const COLUMNS = ['plain_owner_id', 'plain_quota_id', 'cycle_seq', 'owner_remaining'] as const

const INDEXES = [
  ['plain_owner_id', 'id'],
  ['plain_quota_id', 'id'],
] as const

/**
 * Adds the columns of consumes with one row. Instances of previous versions may run on this schema: their statements
 * name their columns and write none of these. Such rows are written only after `WritePlainConsumes`.
 *
 * MySQL commits each DDL statement: each step checks whether it is already done.
 */
export class PlainConsumes1795400000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      const table = `${prefix}_act`
      for (const column of COLUMNS) {
        if (await runner.hasColumn(table, column)) continue
        await runner.query(`ALTER TABLE \`${table}\` ADD COLUMN \`${column}\` bigint NULL`)
      }
      for (const columnNames of INDEXES) {
        if ((await indexOver(runner, table, columnNames)) !== undefined) continue
        await runner.createIndex(table, new TableIndex({ columnNames: [...columnNames] }))
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      const table = `${prefix}_act`
      for (const columnNames of INDEXES) {
        const index = await indexOver(runner, table, columnNames)
        if (index !== undefined) await runner.dropIndex(table, index)
      }
      for (const column of COLUMNS) await runner.query(`ALTER TABLE \`${table}\` DROP COLUMN \`${column}\``)
    }
  }
}
