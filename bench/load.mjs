/** Sends load from a process of its own, so that the measured one keeps its core: one job in, one figure out, over IPC. */
import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'

process.once('message', async ({ url, connections, seconds, owners, token }) => {
  let sent = 0
  const run = randomUUID()
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: 'POST',
    requests: [
      {
        setupRequest(request) {
          sent += 1
          return {
            ...request,
            headers: {
              'content-type': 'application/json',
              'idempotency-key': `${run}-${sent}`,
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            },
            body: JSON.stringify({ account_id: 1 + Math.floor(Math.random() * owners), amount: 1 }),
          }
        },
      },
    ],
  })
  process.send({
    ok: result['2xx'],
    other: result.non2xx,
    errors: result.errors,
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  })
  process.disconnect()
})
