import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import type { Gate } from '../http/request-pipeline.js'
import type { Route } from '../http/route-table.js'
import { ServiceError, Unavailable, UNAVAILABLE_REASONS } from '../common/service-error.js'
import { answerProblem } from '../http/problem-answer.js'
import { Metrics } from '../common/metrics.js'
import { RefusalMetrics } from './refusal.metrics.js'
import { requestLog, type RequestLine } from './request-log.js'

/** Knows one route. */
const routes = {
  find: (_method: string, path: string) =>
    path === '/known/7' ? { route: { path: '/known/:id' } as Route, values: ['7'] } : undefined,
}

const gated =
  (gate: Gate): RequestHandler =>
  (request, response, next) => {
    gate(request, response)
    next()
  }

describe('requestLog', () => {
  let app: Express
  let server: Server
  let metrics: Metrics
  let lines: RequestLine[]
  let url: string

  beforeEach(async () => {
    lines = []
    metrics = new Metrics()
    app = express()
    app.use((request: Request, _response: Response, next: NextFunction) => {
      request.requestId = 'r-1'
      next()
    })
    app.use(
      gated(requestLog(metrics, routes, { log: { request: (line) => lines.push(line), largeBody: () => undefined } })),
    )
    app.get('/things/:id', (request, response) => {
      request.principal = { name: 'mta', id: 'mta', role: 'usage', scopes: undefined, source: 'token', expiresAt: null }
      response.status(201).send('done')
    })
    server = createServer(app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  it('logs and measures a request by its route pattern, without query and token', async () => {
    await fetch(`${url}/things/42?secret=hush`, { headers: { Authorization: 'Bearer hush' } })
    expect(lines).toEqual([
      {
        method: 'GET',
        route: '/things/:id',
        status: 201,
        ms: expect.any(Number),
        principal: 'mta',
        requestId: 'r-1',
        aborted: false,
        client: undefined,
      },
    ])
    const text = await metrics.registry.metrics()
    expect(text).toContain('http_request_duration_seconds_count{method="GET",route="/things/:id",status="201"} 1')
    expect(text).toContain('process_cpu_seconds_total')
  })

  it('keeps unknown paths out of the labels', async () => {
    await fetch(`${url}/no/such/path`)
    expect(lines).toMatchObject([{ route: 'unmatched', status: 404 }])
  })

  it('names the route of a request that was refused before it', async () => {
    app.use((_request: Request, response: Response) => {
      response.sendStatus(403)
    })
    await fetch(`${url}/known/7`)
    expect(lines).toMatchObject([{ route: '/known/:id', status: 403 }])
  })

  it('keeps unknown methods out of the labels', async () => {
    for (const method of ['PROPFIND', 'PURGE', 'LOCK', 'PATCH']) await fetch(`${url}/no/such/path`, { method })
    const text = await metrics.registry.metrics()
    const methods = new Set([...text.matchAll(/_count\{method="(\w+)"/g)].map(([, method]) => method))
    expect(methods).toEqual(new Set(['PATCH', 'other']))
    expect(lines.map(({ method }) => method)).toEqual(['PROPFIND', 'PURGE', 'LOCK', 'PATCH'])
  })

  it('distinguishes refusals during a shutdown from other 503', async () => {
    app.use((request: Request, response: Response) => {
      if (request.path === '/known/7') request.draining = true
      response.sendStatus(503)
    })
    await fetch(`${url}/known/7`)
    await fetch(`${url}/no/such/path`)
    const counts = (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('http_request_duration_seconds_count{'))
    expect(counts).toEqual([
      'http_request_duration_seconds_count{method="GET",route="/known/:id",status="503",draining="true"} 1',
      'http_request_duration_seconds_count{method="GET",route="unmatched",status="503"} 1',
    ])
  })

  it('logs and counts the code, the principal and the reason of a refusal', async () => {
    const refusals = new RefusalMetrics(metrics.registry)
    const refusing = express()
    refusing.use(
      gated(
        requestLog(metrics, routes, {
          log: { request: (line) => lines.push(line), largeBody: () => undefined },
          refusals,
        }),
      ),
    )
    refusing.use((request: Request, response: Response) => {
      if (request.path !== '/nobody')
        request.principal = {
          name: 'mta',
          id: 'mta',
          role: 'usage',
          scopes: undefined,
          source: 'token',
          expiresAt: null,
        }
      const known = request.path === '/busy'
      answerProblem(known ? new Unavailable('owner_locked') : new ServiceError('forbidden', 'no'), request, response)
    })
    server.removeAllListeners('request')
    server.on('request', refusing)
    for (const path of ['/busy', '/busy', '/other', '/nobody']) await fetch(url + path)
    expect(lines.map(({ status, code, reason }) => [status, code, reason])).toEqual([
      [503, 'unavailable', 'owner_locked'],
      [503, 'unavailable', 'owner_locked'],
      [403, 'forbidden', undefined],
      [403, 'forbidden', undefined],
    ])
    const text = await metrics.registry.metrics()
    expect(text).toContain('http_refusals_total{principal="mta",code="unavailable"} 2')
    expect(text).toContain('http_refusals_total{principal="mta",code="forbidden"} 1')
    expect(text).toContain('http_refusals_total{code="forbidden"} 1')
    expect(text).toContain('http_unavailable_total{reason="owner_locked"} 2')
    expect(text).toContain('http_unavailable_total{reason="database_full"} 0')
  })

  it('has documentation for each reason', () => {
    const pages = readFileSync(new URL('../../docs/run/runbook.md', import.meta.url), 'utf8')
    expect(UNAVAILABLE_REASONS.filter((reason) => !pages.includes(`| \`${reason}\` |`))).toEqual([])
  })

  it('logs the address of an unknown caller', async () => {
    app.use((_request: Request, response: Response) => {
      response.sendStatus(401)
    })
    await fetch(`${url}/no/such/path`, { headers: { 'X-Forwarded-For': '203.0.113.9' } })
    expect(lines).toMatchObject([{ status: 401, client: '127.0.0.1' }])
  })

  it.each([
    ['203.0.113.9', 1, '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', 1, '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', 0, '127.0.0.1'],
    ['198.51.100.1, 203.0.113.9', ['loopback', '203.0.113.0/24'], '198.51.100.1'],
    ['2001:db8::7', ['127.0.0.1'], '2001:db8::7'],
    ['qs_admin_secret', 1, '127.0.0.1'],
    ['203.0.113.9:4711', 1, '127.0.0.1'],
  ])('believes of X-Forwarded-For: %s with TRUST_PROXY=%s that it is %s', async (header, trusted, client) => {
    const reported: RequestLine[] = []
    const trusting = express()
    trusting.set('trust proxy', trusted)
    trusting.use(
      gated(
        requestLog(metrics, routes, {
          log: { request: (line) => reported.push(line), largeBody: () => undefined },
          clients: true,
        }),
      ),
    )
    server.removeAllListeners('request')
    server.on('request', trusting)
    await fetch(`${url}/things/1`, { headers: { 'X-Forwarded-For': header } })
    expect(reported).toMatchObject([{ status: 404, client }])
  })

  it('logs a caller that disconnected before or during the answer', async () => {
    const arrived: Response[] = []
    app.get('/slow', (request, response) => {
      arrived.push(response)
      if (request.query.begun !== undefined) response.write('x')
    })
    for (const path of ['/slow', '/slow?begun']) {
      const call = get(url + path).on('error', () => undefined)
      while (arrived.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const [response] = arrived.splice(0)
      const closed = once(response!, 'close')
      call.destroy()
      await closed
    }
    expect(lines).toMatchObject([
      { route: '/slow', status: 499, aborted: true },
      { route: '/slow', status: 200, aborted: true },
    ])
  })
})
