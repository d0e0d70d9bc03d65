import type { TestDatabase } from './database.js'

/**
 * Looks for contradictions between what is stored twice: counters and ledger, operations and acts, settings and their history.
 * Reads the tables alone, and knows nothing of the code that wrote them.
 * @returns one line for each contradiction; none where the books are in order
 */
export async function audit(database: Pick<TestDatabase, 'rows'>, { loweredTotals = false } = {}): Promise<string[]> {
  const found: string[] = []
  for (const channel of ['mail', 'sms']) {
    for (const [what, sql] of Object.entries(questions(channel, loweredTotals))) {
      const rows = await database.rows(sql)
      found.push(...rows.slice(0, 5).map((row) => `${channel}, ${what}: ${JSON.stringify(row)}`))
      if (rows.length > 5) found.push(`${channel}, ${what}: and ${rows.length - 5} more`)
    }
  }
  return found
}

function questions(channel: string, loweredTotals: boolean): Record<string, string> {
  const [quota, act, operation, allocation, hold, change] = [
    'quota',
    'act',
    'operation',
    'allocation',
    'hold',
    'change',
  ].map((table) => `${channel}_${table}`)
  return {
    // What an operation keeps is the first charged - refunded units of its allocations, in the order they were drawn.
    'counters differ from the ledger': `
      WITH part AS (
        SELECT a.quota_id, a.cycle_seq, a.amount, o.charged - o.refunded AS kept, h.operation_id IS NOT NULL AS held,
          SUM(a.amount) OVER (PARTITION BY a.operation_id ORDER BY a.position) - a.amount AS earlier
        FROM ${allocation} a JOIN ${operation} o ON o.id = a.operation_id LEFT JOIN ${hold} h ON h.operation_id = o.id
      )
      SELECT q.id, q.used, q.reserved,
        COALESCE(SUM(LEAST(part.amount, GREATEST(0, part.kept - part.earlier))), 0) AS ledger_used,
        COALESCE(SUM(IF(part.held, part.amount, 0)), 0) AS ledger_reserved
      FROM ${quota} q LEFT JOIN part ON part.quota_id = q.id AND part.cycle_seq = q.cycle_seq
      GROUP BY q.id, q.used, q.reserved
      HAVING q.used <> ledger_used OR q.reserved <> ledger_reserved`,
    'one key, several acts': `
      SELECT MIN(caller) AS caller, MIN(idempotency_key) AS idempotency_key, COUNT(*) AS acts FROM ${act} WHERE idempotency_key IS NOT NULL
      GROUP BY BINARY caller, BINARY idempotency_key HAVING acts > 1`,
    'an operation without its one act': `
      SELECT o.id, a.acts FROM ${operation} o LEFT JOIN (
        SELECT operation_id, COUNT(*) AS acts FROM ${act} WHERE kind IN ('consume', 'reserve') GROUP BY operation_id
      ) a ON a.operation_id = o.id
      WHERE a.acts IS NULL OR a.acts <> 1`,
    'an act without its operation or quota': `
      SELECT a.id, a.kind FROM ${act} a LEFT JOIN ${operation} o ON o.id = a.operation_id LEFT JOIN ${quota} q ON q.id = a.quota_id
      WHERE o.id IS NULL AND q.id IS NULL`,
    'settled more than once': `
      SELECT operation_id, COUNT(*) AS acts FROM ${act} WHERE kind IN ('commit', 'release') GROUP BY operation_id HAVING acts > 1`,
    'allocations are not the amount': `
      SELECT o.id, o.amount, SUM(a.amount) AS allocated FROM ${operation} o LEFT JOIN ${allocation} a ON a.operation_id = o.id
      GROUP BY o.id, o.amount HAVING allocated IS NULL OR allocated <> o.amount`,
    'charged or refunded are not the sum of the acts': `
      SELECT o.id, o.charged, o.refunded, a.charges, a.refunds FROM ${operation} o JOIN (
        SELECT operation_id, SUM(IF(kind IN ('consume', 'commit'), amount, 0)) AS charges,
          SUM(IF(kind = 'refund', amount, 0)) AS refunds
        FROM ${act} WHERE operation_id IS NOT NULL GROUP BY operation_id
      ) a ON a.operation_id = o.id
      WHERE o.charged <> a.charges OR o.refunded <> a.refunds`,
    'an open hold without its row, or a row without its hold': `
      SELECT o.id, o.state FROM ${operation} o LEFT JOIN ${hold} h ON h.operation_id = o.id
      WHERE (o.state = 'reserved') <> (h.operation_id IS NOT NULL)`,
    'the version is not the number of changes': `
      SELECT q.id, q.version, COUNT(c.id) AS changes FROM ${quota} q LEFT JOIN ${change} c ON c.quota_id = q.id AND c.action <> 'reset'
      GROUP BY q.id, q.version HAVING q.version <> changes`,
    ...(loweredTotals
      ? {}
      : { overdrawn: `SELECT id, total, used, reserved FROM ${quota} WHERE used + reserved > total` }),
  }
}
