import type { QueryRunner } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

const AMOUNTS = ['smallest', 'largest', 'last_amount'] as const

/**
 * Which amounts were refused. Instances of the versions before write none: their counts leave the amounts as they are.
 *
 * MySQL commits at every DDL statement: a column that is there was made by a try before.
 */
export class RefusedAmounts1795810000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      for (const column of AMOUNTS) {
        if (await runner.hasColumn(`${prefix}_refusal`, column)) continue
        await runner.query(`ALTER TABLE \`${prefix}_refusal\` ADD COLUMN \`${column}\` bigint NULL`)
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      for (const column of AMOUNTS) await runner.query(`ALTER TABLE \`${prefix}_refusal\` DROP COLUMN \`${column}\``)
    }
  }
}
