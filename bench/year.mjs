/**
 * `node bench/year.mjs`: measures how an old ledger is added up, and removed, while 64 callers consume. It takes most of
 * an hour and 20 GB of disk, so `npm run bench` does not include it; run `npm run build` first.
 *
 * It inserts `--days` of `--a-day` acts each before the retention period; then one instance serves, adds up and removes
 * as usual, with its pauses. It adds up everything, and removes for `--minutes`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startMariaDb } from '../scripts/mariadb.mjs'
import { grow, SERVER } from './growth.mjs'
import { median } from './median.mjs'
import { endAll, load, service } from './processes.mjs'
import { STEADY } from './steady.mjs'
import { connect, OWNERS } from './store.mjs'

const { values: options } = parseArgs({
  options: {
    days: { type: 'string', default: '36' },
    'a-day': { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '5' },
  },
})
const DAY_MS = 86_400_000
const DAYS = Number(options.days)
const A_DAY = Number(options['a-day'])
const ACTS = DAYS * A_DAY
const KEPT_DAYS = 30
/** The duration of each load; the loads run in sequence, so that each shows the throughput at its time. */
const SLICE_SECONDS = 20

const minutes = (ms) => (ms / 60_000).toFixed(1)
const mariadb = await startMariaDb({ args: SERVER })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void endAll().then(() => mariadb.stop()))
try {
  const url = mariadb.url('year')
  const admin = await connect(mariadb.url(''))
  await admin.query('CREATE DATABASE year; USE year')
  await (await service(url)).stop()
  const began = performance.now()
  const from = Date.now() - (KEPT_DAYS + 2 + DAYS) * DAY_MS
  await grow(admin, { quotas: 2 * OWNERS, acts: ACTS, from, every: DAY_MS / A_DAY })
  console.log(
    `${ACTS} acts of ${DAYS} days: made in ${minutes(performance.now() - began)} min, ${await sizeOf(admin, 'mail_act')}`,
  )

  let instance = await service(url, STEADY)
  const folded = async () => timeOf((await stateOf(admin)).folded_to)
  const end = from + DAYS * DAY_MS
  const adding = await watched(
    instance,
    'added up',
    async () => Math.min(1, ((await folded()) - from) / (end - from)),
    Infinity,
  )
  const [[{ rows, charged }]] = await admin.query(
    "SELECT COUNT(*) AS `rows`, SUM(IF(step = 'day' AND owner_id > 0 AND began_at < ?, charged, 0)) AS charged FROM mail_usage_total",
    [new Date(end + DAY_MS)],
  )
  console.log(`${rows} totals, ${await sizeOf(admin, 'mail_usage_total')}; they say ${charged} units of ${ACTS}`)
  if (Number(charged) !== ACTS) throw new Error('the totals are wrong')
  const rest = await consuming(instance)
  await instance.stop()

  instance = await service(url, { ...STEADY, RETENTION_DAYS: String(KEPT_DAYS) })
  const oldest = async () => timeOf((await admin.query('SELECT HEX(MIN(id)) AS id FROM mail_act'))[0][0].id)
  const removing = await watched(
    instance,
    'removed',
    async () => Math.min(1, ((await oldest()) - from) / (end - from)),
    Number(options.minutes),
  )
  await instance.stop()
  for (const [what, perSecond] of Object.entries({ 'added up': adding, removed: removing })) {
    console.log(`consumes while it is ${what}: ${(perSecond / rest).toFixed(2)} × ${rest.toFixed(0)}/s at rest`)
  }
  await admin.end()
} finally {
  await endAll()
  await mariadb.stop()
}

/** Consumes until the work is done, or for a maximum number of minutes, and reports each tenth. */
async function watched(instance, what, done, most) {
  await sleep(6_000)
  const began = performance.now()
  const figures = []
  let [told, since, part] = [await done(), began, 0]
  while (part < 1 && performance.now() - began < most * 60_000) {
    figures.push(await consuming(instance))
    part = await done()
    const now = performance.now()
    if (part - told < 0.1 && part < 1) continue
    console.log(
      `${(part * 100).toFixed(0)} % ${what} after ${minutes(now - began)} min: ${(((part - told) * ACTS) / ((now - since) / 1000)).toFixed(0)} acts/s, beside ${figures.at(-1).toFixed(0)} consumes/s`,
    )
    ;[told, since] = [part, now]
  }
  const seconds = (performance.now() - began) / 1000
  console.log(`${what}: ${((part * ACTS) / seconds).toFixed(0)} acts/s over ${minutes(seconds * 1000)} min`)
  return median(figures)
}

async function consuming({ port, token }) {
  const options = { path: '/api/v1/quotas/usage/consume', token, owners: OWNERS }
  const { perSecond, statuses } = await load({
    kind: 'consume',
    port,
    connections: 64,
    options,
    seconds: SLICE_SECONDS,
  })
  if (Object.keys(statuses).some((status) => status !== '200')) throw new Error(JSON.stringify(statuses))
  return perSecond
}

async function stateOf(admin) {
  return (await admin.query('SELECT HEX(folded_to) AS folded_to FROM mail_ledger_state'))[0][0]
}

function timeOf(id) {
  return Number.parseInt(id.slice(0, 12), 16) || 0
}

async function sizeOf(admin, table) {
  await admin.query(`ANALYZE TABLE ${table}`)
  const [[{ bytes }]] = await admin.query(
    'SELECT data_length + index_length AS bytes FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?',
    [table],
  )
  return `${(bytes / 1e9).toFixed(1)} GB`
}
