/**
 * `npm run bench`: compares the service with its references, in turn in one run (A B A B), on one throwaway MariaDB with
 * innodb_flush_log_at_trx_commit=1. Each comparison has two figures: requests per second, as a ratio of medians, and the
 * CPU time of the processes for each correct answer, which other load on the machine hardly affects.
 * A run with a wrong answer, or with sums that do not match, is invalid.
 *
 *   --quick          runs one short pair for each figure
 *   --seconds N      the duration of each load; default: 5
 *   --pairs N        the number of measurements of each pair; default: 3
 *   --only NAME      runs the figures whose name contains this
 *   --skip NAMES     skips these, comma-separated; `memory` and `growth` take minutes
 *   --json FILE      writes the measurements
 *   --compare FILE   shows each ratio beside that of an earlier run
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { startMariaDb } from '../scripts/mariadb.mjs'
import { CURVE, curve, grown, memory, startToReady, tracing, twoInstances, upkeep } from './further.mjs'
import { issuer } from './issuer.mjs'
import { median } from './median.mjs'
import { cpuOf, endAll, healthOf, load, reference, service } from './processes.mjs'
import {
  audit,
  bytesOf,
  CAP_DRY,
  connect,
  DRY,
  FEW,
  fill,
  FOUR_CAPS,
  MANY,
  MEMBERS,
  ONE_GROUP,
  OWNERS,
  TWO_CAPS,
} from './store.mjs'
import { verifying } from './verifying.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    pairs: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '' },
    json: { type: 'string' },
    compare: { type: 'string' },
  },
})
const PAIRS = options.quick ? 1 : Number(options.pairs)
const SECONDS = options.quick ? 2 : Number(options.seconds)
const WARM_UP_REQUESTS = options.quick ? 2_000 : 10_000

const API = '/api/v1/quotas'
const USAGE = `${API}/usage`
const CONSUME = { kind: 'consume', path: `${USAGE}/consume`, status: 200 }
const BATCH = { kind: 'batch', path: `${USAGE}/consume/batch`, status: 200 }
const JSON_BODY = { kind: 'json', path: '/json', status: 200 }
const NAIVE = { who: 'naive', ...CONSUME, path: '/consume' }
const PEER = { who: 'peer', ...CONSUME, path: '/consume' }
const SQL = { who: 'sql', ...CONSUME, path: '/consume' }
/** One instance that knows an identity provider: requests with its JWT, and with a static token. */
const [BY_JWT, BY_TOKEN] = ['jwt', 'token'].map((who) => ({ who, ...CONSUME, owners: OWNERS }))
const EXPRESS = { who: 'express', ...JSON_BODY }
/** The service itself, with requests that meet few caps or none. */
const SELF = { who: 'service', ...CONSUME }

/** The targets that spend from the service's own tables, so that sums are compared with them. */
const SPENDS = ['service', 'sql', 'jwt', 'token']

/**
 * The figures: the request to the service, the references with their requests, and the goals. `times` goals are minimum
 * ratios of throughput; `cpu` and `p99` goals are maximum ratios. `unit` is the number of operations in one answer.
 * `known`: the instance has met every owner before, as one that has run for a while: it knows the owners' groups.
 */
const CASES = [
  frame('frame: empty handler', 'limit', '/limit/http', { cpu: 0.85 }),
  frame('frame: without access check', 'limit', '/limit/open', {}),
  { name: 'bare node:http', ask: { who: 'node', ...JSON_BODY }, against: [[EXPRESS, {}]] },
  consume('consume: one hot owner', 1, 64, { naive: { times: 5, p99: 0.5 }, express: { times: 0.9 } }),
  consume('consume: one hot owner, 256 connections', 1, 256, {
    naive: { times: 5, p99: 0.5 },
    express: { times: 0.9 },
  }),
  {
    ...consume('consume: 10,000 owners', OWNERS, 64, {
      naive: { times: 3.2, cpu: 0.33, db: 0.25 },
      peer: { times: 2.5 },
      express: { times: 0.85 },
      sql: {},
    }),
    bytes: true,
  },
  consume(
    'consume: 10,000 owners, Zipf',
    OWNERS,
    64,
    { naive: { times: 3.2 }, express: { times: 0.85 } },
    { skew: true },
  ),
  { name: 'consume: 10,000 owners, by JWT', ask: BY_JWT, against: [[BY_TOKEN, { times: 0.95 }]] },
  {
    name: 'refusals: quota dry',
    ask: { ...CONSUME, kind: 'dry', status: 409, ...DRY },
    against: [[EXPRESS, { times: 0.9 }]],
  },
  { name: 'replays', ask: { ...CONSUME, kind: 'replay', owners: OWNERS }, against: [[EXPRESS, { times: 0.9 }]] },
  {
    name: 'reserve, then commit (pairs)',
    ask: { kind: 'pair', path: USAGE, status: [200, 201], owners: OWNERS },
    unit: 0.5,
    against: [[EXPRESS, { times: 0.35 }]],
  },
  {
    name: 'batch of 500 (operations)',
    ask: { ...BATCH, owners: OWNERS },
    unit: 500,
    connections: 8,
    against: [[{ ...NAIVE, owners: OWNERS }, { times: 20 }]],
  },
  { name: 'create', ask: { kind: 'create', path: API, status: 201 }, against: [[EXPRESS, {}]] },
  read('summary', `${API}/summary/{owner}`, { times: 1.2 }),
  read('check', `${USAGE}/check?account_id={owner}&amount=1`, { times: 1.2 }),
  read('read one', `${API}/{owner}`, { times: 1.2 }),
  read('list of one owner', `${API}?account_id={owner}`, { times: 1 }),
  read('first page by a filter', `${API}?status=active`, { times: 1 }),
  {
    name: 'caps: consume under two',
    ask: { ...CONSUME, ...TWO_CAPS },
    against: [[{ ...SELF, owners: TWO_CAPS.owners }, { times: 0.8 }]],
  },
  {
    name: 'caps: refusal by one',
    ask: { ...CONSUME, kind: 'dry', status: 409, ...CAP_DRY },
    against: [[{ ...SELF, kind: 'dry', status: 409, ...DRY }, { cpu: 1.2 }]],
  },
  {
    name: 'caps: 16 and 184 payers of one owner',
    ask: { ...CONSUME, ...MANY },
    against: [[{ ...SELF, ...FEW }, { cpu: 3 }]],
  },
  {
    name: 'groups: a count and a shared cap',
    ask: { ...CONSUME, ...MEMBERS },
    known: true,
    against: [[{ ...SELF, owners: OWNERS }, { times: 0.75 }]],
  },
  {
    name: 'groups: 10,000 members of one',
    ask: { ...CONSUME, ...ONE_GROUP },
    known: true,
    against: [[{ ...SELF, owners: 1 }, { times: 0.8 }]],
  },
  read('caps: summary with four', `${API}/summary/{owner}`, { times: 1 }, FOUR_CAPS),
  read('caps: check with four', `${USAGE}/check?account_id={owner}&amount=1`, { times: 1 }, FOUR_CAPS),
]

function frame(name, who, path, goal) {
  return { name, ask: { who, ...JSON_BODY, path }, against: [[EXPRESS, goal]] }
}

function read(name, path, goal, of = { owners: OWNERS }) {
  return { name, ask: { kind: 'get', path, status: 200, ...of }, against: [[EXPRESS, goal]] }
}

function consume(name, owners, connections, goals, more = {}) {
  const references = {
    naive: { ...NAIVE, owners, ...more },
    peer: { ...PEER, owners, ...more },
    sql: { ...SQL, owners, ...more },
    express: EXPRESS,
  }
  return {
    name,
    connections,
    ask: { ...CONSUME, owners, ...more },
    against: Object.entries(goals).map(([who, goal]) => [references[who], goal]),
  }
}

const skipped = options.skip.split(',')
const cases = CASES.filter(({ name }) => name.includes(options.only) && !skipped.includes(name))
const earlier = options.compare === undefined ? undefined : JSON.parse(readFileSync(options.compare, 'utf8'))
const mariadb = await startMariaDb({ args: ['--innodb-flush-log-at-trx-commit=1', '--innodb-buffer-pool-size=1G'] })
const dbPid = () => [mariadb.pid()]
const results = []
const more = {}
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    interrupted = true
    void endAll()
  })
}

try {
  const admin = await connect(mariadb.url(''))
  await admin.query('CREATE DATABASE bench; USE bench')
  const url = mariadb.url('bench')
  const instance = await service(url)
  await fill(admin)
  const targets = { service: instance }
  let asked
  const provided = () =>
    (asked ??= issuer().then(async ({ env, token }) => ({ instance: await service(url, env), token })))
  // Started at first use: an idle process costs only memory, but each takes a moment to start.
  const makers = {
    jwt: async () => ({ ...(await provided()).instance, token: (await provided()).token }),
    token: async () => (await provided()).instance,
    limit: () => reference('limit-http.mjs', { DATABASE_URL: url }),
    node: () => reference('limit-node.mjs'),
    express: () => reference('express.mjs'),
    naive: () => reference('naive.mjs', { NAIVE_DATABASE_URL: url }),
    peer: () => reference('peer.mjs', { NAIVE_DATABASE_URL: url }),
    sql: () => reference('limit-sql.mjs', { DATABASE_URL: url }),
  }
  let acknowledged = 0
  const run = Math.random().toString(36).slice(2)

  const measure = async ({ who = 'service', kind, path, status, ...more }, connections, bound, unit = 1) => {
    targets[who] ??= await makers[who]()
    const target = targets[who]
    const before = { own: cpuOf(target.pids), db: cpuOf(dbPid()) }
    const options = {
      path,
      run,
      ...more,
      ...(path.startsWith('/api') || path === '/limit/http' ? { token: target.token } : {}),
    }
    const figure = await load({ kind, port: target.port, connections, options, ...bound })
    for (const [answered, count] of Object.entries(figure.statuses)) {
      if (![status].flat().includes(Number(answered)) && !interrupted)
        throw new Error(`${who} answered ${count} requests of ${path} with ${answered}`)
    }
    if (SPENDS.includes(who) && (kind === 'consume' || kind === 'batch')) acknowledged += figure.answered * unit
    const operations = figure.answered * unit
    return {
      perSecond: figure.perSecond * unit,
      p50: figure.p50,
      p99: figure.p99,
      own: (cpuOf(target.pids) - before.own) / operations,
      db: (cpuOf(dbPid()) - before.db) / operations,
    }
  }

  const began = performance.now()
  heading()
  for (const [place, { name, ask, unit = 1, connections = 64, against, bytes, known }] of cases.entries()) {
    if (interrupted) break
    if (known) await measure({ ...ask, ...BATCH }, 8, { count: (10 * ask.owners) / 500 }, 500)
    const warm = { count: Math.ceil(WARM_UP_REQUESTS / Math.max(1, unit)) }
    await measure(ask, connections, warm, unit)
    // The textbook takes ten times as long for the same number.
    for (const [other] of against)
      await measure(other, 64, { count: Math.ceil(WARM_UP_REQUESTS / (other.who === 'naive' ? 5 : 1)) })
    const tables = ['mail_act', 'mail_operation', 'mail_allocation', 'mail_hold']
    const sizeBefore = bytes ? await bytesOf(admin, tables) : 0
    const rowsBefore = bytes ? await rowsOf(admin) : 0
    const healthBefore = await healthOf(instance)
    const healthBegan = performance.now()
    const own = []
    const others = against.map(() => [])
    for (let pair = 0; pair < PAIRS; pair += 1) {
      own.push(await measure(ask, connections, { seconds: SECONDS }, unit))
      for (const [n, [other]] of against.entries()) {
        const bound = { seconds: SECONDS }
        others[n].push(await measure(other, other.kind === 'consume' ? connections : 64, bound))
      }
    }
    const health = await healthOf(instance)
    const size = bytes
      ? ((await bytesOf(admin, tables)) - sizeBefore) / ((await rowsOf(admin)) - rowsBefore)
      : undefined
    const result = {
      name,
      perSecond: medianOf(own, 'perSecond'),
      p50: medianOf(own, 'p50'),
      p99: medianOf(own, 'p99'),
      cpu: medianOf(own, 'own'),
      db: medianOf(own, 'db'),
      ...(size === undefined ? {} : { bytes: Math.round(size) }),
      lagP99Ms: health.lagP99Ms,
      lagMaxMs: health.lagMaxMs,
      gcPart: (health.gcSeconds - healthBefore.gcSeconds) / ((performance.now() - healthBegan) / 1000),
      residentMb: health.residentMb,
      against: against.map(([{ who }, goal], n) => compared(who, goal, own, others[n])),
    }
    results.push(result)
    show(result, place)
  }
  function heading() {
    console.log('| figure | /s | p50, p99 ms | CPU µs: service, MariaDB | against | throughput | CPU | goal | |')
    console.log('|---|---|---|---|---|---|---|---|---|')
  }
  function show(result, place) {
    const left = ((performance.now() - began) / (place + 1)) * (cases.length - place - 1)
    for (const [n, one] of result.against.entries()) {
      const first = n === 0
      const before = earlier?.results.find(({ name }) => name === result.name)?.against[n]?.times
      console.log(
        `| ${first ? result.name : ''} | ${first ? result.perSecond.toFixed(0) : ''} | ${first ? `${result.p50.toFixed(1)}, ${result.p99.toFixed(1)}` : ''} ` +
          `| ${first ? `${result.cpu.toFixed(0)}, ${result.db.toFixed(0)}` : ''} | ${one.who} ${one.perSecond.toFixed(0)}/s ` +
          `| ${one.times.toFixed(2)} × (${one.spread.map((value) => value.toFixed(2)).join('–')})${before === undefined ? '' : `, was ${before.toFixed(2)}`} ` +
          `| ${one.cpu.toFixed(2)} ×${one.db === undefined ? '' : `, ${one.db.toFixed(2)} ×`} | ${goalText(one.goal)} | ${one.met === undefined ? '' : one.met ? 'met' : 'missed'} |`,
      )
    }
    process.stderr.write(`${place + 1} of ${cases.length}, about ${Math.ceil(left / 60_000)} min left\n`)
  }
  const wants = (name) => !interrupted && name.includes(options.only) && !skipped.includes(name)
  const further = { quick: options.quick, seconds: SECONDS, pairs: PAIRS, url, admin, instance, mariadb }
  if (wants('two instances')) {
    more.twoInstances = await twoInstances(further)
    acknowledged += more.twoInstances.acknowledged
  }
  if (wants(CURVE)) {
    more.curve = await curve(further)
    acknowledged += more.curve.acknowledged
  }
  if (wants('tracing')) {
    more.tracing = await tracing(further)
    acknowledged += more.tracing.acknowledged
  }
  if (wants('memory')) {
    more.memory = await memory(further)
    acknowledged += more.memory.acknowledged
  }
  if (wants('start to ready')) more.ready = await startToReady(further)
  if (!interrupted) {
    const known = results.filter(({ bytes }) => bytes !== undefined)
    for (const { name, bytes } of known) console.log(`${name}: ${bytes} bytes on disk each`)
    console.log(`sums: ${await audit(admin, acknowledged)}; MariaDB ${mariadb.version}, Node ${process.version}`)
  }
  if (wants('upkeep')) more.upkeep = await upkeep(further)
  if (wants('verify')) more.verify = await verifying(further)
  if (wants('growth')) more.growth = await grown(further)
  if (results.length > 0) {
    console.log('\n| figure | event loop late: p99, worst ms | garbage collection | memory |\n|---|---|---|---|')
    for (const { name, lagP99Ms, lagMaxMs, gcPart, residentMb } of results) {
      console.log(
        `| ${name} | ${lagP99Ms.toFixed(0)}, ${lagMaxMs.toFixed(0)} | ${(gcPart * 100).toFixed(1)} % | ${residentMb} MB |`,
      )
    }
  }
  await admin.end()
} catch (error) {
  if (!interrupted) throw error
} finally {
  // Also if one of the further figures failed.
  if (!interrupted && results.length === cases.length && options.json !== undefined) {
    const about = { node: process.version, mariadb: mariadb.version, cpu: `${cpus().length} × ${cpus()[0]?.model}` }
    writeFileSync(options.json, `${JSON.stringify({ ...about, results, ...more }, null, 2)}\n`)
  }
  await endAll()
  await mariadb.stop()
}

function compared(who, goal, own, others) {
  const ratios = own.map((figure, pair) => figure.perSecond / others[pair].perSecond).sort((a, b) => a - b)
  const times = medianOf(own, 'perSecond') / medianOf(others, 'perSecond')
  const cpu = medianOf(own, 'own') / medianOf(others, 'own')
  const usesStore = medianOf(others, 'db') > 1
  const db = usesStore ? medianOf(own, 'db') / medianOf(others, 'db') : undefined
  const p99 = medianOf(own, 'p99') / medianOf(others, 'p99')
  const checks = [
    ...(goal.times === undefined ? [] : [times >= goal.times]),
    ...(goal.cpu === undefined ? [] : [cpu <= goal.cpu]),
    ...(goal.db === undefined ? [] : [db <= goal.db]),
    ...(goal.p99 === undefined ? [] : [p99 <= goal.p99]),
  ]
  return {
    who,
    goal,
    perSecond: medianOf(others, 'perSecond'),
    times,
    spread: [ratios[0], ratios.at(-1)],
    cpu,
    db,
    p99,
    ...(checks.length === 0 ? {} : { met: checks.every(Boolean) }),
  }
}

function goalText({ times, cpu, db, p99 }) {
  return [
    ...(times === undefined ? [] : [`≥ ${times} ×`]),
    ...(cpu === undefined ? [] : [`CPU ≤ ${cpu} ×`]),
    ...(db === undefined ? [] : [`MariaDB ≤ ${db} ×`]),
    ...(p99 === undefined ? [] : [`p99 ≤ ${p99} ×`]),
  ].join(', ')
}

async function rowsOf(admin) {
  const [[{ n }]] = await admin.query("SELECT COUNT(*) AS n FROM mail_act WHERE kind = 'consume'")
  return Number(n)
}

function medianOf(figures, name) {
  return median(figures.map((figure) => figure[name]))
}
