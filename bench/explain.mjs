/**
 * Shows how each read finds its rows in a large table, and how long it takes: `npm run explain -- [rows]`.
 *
 * Uses the store that DATABASE_URL names, which must be empty: it is filled with made-up quotas first (1,000,000 unless said), a third of them expired,
 * some deleted, some disabled, some over but not yet marked so. The statements are those that the service itself sends.
 */
import { performance } from 'node:perf_hooks'
import { DataSource } from 'typeorm'
import { SystemClock } from '../dist/src/clock/clock.js'
import { loadConfig } from '../dist/src/config/config.js'
import { dataSourceOptions } from '../dist/src/database/data-source-options.js'
import { migrate } from '../dist/src/database/migrate.js'
import { UnitOfWork } from '../dist/src/database/unit-of-work.js'
import { ENTITIES } from '../dist/src/entities.js'
import { QuotaReader } from '../dist/src/ledger/quota-reader.js'
import { MAIL } from '../dist/src/mail-quota/mail.channel.js'

const ROWS = Number(process.argv[2] ?? 1_000_000)
const REPEATS = 15

const { database } = loadConfig(process.env)
await migrate(database, ENTITIES)
const dataSource = await new DataSource(dataSourceOptions(database, ENTITIES, 'migration')).initialize()
const sqlite = database.kind === 'sqlite'

const [{ n: stored }] = await dataSource.query('SELECT COUNT(*) AS n FROM mail_quota')
if (Number(stored) === 0) {
  const digits =
    '(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)'
  const numbers =
    `SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n + 1000000 * g.n + 1 AS n FROM ${digits} a, ${digits} b, ${digits} c, ` +
    `${digits} d, ${digits} e, ${digits} f, ${digits} g`
  await dataSource.query(
    `INSERT INTO mail_quota (id, account_id, user_id, quota_type, total, state, expire_at, created_at, updated_at, deleted_at)
     SELECT n, 1 + (n * 7919) % 100000, 1 + (n * 104729) % 50000, 1, 1000,
       CASE WHEN n % 10 = 0 THEN 'disabled' WHEN n % 3 = 0 THEN 'expired' ELSE 'active' END,
       CASE WHEN n % 3 = 0 OR n % 1000 = 1 THEN '2020-01-01 00:00:00.000' ELSE '2099-01-01 00:00:00.000' END,
       '2019-01-01 00:00:00.000', '2019-01-01 00:00:00.000', CASE WHEN n % 20 = 7 THEN '2019-06-01 00:00:00.000' ELSE NULL END
     FROM (${numbers}) numbers WHERE n <= ${ROWS}`,
  )
  await dataSource
    .query(sqlite ? 'ANALYZE' : 'ANALYZE TABLE mail_quota PERSISTENT FOR ALL')
    .catch(() => dataSource.query('ANALYZE TABLE mail_quota'))
}

const work = new UnitOfWork(dataSource)
const statements = []
const watched = {
  dialect: work.dialect,
  read: (unit) =>
    work.read((transaction) =>
      unit({
        ...transaction,
        rows: async (sql, values) => {
          statements.push({ sql, values })
          return transaction.rows(sql, values)
        },
      }),
    ),
}
const reader = new QuotaReader(MAIL, dataSource, watched, new SystemClock())
const first = { page: 1, pageSize: 20 }
const list =
  (people, status, page = first) =>
  () =>
    reader.list({ people, status }, page)
const reads = {
  list: list({}),
  'list, status active': list({}, 'active'),
  'list, status disabled': list({}, 'disabled'),
  'list, status expired': list({}, 'expired'),
  'list, account_id': list({ ownerId: 4242 }),
  'list, account_id, status active': list({ ownerId: 4242 }, 'active'),
  'list, account_id, status expired': list({ ownerId: 4242 }, 'expired'),
  'list, user_id': list({ userId: 4242 }),
  'list, user_id, status active': list({ userId: 4242 }, 'active'),
  'list, account_id, user_id': list({ ownerId: 4242, userId: 4242 }),
  'list, before_id in the middle': list({}, undefined, { ...first, beforeId: ROWS / 2 }),
  'list, the deepest page': list({}, undefined, { page: 1000, pageSize: 100 }),
  summary: () => reader.summary(4242),
  'read one': () => reader.get(ROWS - (ROWS % 20) - 2),
}

const plans = []
console.log(
  `${ROWS.toLocaleString('en')} quotas on ${sqlite ? 'SQLite' : (await dataSource.query('SELECT VERSION() AS v'))[0].v}; milliseconds, median of ${REPEATS}\n`,
)
console.log('| read | ms | examined by |')
console.log('|---|---|---|')
for (const [name, run] of Object.entries(reads)) {
  await run()
  statements.length = 0
  const times = []
  await run()
  const sent = statements.splice(0)
  for (let turn = 0; turn < REPEATS; turn += 1) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  statements.length = 0
  const how = []
  for (const { sql, values } of sent) {
    if (sqlite) {
      const plan = await dataSource.query(`EXPLAIN QUERY PLAN ${sql}`, values)
      how.push(...plan.map(({ detail }) => detail).filter((detail) => /mail_quota|\bq\b|TEMP B-TREE/.test(detail)))
    } else {
      const plan = await dataSource.query(`EXPLAIN ${sql}`, values)
      how.push(
        ...plan
          .filter(({ table }) => table === 'mail_quota' || table === 'q')
          .map((row) => `${row.type} ${row.key ?? 'no index'} rows ${row.rows} ${row.Extra ?? ''}`.trim()),
      )
    }
  }
  times.sort((a, b) => a - b)
  console.log(`| ${name} | ${times[Math.floor(REPEATS / 2)].toFixed(2)} | ${[...new Set(how)].join('; ')} |`)
  plans.push(how)
}
await dataSource.destroy()
const bad = plans.flat().filter((how) => /^ALL |no index|^SCAN (mail_quota|q)$/.test(how))
if (bad.length > 0) {
  console.log(`\nFull scans: ${bad.join('; ')}`)
  process.exitCode = 1
}
