import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { figure } from './support/figures.js'
import { HttpClient } from './support/http-client.js'
import { ADMIN, Instance, OTHER } from './support/instance.js'
import { type Store, STORES } from './support/store.js'
import { MAIL, times } from './support/wire.js'

const REQUESTS = 10_000
const AT_ONCE = 100
const HEAD = `POST ${MAIL.usage}/consume HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN}\r\nContent-Type: application/json\r\n`
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
const BODY = '{"account_id":1,"amount":1}'
const WHOLE = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`

/** One for each way in which Node's parser gives a request up, or in which one ends before its time. */
const BROKEN: Readonly<Record<string, string>> = {
  'a chunk size that is none': `${CHUNKED}ZZ\r\n`,
  'a chunk size that is too large': `${CHUNKED}${'f'.repeat(40)}\r\n`,
  'a chunk size without its end': `${CHUNKED}5`,
  'a chunk size with a bare LF': `${CHUNKED}5\nhello\n0\n\n`,
  'a chunk size with blanks': `${CHUNKED}5  \r\nhello\r\n0\r\n\r\n`,
  'a broken extension of a chunk': `${CHUNKED}5;=\u0001\r\nhello\r\n0\r\n\r\n`,
  'extensions of a chunk that are too large': `${CHUNKED}5;a=${'b'.repeat(20_000)}\r\nhello\r\n`,
  'a chunk without its end': `${CHUNKED}5\r\nhelloworld\r\n0\r\n\r\n`,
  'a chunk that breaks off': `${CHUNKED}ff\r\nhello`,
  'no last chunk': `${CHUNKED}5\r\nhello\r\n`,
  'a broken trailer': `${CHUNKED}5\r\nhello\r\n0\r\na b\r\n\r\n`,
  'trailers that are too large': `${CHUNKED}5\r\nhello\r\n0\r\n${'A: b\r\n'.repeat(5_000)}`,
  'a good body, then noise': `${WHOLE}NOISE\r\n\r\n`,
  'a good body, then chunks that are none': `${WHOLE}${CHUNKED}ZZ\r\n`,
  'a body that is too short': `${HEAD}Content-Length: 999\r\n\r\n${BODY}`,
  'a length that is none': `${HEAD}Content-Length: x\r\n\r\n${BODY}`,
  'a length below zero': `${HEAD}Content-Length: -1\r\n\r\n${BODY}`,
  'two lengths': `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n${BODY}`,
  'a length and chunks': `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
  'chunks that are compressed badly': `${HEAD}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  'chunks that are compressed, and none': `${HEAD}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
  'an unknown coding': `${HEAD}Transfer-Encoding: gzip\r\n\r\n${BODY}`,
  'a broken name of a header': `${HEAD}a b: c\r\n\r\n${BODY}`,
  'a broken value of a header': `${HEAD}a: \u0000\r\n\r\n${BODY}`,
  'a head that is too large': `${HEAD}a: ${'b'.repeat(20_000)}\r\n\r\n`,
  'a head that breaks off': HEAD,
  'no version': `POST ${MAIL.usage}/consume\r\n\r\n`,
  'an unknown version': WHOLE.replace('HTTP/1.1', 'HTTP/9.9'),
  'an unknown method': WHOLE.replace('POST', 'PSOT'),
  'a promise to continue that is not kept': `${HEAD}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
  'chunks that are none after a promise to continue': `${HEAD}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
  'an upgrade': `${HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
}
const KINDS = Object.entries(BROKEN)

describe('requests that the parser rejects', () => {
  let store: Store
  let instance: Instance

  beforeAll(async () => {
    store = await STORES[0]!.open()
    instance = await Instance.start(store.url)
  })

  /** Sends bytes in one packet or two, and ends the connection by FIN, by a reset, or when the service does. */
  async function send(bytes: string, turn: number): Promise<void> {
    const socket = connect(Number(new URL(instance.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await Promise.race([once(socket, 'connect'), closed])
    const cut = turn % 2 === 0 ? bytes.length : 1 + ((turn * 7_919) % bytes.length)
    socket.write(bytes.slice(0, cut), 'latin1')
    if (cut < bytes.length) await new Promise((resolve) => setImmediate(resolve))
    if (cut < bytes.length) socket.write(bytes.slice(cut), 'latin1')
    if (turn % 3 === 0) socket.end()
    if (turn % 3 === 1) socket.resetAndDestroy()
    await Promise.race([closed, sleep(300)])
    socket.destroy()
    await closed
  }

  it(`give back every share: ${REQUESTS} of them, in ${KINDS.length} ways`, async () => {
    let turn = 0
    await Promise.all(
      times(AT_ONCE).map(async () => {
        while (turn < REQUESTS) {
          const own = turn++
          // Each kind with each way to send and to end it.
          await send(KINDS[own % KINDS.length]![1], Math.floor(own / KINDS.length))
        }
      }),
    )
    const shares = async () => {
      const { text } = await instance.send('GET', '/metrics', { token: OTHER })
      return text.split('\n').filter((line) => /^http_principal_requests\{.*"admin"/.test(line))
    }
    // A new connection comes behind all of them, and what is still worked on ends within REQUEST_TIMEOUT_SECONDS.
    const last = new HttpClient()
    await last.send(instance.url, 'GET', '/health/live', { token: OTHER }).finally(() => last.close())
    const deadline = performance.now() + 30_000
    let left = await shares()
    while (left.some((line) => !line.endsWith(' 0')) && performance.now() < deadline) {
      await sleep(50)
      left = await shares()
    }
    figure(`${REQUESTS} requests that the parser gives up`, { shares: left.join('; ') })
    expect(left.map((line) => line.split(' ').at(-1))).toEqual(['0', '0'])
    expect((await instance.get(MAIL.quotas)).status).toBe(200)
  })
})
