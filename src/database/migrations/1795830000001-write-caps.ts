import type { MigrationInterface, QueryRunner } from 'typeorm'

const PREFIXES = ['mail', 'sms'] as const

/**
 * From here on caps may be made, which the versions before this would take for quotas that pay. It changes no table:
 * that it was run is what the service looks for before it makes a cap.
 */
export class WriteCaps1795830000001 implements MigrationInterface {
  async up(): Promise<void> {
    // See above.
  }

  /**
   * Removes the caps, with what they counted and who changed them: the versions before would pay from them. What their
   * owners took stands.
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
