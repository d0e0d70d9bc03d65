/** What is measured against: 10,000 owners with a quota each, for the service and for the references, and whether the sums are right afterwards. */
import { createConnection } from 'mysql2/promise'

export const OWNERS = 10_000
/** Owners whose quota is used up. */
export const DRY = { first: OWNERS + 1, count: 100 }

export async function connect(url) {
  return createConnection({ uri: url.replace(/^mariadb:/, 'mysql:'), multipleStatements: true })
}

/** @param admin on the database that the service has migrated */
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
}

/**
 * Do the counters equal the ledger, and is nothing missing that was acknowledged?
 * @param acknowledged units that the service said were spent
 */
export async function audit(admin, acknowledged) {
  const [[{ used }]] = await admin.query('SELECT CAST(SUM(used) AS CHAR) AS used FROM mail_quota')
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
