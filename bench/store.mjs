/** The store for the benchmarks: 10,000 owners with a quota each, for the service and the references; checks the sums afterwards. */
import { createConnection } from 'mysql2/promise'

export const OWNERS = 10_000
/** Owners whose quota is used up. */
export const DRY = { first: OWNERS + 1, count: 100 }
/** Owners whose quota has plenty left, and whose cap allows nothing. */
export const CAP_DRY = { first: 11_001, count: 100 }
/** Owners under caps that allow everything: two, one of them rolling; four, two of them rolling; the maximum number. */
export const TWO_CAPS = { from: 20_001, owners: 1_000 }
export const FOUR_CAPS = { from: 30_001, owners: 1_000 }
/** 16 caps and 184 quotas that pay. */
export const MANY = { from: 40_001, owners: 1 }
/** One cap, and one that pays. */
export const FEW = { from: 40_002, owners: 1 }

/** Members of a hundred groups with a quota for each member, and of one with a quota that they share; all share a cap. */
export const MEMBERS = { from: 50_001, owners: OWNERS, groups: 100, per: 'member' }
export const ONE_GROUP = { from: 60_001, owners: OWNERS, groups: 1, per: 'group' }

export async function connect(url) {
  return createConnection({ uri: url.replace(/^mariadb:/, 'mysql:'), multipleStatements: true })
}

/** @param admin a connection to the database that the service has migrated */
export async function fill(admin) {
  await admin.query(
    'CREATE TABLE naive_quota (id BIGINT PRIMARY KEY AUTO_INCREMENT, account_id BIGINT NOT NULL, total BIGINT NOT NULL, used BIGINT NOT NULL DEFAULT 0, KEY (account_id));' +
      'CREATE TABLE naive_ledger (id BIGINT PRIMARY KEY AUTO_INCREMENT, quota_id BIGINT NOT NULL, amount BIGINT NOT NULL, idempotency_key VARCHAR(255) NOT NULL UNIQUE, at DATETIME(3) NOT NULL DEFAULT NOW(3))',
  )
  const add = async (ids, total) => {
    const values = ids.map((id) => `(${id}, 1, ${total}, 'active', '2099-01-01', NOW(3), NOW(3))`)
    await admin.query(
      `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, created_at, updated_at) VALUES ${values.join()};` +
        `INSERT INTO mail_owner (owner_id) VALUES ${ids.map((id) => `(${id})`).join()};` +
        `INSERT INTO naive_quota (account_id, total) VALUES ${ids.map((id) => `(${id}, ${total})`).join()}`,
    )
  }
  for (let start = 1; start <= OWNERS; start += 1_000) await add(range(start, 1_000), 1_000_000_000)
  await add(range(DRY.first, DRY.count), 0)
  const limited = async (ids, caps, allowed = 1_000_000_000) => {
    await add(ids, 1_000_000_000)
    const values = ids.flatMap((id) =>
      range(0, caps).map((place) =>
        place % 2 === 0
          ? `(${id}, 1, ${allowed}, 'active', '2099-01-01', NULL, NULL, 'enforce', NOW(3), NOW(3))`
          : `(${id}, 3, ${allowed}, 'active', NULL, ${3_600 * place}, '', 'enforce', NOW(3), NOW(3))`,
      ),
    )
    await admin.query(
      `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, window_seconds, window_counts, cap, created_at, updated_at) VALUES ${values.join()}`,
    )
  }
  await limited(range(CAP_DRY.first, CAP_DRY.count), 1, 0)
  await limited(range(TWO_CAPS.from, TWO_CAPS.owners), 2)
  await limited(range(FOUR_CAPS.from, FOUR_CAPS.owners), 4)
  await limited([MANY.from], 16)
  await limited([FEW.from], 1)
  for (const { from, owners, groups, per } of [MEMBERS, ONE_GROUP]) {
    const ids = range(from, groups)
    const quotas = ids.map(
      (id) =>
        `(${-id}, ${id}, '${per}', ${per === 'member' ? 1 : null}, 1, 1000000000, '2099-01-01', NULL, NULL, NULL, 'active', NOW(3), NOW(3))`,
    )
    const caps = ids.map(
      (id) => `(${-id}, ${id}, 'group', NULL, 3, 1000000000, NULL, 3600, '', 'enforce', 'active', NOW(3), NOW(3))`,
    )
    const members = range(from, owners).map((id) => `(${id}, ${from + (id % groups)}, NOW(3))`)
    await admin.query(
      `INSERT INTO mail_group (id, name, live_name, created_at, updated_at) VALUES ${ids.map((id) => `(${id}, '${id}', '${id}', NOW(3), NOW(3))`).join()};` +
        `INSERT INTO mail_owner (owner_id, group_id, member_since) VALUES ${[...ids.map((id) => `(${-id}, NULL, NULL)`), ...members].join()};` +
        `INSERT INTO mail_quota (account_id, group_id, per, copies_version, quota_type, total, expire_at, window_seconds, window_counts, cap, state, created_at, updated_at) ` +
        `VALUES ${[...quotas, ...caps].join()};` +
        'INSERT INTO mail_quota (account_id, group_id, per, follows, overrides, copies_version, quota_type, total, expire_at, state, created_at, updated_at) ' +
        "SELECT o.owner_id, q.group_id, 'member', q.id, '', 1, 1, q.total, q.expire_at, 'active', NOW(3), NOW(3) FROM mail_owner o JOIN mail_quota q " +
        `ON q.account_id = -o.group_id AND q.per = 'member' WHERE o.group_id BETWEEN ${from} AND ${from + groups - 1}`,
    )
  }
  await admin.query('UPDATE mail_ledger_gate SET chains_version = 1')
  const more = range(1, 183).map(() => `(${MANY.from}, 1, 1000000000, 'active', '2099-01-01', NOW(3), NOW(3))`)
  await admin.query(
    `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, created_at, updated_at) VALUES ${more.join()}`,
  )
}

/**
 * Checks that the counters equal the ledger, and that nothing acknowledged is missing.
 * @param acknowledged the units that the service acknowledged as spent
 */
export async function audit(admin, acknowledged) {
  const [[{ used }]] = await admin.query('SELECT CAST(SUM(used) AS CHAR) AS used FROM mail_quota WHERE cap IS NULL')
  const [[{ charged }]] = await admin.query(
    'SELECT CAST(COALESCE(SUM(charged), 0) AS CHAR) AS charged FROM (SELECT charged - refunded AS charged FROM mail_operation UNION ALL ' +
      'SELECT amount FROM mail_act p WHERE plain_owner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mail_operation o WHERE o.id = p.id)) kept',
  )
  if (used !== charged || Number(used) < acknowledged)
    throw new Error(`sums do not match: used ${used}, ledger ${charged}, acknowledged ${acknowledged}`)
  return `used ${used} = ledger ${charged}; acknowledged ${acknowledged}`
}

/** Bytes of a table and its indexes in InnoDB's pages, after ANALYZE. */
export async function bytesOf(admin, tables) {
  await admin.query(`ANALYZE TABLE ${tables.join()}`)
  const [[{ bytes }]] = await admin.query(
    `SELECT SUM(data_length + index_length) AS bytes FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN (${tables.map((name) => `'${name}'`).join()})`,
  )
  return Number(bytes)
}

function range(first, count) {
  return Array.from({ length: count }, (_, place) => first + place)
}
