/**
 * Large stores, made by the server itself in a few minutes: rows are written in order of their ids, and the indexes are built afterwards. The same sizes
 * give the same rows.
 */
import { OWNERS } from './store.mjs'

/** One with two quotas, and one with as many as an owner may have. */
export const FEW = { owner: 50_000_001, quotas: 2 }
export const MANY = { owner: 50_000_002, quotas: 200 }

/** 2024-12-07, as the ids of that day begin. */
const BEGIN = 0x0193_9f3e_0000

/** What servers of these sets are started with: room for the indexes. The durability of a commit stays as it is. */
export const SERVER = [
  '--innodb-flush-log-at-trx-commit=1',
  '--innodb-buffer-pool-size=6G',
  '--innodb-log-file-size=2G',
]

/**
 * @param admin on an empty database that the service has migrated
 * @param quotas how many; two for each owner: an active one, and one that may be disabled or expired
 * @param acts how many plain consumes, as many of each of the first OWNERS: a multiple of their number
 * @param from when they begin, in milliseconds since 1970
 * @param every milliseconds from one to the next
 */
export async function grow(admin, { quotas, acts, from = BEGIN, every = 1 / 65_536 }) {
  const ms = `${from} + FLOOR(seq * ${every})`
  const key = `CONCAT('0193a1b2-5c00-7000-8000-', LPAD(seq, 12, '0'))`
  const owners = Math.max(OWNERS, Math.ceil(quotas / 2))
  await withoutIndexes(admin, 'mail_quota', async () => {
    await admin.query(
      `INSERT INTO mail_quota (id, account_id, quota_type, total, used, state, expire_at, created_at, updated_at)
       SELECT seq, 1 + (seq - 1) MOD ${owners}, 1, 1000000000, IF(seq <= ${OWNERS}, ${Math.floor(acts / OWNERS)}, 0),
         CASE WHEN seq <= ${owners} THEN 'active' WHEN seq MOD 10 = 0 THEN 'disabled' WHEN seq MOD 3 = 0 THEN 'expired' ELSE 'active' END,
         IF(seq > ${owners} AND seq MOD 10 <> 0 AND seq MOD 3 = 0, '2020-01-01', DATE_ADD('2099-01-01', INTERVAL seq DIV ${owners} DAY)),
         '2019-01-01', '2019-01-01' FROM seq_1_to_${quotas}`,
    )
    for (const { owner, quotas: count } of [FEW, MANY]) {
      await admin.query(
        `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, created_at, updated_at)
         SELECT ${owner}, 1, 1000000000, 'active', DATE_ADD('2099-01-01', INTERVAL seq DAY), NOW(3), NOW(3) FROM seq_1_to_${count}`,
      )
    }
  })
  await admin.query('INSERT INTO mail_owner (owner_id) SELECT DISTINCT account_id FROM mail_quota')
  await withoutIndexes(admin, 'mail_act', () =>
    admin.query(
      `INSERT INTO mail_act (id, kind, owner_id, caller, idempotency_key, once, request, amount, answer, request_id, at,
         plain_owner_id, plain_quota_id, cycle_seq, owner_remaining)
       SELECT LOWER(INSERT(CONCAT(LPAD(HEX(${ms}), 12, '0'), '-7000-8000-', LPAD(HEX(seq), 12, '0')), 9, 0, '-')), 'consume', 1 + seq MOD ${OWNERS}, 'bench',
         ${key}, LEFT(SHA2(CONCAT('["key","bench","', ${key}, '"]'), 256), 32), LEFT(SHA2(CONCAT('["consume",', 1 + seq MOD ${OWNERS}, ']'), 256), 32), 1, '', CONCAT('01939f3e-5c00-7000-8000-', LPAD(seq, 12, '0')), DATE_ADD('1970-01-01', INTERVAL (${ms}) * 1000 MICROSECOND),
         1 + seq MOD ${OWNERS}, 1 + seq MOD ${OWNERS}, 0, 1 FROM seq_1_to_${acts}`,
    ),
  )
  await admin.query('ANALYZE TABLE mail_quota, mail_act, mail_owner')
}

/** Has a table filled without its secondary indexes, which are then built in one go. */
export async function withoutIndexes(admin, table, fill) {
  const [[{ 'Create Table': sql }]] = await admin.query(`SHOW CREATE TABLE ${table}`)
  const indexes = [...sql.matchAll(/^\s*((?:UNIQUE )?KEY) (`\w+`) (\(.*?\)),?$/gm)]
  await admin.query('SET SESSION unique_checks = 0')
  await admin.query(`ALTER TABLE ${table} ${indexes.map(([, , name]) => `DROP KEY ${name}`).join()}`)
  await fill()
  await admin.query(
    `ALTER TABLE ${table} ${indexes.map(([, kind, name, columns]) => `ADD ${kind} ${name} ${columns}`).join()}`,
  )
  await admin.query('SET SESSION unique_checks = 1')
}
