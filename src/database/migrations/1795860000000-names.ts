import type { QueryRunner } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

const COLUMNS = [
  ['act', 'caller_name'],
  ['change', 'actor_name'],
  ['change_set', 'actor_name'],
  ['change_set', 'acting_unicode_name'],
] as const

/**
 * Names of principals in Unicode, next to the columns that hold them in ASCII. Instances of previous versions write
 * none.
 *
 * MySQL commits each DDL statement: an earlier attempt may have created or dropped some of the columns.
 */
export class Names1795860000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    const embedded = runner.dataSource.options.type === 'better-sqlite3'
    const type = `varchar(64)${embedded ? '' : ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'} NULL`
    for (const { prefix } of this.channels) {
      for (const [table, column] of COLUMNS) {
        if (await runner.hasColumn(`${prefix}_${table}`, column)) continue
        await runner.query(`ALTER TABLE \`${prefix}_${table}\` ADD COLUMN \`${column}\` ${type}`)
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      for (const [table, column] of COLUMNS) {
        if (!(await runner.hasColumn(`${prefix}_${table}`, column))) continue
        await runner.query(`ALTER TABLE \`${prefix}_${table}\` DROP COLUMN \`${column}\``)
      }
    }
  }
}
