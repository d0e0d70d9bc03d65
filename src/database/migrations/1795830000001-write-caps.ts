import type { MigrationInterface, QueryRunner } from 'typeorm'

const PREFIXES = ['mail', 'sms'] as const

/**
 * After this migration, caps can be created, which previous versions would use as quotas that pay. It changes no table:
 * before it creates a cap, the service checks whether the migration has run.
 */
export class WriteCaps1795830000001 implements MigrationInterface {
  async up(): Promise<void> {
    // Changes nothing; see above.
  }

  /**
   * Removes the caps, with their counts and changes, since previous versions would pay from them. The consumption of
   * their owners remains.
   */
  async down(runner: QueryRunner): Promise<void> {
    for (const prefix of PREFIXES) {
      const caps = `SELECT q.id FROM ${prefix}_quota q WHERE q.cap IS NOT NULL`
      await runner.query(`DELETE FROM ${prefix}_allocation WHERE counted_at IS NOT NULL`)
      await runner.query(`UPDATE ${prefix}_act SET caps = NULL WHERE caps IS NOT NULL`)
      await runner.query(`DELETE FROM ${prefix}_usage_total WHERE quota_id IN (${caps})`)
      await runner.query(`DELETE FROM ${prefix}_change WHERE quota_id IN (${caps})`)
      await runner.query(`DELETE FROM ${prefix}_act WHERE quota_id IN (${caps})`)
      await runner.query(`DELETE FROM ${prefix}_quota WHERE cap IS NOT NULL`)
    }
  }
}
