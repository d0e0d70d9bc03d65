import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Request } from 'express'
import { RawClient } from '../../test/support/raw-client.js'
import { Connections, SERVER_OPTIONS, type Overload } from './connections.js'

const LIMIT = 10
/** More than the buffers of a connection in the system hold. */
const LARGE = Buffer.alloc(16_000_000)
const PIECE = LARGE.subarray(0, 64_000)

describe('connections', () => {
  let server: Server
  let connections: Connections
  let port: number
  let overloads: Overload[]
  const clients: RawClient[] = []

  /** The first part of a path says who calls, the second one what becomes of the request. */
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const [, name, what] = request.url?.split('/') ?? []
    if (name !== 'nobody')
      (request as Request).principal = {
        name: name ?? '',
        id: name ?? '',
        role: 'usage',
        scopes: undefined,
        source: 'token',
        expiresAt: null,
      }
    if (what === 'large') response.end(LARGE)
    else if (what === 'streamed') Readable.from(Array.from({ length: 256 }, () => PIECE)).pipe(response)
    else if (what === 'small') response.end('small')
  }

  beforeEach(async () => {
    overloads = []
    connections = new Connections()
    connections.observer = { rejected: () => undefined, overloaded: (how) => overloads.push(how) }
    server = createServer(SERVER_OPTIONS, serve)
    connections.guard(server, { maxConnections: LIMIT, requestTimeoutSeconds: 20 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  afterEach(async () => {
    for (const one of clients.splice(0)) one.destroy()
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })

  const open = async (path?: string, { headers = '', reads = true } = {}): Promise<RawClient> => {
    const one = await RawClient.open(port)
    clients.push(one)
    if (!reads) one.pause()
    if (path !== undefined) one.write(`GET /${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`)
    return one
  }
  const many = async (count: number, path?: string, how: Parameters<typeof open>[1] = {}): Promise<RawClient[]> => {
    const all: RawClient[] = []
    for (let n = 0; n < count; n += 1) all.push(await open(path, how))
    // Until the server has begun to work on them.
    const enough = () => path === undefined || connections.busy >= count
    while (!path?.endsWith('small') && !enough()) await sleep(5)
    if (path?.endsWith('small') === true) for (const one of all) await one.heard()
    return all
  }
  const answered = async (): Promise<number | undefined> => {
    const one = await open('known/small')
    return (await one.heardOrEnded(1))[0]?.status
  }

  it('that are all worked on keep their place, and a new one is refused', async () => {
    await many(LIMIT, 'known/later')
    expect(await answered()).toBeUndefined()
    expect([connections.busy, connections.idle, overloads]).toEqual([LIMIT, 0, ['refused']])
  })

  it.each([
    ['whose answer is not read', 'known/large', { reads: false }],
    ['whose answer is not read, of nobody known', 'nobody/large', { reads: false }],
    ['whose streamed answer is not read', 'nobody/streamed', { reads: false }],
    ['whose body does not come', 'known/later', { headers: 'Content-Length: 10\r\n' }],
    ['whose body does not end', 'known/later', { headers: 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello' }],
  ])('make room: %s', async (_what, path, how) => {
    await many(LIMIT, path, how)
    expect(connections.busy).toBe(LIMIT)
    expect(await answered()).toBe(200)
    expect(overloads).toEqual(['evicted'])
    expect(connections.busy + connections.idle).toBe(LIMIT)
  })

  it('make room where somebody has most of those that wait, the one that has been without an answer for longest', async () => {
    const first = await many(4, 'one/small')
    const second = await many(5, 'two/small')
    second[0]!.write('GET /two/small HTTP/1.1\r\nHost: a\r\n\r\n')
    await second[0]!.heard(2)
    await open('busy/later')
    while (connections.busy === 0) await sleep(5)
    expect(await answered()).toBe(200)
    while (!second.some(({ closed }) => closed)) await sleep(5)
    expect(second.map(({ closed }) => closed)).toEqual([false, true, false, false, false])
    expect(first.some(({ closed }) => closed)).toBe(false)
  })

  it('of nobody known count twice', async () => {
    const known = await many(6, 'known/small')
    const strangers = await many(4, 'nobody/small')
    expect(await answered()).toBe(200)
    while (!strangers.some(({ closed }) => closed)) await sleep(5)
    expect(strangers.map(({ closed }) => closed)).toEqual([true, false, false, false])
    expect(known.some(({ closed }) => closed)).toBe(false)
  })

  it('are given up where nothing moves on them, busy or not', () => {
    expect([server.timeout, server.keepAliveTimeout]).toEqual([65_000, 65_000])
  })
})
