/**
 * Measures the rate at which `npm run verify` reads: plain consumes, and committed holds, some of them refunded. The
 * server also generates the totals, as upkeep would have left them. It must find no contradiction.
 */
import { spawn } from 'node:child_process'
import { idText } from '../dist/src/database/bytes.js'
import { startMariaDb } from '../scripts/mariadb.mjs'
import { grow, SERVER } from './growth.mjs'
import { service } from './processes.mjs'
import { connect, OWNERS } from './store.mjs'

/** The required rate, in acts per second. */
const GOAL = 50_000
/** The number of plain consumes for each committed hold. */
const PLAIN_A_HOLD = 30
/** The number of these holds for each refunded one. */
const HOLDS_A_REFUND = 5
/** 2025-01-01, as the prefix of that day's ids; the script fills a month. */
const FROM = 1_735_689_600_000
const MONTH_MS = 30 * 86_400_000

export async function verifying({ quick }) {
  const plain = quick ? 300_000 : 3_000_000
  const mariadb = await startMariaDb({ args: SERVER })
  try {
    const admin = await connect(mariadb.url(''))
    await admin.query('CREATE DATABASE verifying; USE verifying')
    await (await service(mariadb.url('verifying'))).stop()
    const began = performance.now()
    await fillLedger(admin, plain)
    process.stderr.write(`${plain} plain consumes and their like: made in ${seconds(began).toFixed(0)} s\n`)
    await admin.end()
    const run = await verify(mariadb.url('verifying'))
    const acts = Number(/(\d+) acts/.exec(run.out)?.[1])
    if (run.code !== 0 || !run.out.includes(': 0 contradictions')) throw new Error(`verify: ${run.out}${run.err}`)
    const perSecond = acts / run.seconds
    console.log(
      `\nverify: ${acts} acts in ${run.seconds.toFixed(1)} s, ${perSecond.toFixed(0)}/s (goal ≥ ${GOAL}/s, ${perSecond >= GOAL ? 'met' : 'missed'}); ${run.out.trim().split('\n').at(-1)}`,
    )
    return { acts, perSecond }
  } finally {
    await mariadb.stop()
  }
}

/**
 * @param plain the number of plain consumes, divided equally among the first OWNERS: a multiple of their number
 * @param quotas at least two for each of the OWNERS
 */
export async function fillLedger(admin, plain, quotas = 2 * OWNERS) {
  await grow(admin, { quotas, acts: plain, from: FROM, every: MONTH_MS / plain })
  const holds = Math.floor(plain / PLAIN_A_HOLD)
  const ms = `${FROM} + FLOOR(seq * ${MONTH_MS / holds})`
  const id = (last, later = 0) =>
    `UNHEX(CONCAT(LPAD(HEX(${ms} + ${later}), 12, '0'), '70009${last}00', LPAD(HEX(seq), 12, '0')))`
  const at = (later = 0) => `DATE_ADD('1970-01-01', INTERVAL (${ms} + ${later}) * 1000 MICROSECOND)`
  const owner = `1 + seq MOD ${OWNERS}`
  const end = "'2025-06-01'"
  const act = (kind, key, last, later, units) =>
    `INSERT INTO mail_act (id, kind, owner_id, operation_id, caller, idempotency_key, deduplication_key, request_hash, amount, default_amount, answer, request_text, at)
     SELECT ${id(last, later)}, '${kind}', ${owner}, ${id(0)}, 'bench', ${key === null ? 'NULL' : `CONCAT('${key}-', seq)`},
       UNHEX(LEFT(SHA2(${key === null ? `CONCAT('["settle","', ${idText('mysql', id(0))}, '"]')` : `CONCAT('["key","bench","${key}-', seq, '"]')`}, 256), 32)), NULL, ${units}, NULL,
       REPEAT('x', 300), 'bench', ${at(later)} FROM seq_1_to_${holds}`
  await admin.query(act('reserve', 'hold', 0, 0, 3))
  await admin.query(act('commit', null, 1, 1_000, 2))
  await admin.query(`${act('refund', 'refund', 2, 2_000, 1)} WHERE seq MOD ${HOLDS_A_REFUND} = 0`)
  await admin.query(
    `INSERT INTO mail_operation (id, owner_id, kind, state, amount, charged, refunded, owner_remaining, expires_at, created_at)
     SELECT ${id(0)}, ${owner}, 'reserve', 'committed', 3, 2, IF(seq MOD ${HOLDS_A_REFUND} = 0, 1, 0), 1, ${end}, ${at()} FROM seq_1_to_${holds}`,
  )
  await admin.query(
    `INSERT INTO mail_allocation (operation_id, position, quota_id, cycle_seq, amount) SELECT ${id(0)}, 0, ${owner}, 0, 3 FROM seq_1_to_${holds}`,
  )
  // Adds up independently of the service.
  await admin.query(
    `CREATE TEMPORARY TABLE posted
     SELECT owner_id, owner_id AS quota_id, at, IF(kind IN ('consume', 'commit'), amount, 0) AS charged, IF(kind = 'refund', amount, 0) AS refunded
     FROM mail_act WHERE kind IN ('consume', 'commit', 'refund')`,
  )
  for (const [step, form] of [
    ['hour', '%Y-%m-%d %H:00:00'],
    ['day', '%Y-%m-%d'],
  ]) {
    // Of each owner, and of the whole channel.
    for (const [owner, quota] of [
      ['owner_id', 'quota_id'],
      ['0', '0'],
    ])
      await admin.query(
        `INSERT INTO mail_usage_total (owner_id, step, began_at, quota_id, cycle_seq, charged, refunded, refusals, refused)
         SELECT ${owner} AS whose, '${step}', DATE_FORMAT(at, '${form}') AS began, ${quota} AS quota, 0, SUM(charged), SUM(refunded), 0, 0 FROM posted GROUP BY whose, began, quota`,
      )
  }
  await admin.query(
    `UPDATE mail_quota q JOIN (SELECT quota_id, SUM(charged) - SUM(refunded) AS used FROM posted GROUP BY quota_id) p ON p.quota_id = q.id SET q.used = p.used`,
  )
  await admin.query(
    `REPLACE INTO mail_ledger_state (id, folded_to) SELECT 1, UNHEX(CONCAT(LPAD(HEX(${FROM + 2 * MONTH_MS}), 12, '0'), REPEAT('0', 20)))`,
  )
  // A version is explained by its changes: these quotas were created before the oldest change that is left.
  await admin.query(
    `INSERT INTO mail_change (quota_id, owner_id, action, actor, request_id, at, before_json, after_json)
     SELECT id, account_id, 'create', 'bench', 'bench', '2019-01-01', '{}', '{}' FROM mail_quota`,
  )
  await admin.query('ANALYZE TABLE mail_act, mail_operation, mail_allocation, mail_usage_total, mail_change')
}

async function verify(url) {
  const began = performance.now()
  const child = spawn(process.execPath, ['dist/src/verify.js'], { env: { ...process.env, DATABASE_URL: url } })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => (out += data))
  child.stderr.on('data', (data) => (err += data))
  const code = await new Promise((resolve) => child.once('close', resolve))
  return { code, out, err, seconds: seconds(began) }
}

function seconds(began) {
  return (performance.now() - began) / 1_000
}
