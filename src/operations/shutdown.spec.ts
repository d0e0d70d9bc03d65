import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import express, { type NextFunction, type Request, type Response } from 'express'
import { ServiceError } from '../common/service-error.js'
import { Connections } from '../http/connections.js'
import { reply } from '../http/reply.js'
import { type Host, Shutdown } from './shutdown.js'

describe('Shutdown', () => {
  let shutdown: Shutdown
  let connections: Connections
  let server: Server
  let port: number
  let agent: Agent
  let waiting: Response[]
  let closes: number
  let signals: Map<string, () => void>
  let exited: Promise<number>
  let host: Host

  beforeEach(async () => {
    Logger.overrideLogger(false)
    connections = new Connections()
    shutdown = new Shutdown(connections)
    waiting = []
    closes = 0
    signals = new Map()
    exited = new Promise((resolve) => {
      host = { on: (signal, listener) => signals.set(signal, listener), exit: resolve }
    })
    agent = new Agent({ keepAlive: true })
    const app = express()
    app.use((request: Request, response: Response, next: NextFunction) => {
      shutdown.gate(request, response)
      next()
    })
    app.get('/slow', (_request, response) => {
      waiting.push(response)
    })
    app.get(['/fast', '/health/live'], (_request, response) => {
      reply(response, 200, 'fine')
    })
    app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
      if (error instanceof ServiceError) reply(response, 503, error.code)
      else next(error)
    })
    server = createServer(app)
    connections.guard(server, { maxConnections: 100, requestTimeoutSeconds: 5 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  afterEach(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })

  let now: number

  function install(delay: number, grace: number, close = (): Promise<void> => Promise.resolve()): void {
    now = 1_000
    const config = { shutdownDelaySeconds: delay, shutdownGraceSeconds: grace }
    const app = {
      close: () => {
        closes += 1
        return close()
      },
    }
    shutdown.install(app, server, config, host, () => now)
  }

  async function call(
    path: string,
  ): Promise<{ status: number | undefined; connection: string | undefined; body: string }> {
    const [response] = (await once(get({ port, path, agent }), 'response')) as [IncomingMessage]
    return { status: response.statusCode, connection: response.headers.connection, body: await text(response) }
  }

  async function inHand(count: number): Promise<void> {
    while (connections.busy !== count) await sleep(5)
  }

  it('finishes requests in progress, refuses new ones, and exits with 0 after the application has closed', async () => {
    install(0.2, 5)
    await call('/fast')
    const slow = call('/slow')
    await inHand(1)
    signals.get('SIGTERM')!()
    expect(shutdown.draining).toBe(true)
    expect(await call('/fast')).toEqual({ status: 503, connection: 'close', body: 'unavailable' })
    expect(await call('/health/live')).toMatchObject({ status: 200, connection: 'close' })
    await sleep(300)
    expect([server.listening, closes]).toEqual([false, 0])
    reply(waiting[0]!, 200, 'done')
    expect(await slow).toEqual({ status: 200, connection: 'close', body: 'done' })
    expect(await exited).toBe(0)
    expect(closes).toBe(1)
  })

  it('does not wait for balancers after SIGINT, nor for connections without a request', async () => {
    install(60, 5)
    const unused = connect(port, '127.0.0.1')
    await once(unused, 'connect')
    await call('/fast')
    const began = performance.now()
    signals.get('SIGINT')!()
    expect(await exited).toBe(0)
    expect(performance.now() - began).toBeLessThan(5_000)
    unused.destroy()
  })

  it('exits with 1 when the grace time is over', async () => {
    install(0, 0.2)
    const slow = call('/slow').catch(() => undefined)
    await inHand(1)
    signals.get('SIGTERM')!()
    expect(await exited).toBe(1)
    expect(closes).toBe(0)
    reply(waiting[0]!, 200, '')
    await slow
  })

  it('exits with 1 when the application cannot close', async () => {
    install(0, 5, () => Promise.reject(new Error('the database is gone')))
    signals.get('SIGTERM')!()
    expect(await exited).toBe(1)
  })

  it.each([
    ['SIGINT', 0],
    ['SIGTERM', 1_000],
  ])('exits at once at a second signal: %s after %i ms', async (second, later) => {
    install(0.3, 5)
    signals.get('SIGTERM')!()
    now += later
    signals.get(second)!()
    expect(await exited).toBe(1)
    expect(closes).toBe(0)
  })

  it('takes a signal that comes again at once, from a terminal and from npm, for one', async () => {
    install(0, 5)
    signals.get('SIGINT')!()
    now += 999
    signals.get('SIGINT')!()
    expect(await exited).toBe(0)
    expect(closes).toBe(1)
  })

  it('counts a request until its answer is sent or its caller has disconnected', async () => {
    await call('/fast')
    await inHand(0)
    const abandoned = request({ port, path: '/slow' }).on('error', () => undefined)
    abandoned.end()
    await inHand(1)
    abandoned.destroy()
    await inHand(0)
  })
})
