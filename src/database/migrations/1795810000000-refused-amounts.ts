import type { QueryRunner } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

const AMOUNTS = ['smallest', 'largest', 'last_amount'] as const

/**
 * Adds the refused amounts. Instances of previous versions do not write them: their counts do not change the amounts.
 *
 * MySQL commits each DDL statement: an existing column was created by an earlier attempt.
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
