import dns from 'node:dns'
import { once, setMaxListeners } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Attempt, send } from './sender.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('an attempt', () => {
  let server: Server
  let asked = 0

  beforeEach(async () => {
    // Only timeouts are the test's; sockets stay real.
    jest.useFakeTimers({
      doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval'],
    })
    asked = 0
    // Answers nothing.
    server = createServer(() => (asked += 1))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })

  afterEach(async () => {
    jest.restoreAllMocks()
    jest.useRealTimers()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const attempt = (stop: AbortSignal, host = '127.0.0.1'): Promise<Attempt> => {
    const url = `http://${host}:${(server.address() as AddressInfo).port}/`
    const endpoint = { name: 'ops', kind: 'webhook', url, secrets: [], types: undefined, channels: undefined }
    return send(endpoint as unknown as Parameters<typeof send>[0], { id: 'x', at: 0, subject: '', body: '{}' }, 0, stop)
  }

  it('at an endpoint that hangs ends after 15 s, however often garbage is collected', async () => {
    let ended: Attempt | undefined
    void attempt(new AbortController().signal).then((one) => (ended = one))
    while (asked === 0) await sleep(5)
    for (let round = 0; round < 2; round += 1) {
      collectGarbage()
      await sleep(5)
    }
    jest.advanceTimersByTime(14_999)
    await sleep(50)
    expect(ended).toBeUndefined()
    jest.advanceTimersByTime(1)
    while (ended === undefined) await sleep(5)
    expect(ended).toMatchObject({ status: null, error: 'no answer within 15 s' })
    expect(jest.getTimerCount()).toBe(0)
  })

  it('ends when it is stopped', async () => {
    const stop = new AbortController()
    const ended = attempt(stop.signal)
    while (asked === 0) await sleep(5)
    collectGarbage()
    stop.abort()
    expect((await ended).status).toBeNull()
    expect(jest.getTimerCount()).toBe(0)
  })

  it('ends with the connection if the answer is neither a response nor an error', async () => {
    server.removeAllListeners('request')
    server.on('request', (_request, { socket }: ServerResponse) => {
      socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n')
    })
    const ended = await attempt(new AbortController().signal)
    expect(ended).toMatchObject({ status: null, error: 'the connection was closed' })
    expect(jest.getTimerCount()).toBe(0)
  })

  it('looks a host up once for all that wait for it', async () => {
    const lookup = jest.spyOn(dns, 'lookup')
    const stop = new AbortController()
    setMaxListeners(17, stop.signal)
    const ended = Array.from({ length: 16 }, async () => attempt(stop.signal, 'localhost'))
    while (asked < 16) await sleep(5)
    expect(lookup).toHaveBeenCalledTimes(1)
    // An answer is for those that wait alone.
    ended.push(attempt(stop.signal, 'localhost'))
    while (asked < 17) await sleep(5)
    expect(lookup).toHaveBeenCalledTimes(2)
    stop.abort()
    await Promise.all(ended)
  })
})
