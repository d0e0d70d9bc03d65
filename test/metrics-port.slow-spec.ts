import { createServer } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import request from 'supertest'
import { MetricsServer } from '../src/operations/metrics-server.js'
import { runNode } from './support/command.js'
import { type As, TestApp, TOKENS } from './support/app.js'
import { HttpClient, NoAnswer } from './support/http-client.js'
import { freePort } from '../scripts/mariadb.mjs'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { refusal } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

// Processes, on a machine that may be busy.
jest.setTimeout(120_000)

onEveryStore('metrics on a port of their own', (kind) => {
  let app: TestApp
  let url: string

  beforeAll(async () => {
    app = await TestApp.on(kind, { env: { METRICS_PORT: '0', REQUEST_TIMEOUT_SECONDS: '2' } })
    const address = await app.app.get(MetricsServer).listen()
    url = `http://127.0.0.1:${address?.port}`
  })

  /** On that port. */
  const ask = (path: string, as?: As, method: 'get' | 'post' | 'head' = 'get'): request.Test => {
    const test = request(url)[method](path)
    return as === undefined ? test : test.set('Authorization', `Bearer ${TOKENS[as]}`)
  }

  it('are available to every role, and to nobody else', async () => {
    for (const as of ['metrics', 'usage', 'service', 'admin', 'own-mail'] as const) {
      const answer = await ask('/metrics', as)
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('quota_open_holds{channel="mail"} 0')
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-request-id': expect.any(String) })
    }
    expect((await ask('/metrics', 'metrics', 'head')).status).toBe(200)
    expect(refusal(await ask('/metrics'))).toEqual([401, 'unauthenticated'])
    const post = await ask('/metrics', 'metrics', 'post')
    expect([...refusal(post), post.headers['allow']]).toEqual([405, 'method_not_allowed', 'GET, HEAD'])
  })

  it('are not on the other port, whose paths are not on this one', async () => {
    for (const method of ['get', 'post', 'put'] as const) {
      expect(refusal(await app.send(method, '/metrics', { as: 'admin' }))).toEqual([404, 'route_not_found'])
      expect(refusal(await app.send(method, '/metrics', { as: undefined }))).toEqual([401, 'unauthenticated'])
    }
    for (const path of [
      '/health/live',
      '/health/ready',
      '/api/v1/me',
      '/api/v1/quotas',
      '/openapi.json',
      '/admin/',
      '/',
    ]) {
      expect(refusal(await ask(path, 'admin'))).toEqual([404, 'route_not_found'])
      expect(refusal(await ask(path))).toEqual([401, 'unauthenticated'])
    }
    expect((await app.get('/health/ready', { as: undefined })).status).toBe(200)
    expect((await app.get('/api/v1/me', { as: 'metrics' })).body).toMatchObject({ name: 'metrics', role: 'metrics' })
  })

  it('are measured by their route, and unknown paths as unmatched', async () => {
    await ask('/metrics', 'metrics')
    await ask('/api/v1/me', 'admin')
    await app.get('/metrics')
    const counted = (text: string, route: string, status: number): number =>
      Number(new RegExp(`_count\\{method="GET",route="${route}",status="${status}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
    // What is shown may be a moment old.
    let text = ''
    while (counted(text, 'unmatched', 404) < 2) text = (await ask('/metrics', 'metrics')).text
    expect(counted(text, '/metrics', 200)).toBeGreaterThan(0)
    expect(counted(text, '/metrics', 404)).toBe(0)
  })

  it('have the limits of the other port: late requests end the connection', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let said = ''
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n')
    await once(socket, 'close')
    expect(said).toContain('the request did not arrive in time')
  })
})

onEveryStore('the socket of metrics', (kind) => {
  it('is closed with the application', async () => {
    const store = await kind.open()
    const app = await TestApp.start(store, { env: { METRICS_PORT: '0' } })
    const address = await app.app.get(MetricsServer).listen()
    const ask = async () => request(`http://127.0.0.1:${address?.port}`).get('/metrics')
    expect((await ask()).status).toBe(401)
    await app.stop()
    await expect(ask()).rejects.toThrow('ECONNREFUSED')
    await store.drop()
  })
})

describe('a process with METRICS_PORT', () => {
  let folder: string
  let client: HttpClient

  beforeAll(async () => {
    folder = temporaryFolder('quota-metrics-')
    client = new HttpClient()
  })

  const database = (): string => `sqlite:${join(folder, 'quota.db')}`

  it('can be scraped until its end, and then listens nowhere', async () => {
    const port = await freePort()
    const watched = `http://127.0.0.1:${port}`
    const instance = await Instance.start(database(), {
      METRICS_PORT: String(port),
      LOG_LEVEL: 'info',
      SHUTDOWN_DELAY_SECONDS: '10',
    })
    const scrape = async () => client.send(watched, 'GET', '/metrics', { token: ADMIN })
    expect((await scrape()).status).toBe(200)
    expect((await instance.get('/metrics')).status).toBe(404)
    while (!instance.log.includes(`/metrics listens on 127.0.0.1:${port}`)) await sleep(20)
    const ended = instance.terminate()
    while ((await instance.get('/health/ready')).status === 200) await sleep(20)
    expect((await scrape()).status).toBe(200)
    expect(await ended).toBe(0)
    await expect(scrape()).rejects.toThrow(NoAnswer)
  })

  it.each(['METRICS_PORT', 'PORT'])('says so where %s is taken, and ends', async (name) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const env = { DATABASE_URL: database(), PORT: '0', METRICS_PORT: '0', [name]: String(port) }
    const { code, stderr } = await runNode(['dist/src/main.js'], { cwd: process.cwd(), env })
    taken.close()
    expect(code).toBe(1)
    expect(stderr).toContain(
      `Cannot listen on 127.0.0.1, ${name === 'PORT' ? 'port' : name} ${port}: listen EADDRINUSE`,
    )
  })
})
