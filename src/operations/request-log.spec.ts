import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { Metrics } from './metrics.js'
import { requestLog, type RequestLine } from './request-log.js'

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
    app.use(requestLog(metrics, { request: (line) => lines.push(line) }))
    app.get('/things/:id', (request, response) => {
      request.principal = { name: 'mta', role: 'usage' }
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

  it('tells and measures a request by its route pattern, without query and token', async () => {
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

  it('tells of a caller who hung up before and within the answer', async () => {
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
