import type { TestDatabase } from './database.js'

/**
 * Finds contradictions between data that is stored twice: counters and ledger, operations and acts, settings and their
 * history. It reads only the tables, and is independent of the code that wrote them.
 * @returns one line for each contradiction; none if the data is consistent
 */
export async function audit(database: Pick<TestDatabase, 'rows'>, { loweredTotals = false } = {}): Promise<string[]> {
  const found: string[] = []
  for (const channel of await channelsOf(database)) {
    found.push(...(await auditWindows(database, channel)))
    for (const [what, sql] of Object.entries(questions(channel, loweredTotals))) {
      const rows = await database.rows(sql)
      found.push(...rows.slice(0, 5).map((row) => `${channel}, ${what}: ${JSON.stringify(row)}`))
      if (rows.length > 5) found.push(`${channel}, ${what}: and ${rows.length - 5} more`)
    }
  }
  return found
}

/** The channels, derived from their tables, so that a new one is audited as well. */
async function channelsOf(database: Pick<TestDatabase, 'rows'>): Promise<string[]> {
  const rows = await database.rows(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%\\_owner' ORDER BY name",
  )
  if (rows.length === 0) throw new Error('a database without channels')
  return rows.map(({ name }) => String(name).replace(/_owner$/, ''))
}

/** SQL for the ids of the owners' mail operations, with or without rows of their own. */
export function mailOperationsOf(ownerIds: readonly number[]): string {
  const list = ownerIds.join()
  return `SELECT id FROM mail_operation WHERE owner_id IN (${list}) UNION SELECT id FROM mail_act WHERE plain_owner_id IN (${list})`
}

/** SQL for the caps that a plain consume `p` names, one per row: ` 9:0 10:14!`. */
const NAMED_CAPS = `JSON_TABLE(CONCAT('["', REPLACE(TRIM(REPLACE(p.caps, '!', '')), ' ', '","'), '"]'), '$[*]' COLUMNS(one VARCHAR(60) PATH '$')) c`

/** SQL for the amounts that caps counted, with their times: from separate rows or the text of a plain consume. */
function countedBy(channel: string): string {
  return (
    `SELECT a.quota_id, a.cycle_seq, a.counted_at AS at, o.charged - o.refunded AS kept, IF(h.operation_id IS NULL, 0, a.amount) AS held ` +
    `FROM ${channel}_allocation a JOIN ${channel}_operation o ON o.id = a.operation_id LEFT JOIN ${channel}_hold h ON h.operation_id = o.id AND h.owner_id = o.owner_id ` +
    `WHERE a.counted_at IS NOT NULL UNION ALL ` +
    `SELECT CAST(SUBSTRING_INDEX(c.one, ':', 1) AS UNSIGNED), CAST(SUBSTRING_INDEX(c.one, ':', -1) AS UNSIGNED), p.at, p.amount, 0 ` +
    `FROM ${channel}_act p JOIN ${NAMED_CAPS} WHERE p.caps IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${channel}_operation o WHERE o.id = p.id)`
  )
}

/** Do the slots of rolling caps equal the amounts counted in them? Slots that have expired are not checked. */
async function auditWindows(database: Pick<TestDatabase, 'rows'>, channel: string): Promise<string[]> {
  const ms = (time: string): string => `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${time}) DIV 1000`
  const caps = await database.rows(
    `SELECT id, used, reserved, cycle_seq, window_seconds, window_counts, ${ms('created_at')} AS at, opening_used AS kept, 0 AS held FROM ${channel}_quota WHERE quota_type = 3`,
  )
  if (caps.length === 0) return []
  const counted = await database.rows(
    `SELECT quota_id, cycle_seq, ${ms('at')} AS at, kept, held FROM (${countedBy(channel)}) counted`,
  )
  const [latest] = await database.rows(
    `SELECT GREATEST(${ms('UTC_TIMESTAMP(3)')}, COALESCE(MAX(${ms('at')}), 0)) AS now FROM ${channel}_act`,
  )
  return caps.flatMap((cap) => {
    const own = counted.filter((one) =>
      ['quota_id', 'cycle_seq'].every((name) => Number(one[name]) === Number(cap[name === 'quota_id' ? 'id' : name])),
    )
    const opening = Number(cap['cycle_seq']) === 0 && Number(cap['kept']) > 0 ? [cap] : []
    return auditWindow(`${channel}, cap ${String(cap['id'])}`, cap, [...own, ...opening], Number(latest?.['now']))
  })
}

function auditWindow(
  name: string,
  cap: Record<string, unknown>,
  counted: readonly Record<string, unknown>[],
  now: number,
): string[] {
  const window = Number(cap['window_seconds']) * 1000
  const length = Math.ceil(window / 24)
  const slots = new Map<number, [used: number, reserved: number]>()
  const sums: [number, number] = [0, 0]
  let until = 0
  for (const slot of String(cap['window_counts']).split(' ').filter(Boolean)) {
    const [step = '', units = ''] = slot.split(':')
    const [used = 0, reserved = 0] = units.split('/').map(Number)
    until += Number(step)
    slots.set(until, [used, reserved])
    sums[0] += used
    sums[1] += reserved
  }
  for (const one of counted) {
    const end = Math.ceil((Number(one['at']) + window) / length) * length
    const [used, reserved] = slots.get(end) ?? [0, 0]
    slots.set(end, [used - Number(one['kept']), reserved - Number(one['held'])])
  }
  const wrong = [...slots].filter(([end, [used, reserved]]) => end > now && (used !== 0 || reserved !== 0))
  const told = wrong.map(([end, more]) => `${name} counts ${more.join(' and ')} too much until ${end}`)
  const same = sums[0] === Number(cap['used']) && sums[1] === Number(cap['reserved'])
  return same ? told : [...told, `${name} has other sums than its window: ${sums.join(' and ')}`]
}

function questions(channel: string, loweredTotals: boolean): Record<string, string> {
  const [quota, hold, change] = ['quota', 'hold', 'change'].map((table) => `${channel}_${table}`)
  const ownerColumn = channel === 'mail' ? 'account_id' : 'user_id'
  const [acts, operations, allocations] = ['act', 'operation', 'allocation'].map((table) => `${channel}_${table}`)
  // A plain consume has one row until it is refunded, and one for each cap of a group that counted it.
  const plain = (columns: string, from: string, id: string): string =>
    ` UNION ALL SELECT ${columns} FROM ${acts} p WHERE p.plain_owner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${from} o WHERE o.${id} = p.id)`
  const namedCaps =
    `SELECT p.id, CAST(SUBSTRING_INDEX(c.one, ':', 1) AS UNSIGNED) AS quota_id, CAST(SUBSTRING_INDEX(c.one, ':', -1) AS UNSIGNED) AS cycle_seq, p.amount, p.at ` +
    `FROM ${acts} p JOIN ${NAMED_CAPS} WHERE p.caps IS NOT NULL`
  const operationId = 'IF(plain_owner_id IS NULL, operation_id, id)'
  const act = `(SELECT id, kind, caller, idempotency_key, amount, quota_id, ${operationId} AS operation_id FROM ${acts})`
  const operation =
    `(SELECT id, state, amount, charged, refunded FROM ${operations}` +
    `${plain("p.id, 'consumed', p.amount, p.amount, 0", operations ?? '', 'id')})`
  const allocation =
    `(SELECT operation_id, position, quota_id, cycle_seq, amount FROM ${allocations} WHERE counted_at IS NULL` +
    `${plain('p.id, 0, p.plain_quota_id, p.cycle_seq, p.amount', operations ?? '', 'id')})`
  const opening = 'IF(q.cycle_seq = 0, q.opening_used, 0)'
  return {
    // An operation keeps the first charged - refunded units of its allocations, in the order of the draw-down.
    'counters differ from the ledger': `
      WITH part AS (
        SELECT a.quota_id, a.cycle_seq, a.amount, o.charged - o.refunded AS kept, h.operation_id IS NOT NULL AS held,
          SUM(a.amount) OVER (PARTITION BY a.operation_id ORDER BY a.position) - a.amount AS earlier
        FROM ${allocation} a JOIN ${operation} o ON o.id = a.operation_id LEFT JOIN ${hold} h ON h.operation_id = o.id AND h.owner_id > 0
      )
      SELECT q.id, q.used, q.reserved,
        ${opening} + COALESCE(SUM(LEAST(part.amount, GREATEST(0, part.kept - part.earlier))), 0) AS ledger_used,
        COALESCE(SUM(IF(part.held, part.amount, 0)), 0) AS ledger_reserved
      FROM ${quota} q LEFT JOIN part ON part.quota_id = q.id AND part.cycle_seq = q.cycle_seq
      WHERE q.cap IS NULL
      GROUP BY q.id, q.used, q.reserved, q.cycle_seq, q.opening_used
      HAVING q.used <> ledger_used OR q.reserved <> ledger_reserved`,
    'what caps count differs from the ledger': `
      SELECT q.id, q.used, q.reserved, ${opening} + COALESCE(SUM(c.kept), 0) AS ledger_used, COALESCE(SUM(c.held), 0) AS ledger_reserved
      FROM ${quota} q LEFT JOIN (${countedBy(channel)}) c ON c.quota_id = q.id AND c.cycle_seq = q.cycle_seq
      WHERE q.cap IS NOT NULL AND q.quota_type <> 3 GROUP BY q.id, q.used, q.reserved, q.cycle_seq, q.opening_used
      HAVING q.used <> ledger_used OR q.reserved <> ledger_reserved`,
    'what a cap counted is not the amount': `
      SELECT o.id, o.amount, a.amount AS counted FROM ${operations} o JOIN ${allocations} a ON a.operation_id = o.id
      WHERE a.counted_at IS NOT NULL AND (a.amount <> o.amount OR a.counted_at <> o.created_at)`,
    'a cap of a group without the row of what it counted': `
      SELECT n.id, n.quota_id FROM (${namedCaps}) n JOIN ${quota} q ON q.id = n.quota_id AND q.${ownerColumn} < 0
      LEFT JOIN ${allocations} a ON a.operation_id = n.id AND a.quota_id = n.quota_id AND a.cycle_seq = n.cycle_seq AND a.amount = n.amount AND a.counted_at = n.at
      WHERE a.operation_id IS NULL`,
    'a row of what no cap of a group counted': `
      SELECT a.operation_id, a.quota_id FROM ${allocations} a LEFT JOIN ${operations} o ON o.id = a.operation_id
      LEFT JOIN (${namedCaps}) n ON n.id = a.operation_id AND n.quota_id = a.quota_id LEFT JOIN ${quota} q ON q.id = a.quota_id AND q.${ownerColumn} < 0
      WHERE o.id IS NULL AND (n.id IS NULL OR q.id IS NULL OR a.counted_at IS NULL)`,
    'the totals of all owners are not their sum': `
      SELECT t.began_at, SUM(IF(t.owner_id = 0, t.charged, 0)) AS charged, SUM(IF(t.owner_id = 0, t.refunded, 0)) AS refunded,
        SUM(IF(t.owner_id > 0, t.charged, 0)) AS charges, SUM(IF(t.owner_id > 0, t.refunded, 0)) AS refunds
      FROM ${channel}_usage_total t LEFT JOIN ${quota} q ON q.id = t.quota_id WHERE t.step = 'day' AND q.cap IS NULL
      GROUP BY t.began_at HAVING charged <> charges OR refunded <> refunds`,
    'one key, several acts': `
      SELECT MIN(caller) AS caller, MIN(idempotency_key) AS idempotency_key, COUNT(*) AS acts FROM ${act} act WHERE idempotency_key IS NOT NULL
      GROUP BY BINARY caller, BINARY idempotency_key HAVING acts > 1`,
    'an operation without its one act': `
      SELECT o.id, a.acts FROM ${operation} o LEFT JOIN (
        SELECT operation_id, COUNT(*) AS acts FROM ${act} act WHERE kind IN ('consume', 'reserve') GROUP BY operation_id
      ) a ON a.operation_id = o.id
      WHERE a.acts IS NULL OR a.acts <> 1`,
    'an act without its operation or quota': `
      SELECT a.id, a.kind FROM ${act} a LEFT JOIN ${operation} o ON o.id = a.operation_id LEFT JOIN ${quota} q ON q.id = a.quota_id
      WHERE o.id IS NULL AND q.id IS NULL AND a.kind NOT IN ('group', 'members', 'erase')`,
    'settled more than once': `
      SELECT operation_id, COUNT(*) AS acts FROM ${act} act WHERE kind IN ('commit', 'release') GROUP BY operation_id HAVING acts > 1`,
    'allocations are not the amount': `
      SELECT o.id, o.amount, SUM(a.amount) AS allocated FROM ${operation} o LEFT JOIN ${allocation} a ON a.operation_id = o.id
      GROUP BY o.id, o.amount HAVING allocated IS NULL OR allocated <> o.amount`,
    'charged or refunded are not the sum of the acts': `
      SELECT o.id, o.charged, o.refunded, a.charges, a.refunds FROM ${operation} o JOIN (
        SELECT operation_id, SUM(IF(kind IN ('consume', 'commit'), amount, 0)) AS charges,
          SUM(IF(kind = 'refund', amount, 0)) AS refunds
        FROM ${act} act WHERE operation_id IS NOT NULL GROUP BY operation_id
      ) a ON a.operation_id = o.id
      WHERE o.charged <> a.charges OR o.refunded <> a.refunds`,
    'an open hold without its row, or a row without its hold': `
      SELECT o.id, o.state FROM ${operation} o LEFT JOIN ${hold} h ON h.operation_id = o.id AND h.owner_id > 0
      WHERE (o.state = 'reserved') <> (h.operation_id IS NOT NULL)`,
    'a hold without the row of a group whose quota it keeps, or a row too many': `
      SELECT h.operation_id, h.owner_id FROM ${hold} h LEFT JOIN (
        SELECT a.operation_id, q.${ownerColumn} AS owner_id FROM ${allocations} a JOIN ${quota} q ON q.id = a.quota_id
        GROUP BY a.operation_id, q.${ownerColumn}
      ) kept ON kept.operation_id = h.operation_id AND kept.owner_id = h.owner_id WHERE h.owner_id < 0 AND kept.operation_id IS NULL
      UNION ALL SELECT a.operation_id, q.${ownerColumn} FROM ${allocations} a JOIN ${quota} q ON q.id = a.quota_id
      JOIN ${operations} o ON o.id = a.operation_id AND o.state = 'reserved' LEFT JOIN ${hold} h ON h.operation_id = a.operation_id AND h.owner_id = q.${ownerColumn}
      WHERE q.${ownerColumn} < 0 AND h.operation_id IS NULL`,
    'the version is not the number of changes': `
      SELECT q.id, q.version, COUNT(c.id) AS changes FROM ${quota} q LEFT JOIN ${change} c ON c.quota_id = q.id AND c.action <> 'reset'
      GROUP BY q.id, q.version, q.follows HAVING q.version <> changes + CASE WHEN q.follows IS NULL THEN 0 ELSE 1 END`,
    ...(loweredTotals
      ? {}
      : {
          overdrawn: `SELECT id, total, used, reserved FROM ${quota} WHERE used + reserved > total AND COALESCE(cap, '') <> 'observe' AND follows IS NULL`,
        }),
  }
}
