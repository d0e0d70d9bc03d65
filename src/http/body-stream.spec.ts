import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Request, Response } from 'express'
import { RawClient } from '../../test/support/raw-client.js'
import { BodyStream } from './body-stream.js'
import { Connections, SERVER_OPTIONS, type Rejection } from './connections.js'
import { CSV_BODY } from './csv.js'

const MINUTE_MS = 60_000
/** Enough for a minute. */
const CHUNK = `ea60\r\n${'x'.repeat(60_000)}\r\n`

describe('a streamed body', () => {
  let server: Server
  let client: RawClient
  let rejected: Rejection[]
  /** Bytes that the handler has read. */
  let read: number
  /** Whether the handler takes more. */
  let reads: boolean
  let failure: unknown

  beforeEach(async () => {
    // Only timers are the test's; sockets stay real.
    jest.useFakeTimers({
      doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'],
    })
    rejected = []
    read = 0
    reads = true
    failure = undefined
    const connections = new Connections()
    connections.observer = { rejected: (why) => rejected.push(why), overloaded: () => undefined }
    server = createServer(SERVER_OPTIONS, (request: IncomingMessage, response: ServerResponse) => {
      void store(connections, request as Request, response as Response)
    })
    connections.guard(server, { maxConnections: 10, requestTimeoutSeconds: 1 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    client = await RawClient.open((server.address() as AddressInfo).port)
  })

  afterEach(async () => {
    jest.useRealTimers()
    client.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const store = async (connections: Connections, request: Request, response: Response): Promise<void> => {
    const body = new BodyStream(request, response, CSV_BODY, connections)
    request.body = body
    try {
      for await (const piece of body.pieces()) {
        read += piece.length
        while (!reads) await sleep(5)
      }
      response.end('stored')
    } catch (error) {
      failure = error
    }
  }

  const begin = (headers = ''): RawClient =>
    client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`)
  const bring = async (bytes = CHUNK): Promise<void> => {
    const before = read
    client.write(bytes)
    const length = parseInt(bytes, 16)
    while (read < before + length) await sleep(5)
  }
  const isLate = async (): Promise<void> => {
    const [answer] = await client.heard()
    expect([answer?.status, JSON.parse(answer?.body ?? '{}').detail]).toEqual([
      400,
      'the request did not arrive in time',
    ])
    expect(rejected).toEqual(['late'])
    client.destroy()
    while (failure === undefined) await sleep(5)
  }

  it('may take ten minutes and not longer, however fast it comes', async () => {
    begin()
    for (let minute = 1; minute < 10; minute += 1) {
      await bring()
      jest.advanceTimersByTime(MINUTE_MS)
    }
    await bring()
    jest.advanceTimersByTime(MINUTE_MS - 1)
    expect(client.answers).toEqual([])
    jest.advanceTimersByTime(1)
    await isLate()
  })

  it.each(['', 'Content-Encoding: gzip\r\n'])('that brings too little in a minute is late (%j)', async (coding) => {
    begin(coding)
    // Compressible to almost nothing: what counts is what is sent.
    const sent = coding === '' ? Buffer.alloc(59_999, 'x') : gzipSync(Buffer.alloc(1_000_000), { level: 1 })
    client.write(Buffer.concat([Buffer.from('f000\r\n'), sent.subarray(0, -10)]))
    while (read < (coding === '' ? sent.length - 10 : 900_000)) await sleep(5)
    // Until the decoder has taken everything.
    await sleep(50)
    jest.advanceTimersByTime(MINUTE_MS - 1)
    expect(client.answers).toEqual([])
    jest.advanceTimersByTime(1)
    await isLate()
  })

  it('may go on after REQUEST_TIMEOUT_SECONDS', async () => {
    begin()
    await bring()
    // Node reports it as late after one to two seconds.
    await sleep(2_500)
    client.write('0\r\n\r\n')
    expect((await client.heard())[0]).toMatchObject({ status: 200, body: 'stored' })
    expect(rejected).toEqual([])
  })

  it('is not late if the service does not take what has come', async () => {
    begin()
    await bring()
    jest.advanceTimersByTime(MINUTE_MS)
    reads = false
    client.write(CHUNK.repeat(10))
    while (read < 60_001) await sleep(5)
    await sleep(50)
    jest.advanceTimersByTime(3 * MINUTE_MS)
    reads = true
    client.write('0\r\n\r\n')
    expect((await client.heard())[0]).toMatchObject({ status: 200, body: 'stored' })
  })

  it('that has arrived is not late, however long its handler takes', async () => {
    reads = false
    begin()
    client.write(`1\r\nx\r\n0\r\n\r\n`)
    while (read === 0) await sleep(5)
    jest.advanceTimersByTime(20 * MINUTE_MS)
    reads = true
    expect((await client.heard())[0]).toMatchObject({ status: 200, body: 'stored' })
    expect(jest.getTimerCount()).toBe(0)
  })
})
