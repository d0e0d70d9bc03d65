/**
 * Shows how each read finds its rows in a large table, and how long it takes: `npm run explain -- [rows]`.
 *
 * Uses the store that DATABASE_URL names, which must be empty. The script first fills it with generated quotas (default:
 * 1,000,000), a third of them expired, some deleted, some disabled, some ended but not yet marked as expired, and with as
 * many changes, operations with their acts, and counts of refusals. The statements are those that the service sends.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource } from 'typeorm'
import { SystemClock } from '../dist/src/common/clock.js'
import { loadConfig } from '../dist/src/config/config.js'
import { dataSourceOptions } from '../dist/src/database/data-source-options.js'
import { bytesToStore } from '../dist/src/database/bytes.js'
import { migrate } from '../dist/src/database/migrate.js'
import { TransactionRunner } from '../dist/src/database/transaction-runner.js'
import { ENTITIES } from '../dist/src/entities.js'
import { ChangeReader } from '../dist/src/ledger/read/change-reader.js'
import { deduplicationKeyFor } from '../dist/src/ledger/store/command.js'
import { ExpiringReader } from '../dist/src/ledger/read/expiring-reader.js'
import { OwnerReader } from '../dist/src/ledger/read/owner-reader.js'
import { QuotaReader } from '../dist/src/ledger/read/quota-reader.js'
import { RecentCounts } from '../dist/src/ledger/read/recent-counts.js'
import { RefusalReader } from '../dist/src/ledger/read/refusal-reader.js'
import { UsageReader } from '../dist/src/ledger/read/usage-reader.js'
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
  // From 1, as many digits as are needed.
  const places = Array.from(String(ROWS), (_, place) => `d${place}`)
  const sum = places.map((name, place) => `${10 ** place} * ${name}.n`).join(' + ')
  const numbers = `SELECT ${sum} + 1 AS n FROM ${places.map((name) => `${digits} ${name}`).join(', ')}`
  await dataSource.query(
    `INSERT INTO mail_quota (id, account_id, user_id, quota_type, total, state, expire_at, created_at, updated_at, deleted_at)
     SELECT n, 1 + (n * 7919) % 100000, 1 + (n * 104729) % 50000, 1, 1000,
       CASE WHEN n % 10 = 0 THEN 'disabled' WHEN n % 3 = 0 THEN 'expired' ELSE 'active' END,
       CASE WHEN n % 3 = 0 OR n % 1000 = 1 THEN '2020-01-01 00:00:00.000' ELSE '2099-01-01 00:00:00.000' END,
       '2019-01-01 00:00:00.000', '2019-01-01 00:00:00.000', CASE WHEN n % 20 = 7 THEN '2019-06-01 00:00:00.000' ELSE NULL END
     FROM (${numbers}) numbers WHERE n <= ${ROWS}`,
  )
  const text = (number) => (sqlite ? `CAST(${number} AS TEXT)` : `CAST(${number} AS CHAR)`)
  const joined = (...parts) => (sqlite ? parts.join(' || ') : `CONCAT(${parts.join(', ')})`)
  const digitsOf = (number, length) =>
    sqlite ? `printf('%0${length}d', ${number})` : `LPAD(${number}, ${length}, '0')`
  const uuid = (number) => `UNHEX(${joined("'01939f3e5c007a6b8c1d'", digitsOf(number, 12))})`
  // A day of changes and operations for each thousandth of them.
  const day = (number) =>
    sqlite
      ? `strftime('%Y-%m-%d %H:%M:%f', '2019-01-01', '+' || (${number} * 1000 / ${ROWS}) || ' days')`
      : `DATE_ADD('2019-01-01 00:00:00.000', INTERVAL FLOOR(${number} * 1000 / ${ROWS}) DAY)`
  const fill = (statement) => dataSource.query(`${statement} FROM (${numbers}) numbers WHERE n <= ${ROWS}`)
  // Half of the labels begin with customer, a few with pilot, and many of the oldest with fleet.
  const label = `CASE WHEN n % 2 = 0 THEN ${joined("'customer '", text('n'))} WHEN n <= ${ROWS / 25} THEN ${joined("'fleet '", text('n'))} WHEN n % 5001 = 0 THEN ${joined("'pilot '", text('n'))} ELSE NULL END`
  await dataSource.query(`UPDATE mail_quota SET label = ${label.replaceAll(/\bn\b/g, 'id')}`)
  await dataSource.query(
    `UPDATE mail_quota SET label_search = ${joined('label', sqlite ? 'char(127)' : 'CHAR(127)')} WHERE label IS NOT NULL`,
  )
  await dataSource.query('INSERT INTO mail_owner (owner_id) SELECT DISTINCT account_id FROM mail_quota')
  await fill(
    `INSERT INTO mail_change (quota_id, owner_id, action, actor, request_id, at, before_json, after_json)
     SELECT n, 1 + (n * 7919) % 100000, CASE WHEN n % 7 = 0 THEN 'update' WHEN n % 9999 = 0 THEN 'reset' ELSE 'create' END,
       ${joined("'actor'", text('n % 50'))}, ${joined("'request-'", text('n'))}, ${day('n')}, '{}', '{}'`,
  )
  await fill(
    `INSERT INTO mail_operation (id, owner_id, kind, state, amount, charged, refunded, owner_remaining, expires_at, created_at)
     SELECT ${uuid('n')}, 1 + (n * 7919) % 1000, CASE WHEN n % 4 = 0 THEN 'reserve' ELSE 'consume' END,
       CASE WHEN n % 4 = 0 THEN 'committed' ELSE 'consumed' END, 1, 1, 0, 1, NULL, ${day('n')}`,
  )
  await fill(
    `INSERT INTO mail_allocation (operation_id, position, quota_id, cycle_seq, amount) SELECT ${uuid('n')}, 0, 1 + (n * 7919) % 1000, 0, 1`,
  )
  await fill(
    `INSERT INTO mail_act (id, kind, owner_id, operation_id, caller, idempotency_key, deduplication_key, request_hash, amount, answer, request_text, at)
     SELECT ${uuid('n')}, 'consume', 1 + (n * 7919) % 1000, ${uuid('n')}, 'mailer', ${joined("'key-'", text('n'))}, UNHEX(${digitsOf('n', 32)}), NULL, 1, '{}', 'r', ${day('n')}`,
  )
  // As many consumes that have one row.
  const plainId = (number) => uuid(number).replace('01939f3e', '01939f3f')
  await fill(
    `INSERT INTO mail_act (id, kind, owner_id, caller, idempotency_key, deduplication_key, request_hash, amount, answer, request_text, at, plain_owner_id, plain_quota_id, cycle_seq, owner_remaining)
     SELECT ${plainId('n')}, 'consume', 1 + (n * 7919) % 1000, 'mailer', ${joined("'plain-'", text('n'))}, UNHEX(${joined("'f'", digitsOf('n', 31))}), NULL, 1, '', 'r', ${day('n')},
       1 + (n * 7919) % 1000, 1 + (n * 7919) % 1000, 0, 1`,
  )
  // The one key to look up, as the service would have stored it.
  await dataSource.query('UPDATE mail_act SET deduplication_key = ? WHERE idempotency_key = ?', [
    bytesToStore(deduplicationKeyFor('mailer', 'key-42')),
    'key-42',
  ])
  const hour = 3_600_000
  const began = (back) =>
    new Date(Math.floor(Date.now() / hour) * hour - back * hour).toISOString().slice(0, 23).replace('T', ' ')
  for (const back of [0, 1, 30, 200]) {
    await dataSource.query(
      `INSERT INTO mail_refusal (hour, owner_id, code, count, requested, smallest, largest, last_amount, last_at) SELECT '${began(back)}', n, 'quota_exceeded', 1 + n % 97, 5, 1, 1, 1, '${began(back)}' FROM (${numbers}) numbers WHERE n <= ${Math.ceil(ROWS / 20)}`,
    )
  }
  const tables = ['quota', 'owner', 'change', 'operation', 'allocation', 'act', 'refusal']
    .map((table) => `mail_${table}`)
    .join(', ')
  await dataSource
    .query(sqlite ? 'ANALYZE' : `ANALYZE TABLE ${tables} PERSISTENT FOR ALL`)
    .catch(() => dataSource.query(`ANALYZE TABLE ${tables}`))
}

const work = new TransactionRunner(dataSource)
const statements = []
let reading = 0
const watched = {
  dialect: work.dialect,
  readsOf: () => watched,
  read: async (unit) => {
    reading += 1
    try {
      return await work.read((transaction) =>
        unit({
          ...transaction,
          rows: async (sql, values) => {
            statements.push({ sql, values })
            return transaction.rows(sql, values)
          },
        }),
      )
    } finally {
      reading -= 1
    }
  },
}
const clock = new SystemClock()
const reader = new QuotaReader(MAIL, dataSource, watched, clock, new RecentCounts(work, 'mail', clock))
const changeReader = new ChangeReader(MAIL, dataSource, watched)
const ownerReader = new OwnerReader(MAIL, dataSource, watched, reader)
const expiringReader = new ExpiringReader(MAIL, dataSource, watched, clock)
const refusalReader = new RefusalReader(MAIL, dataSource, watched, clock)
const usageReader = new UsageReader(MAIL, dataSource, watched, clock)
const changes = (filter) => () => changeReader.page('reader', filter, undefined, 20)
/** Roles without a scope, and with `own`. */
const anybody = { id: 'mailer', name: 'mailer', ownOnly: false }
const itself = { ...anybody, ownOnly: true }
const ledger =
  (of, filter, reader = anybody) =>
  () =>
    usageReader.ledger(reader, of, undefined, 20, filter)
const at = (text) => Date.parse(text)
const first = { page: 1, pageSize: 20 }
const list =
  (subjects, status, page = first) =>
  () =>
    reader.list('reader', { subjects, status }, page)
/** Reads that are requested together, and share one statement. */
const many = (count, read) => () => Promise.all(Array.from({ length: count }, (_, place) => read(4242 + place)))
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
  'lists of 40 accounts': many(40, (ownerId) => list({ ownerId })()),
  'lists of 40 accounts, status active': many(40, (ownerId) => list({ ownerId }, 'active')()),
  'lists of 40 accounts, status expired': many(40, (ownerId) => list({ ownerId }, 'expired')()),
  'lists of 40 accounts, longer than the page': many(40, (ownerId) =>
    list({ ownerId }, undefined, { page: 1, pageSize: 2 })(),
  ),
  'lists of 40 users': many(40, (userId) => list({ userId })()),
  'list, before_id in the middle': list({}, undefined, { ...first, beforeId: ROWS / 2 }),
  'list, the deepest page': list({}, undefined, { page: 1000, pageSize: 100 }),
  'list, deleted': () => reader.list('reader', { subjects: {}, status: undefined, deleted: true }, first),
  'list, deleted, account_id': () =>
    reader.list('reader', { subjects: { ownerId: 4242 }, status: undefined, deleted: true }, first),
  'list, label of half': () => reader.list('reader', { subjects: {}, status: undefined, label: 'Customer' }, first),
  'list, label of few': () => reader.list('reader', { subjects: {}, status: undefined, label: 'PILOT' }, first),
  'list, label of many old ones': () =>
    reader.list('reader', { subjects: {}, status: undefined, label: 'Fleet' }, first),
  'list, label of one': () => reader.list('reader', { subjects: {}, status: undefined, label: 'customer 4242' }, first),
  owners: () => ownerReader.page('reader', undefined, 50_000, 20),
  changes: changes({}),
  'changes, actor': changes({ actor: 'actor7' }),
  'changes, action': changes({ action: 'update' }),
  'changes, rare action': changes({ action: 'reset' }),
  'changes, quota_id': changes({ quotaId: 4242 }),
  'changes, account_id': changes({ ownerId: 4242 }),
  'changes, request_id': changes({ requestId: 'request-4242' }),
  'changes, a day long ago': changes({ from: at('2019-03-01T00:00:00Z'), to: at('2019-03-02T00:00:00Z') }),
  'changes, years, long ago': changes({ to: at('2020-01-01T00:00:00Z') }),
  'changes, actor and rare action': changes({ actor: 'actor7', action: 'reset' }),
  'changes, action, a day long ago': changes({
    action: 'create',
    from: at('2019-03-01T00:00:00Z'),
    to: at('2019-03-02T00:00:00Z'),
  }),
  expiring: () => expiringReader.page('reader', 90, undefined, 20),
  'refusals of an owner': () => refusalReader.ofOwner('reader', 42, {}),
  'refusals, top': () => refusalReader.top('reader', 24, undefined, 20),
  'ledger, account_id': ledger({ ownerId: 42 }),
  'ledger, account_id, state': ledger({ ownerId: 42 }, { state: 'committed' }),
  'ledger, account_id, reserved': ledger({ ownerId: 42 }, { state: 'reserved' }),
  'ledger, account_id, kind': ledger({ ownerId: 42 }, { kind: 'reserve' }),
  'ledger, account_id, a day': ledger(
    { ownerId: 42 },
    { from: at('2019-03-01T00:00:00Z'), to: at('2019-03-02T00:00:00Z') },
  ),
  'ledger, quota_id, kind': ledger({ quotaId: 42 }, { kind: 'consume' }),
  'ledger, account_id, own': ledger({ ownerId: 42 }, {}, itself),
  'ledger, quota_id, own': ledger({ quotaId: 42 }, {}, itself),
  'ledger, idempotency_key': () => usageReader.byKey(anybody, ['mailer'], 'key-42'),
  'acts of an operation': () => usageReader.acts(anybody, '01939f3e-5c00-7a6b-8c1d-000000000042'),
  summary: () => reader.summary(4242),
  'read one': () => reader.get(ROWS - (ROWS % 20) - 2),
}

const plans = []
const sorted = []
console.log(
  `${ROWS.toLocaleString('en')} quotas on ${sqlite ? 'SQLite' : (await dataSource.query('SELECT VERSION() AS v'))[0].v}; milliseconds, median of ${REPEATS}\n`,
)
console.log('| read | ms | examined by |')
console.log('|---|---|---|')
for (const [name, run] of Object.entries(reads)) {
  statements.length = 0
  await run()
  // Also checks the shared count of a long list, which no request waits for.
  while (reading > 0) await sleep(10)
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
      how.push(...plan.map(({ detail }) => detail).filter((detail) => /mail_|\b[qcoah]\b|TEMP B-TREE/.test(detail)))
    } else {
      const plan = await dataSource.query(`EXPLAIN ${sql}`, values)
      how.push(
        ...plan
          .filter(({ table }) => /^(mail_\w+|[qcoah])$/.test(table ?? ''))
          .map((row) => `${row.type} ${row.key ?? 'no index'} rows ${row.rows} ${row.Extra ?? ''}`.trim()),
      )
    }
  }
  times.sort((a, b) => a - b)
  console.log(`| ${name} | ${times[Math.floor(REPEATS / 2)].toFixed(2)} | ${[...new Set(how)].join('; ')} |`)
  plans.push(how)
  // A person's list is read in index order, regardless of its length; of two sources, only their pages are sorted.
  if (/^lists of/.test(name) && !name.includes('expired'))
    sorted.push(...how.filter((step) => /filesort|TEMP B-TREE/.test(step)))
  if (/^lists of/.test(name) && sent.length > 2) sorted.push(`${sent.length} statements`)
}
await dataSource.destroy()
const bad = plans.flat().filter((how) => /^ALL |no index|^SCAN (mail_\w+|[qcoah])$/.test(how))
if (sorted.length > 0) {
  console.log(`\nSorted, or in too many statements: ${sorted.join('; ')}`)
  process.exitCode = 1
}
if (bad.length > 0) {
  console.log(`\nFull scans: ${bad.join('; ')}`)
  process.exitCode = 1
}
// Idle connections in the reads' own pool would keep the process alive.
process.exit()
