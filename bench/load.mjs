/**
 * Sends load from a separate process: receives one job and returns one figure, over IPC. It writes requests to sockets as
 * bytes and splits answers by their length, so that the generator takes a small part of the CPU time that it measures.
 */
import { connect } from 'node:net'
import { REQUESTS } from './requests.mjs'

process.once('message', async (job) => {
  process.send(await run(job))
  process.disconnect()
})

/**
 * @param job `kind` of REQUESTS with its `options`, `port`, `connections`, and `seconds` or a total `count` of requests
 * @returns answers by status, requests per second, latencies in milliseconds
 */
async function run({ kind, options, port, connections, seconds, count = Infinity }) {
  const makers = REQUESTS[kind]
  const latencies = []
  const statuses = {}
  let sent = 0
  const began = performance.now()
  const until = began + (seconds ?? Infinity) * 1000
  await Promise.all(Array.from({ length: connections }, async () => connection()))
  const took = (performance.now() - began) / 1000
  latencies.sort((a, b) => a - b)
  const at = (part) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))]
  return {
    answered: latencies.length,
    statuses,
    perSecond: latencies.length / took,
    p50: at(0.5),
    p99: at(0.99),
    worst: latencies.at(-1),
  }

  function connection() {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let held = ''
      // The last answer on the connection: the second half of a pair names the operation of the first.
      let answer
      let since = 0
      const make = makers(options)
      const next = () => {
        if (sent >= count || performance.now() >= until) return void socket.end()
        sent += 1
        since = performance.now()
        socket.write(make(answer))
      }
      socket.setEncoding('latin1')
      socket.on('connect', next)
      socket.on('data', (chunk) => {
        held = held === '' ? chunk : held + chunk
        const head = held.indexOf('\r\n\r\n')
        if (head === -1) return
        const from = held.search(/\r\ncontent-length: /i)
        const length = from === -1 || from > head ? 0 : Number.parseInt(held.slice(from + 18, head + 2), 10)
        if (held.length < head + 4 + length) return
        const status = held.slice(9, 12)
        statuses[status] = (statuses[status] ?? 0) + 1
        answer = held.slice(head + 4)
        held = ''
        latencies.push(performance.now() - since)
        next()
      })
      socket.on('error', reject)
      socket.on('close', resolve)
    })
  }
}
