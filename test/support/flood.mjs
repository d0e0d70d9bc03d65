/**
 * An attacker in a separate process, so that its cost does not count as the victim's client's: `node flood.mjs PORT KIND SECONDS …`.
 *
 * pipeline SOCKETS REQUESTS  writes REQUESTS GETs at once on each socket, again after their answers or the socket's end
 * path CONNECTIONS PATH [TOKEN] [METHOD…]  requests a path on each connection without a pause, with the methods in turn
 * hold CONNECTIONS EACH METHOD PATH [TOKEN] [LENGTH]  sends one request on each connection, whose body of that length
 *   never comes, and reads nothing; opens EACH connections in a hundredth of a second
 * connect CONNECTIONS        opens connections, sends nothing on them, and replaces each that is closed
 *
 * Prints one line of JSON at the end: the numbers of requests sent, answers received and connections made.
 */
import { connect } from 'node:net'

const [port, kind, seconds, ...rest] = process.argv.slice(2)
const counts = { sent: 0, answered: 0, connections: 0 }
const end = performance.now() + Number(seconds) * 1000
const running = () => performance.now() < end
const ANSWER = 'HTTP/1.1 '

/** Opens a connection, and another after it has ended, until the time is over. */
function again(live) {
  if (!running()) return
  const socket = connect(Number(port), '127.0.0.1')
  socket.setNoDelay(true)
  counts.connections += 1
  socket.on('error', () => undefined)
  // Retries a refused connection ten times a second.
  socket.on('close', () => setTimeout(() => again(live), 100))
  live(socket)
}

function answersIn(chunk) {
  const text = chunk.toString('latin1')
  let found = 0
  for (let at = text.indexOf(ANSWER); at !== -1; at = text.indexOf(ANSWER, at + 1)) found += 1
  counts.answered += found
  return found
}

const kinds = {
  pipeline(sockets, requests) {
    const flood = Buffer.from('GET /api/v1/quotas HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Number(requests)))
    for (let n = 0; n < Number(sockets); n += 1) {
      again((socket) => {
        let open = 0
        const write = () => {
          if (!running()) return
          open = Number(requests)
          counts.sent += open
          socket.write(flood)
        }
        socket.on('connect', write)
        socket.on('data', (chunk) => {
          open -= answersIn(chunk)
          if (open <= 0) write()
        })
      })
    }
  },
  path(connections, path, token = '', ...methods) {
    const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`
    let turn = 0
    for (let n = 0; n < Number(connections); n += 1) {
      again((socket) => {
        const write = () => {
          if (!running()) return
          counts.sent += 1
          const method = methods.length === 0 ? 'GET' : methods[turn++ % methods.length]
          socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${authorization}\r\n`)
        }
        let left = 0
        socket.on('connect', write)
        // An answer ends with the last byte of its body; the next begins with its own head.
        socket.on('data', (chunk) => {
          const text = chunk.toString('latin1')
          const head = text.indexOf(ANSWER)
          if (left === 0 && head !== -1) {
            answersIn(chunk)
            const body = text.indexOf('\r\n\r\n') + 4
            left = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0) - (text.length - body)
          } else left -= text.length
          if (left <= 0) {
            left = 0
            write()
          }
        })
      })
    }
  },
  hold(connections, each, method, path, token = '', length = '0') {
    const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`
    const body = length === '0' ? '' : `Content-Type: application/json\r\nContent-Length: ${length}\r\n`
    const held = []
    // Beyond the wanted number, one at a time: a socket that does not read gets no notice of its end.
    setInterval(() => {
      for (let n = held.length < Number(connections) ? Number(each) : 1; n > 0; n -= 1) {
        const socket = connect(Number(port), '127.0.0.1')
        socket.pause()
        socket.on('error', () => undefined)
        socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${authorization}${body}\r\n`)
        counts.sent += 1
        counts.connections += 1
        held.push(socket)
        if (held.length > 2 * Number(connections)) held.shift().destroy()
      }
    }, 10)
  },
  connect(connections) {
    for (let n = 0; n < Number(connections); n += 1) again(() => undefined)
  },
}

kinds[kind](...rest)
setTimeout(
  () => {
    process.stdout.write(`${JSON.stringify(counts)}\n`)
    process.exit(0)
  },
  Number(seconds) * 1000,
)
