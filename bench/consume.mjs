/**
 * `npm run bench`: consume on one hot owner and over 10,000 owners, the service against the textbook (bench/references/naive.mjs), in turn in one run
 * on one throwaway MariaDB with innodb_flush_log_at_trx_commit=1. Every figure is a ratio of medians. A run whose sums do not match counts for nothing.
 */
import { fork, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { startMariaDb } from '../scripts/mariadb.mjs'

const PAIRS = Number(process.env.BENCH_PAIRS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8)
const OWNERS = 10_000
const CASES = [
  { name: 'one hot owner, 64 connections', owners: 1, connections: 64 },
  { name: 'one hot owner, 256 connections', owners: 1, connections: 256 },
  { name: '10,000 owners at random, 64 connections', owners: OWNERS, connections: 64 },
]

const mariadb = await startMariaDb({ args: ['--innodb-flush-log-at-trx-commit=1', '--innodb-buffer-pool-size=1G'] })
const children = []
try {
  const admin = await createConnection(mariadb.url('').replace(/^mariadb:/, 'mysql:'))
  await admin.query('CREATE DATABASE bench')
  await admin.query('USE bench')
  await admin.query(
    'CREATE TABLE naive_quota (id BIGINT PRIMARY KEY AUTO_INCREMENT, account_id BIGINT NOT NULL, total BIGINT NOT NULL, used BIGINT NOT NULL DEFAULT 0, KEY (account_id))',
  )
  await admin.query(
    'CREATE TABLE naive_ledger (id BIGINT PRIMARY KEY AUTO_INCREMENT, quota_id BIGINT NOT NULL, amount BIGINT NOT NULL, idempotency_key VARCHAR(255) NOT NULL UNIQUE, at DATETIME(3) NOT NULL DEFAULT NOW(3))',
  )

  const token = randomBytes(32).toString('base64url')
  const port = await freePort()
  const service = spawn(process.execPath, ['dist/src/main.js'], {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: mariadb.url('bench'),
      AUTH_TOKENS: `bench:service:${createHash('sha256').update(token).digest('hex')}`,
    },
    stdio: ['ignore', process.env.BENCH_LOG === undefined ? 'ignore' : 'inherit', 'inherit'],
  })
  children.push(service)
  await ready(`http://127.0.0.1:${port}/health/ready`)
  const naive = fork('bench/references/naive.mjs', {
    env: { ...process.env, NAIVE_DATABASE_URL: mariadb.url('bench') },
  })
  children.push(naive)
  const [{ port: naivePort }] = await once(naive, 'message')

  for (let start = 1; start <= OWNERS; start += 1000) {
    const ids = Array.from({ length: 1000 }, (_, place) => start + place)
    const values = ids.map((id) => `(${id}, 1, 1000000000, 'active', '2099-01-01', NOW(3), NOW(3))`)
    await admin.query(
      `INSERT INTO mail_quota (account_id, quota_type, total, state, expire_at, created_at, updated_at) VALUES ${values.join()}`,
    )
    await admin.query(`INSERT INTO mail_owner (owner_id) VALUES ${ids.map((id) => `(${id})`).join()}`)
    await admin.query(
      `INSERT INTO naive_quota (account_id, total) VALUES ${ids.map((id) => `(${id}, 1000000000)`).join()}`,
    )
  }

  const targets = {
    service: { url: `http://127.0.0.1:${port}/api/v1/quotas/usage/consume`, token },
    naive: { url: `http://127.0.0.1:${naivePort}/consume` },
  }
  const acknowledged = { service: 0, naive: 0 }
  console.log('| consume | service /s | naive /s | ratio | p99 service ms | p99 naive ms |')
  console.log('|---|---|---|---|---|---|')
  for (const { name, owners, connections } of CASES) {
    const figures = { service: [], naive: [] }
    for (let pair = 0; pair <= PAIRS; pair += 1) {
      for (const [who, target] of Object.entries(targets)) {
        const figure = await load({ ...target, owners, connections, seconds: pair === 0 ? 3 : SECONDS })
        if (figure.other > 0) throw new Error(`${who} answered ${figure.other} requests wrongly`)
        acknowledged[who] += figure.ok
        // The first pair warms up.
        if (pair > 0) figures[who].push(figure)
      }
    }
    const rate = (who) => median(figures[who].map(({ perSecond }) => perSecond))
    const p99 = (who) => median(figures[who].map(({ p99: value }) => value))
    const ratios = figures.service.map((figure, pair) => figure.perSecond / figures.naive[pair].perSecond)
    console.log(
      `| ${name} | ${rate('service').toFixed(0)} | ${rate('naive').toFixed(0)} | ${(rate('service') / rate('naive')).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}) | ${p99('service')} | ${p99('naive')} |`,
    )
  }
  // Requests cut off at the end of a run may have taken effect without their answer being counted; none may be missing.
  const [[{ used }]] = await admin.query('SELECT SUM(used) AS used FROM mail_quota')
  const [[{ charged }]] = await admin.query('SELECT SUM(amount) AS charged FROM mail_allocation')
  if (Number(used) !== Number(charged) || Number(used) < acknowledged.service)
    throw new Error(`sums do not match: used ${used}, ledger ${charged}, acknowledged ${acknowledged.service}`)
  console.log(
    `\nsums: used ${used} = ledger ${charged}; acknowledged ${acknowledged.service}; MariaDB ${mariadb.version}, Node ${process.version}`,
  )
  await admin.end()
} finally {
  for (const child of children) {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  }
  await mariadb.stop()
}

async function load(job) {
  const child = fork('bench/load.mjs')
  child.send(job)
  const [figure] = await once(child, 'message')
  await once(child, 'exit')
  return figure
}

async function ready(url) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await sleep(50)
  }
  throw new Error('the service does not become ready')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
