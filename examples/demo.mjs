/**
 * `npm run demo`: starts the service on an embedded database, and 50 senders spend 10,000 times over a network that loses
 * one answer in ten. They use the client in client/, which retries with the same Idempotency-Key until it has an answer.
 * In the end every unit must be accounted for, once.
 *
 * `--keep` instead fills a store as after months of use (back-office.mjs), and leaves the service running with the
 * console on it.
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { isProblem, QuotaClient } from '../client/dist/index.js'

const MESSAGES = 10_000
const SENDERS = 50
const ACCOUNTS = 20
const LOST = 0.1

if (process.argv.includes('--keep')) {
  await keep()
  process.exit()
}

const directory = await mkdtemp(join(tmpdir(), 'quota-demo-'))
const token = randomBytes(32).toString('base64url')
const port = await freePort()
const service = spawn(process.execPath, [fileURLToPath(new URL('../dist/src/main.js', import.meta.url))], {
  // Neither the caller's environment nor a file .env of the project is meant for it.
  cwd: directory,
  env: {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    PORT: String(port),
    DATABASE_URL: `sqlite:${join(directory, 'quota.db')}`,
    AUTH_TOKENS: `demo:service:${createHash('sha256').update(token).digest('hex')}`,
    LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const ended = once(service, 'exit')
const count = { answered: 0, lost: 0, replayed: 0, refused: 0, units: 0 }
const options = { baseUrl: `http://127.0.0.1:${port}`, token }
/** The client of the administrator, over a reliable network. */
const office = new QuotaClient(options)
/** The senders' network breaks the connection of some requests at a random moment after sending. */
const quota = new QuotaClient({
  ...options,
  fetch: (url, init) => fetch(url, Math.random() < LOST ? { ...init, signal: soon() } : init),
  onAttempt: ({ status, replayed }) => {
    if (status === undefined || status === 503) count.lost += 1
    if (replayed) count.replayed += 1
  },
})

try {
  await ready()
  console.log(
    `The service runs on port ${port}. ${ACCOUNTS} accounts get 1,000,000 units each; ${SENDERS} senders send ${MESSAGES.toLocaleString('en')} messages.`,
  )
  for (let account = 1; account <= ACCOUNTS; account += 1) {
    await office.mail.quotas.create({
      accountId: account,
      quotaType: 1,
      total: 1_000_000,
      expireAt: '2099-01-01T00:00:00Z',
    })
  }
  // One account is nearly exhausted, so that some messages are refused.
  await office.mail.quotas.update(1, { total: 300 })

  const start = performance.now()
  const expected = new Map()
  let next = 0
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      while (next < MESSAGES) {
        next += 1
        await deliver(`message-${next}`, 1 + (next % ACCOUNTS), 1 + (next % 5), expected)
        progress(count.answered, start)
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000

  console.log('\n')
  let used = 0
  let wrong = 0
  for (let account = 1; account <= ACCOUNTS; account += 1) {
    const summary = await office.mail.quotas.summary({ accountId: account })
    used += summary.used
    if (summary.used !== (expected.get(account) ?? 0)) wrong += 1
  }
  const operations = await countLedger()
  console.log(`answers                      ${count.answered.toLocaleString('en')} in ${seconds.toFixed(1)} s`)
  console.log(`answers lost, and retried    ${count.lost.toLocaleString('en')}`)
  console.log(
    `of these had taken effect    ${count.replayed.toLocaleString('en')} (answered again with Idempotency-Replayed: true)`,
  )
  console.log(`refused, the quota was dry   ${count.refused.toLocaleString('en')}`)
  console.log(`units acknowledged           ${count.units.toLocaleString('en')}`)
  console.log(`units used by the service    ${used.toLocaleString('en')}`)
  console.log(`operations in its ledger     ${operations.toLocaleString('en')}`)
  const exact = wrong === 0 && used === count.units && operations === MESSAGES - count.refused
  console.log(
    exact ? '\nThe sums are exact: nothing was lost, and nothing was spent twice.' : '\nTHE SUMS DO NOT MATCH.',
  )
  process.exitCode = exact ? 0 : 1
} finally {
  service.kill('SIGINT')
  await ended
  await rm(directory, { recursive: true, force: true })
}

/** Spends once, however often the answer is lost: the client ensures it. */
async function deliver(key, accountId, amount, expected) {
  try {
    await quota.mail.consume({ accountId, amount }, { key })
    count.units += amount
    expected.set(accountId, (expected.get(accountId) ?? 0) + amount)
  } catch (error) {
    if (!isProblem(error, 'quota_exceeded')) throw error
    count.refused += 1
  }
  count.answered += 1
}

/** A signal that is aborted at a random moment within eight milliseconds. */
function soon() {
  const abort = new AbortController()
  setTimeout(() => abort.abort(new Error('the network lost the answer')), Math.random() * 8)
  return abort.signal
}

async function countLedger() {
  let operations = 0
  for (let account = 1; account <= ACCOUNTS; account += 1) {
    // eslint-disable-next-line no-unused-vars
    for await (const operation of office.mail.operations({ accountId: account, pageSize: 100 })) operations += 1
  }
  return operations
}

function progress(done, start) {
  if (!process.stdout.isTTY && done % (MESSAGES / 10) !== 0) return
  if (process.stdout.isTTY && done % 50 !== 0) return
  const width = 40
  const filled = Math.round((width * done) / MESSAGES)
  const rate = Math.round(done / ((performance.now() - start) / 1000))
  const line = `[${'█'.repeat(filled)}${'·'.repeat(width - filled)}] ${String(done).padStart(6)} of ${MESSAGES}, ${rate}/s, ${count.lost} answers lost`
  process.stdout.write(process.stdout.isTTY ? `\r${line}` : `${line}\n`)
}

async function ready() {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined)
    if (answer?.ok) return
    if (service.exitCode !== null || service.signalCode !== null) break
    await sleep(50)
  }
  throw new Error('the service does not start')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address()
  server.close()
  await once(server, 'close')
  return free
}

/** Keeps a store to explore, until Ctrl-C. */
async function keep() {
  const { fill, makeTokens, startService } = await import('./back-office.mjs')
  const folder = await mkdtemp(join(tmpdir(), 'quota-demo-'))
  try {
    const tokens = makeTokens()
    const databaseUrl = `sqlite:${join(folder, 'quota.db')}`
    console.log('A store is filled with three months of use …')
    await fill({ databaseUrl, tokens, say: console.log })
    const { url, stop, process: kept } = await startService({ databaseUrl, tokens })
    console.log(
      [
        '',
        `The console: ${url}/admin/`,
        'Sign in with one of these, and stop with Ctrl-C:',
        `  ${tokens.anna}   anna, an administrator`,
        `  ${tokens.boris}   boris, another one`,
        `  ${tokens.chen}   chen, who manages mail only`,
      ].join('\n'),
    )
    const stopped = once(kept, 'exit')
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop)
    await stopped
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
