import { createHash } from 'node:crypto'
import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A channel's tables, and its owner's name in the API. */
const CHANNELS = [
  { prefix: 'mail', owner: 'account_id' },
  { prefix: 'sms', owner: 'user_id' },
] as const

/** The number of rows that one statement rewrites, so that none holds its locks for long. */
const STEP = 1_000

interface PlainRow {
  id: string
  plain_owner_id: number | string
  plain_quota_id: number | string
  amount: number | string
  owner_remaining: number | string
  at: string
}

/**
 * After this migration, plain consumes are written as one row, which previous versions cannot read. It changes no
 * table: at start, the service checks whether the migration has run.
 */
export class WritePlainConsumes1795400000001 implements MigrationInterface {
  async up(): Promise<void> {
    // Changes nothing; see above.
  }

  /** Gives each plain consume the three rows that previous versions read. */
  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix, owner } of CHANNELS) {
      while ((await this.unfold(runner, prefix, owner)) > 0);
    }
  }

  private async unfold(runner: QueryRunner, prefix: string, owner: string): Promise<number> {
    const found = (await runner.query(
      `SELECT id, plain_owner_id, plain_quota_id, amount, owner_remaining, at FROM ${prefix}_act WHERE plain_owner_id IS NOT NULL LIMIT ${STEP}`,
    )) as PlainRow[]
    if (found.length === 0) return 0
    const list = found.map(() => '?').join(', ')
    const ids = found.map(({ id }) => id)
    // A refunded one already has its rows.
    await runner.query(
      `INSERT INTO ${prefix}_operation (id, owner_id, kind, state, amount, charged, refunded, owner_remaining, expires_at, created_at) ` +
        `SELECT a.id, a.plain_owner_id, 'consume', 'consumed', a.amount, a.amount, 0, a.owner_remaining, NULL, a.at FROM ${prefix}_act a ` +
        `WHERE a.id IN (${list}) AND NOT EXISTS (SELECT 1 FROM ${prefix}_operation o WHERE o.id = a.id)`,
      ids,
    )
    await runner.query(
      `INSERT INTO ${prefix}_allocation (operation_id, position, quota_id, cycle_seq, amount) ` +
        `SELECT a.id, 0, a.plain_quota_id, a.cycle_seq, a.amount FROM ${prefix}_act a ` +
        `WHERE a.id IN (${list}) AND NOT EXISTS (SELECT 1 FROM ${prefix}_allocation o WHERE o.operation_id = a.id)`,
      ids,
    )
    const cases = found.map(() => 'WHEN ? THEN ?').join(' ')
    await runner.query(
      `UPDATE ${prefix}_act SET answer = CASE id ${cases} END, request = CASE id ${cases} END, operation_id = id, default_amount = amount, ` +
        `plain_owner_id = NULL, plain_quota_id = NULL, cycle_seq = NULL, owner_remaining = NULL WHERE id IN (${list})`,
      [
        ...found.flatMap((row) => [row.id, answerOf(row, owner)]),
        ...found.flatMap((row) => [row.id, requestOf(Number(row.plain_owner_id))]),
        ...ids,
      ],
    )
    return found.length
  }
}

/** In the format of previous versions. */
function answerOf(row: PlainRow, owner: string): string {
  const amount = Number(row.amount)
  return JSON.stringify({
    id: row.id,
    kind: 'consume',
    state: 'consumed',
    [owner]: Number(row.plain_owner_id),
    amount,
    charged: amount,
    refunded: 0,
    allocations: [{ quota_id: Number(row.plain_quota_id), amount }],
    owner_remaining: Number(row.owner_remaining),
    expires_at: null,
    created_at: `${row.at.replace(' ', 'T')}Z`,
  })
}

function requestOf(ownerId: number): string {
  return createHash('sha256')
    .update(JSON.stringify(['consume', ownerId]))
    .digest('hex')
    .slice(0, 32)
}
