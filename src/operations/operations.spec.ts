import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Global, Logger, Module } from '@nestjs/common'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { Test } from '@nestjs/testing'
import request from 'supertest'
import { ProviderKeys } from '../auth/provider-keys.js'
import { TokensFile } from '../auth/tokens-file.js'
import { Tokens } from '../auth/tokens.js'
import { Clock, SystemClock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import { Readiness } from '../database/readiness.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { ServiceError, Unavailable } from '../common/service-error.js'
import { Admission } from '../http/admission.js'
import { Connections } from '../http/connections.js'
import { MetricsModule } from '../common/metrics.module.js'
import { HealthController } from './health.controller.js'
import { OperationsModule } from './operations.module.js'
import { Shutdown } from './shutdown.js'

let check: () => Promise<void>
let known: () => void

@Global()
@Module({
  providers: [
    { provide: Readiness, useValue: { require: () => known(), check: () => check() } },
    { provide: TransactionRunner, useValue: { connections: () => undefined, tasks: new Set() } },
    { provide: Admission, useValue: new Admission({ principalRequests: 1, principalBodyBytes: 1 } as Config) },
    { provide: CONFIG, useValue: { oidc: undefined } },
    { provide: ProviderKeys, useValue: { away: false } },
    { provide: Tokens, useValue: { ends: () => new Map() } },
    { provide: TokensFile, useValue: { stale: false, changes: { taken: 0, refused: 0 } } },
    { provide: Clock, useClass: SystemClock },
    Connections,
  ],
  exports: [CONFIG, ProviderKeys, Readiness, Clock, TransactionRunner, Admission, Tokens, TokensFile, Connections],
})
class StoreModule {}

// The routes alone; who may call them, and what an error looks like, is tested with the whole service.
describe('OperationsModule', () => {
  let app: NestExpressApplication

  beforeEach(async () => {
    check = () => Promise.resolve()
    known = () => undefined
    const module = await Test.createTestingModule({ imports: [StoreModule, MetricsModule, OperationsModule] }).compile()
    app = module.createNestApplication<NestExpressApplication>({ logger: false })
    Logger.overrideLogger(false)
    app.use((asked: object, _response: unknown, next: () => void) => {
      Object.assign(asked, { principal: { name: 'somebody', role: 'admin' } })
      next()
    })
    await app.init()
  })

  afterEach(async () => {
    await app.close()
  })

  const server = () => app.getHttpServer()

  describe('health', () => {
    it('answers', async () => {
      await request(server()).get('/health/live').expect(200, { status: 'ok' })
      await request(server()).get('/health/ready').expect(200, { status: 'ready' })
    })

    it.each([
      ['fails', () => Promise.reject(new Error('gone'))],
      ['takes more than 2 s', () => new Promise<void>(() => undefined)],
    ])('is not ready where the store %s', async (_what, failing) => {
      check = failing
      await expect(app.get(HealthController).ready()).rejects.toMatchObject({ code: 'unavailable' })
      await request(server()).get('/health/live').expect(200)
    })

    it('is not ready as soon as the store is known to be away, also within a second of a good answer', async () => {
      await request(server()).get('/health/ready').expect(200)
      known = () => {
        throw new Unavailable('database_away')
      }
      await expect(app.get(HealthController).ready()).rejects.toMatchObject({ code: 'unavailable' })
    })

    it('is not ready, but alive, during a shutdown', async () => {
      drain(app.get(Shutdown))
      await expect(app.get(HealthController).ready()).rejects.toBeInstanceOf(ServiceError)
      await request(server()).get('/health/live').expect(200)
    })
  })

  it('shows metrics in the format of Prometheus', async () => {
    const { headers, text } = await request(server()).get('/metrics').expect(200)
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(text).toMatch(/^process_cpu_seconds_total /m)
    expect(text).toContain('# TYPE http_request_duration_seconds histogram')
  })

  describe('docs', () => {
    it('loads only its own files, and the page contains no script', async () => {
      const { text } = await request(server())
        .get('/docs')
        .expect(200)
        .expect('Content-Type', /^text\/html/)
      expect(text).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=/)
      const paths = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path ?? '')
      expect(paths.length).toBeGreaterThan(4)
      for (const path of paths) {
        const { headers } = await request(server()).get(path).expect(200)
        expect(headers['content-type']).toMatch(/^(text\/javascript|text\/css|image\/png)/)
      }
    })

    it.each(['package.json', 'constructor', '..%2Fpackage.json', 'swagger-ui.js'])('serves no %s', async (file) => {
      const { status } = await request(server()).get(`/docs/${file}`)
      expect(status).toBeGreaterThanOrEqual(400)
    })

    it('serves the document at the root of the project', async () => {
      const { body } = await request(server()).get('/openapi.json').expect(200)
      expect(body).toEqual(JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')))
    })
  })
})

function drain(shutdown: Shutdown): void {
  Object.defineProperty(shutdown, 'signalled', { value: true })
}
