/**
 * Change sets of 100,000 quotas on a throwaway MariaDB: measures how long preparing and applying take, the throughput of
 * concurrent consumes, how much memory an import and an export add to the service, and what reads cost with 1,000 sets
 * before. `npm run build -- service && node bench/change-sets.mjs`.
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startMariaDb } from '../scripts/mariadb.mjs'
import { SERVER } from './growth.mjs'
import { median } from './median.mjs'
import { cpuOf, START } from './processes.mjs'
import { connect } from './store.mjs'

const ROWS = Number(process.argv[2] ?? 100_000)
const CALLERS = 64
const SETS = 1_000
const PAIRS = Number(process.argv[3] ?? 3)
const SECONDS = 8
const READS = 500
const QUOTAS = '/api/v1/quotas'

const mariadb = await startMariaDb({ args: SERVER })
const database = await connect(mariadb.url(''))
await database.query('CREATE DATABASE many')
await database.end()
const port = await freePort()
const tokens = ['admin', 'sender'].map((name) => ({ name, token: `qt_${randomBytes(24).toString('hex')}` }))
const [admin, sender] = tokens.map(({ token }) => token)
const service = spawn(process.execPath, START, {
  env: {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: mariadb.url('many'),
    PORT: String(port),
    LOG_LEVEL: 'warn',
    VERIFY_BACKGROUND: 'false',
    AUTH_TOKENS: tokens
      .map(({ name, token }) => `${name}:admin:${createHash('sha256').update(token).digest('hex')}`)
      .join(','),
  },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

function send(method, path, { token = admin, headers = {}, body, onData } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { port, method, path, agent, headers: { authorization: `Bearer ${token}`, ...headers } },
      (response) => {
        let text = ''
        response.on('data', (chunk) => (onData === undefined ? (text += chunk) : onData(chunk)))
        response.on('end', () => resolve({ status: response.statusCode, text }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    if (typeof body === 'function') body(sent)
    else sent.end(body)
  })
}
const post = async (path, value, more = {}) => {
  const body = JSON.stringify(value)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...more.headers }
  const answer = await send('POST', path, { ...more, headers, body })
  return { status: answer.status, body: JSON.parse(answer.text) }
}
const settled = async (id) => {
  for (;;) {
    const { text } = await send('GET', `${QUOTAS}/change-sets/${id}`)
    const set = JSON.parse(text)
    if (!['preparing', 'applying', 'reverting'].includes(set.state)) return set
    await sleep(100)
  }
}
const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))[1]) / 1024
async function watched(work) {
  const before = memory()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, memory())), 20)
  const began = performance.now()
  const result = await work()
  clearInterval(timer)
  return { result, seconds: (performance.now() - began) / 1000, more: most - before }
}
async function consumes(seconds) {
  const until = performance.now() + seconds * 1000
  let done = 0
  const times = []
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, n) => {
      while (performance.now() < until) {
        const began = performance.now()
        const headers = { 'idempotency-key': randomBytes(9).toString('hex') }
        const { status } = await post(
          `${QUOTAS}/usage/consume`,
          { account_id: 1 + n, amount: 1 },
          { token: sender, headers },
        )
        if (status !== 200) throw new Error(`consume: ${status}`)
        times.push(performance.now() - began)
        done += 1
      }
    }),
  )
  times.sort((a, b) => a - b)
  return { rate: done / seconds, p99: times[Math.floor(times.length * 0.99)] }
}
/** The same, with the CPU time of the service and of MariaDB for each consume. */
async function measured() {
  const pids = [service.pid, mariadb.pid()]
  const before = cpuOf(pids)
  const figure = await consumes(SECONDS)
  return { ...figure, cpu: (cpuOf(pids) - before) / (figure.rate * SECONDS) }
}
/** Median times of a list of change sets, of one set and of a page of its rows, in ms; requested in turn. */
async function reads(id) {
  const paths = ['?page_size=100', `/${id}`, `/${id}/rows?page_size=100`]
  const times = paths.map(() => [])
  for (let n = 0; n < READS; n += 1) {
    for (const [place, path] of paths.entries()) {
      const began = performance.now()
      const { status } = await send('GET', `${QUOTAS}/change-sets${path}`)
      if (status !== 200) throw new Error(`${path}: ${status}`)
      times[place].push(performance.now() - began)
    }
  }
  return times.map((some) => some.sort((a, b) => a - b)[READS / 2])
}
const told = (what, value) => console.log(`${what.padEnd(44)} ${value}`)

try {
  for (;;) {
    const up = await send('GET', '/health/ready').catch(() => undefined)
    if (up?.status === 200) break
    await sleep(100)
  }
  const upload = async () => {
    const { text } = await send('POST', `${QUOTAS}/import`, {
      headers: { 'content-type': 'text/csv' },
      body: async (sent) => {
        sent.write('account_id,quota_type,total,expire_at,label\r\n')
        for (let n = 1; n <= ROWS; n += 1) {
          const row = `${n},1,1000000,2099-01-01T00:00:00Z,label ${n}\r\n`
          if (!sent.write(row)) await new Promise((resolve) => sent.once('drain', resolve))
        }
        sent.end()
      },
    })
    return JSON.parse(text)
  }
  await upload().then(({ id }) => send('DELETE', `${QUOTAS}/change-sets/${id}`))
  const arrived = await watched(upload)
  told('import: seconds, MB more', `${arrived.seconds.toFixed(1)} ${arrived.more.toFixed(0)}`)
  const made = await watched(async () => settled(arrived.result.id))
  told('prepared (creates): seconds', made.seconds.toFixed(1))
  const applied = await watched(async () => {
    const { id, version, counts } = made.result
    await post(`${QUOTAS}/change-sets/${id}/apply`, { version, rows: counts.planned })
    return settled(id)
  })
  told('applied (creates): seconds, rows/s', `${applied.seconds.toFixed(1)} ${Math.round(ROWS / applied.seconds)}`)
  let bytes = 0
  const out = await watched(async () =>
    send('GET', `${QUOTAS}/export.csv`, { onData: (chunk) => (bytes += chunk.length) }),
  )
  told('export: seconds, MB, MB more', `${out.seconds.toFixed(1)} ${(bytes / 1e6).toFixed(1)} ${out.more.toFixed(0)}`)
  const prepared = await watched(async () => {
    const { body } = await post(`${QUOTAS}/change-sets`, {
      filter: { all: true },
      change: { update: { total: { percent: 10 } } },
    })
    return settled(body.id)
  })
  told('prepared (filter): seconds', prepared.seconds.toFixed(1))
  const changed = await watched(async () => {
    const { id, version, counts } = prepared.result
    await post(`${QUOTAS}/change-sets/${id}/apply`, { version, rows: counts.planned })
    return settled(id)
  })
  told('applied (updates): seconds, rows/s', `${changed.seconds.toFixed(1)} ${Math.round(ROWS / changed.seconds)}`)
  const { id } = changed.result
  await consumes(3)
  // Only the quotas whose label begins so, so that the work continues throughout the consumes.
  const beside = { apply: [], revert: [] }
  for (let pair = 1; pair <= PAIRS; pair += 1) {
    const { body } = await post(`${QUOTAS}/change-sets`, {
      filter: { label: 'label 1' },
      change: { update: { total: { add: pair } } },
    })
    for (const step of ['apply', 'revert']) {
      const { version, counts } = await settled(body.id)
      const alone = await measured()
      await post(`${QUOTAS}/change-sets/${body.id}/${step}`, {
        version,
        ...(step === 'apply' ? { rows: counts.planned } : {}),
      })
      const together = await measured()
      const after = JSON.parse((await send('GET', `${QUOTAS}/change-sets/${body.id}`)).text).counts
      beside[step].push({ alone, together, rows: after[step === 'apply' ? 'applied' : 'reverted'] })
      await settled(body.id)
    }
  }
  for (const [step, pairs] of Object.entries(beside)) {
    const ratio = (name) => {
      const ratios = pairs.map(({ alone, together }) => together[name] / alone[name])
      return `${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(' ')})`
    }
    told(`consumes beside ${step}: throughput`, ratio('rate'))
    told('  p99', ratio('p99'))
    told('  CPU of both, each', ratio('cpu'))
    told('  rows/s', median(pairs.map(({ rows }) => rows / SECONDS)).toFixed(0))
  }
  // The page is full before and after.
  const few = async (count) => {
    let last
    for (let n = 1; n <= count; n += 1) {
      const wanted = { filter: { account_id: n }, change: { update: { total: { add: 1 } } } }
      last = (await post(`${QUOTAS}/change-sets`, wanted)).body.id
    }
    await settled(last)
  }
  await few(100)
  await reads(id)
  const fresh = await reads(id)
  await few(SETS)
  const later = await reads(id)
  told('ms a list, a set, its rows', fresh.map((ms) => ms.toFixed(2)).join(' '))
  told(
    `with ${SETS} sets before: ms, ratio`,
    later.map((ms, place) => `${ms.toFixed(2)} ${(ms / fresh[place]).toFixed(2)}`).join(', '),
  )
} finally {
  service.kill()
  agent.destroy()
  await mariadb.stop()
}
