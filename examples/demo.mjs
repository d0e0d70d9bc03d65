/**
 * `npm run demo`: starts the service on an embedded database of its own, and lets 50 senders spend 10,000 times over a network that loses one
 * answer in ten. Every sender retries with the same Idempotency-Key until it has an answer. In the end every unit must be accounted for, once.
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const MESSAGES = 10_000
const SENDERS = 50
const ACCOUNTS = 20
const LOST = 0.1

const directory = await mkdtemp(join(tmpdir(), 'quota-demo-'))
const token = randomBytes(32).toString('base64url')
const port = await freePort()
const service = spawn(process.execPath, ['dist/src/main.js'], {
  env: {
    ...process.env,
    NODE_ENV: 'production',
    PORT: String(port),
    DATABASE_URL: `sqlite:${join(directory, 'quota.db')}`,
    AUTH_TOKENS: `demo:service:${createHash('sha256').update(token).digest('hex')}`,
    LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const agent = new Agent({ keepAlive: true, maxSockets: SENDERS })
const count = { answered: 0, lost: 0, replayed: 0, refused: 0, units: 0 }

try {
  await ready()
  console.log(
    `The service runs on port ${port}. ${ACCOUNTS} accounts get 1,000,000 units each; ${SENDERS} senders send ${MESSAGES.toLocaleString('en')} messages.`,
  )
  for (let account = 1; account <= ACCOUNTS; account += 1) {
    await call('POST', '/api/v1/quotas', {
      account_id: account,
      quota_type: 1,
      total: 1_000_000,
      expire_at: '2099-01-01T00:00:00Z',
    })
  }
  // One account is nearly dry, so that some messages are refused.
  await call('PUT', '/api/v1/quotas/1', { total: 300 })

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
    const { body } = await call('GET', `/api/v1/quotas/summary/${account}`)
    used += body.used
    if (body.used !== (expected.get(account) ?? 0)) wrong += 1
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
  agent.destroy()
  service.kill('SIGINT')
  if (service.exitCode === null) await once(service, 'exit')
  await rm(directory, { recursive: true, force: true })
}

/** Spends once, however often the answer gets lost on the way. */
async function deliver(key, account, amount, expected) {
  for (;;) {
    const answer = await call(
      'POST',
      '/api/v1/quotas/usage/consume',
      { account_id: account, amount },
      key,
      Math.random() < LOST,
    ).catch(() => undefined)
    if (answer === undefined || answer.status === 503) {
      count.lost += 1
      continue
    }
    count.answered += 1
    if (answer.replayed) count.replayed += 1
    if (answer.status === 409) count.refused += 1
    else if (answer.status === 200) {
      count.units += amount
      expected.set(account, (expected.get(account) ?? 0) + amount)
    } else throw new Error(`unexpected answer ${answer.status}: ${JSON.stringify(answer.body)}`)
    return
  }
}

/** One request. With `lose` the connection breaks at some moment after the request was sent. */
function call(method, path, body, key, lose = false) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const sent = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
      },
      (response) => {
        let received = ''
        response.setEncoding('utf8')
        response.on('data', (part) => (received += part))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode,
            replayed: response.headers['idempotency-replayed'] === 'true',
            body: received === '' ? undefined : JSON.parse(received),
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(text)
    if (lose) setTimeout(() => sent.destroy(new Error('the network lost the answer')), Math.random() * 8)
  })
}

async function countLedger() {
  let operations = 0
  for (let account = 1; account <= ACCOUNTS; account += 1) {
    let before = ''
    do {
      const { body } = await call(
        'GET',
        `/api/v1/quotas/usage?account_id=${account}&page_size=100${before === '' ? '' : `&before=${before}`}`,
      )
      operations += body.items.length
      before = body.next_before ?? ''
    } while (before !== '')
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
    if (service.exitCode !== null) break
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
