/**
 * An attacker in a separate process, so that it does not slow the victim, which measures:
 * `node batch-flood.mjs URL TOKEN CONNECTIONS ITEMS ACCOUNTS` sends batches of consumes over CONNECTIONS connections, on
 * each the next one after an answer, until a signal ends it; then it prints the outcomes of its requests.
 */
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'

const [url, token, connections, items, accounts] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) })
const ended = {}
let accepted = 0

/** Keys are fresh: a replay would be cheaper than the intended load. */
function body() {
  const run = randomUUID()
  const parts = Array.from(
    { length: Number(items) },
    (_, n) =>
      `{"account_id":${1 + Math.floor(Math.random() * Number(accounts))},"amount":1,"idempotency_key":"${run}-${n}"}`,
  )
  return `{"items":[${parts.join(',')}]}`
}

function send() {
  const payload = body()
  return new Promise((resolve) => {
    const sent = request(
      `${url}/api/v1/quotas/usage/consume/batch`,
      {
        method: 'POST',
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        },
      },
      (response) => {
        response.resume()
        response.on('close', () => resolve(String(response.statusCode)))
      },
    )
    sent.on('error', (error) => resolve(error.code ?? 'error'))
    sent.end(payload)
  })
}

async function caller() {
  for (;;) {
    const how = await send()
    ended[how] = (ended[how] ?? 0) + 1
    if (how === '200') accepted += Number(items)
    else await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

process.on('SIGTERM', () => {
  process.stdout.write(JSON.stringify({ ended, accepted }) + '\n', () => process.exit(0))
})
for (let n = 0; n < Number(connections); n += 1) void caller()
