/**
 * Thresholds, webhooks and the feed of events on a throwaway MariaDB: measures the cost of thresholds that are not passed,
 * the delivery rate to one endpoint, the cost of hanging endpoints and of telling refusals for consumes, and the read rate
 * of a feed of ten million events.
 * `npm run build -- service && node bench/events.mjs [thresholds|delivery|hanging|refusals|feed …]`; without a name, all of them.
 * EVENTS sets the length of the feed, ROUNDS the number of pairs of `refusals`.
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SMTPServer } from 'smtp-server'
import { startMariaDb } from '../scripts/mariadb.mjs'
import { withoutIndexes } from './growth.mjs'
import { median } from './median.mjs'
import { cpuOf, endAll, load, service } from './processes.mjs'
import { connect } from './store.mjs'

const QUOTAS = '/api/v1/quotas'
const CONSUME = `${QUOTAS}/usage/consume`
const OWNERS = 1_000
/** The first owner whose quotas have ten thresholds; those of earlier owners have none. */
const WATCHED_FROM = 100_001
/** The first owner who has nothing left: the first thousand are refused again and again, later ones once. */
const DRY_FROM = 200_001
const DRY = 20_000
const ROUNDS = Number(process.env.ROUNDS ?? 12)
const EVENTS = Number(process.env.EVENTS ?? 10_000_000)
const RECEIVER = 'receiver'

const told = (what, value) => console.log(`${what.padEnd(58)} ${value}`)
const spread = (values, digits = 3) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`

if (process.argv[2] === RECEIVER) receive()
else await main(process.argv.slice(2))

/** The endpoints, in a separate process: `/hang…` never answers; a mail server takes everything. */
function receive() {
  let received = 0
  const mails = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    onData: (stream, _session, callback) => {
      stream.resume()
      stream.on('end', () => {
        received += 1
        callback()
      })
    },
  })
  const server = createServer((request, response) => {
    request.resume()
    if (request.url.startsWith('/hang')) return
    request.on('end', () => {
      received += 1
      response.writeHead(204).end()
    })
  })
  process.on('message', () => process.send({ received }))
  process.on('disconnect', () => process.exit())
  server.listen(0, '127.0.0.1', () => {
    const smtp = mails.listen(0, '127.0.0.1', () =>
      process.send({ port: server.address().port, smtp: smtp.address().port }),
    )
  })
}

async function main(names) {
  const cases = { thresholds, delivery, hanging, refusals, feed }
  const wanted = names.length === 0 ? Object.keys(cases) : names
  const folder = mkdtempSync(join(tmpdir(), 'quota-bench-'))
  const file = join(folder, 'webhooks.json')
  writeFileSync(file, '[]')
  const mariadb = await startMariaDb({
    args: ['--innodb-flush-log-at-trx-commit=1', '--innodb-buffer-pool-size=2G', '--innodb-log-file-size=1G'],
  })
  const receiver = fork(fileURLToPath(import.meta.url), [RECEIVER])
  try {
    const [{ port, smtp }] = await once(receiver, 'message')
    const making = await connect(mariadb.url(''))
    await making.query('CREATE DATABASE events')
    await making.end()
    const admin = await connect(mariadb.url('events'))
    const tested = await service(mariadb.url('events'), {
      LOG_LEVEL: 'warn',
      VERIFY_BACKGROUND: 'false',
      WEBHOOKS_FILE: file,
    })
    const endpoints = async (paths, { types, kinds = ['webhook'] } = {}) => {
      const entries = paths.map((path, place) => {
        const kind = kinds[place % kinds.length]
        const url = `http://127.0.0.1:${port}/${path}`
        return {
          name: path,
          kind,
          types,
          ...(kind === 'webhook' && { url, secrets: [`whsec_${randomBytes(32).toString('base64')}`] }),
          ...(kind === 'slack' && { url }),
          ...(kind === 'mail' && { to: ['a@a.example'], from: 'q@q.example', smtp: `smtp://127.0.0.1:${smtp}` }),
        }
      })
      writeFileSync(file, JSON.stringify(entries))
      process.kill(tested.pids[0], 'SIGHUP')
      // Until the file is in force, and the queues of removed endpoints are deleted.
      await sleep(2_000)
    }
    const received = async () => {
      receiver.send('?')
      return (await once(receiver, 'message'))[0].received
    }
    await fill(admin)
    for (const name of wanted) await cases[name]({ admin, tested, mariadb, endpoints, received })
    await admin.end()
  } finally {
    receiver.disconnect()
    await endAll()
    await mariadb.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(admin) {
  for (const [from, thresholds] of [
    [1, 'NULL'],
    [WATCHED_FROM, `'91 92 93 94 95 96 97 98 99 100'`],
  ]) {
    await admin.query(
      `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, thresholds, created_at, updated_at)
       SELECT ${from} + seq - 1, 1, 1000000000, 'active', '2099-01-01', ${thresholds}, NOW(3), NOW(3) FROM seq_1_to_${OWNERS};
       INSERT INTO mail_owner (owner_id) SELECT ${from} + seq - 1 FROM seq_1_to_${OWNERS}`,
    )
  }
}

/** Consumes, with the cost of each to the service and the database. */
async function consumes({ tested, mariadb }, from, { count, seconds }) {
  const pids = [...tested.pids, mariadb.pid()]
  const before = pids.map((pid) => cpuOf([pid]))
  const options = { path: CONSUME, token: tested.token, owners: OWNERS, from }
  const figure = await load({ kind: 'consume', options, port: tested.port, connections: 64, count, seconds })
  if (Object.keys(figure.statuses).join() !== '200') throw new Error(JSON.stringify(figure.statuses))
  const [ours, theirs] = pids.map((pid, place) => (cpuOf([pid]) - before[place]) / figure.answered)
  return { ...figure, ours, theirs }
}

async function thresholds(parts) {
  const count = 6_000
  for (const from of [1, WATCHED_FROM]) await consumes(parts, from, { count: 10_000 })
  const rounds = []
  for (let round = 0; round < 16; round += 1) {
    const order = round % 2 === 0 ? [1, WATCHED_FROM] : [WATCHED_FROM, 1]
    const figures = new Map()
    for (const from of order) figures.set(from, await consumes(parts, from, { count }))
    rounds.push({ without: figures.get(1), watched: figures.get(WATCHED_FROM) })
  }
  const ratio = (of) => spread(rounds.map(({ without, watched }) => of(watched) / of(without)))
  told(
    'ten thresholds that are not passed: CPU of the service',
    ratio(({ ours }) => ours),
  )
  told(
    '  of the service and MariaDB',
    ratio(({ ours, theirs }) => ours + theirs),
  )
  told(
    '  throughput',
    ratio(({ perSecond }) => perSecond),
  )
  told(
    '  µs a consume of the service, without',
    spread(
      rounds.map(({ without }) => without.ours),
      0,
    ),
  )
}

async function delivery({ tested, endpoints, received }) {
  await endpoints(['quick'])
  const count = 10_000
  const before = await received()
  const cpu = cpuOf(tested.pids)
  const began = performance.now()
  const options = { path: QUOTAS, token: tested.token }
  const { statuses } = await load({ kind: 'create', options, port: tested.port, connections: 32, count })
  const made = performance.now()
  if (statuses['201'] !== count) throw new Error(JSON.stringify(statuses))
  while ((await received()) - before < count) await sleep(20)
  const seconds = (performance.now() - began) / 1000
  told(
    `${count} events, made in ${((made - began) / 1000).toFixed(1)} s, received after`,
    `${seconds.toFixed(1)} s: ${Math.round((count / seconds) * 60)} a minute`,
  )
  told('  CPU of the service, creates included, µs an event', Math.round((cpuOf(tested.pids) - cpu) / count))
  // Only deliveries, with no other work.
  const answer = await fetch(`http://127.0.0.1:${tested.port}/api/v1/webhooks/quick/replay`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tested.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: '2020-01-01T00:00:00Z' }),
  })
  const { events } = await answer.json()
  const [first, cpuFirst, start] = [await received(), cpuOf(tested.pids), performance.now()]
  while ((await received()) - first < events) await sleep(20)
  const alone = (performance.now() - start) / 1000
  told(`${events} events again, by a replay`, `${alone.toFixed(1)} s: ${Math.round((events / alone) * 60)} a minute`)
  told('  CPU of the service, µs an event', Math.round((cpuOf(tested.pids) - cpuFirst) / events))
}

async function hanging(parts) {
  const { tested, endpoints } = parts
  // Causes events for the endpoints.
  const happening = setInterval(() => {
    const body = {
      account_id: 900_000_000 + Math.floor(Math.random() * 1e8),
      quota_type: 1,
      total: 1,
      expire_at: '2099-01-01T00:00:00Z',
    }
    void fetch(`http://127.0.0.1:${tested.port}${QUOTAS}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tested.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(async (answer) => answer.arrayBuffer())
  }, 100)
  try {
    await consumes(parts, 1, { count: 10_000 })
    const rounds = []
    for (let round = 0; round < 6; round += 1) {
      const figures = {}
      for (const which of round % 2 === 0 ? ['none', 'five'] : ['five', 'none']) {
        await endpoints(which === 'none' ? [] : ['quick', 'quicker', 'hang-1', 'hang-2', 'hang-3'])
        figures[which] = await consumes(parts, 1, { seconds: 4 })
      }
      rounds.push(figures)
    }
    const ratio = (of) => spread(rounds.map(({ none, five }) => of(five) / of(none)))
    told(
      'consume beside 5 endpoints of which 3 hang: throughput',
      ratio(({ perSecond }) => perSecond),
    )
    told(
      '  CPU of the service',
      ratio(({ ours }) => ours),
    )
    told(
      '  p99, ms: without, with',
      rounds.map(({ none, five }) => `${none.p99.toFixed(0)}/${five.p99.toFixed(0)}`).join(' '),
    )
  } finally {
    clearInterval(happening)
    await endpoints([])
  }
}

/** Consumes beside 200 refusals a second, without endpoints and with three of each kind. */
async function refusals(parts) {
  const { tested, endpoints, received, admin } = parts
  await admin.query(
    `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, created_at, updated_at)
     SELECT ${DRY_FROM} + seq - 1, 1, 0, 'active', '2099-01-01', NOW(3), NOW(3) FROM seq_1_to_${DRY};
     INSERT INTO mail_owner (owner_id) SELECT ${DRY_FROM} + seq - 1 FROM seq_1_to_${DRY}`,
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const refuse = (owner) => {
    const body = JSON.stringify({ account_id: owner, amount: 1 })
    const headers = {
      authorization: `Bearer ${tested.token}`,
      'content-type': 'application/json',
      'idempotency-key': `refusal-${beat}`,
    }
    const asked = request({ port: tested.port, host: '127.0.0.1', path: CONSUME, method: 'POST', agent, headers })
    asked.on('response', (answer) => {
      if (answer.statusCode !== 409) wrong = answer.statusCode
      answer.resume()
    })
    asked.on('error', () => undefined)
    asked.end(body)
  }
  /** Owners who are refused for the first time, a second. */
  let fresh = 0
  let [beat, next, wrong] = [0, 1_000, undefined]
  const refusing = setInterval(() => {
    for (let n = 0; n < 4; n += 1) {
      beat += 1
      const isNew = fresh > 0 && beat % (200 / fresh) === 0
      if (isNew) next += 1
      refuse(DRY_FROM + (isNew ? next : beat % 1_000))
    }
  }, 20)
  try {
    const kinds = ['webhook', 'slack', 'mail']
    const nine = [1, 2, 3].flatMap((n) => kinds.map((kind) => `${kind}-${n}`))
    const options = { types: ['owner.refused', 'owner.recovered'], kinds }
    await endpoints(nine, options)
    await consumes(parts, 1, { seconds: 20 })
    if (wrong !== undefined) throw new Error(`a refusal is answered ${wrong}`)
    for (const each of [0, 2, 10]) {
      const rounds = []
      fresh = each
      const before = await received()
      for (let round = 0; round < ROUNDS; round += 1) {
        const figures = {}
        for (const which of round % 2 === 0 ? ['none', 'nine'] : ['nine', 'none']) {
          await endpoints(which === 'none' ? [] : nine, options)
          await sleep(1_500)
          figures[which] = await consumes(parts, 1, { seconds: 4 })
        }
        rounds.push(figures)
      }
      if (wrong !== undefined) throw new Error(`a refusal is answered ${wrong}`)
      const ratio = (of) => spread(rounds.map(({ none, nine: with9 }) => of(with9) / of(none)))
      told(
        `consume beside 200 refusals/s, ${each} of owners not refused before`,
        `${ratio(({ perSecond }) => perSecond)}, CPU ${ratio(({ ours }) => ours)}, p99 ms ${rounds
          .map(({ none, nine: with9 }) => `${none.p99.toFixed(0)}/${with9.p99.toFixed(0)}`)
          .join(' ')}, ${(await received()) - before} received`,
      )
    }
  } finally {
    clearInterval(refusing)
    agent.destroy()
    await endpoints([])
  }
}

async function feed({ admin, tested }) {
  const began = performance.now()
  await admin.query('DELETE FROM mail_event')
  const id = `UNHEX(CONCAT('0193a1b2', LPAD(HEX(seq >> 16 & 65535), 4, '0'), '70008000', LPAD(seq, 12, '0')))`
  await withoutIndexes(admin, 'mail_event', () =>
    admin.query(
      `INSERT INTO mail_event (seq, position, id, type, at, owner_id, quota_id, act_id, change_id, data_json)
       SELECT seq, seq, ${id}, IF(seq MOD 10 = 0, 'quota.threshold_reached', 'quota.updated'), NOW(3), 1 + seq MOD 100000, 1 + seq MOD 200000, ${id}, IF(seq MOD 10 = 0, NULL, seq),
         CONCAT('{"quota_id":', 1 + seq MOD 200000, ',"account_id":', 1 + seq MOD 100000, ',"action":"update","actor":"bench","request_id":"0193a1b2-5c00-7000-8000-000000000000","at":"2026-11-23T00:00:00.000Z","before":{"total":1},"after":{"total":2}}')
       FROM seq_1_to_${EVENTS}`,
    ),
  )
  await admin.query(`UPDATE mail_event_feed SET last_position = ${EVENTS}, removed_to = 0; ANALYZE TABLE mail_event`)
  told(`${EVENTS} events made in`, `${((performance.now() - began) / 1000).toFixed(0)} s`)
  const page = async (query) => {
    const answer = await fetch(`http://127.0.0.1:${tested.port}${QUOTAS}/events?page_size=100${query}`, {
      headers: { authorization: `Bearer ${tested.token}` },
    })
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const walk = async (from, filter, seconds) => {
    let after = from
    let read = 0
    const until = performance.now() + seconds * 1000
    while (performance.now() < until) {
      const { items, next_after: next } = await page(`${filter}${after === '' ? '' : `&after=${after}`}`)
      if (items.length === 0) break
      read += items.length
      after = next
    }
    return read
  }
  const seconds = 5
  await walk('', '', 3)
  for (const [what, from, filter, readers = 1] of [
    ['from the beginning, one reader', '', ''],
    ['from the middle, one reader', `e${Math.floor(EVENTS / 2)}`, ''],
    ['from the middle, four readers', `e${Math.floor(EVENTS / 2)}`, '', 4],
    ['one type of ten', `e${Math.floor(EVENTS / 2)}`, '&type=quota.threshold_reached'],
  ]) {
    const cpu = cpuOf(tested.pids)
    const start = performance.now()
    const reads = await Promise.all(Array.from({ length: readers }, async () => walk(from, filter, seconds)))
    const read = reads.reduce((sum, one) => sum + one)
    const took = (performance.now() - start) / 1000
    told(
      `feed, ${what}`,
      `${Math.round(read / took)} events/s, ${Math.round((cpuOf(tested.pids) - cpu) / read)} µs CPU of the service an event`,
    )
  }
  for (const filter of ['&quota_id=77', '&account_id=77', '&account_id=9&type=quota.threshold_reached']) {
    const times = []
    for (let n = 0; n < 30; n += 1) {
      const start = performance.now()
      await page(filter)
      times.push(performance.now() - start)
    }
    told(`feed, a page of ${filter.slice(1)}: ms`, median(times).toFixed(1))
  }
}
