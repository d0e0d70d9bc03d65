import { connect } from 'node:net'
import type { Server } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Body, Controller, Get, Global, HttpCode, Module, Post, Put, Query } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import request from 'supertest'
import { APP_OPTIONS, configureApp } from '../app.js'
import { FRAME } from '../app.module.js'
import { AdminAuth, AnyPrincipal, Public, ServiceAuth } from '../auth/access.decorator.js'
import { AuthModule } from '../auth/auth.module.js'
import { Caller } from '../auth/caller.decorator.js'
import { hashOf } from '../auth/token.js'
import { Clock, SystemClock } from '../clock/clock.js'
import { loadConfig } from '../config/config.js'
import { ConfigModule } from '../config/config.module.js'
import { Registry } from 'prom-client'
import { Metrics, METRICS_REGISTRY } from '../metrics/metrics.js'
import { RefusalMetrics } from '../operations/refusal.metrics.js'
import { Shutdown } from '../operations/shutdown.js'
import { Tracing } from '../tracing/tracing.js'
import { BodyLimit } from './body-limit.decorator.js'
import { NativeExpressAdapter } from './express.adapter.js'
import { AmountField, ChoiceField, IdField } from './field.decorator.js'
import { HttpModule } from './http.module.js'
import { IdParam, OperationIdParam } from './id-param.decorator.js'
import { IdempotencyKey, OptionalIdempotencyKey } from './idempotency-key.decorator.js'
import { pagingOf, CursorPageQuery } from './page.dto.js'

class SpendDto {
  @IdField()
  account_id!: number

  @AmountField()
  amount!: number
}

class ListQuery extends CursorPageQuery {
  @ChoiceField(['active', 'disabled'], { optional: true })
  status?: string
}

@Controller('api/things')
@ServiceAuth('mail')
class ThingController {
  @Get()
  list(@Query() query: ListQuery): object {
    return Object.assign({}, pagingOf(query), { status: query.status ?? null })
  }

  @Get('summary/:id')
  summary(@IdParam('id') id: number): object {
    return { summary: id }
  }

  @Get(':id')
  one(@IdParam('id') id: number): object {
    return { id }
  }

  @Put(':id')
  put(@IdParam('id') id: number, @OptionalIdempotencyKey() key: string | undefined): object {
    return { id, key: key ?? null }
  }

  @Post('spend')
  @HttpCode(200)
  spend(@IdempotencyKey() key: string, @Body() dto: SpendDto, @Caller() caller: Caller): object {
    return Object.assign({ key }, dto, { name: caller.name, requestId: caller.requestId })
  }

  @Post('spend/:id/:operation')
  @HttpCode(200)
  again(
    @IdempotencyKey() key: string,
    @Body() dto: SpendDto,
    @OperationIdParam('operation') operation: string,
    @IdParam('id') id: number,
  ): object {
    return Object.assign({ key, operation, id }, dto)
  }

  @Post('batch')
  @HttpCode(200)
  @BodyLimit(1_000_000)
  batch(@Body() dto: SpendDto): object {
    return dto
  }

  @Get('crash/now')
  crash(): never {
    throw new Error('SELECT secret FROM driver')
  }
}

@Controller('api/doors')
class DoorController {
  @Get('public')
  @Public()
  public(): object {
    return { open: true }
  }

  @Get('any')
  @AnyPrincipal()
  any(): object {
    return { open: true }
  }

  @Get('flag')
  @AnyPrincipal('docsPublic')
  flag(): object {
    return { open: true }
  }

  @Get('admin')
  @AdminAuth('sms')
  admin(): object {
    return { open: true }
  }

  @Get('forgotten')
  forgotten(): object {
    return { open: true }
  }
}

const TOKENS = { usage: 'qs_usage_one', service: 'qs_service_two', admin: 'qs_admin_three' }
const config = loadConfig({
  AUTH_TOKENS: Object.entries(TOKENS)
    .map(([role, token]) => `${role}-name:${role}:${hashOf(token).toString('hex')}`)
    .join(','),
  CORS_ORIGINS: 'https://office.example.com,http://localhost:8080',
})

@Global()
@Module({ providers: [{ provide: Clock, useClass: SystemClock }], exports: [Clock] })
class ClockModule {}

@Module({
  imports: [ConfigModule.with(config), ClockModule, HttpModule, AuthModule],
  controllers: [ThingController, DoorController],
  providers: [
    ...FRAME,
    Metrics,
    RefusalMetrics,
    Shutdown,
    { provide: METRICS_REGISTRY, useValue: new Registry() },
    { provide: Tracing, useValue: new Tracing(undefined) },
  ],
})
class PipelineModule {}

let app: NestExpressApplication
let server: Server

beforeAll(async () => {
  app = await NestFactory.create<NestExpressApplication>(PipelineModule, new NativeExpressAdapter(), {
    ...APP_OPTIONS,
    logger: false,
    abortOnError: false,
  })
  configureApp(app)
  await app.listen(0, '127.0.0.1')
  server = app.getHttpServer()
})

afterAll(() => app.close())

const as = (role: keyof typeof TOKENS) => `Bearer ${TOKENS[role]}`
const get = (path: string) => request(server).get(path).set('Authorization', as('service'))
const post = (path: string) => request(server).post(path).set('Authorization', as('service'))
const SPEND = { account_id: 7, amount: 5 }
const OPERATION = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'

describe('every answer', () => {
  it('repeats a good request id and makes one for a bad one', async () => {
    const kept = await get('/api/things/3').set('X-Request-Id', 'A.b_c-9')
    expect(kept.headers['x-request-id']).toBe('A.b_c-9')
    const made = await get('/api/things/3').set('X-Request-Id', 'a b')
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('is not stored, has no tag and does not name the framework', async () => {
    const { headers } = await get('/api/things/3')
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['etag']).toBeUndefined()
    expect(headers['x-powered-by']).toBeUndefined()
    expect(headers['strict-transport-security']).toBeUndefined()
    expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests')
  })

  it('is a problem where it is an error', async () => {
    const answer = await get('/api/things/nothing')
    expect(answer.status).toBe(400)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.body).toEqual({
      type: 'about:blank',
      title: 'The request is not valid',
      status: 400,
      detail: 'id: must be an integer from 1 to 9007199254740991 in decimal digits',
      code: 'validation_failed',
      request_id: answer.headers['x-request-id'],
      errors: [{ field: 'id', message: 'must be an integer from 1 to 9007199254740991 in decimal digits' }],
    })
  })

  it('tells nothing of the inside', async () => {
    const answer = await get('/api/things/crash/now')
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('SELECT')
    expect(answer.body.code).toBe('internal_error')
  })
})

describe('access', () => {
  it.each([
    ['no header', {}, 'Bearer realm="quota"'],
    ['an unknown token', { Authorization: 'Bearer qs_admin_nobody' }, 'Bearer realm="quota", error="invalid_token"'],
    ['another scheme', { Authorization: 'Basic abc' }, 'Bearer realm="quota"'],
    ['three words', { Authorization: 'Bearer a b' }, 'Bearer realm="quota", error="invalid_request"'],
    ['an empty token', { Authorization: 'Bearer ' }, 'Bearer realm="quota"'],
  ])('answers 401 to %s', async (_what, headers, challenge) => {
    const answer = await request(server)
      .get('/api/things/3')
      .set(headers as Record<string, string>)
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
    // An empty token may arrive as one word or as two, by the client's trimming.
    expect(answer.headers['www-authenticate']).toMatch(challenge.slice(0, 20))
    if (!challenge.endsWith('quota"')) expect(answer.headers['www-authenticate']).toBe(challenge)
  })

  it('takes the scheme in any case', async () => {
    expect((await request(server).get('/api/things/3').set('Authorization', `bEARER ${TOKENS.service}`)).status).toBe(
      200,
    )
  })

  it('takes no token from query or body', async () => {
    expect((await request(server).get(`/api/doors/any?access_token=${TOKENS.admin}`)).status).toBe(401)
    expect((await request(server).post('/api/things/spend').send({ access_token: TOKENS.admin })).status).toBe(401)
    const both = await get(`/api/doors/any?access_token=${TOKENS.admin}`)
    expect([both.status, both.body.errors]).toEqual([
      400,
      [{ field: 'access_token', message: 'is not a parameter of this route' }],
    ])
  })

  it('takes no second Authorization header', async () => {
    const answer = await raw(
      `GET /api/things/3 HTTP/1.1\r\nHost: a\r\nAuthorization: ${as('service')}\r\nauthorization: ${as('admin')}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  it.each([
    ['/api/doors/public', 200, 200, 200, 200],
    ['/api/doors/any', 401, 200, 200, 200],
    ['/api/doors/flag', 401, 200, 200, 200],
    ['/api/things/3', 401, 403, 200, 200],
    ['/api/doors/admin', 401, 403, 403, 200],
    ['/api/doors/forgotten', 401, 403, 403, 403],
  ])('of %s is %i without a token, %i for usage, %i for service, %i for admin', async (path, ...expected) => {
    const statuses = [(await request(server).get(path)).status]
    for (const role of ['usage', 'service', 'admin'] as const) {
      statuses.push((await request(server).get(path).set('Authorization', as(role))).status)
    }
    expect(statuses).toEqual(expected)
  })

  it('comes before the form of the body', async () => {
    const answer = await request(server).post('/api/things/spend').set('Content-Type', 'text/plain').send('{')
    expect(answer.status).toBe(401)
    const forbidden = await request(server)
      .post('/api/things/spend')
      .set('Authorization', as('usage'))
      .set('Content-Type', 'text/plain')
      .send('{')
    expect(forbidden.status).toBe(403)
  })
})

describe('routes', () => {
  it.each(['/', '/nowhere', '/api/things/3/nowhere', '/api/things/summary', '/api//things/3', '/api/things/%zz'])(
    'answers 401 to %s without a token',
    async (path) => {
      expect((await request(server).get(path)).status).toBe(401)
    },
  )

  it.each(['/', '/nowhere', '/api/things/3/nowhere', '/api/things/summary', '/API/Things/Summary/', '/api//things'])(
    'answers 404 to %s with one',
    async (path) => {
      const answer = await get(path)
      expect([answer.status, answer.body.code]).toEqual([404, 'route_not_found'])
    },
  )

  it.each([
    ['post', '/api/things/3', 'GET, HEAD, PUT'],
    ['patch', '/api/things', 'GET, HEAD'],
    ['options', '/api/things', 'GET, HEAD'],
    ['put', '/api/things/spend', 'POST'],
    ['get', '/api/things/spend', 'POST'],
    ['get', '/api/things/Spend/', 'POST'],
    ['put', '/api/things/batch?x=1', 'POST'],
  ] satisfies ['get' | 'put' | 'post' | 'patch' | 'options', string, string][])(
    'answers 405 to %s %s',
    async (method, path, allow) => {
      const answer = await request(server)[method](path).set('Authorization', as('admin'))
      expect([answer.status, answer.body.code, answer.headers['allow']]).toEqual([405, 'method_not_allowed', allow])
    },
  )

  it('answers 400 to what is no percent encoding', async () => {
    expect((await get('/api/things/%zz')).body.code).toBe('validation_failed')
  })

  it('serves HEAD, a trailing slash and any case', async () => {
    expect((await request(server).head('/api/things/3').set('Authorization', as('service'))).status).toBe(200)
    expect((await get('/API/things/3/')).body).toEqual({ id: 3 })
  })

  it.each(['007', '0', '+1', '-1', '1.0', '1e2', '9007199254740992', '99999999999999999999', '%31x', 'null', '%20'])(
    'takes no %s for an identifier',
    async (id) => {
      expect((await get(`/api/things/${id}`)).body.code).toBe('validation_failed')
    },
  )

  it('takes the largest identifier', async () => {
    expect((await get('/api/things/9007199254740991')).body).toEqual({ id: 9007199254740991 })
  })
})

describe('the form of a request', () => {
  const json = (body: string | Buffer) =>
    post('/api/things/spend')
      .set('Idempotency-Key', 'k')
      .set('Content-Type', 'application/json')
      .serialize((sent: unknown) => sent as string)
      .send(body as unknown as string)

  it('takes JSON in UTF-8', async () => {
    const answer = await post('/api/things/spend')
      .set('Idempotency-Key', 'k')
      .set('Content-Type', 'Application/JSON; Charset="utf-8"')
      .send(JSON.stringify(SPEND))
    expect(answer.body).toMatchObject({
      key: 'k',
      ...SPEND,
      name: 'service-name',
      requestId: answer.headers['x-request-id'],
    })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/json; charset=utf-16le',
    'application/jsonx',
    'multipart/form-data',
  ])('answers 415 to %s', async (type) => {
    const answer = await post('/api/things/spend').set('Content-Type', type).send(JSON.stringify(SPEND))
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type'])
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', (body: string) => Buffer.from(body)],
    ['GZIP', gzipSync],
  ])('reads %s', async (encoding, pack) => {
    const answer = await json(pack(JSON.stringify(SPEND))).set('Content-Encoding', encoding)
    expect(answer.status).toBe(200)
  })

  it.each(['zstd', 'compress', 'gzip, gzip', 'x-gzip'])('answers 415 to the encoding %s', async (encoding) => {
    const answer = await json(gzipSync(JSON.stringify(SPEND))).set('Content-Encoding', encoding)
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type'])
  })

  it('answers 400 to what does not decompress', async () => {
    const answer = await json(Buffer.from(JSON.stringify(SPEND))).set('Content-Encoding', 'gzip')
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json'])
  })

  it.each(['{', '{"a":}', 'nothing', "{'a':1}", '{"account_id":7,"amount":5}x', '\u00a0'])(
    'answers malformed_json to %s',
    async (body) => {
      expect((await json(body)).body.code).toBe('malformed_json')
    },
  )

  it.each(['null', '7', '"text"', 'true', '[]', `[${JSON.stringify(SPEND)}]`])(
    'answers validation_failed to %s',
    async (body) => {
      expect((await json(body)).body).toMatchObject({ code: 'validation_failed', errors: [{ field: 'body' }] })
    },
  )

  it('counts a body after decompression', async () => {
    const fits = JSON.stringify(SPEND).padEnd(100_000)
    expect((await json(fits)).status).toBe(200)
    expect((await json(gzipSync(fits)).set('Content-Encoding', 'gzip')).status).toBe(200)
    for (const answer of [await json(`${fits} `), await json(gzipSync(`${fits} `)).set('Content-Encoding', 'gzip')]) {
      expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large'])
    }
  })

  it('knows a handler with a limit of its own', async () => {
    const large = JSON.stringify(SPEND).padEnd(1_000_000)
    expect((await post('/api/things/batch').set('Content-Type', 'application/json').send(large)).status).toBe(200)
    expect((await post('/api/things/batch').set('Content-Type', 'application/json').send(`${large} `)).status).toBe(413)
  })

  it.each([
    ['deep arrays', '['.repeat(49_000) + ']'.repeat(49_000)],
    ['deep objects', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
    ['depth in a field', `{"account_id":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['many names', `{${Array.from({ length: 9000 }, (_, at) => `"${at}":1`).join(',')}}`],
    ['a long name', `{"${'a'.repeat(90_000)}":1}`],
    ['the name __proto__', '{"__proto__":{"amount":1},"constructor":1}'],
  ])('answers validation_failed to %s', async (_what, body) => {
    const answer = await json(body)
    expect(answer.body.code).toBe('validation_failed')
    expect(answer.text.length).toBeLessThan(20_000)
  })

  it('answers validation_failed to a million items', async () => {
    const answer = await post('/api/things/batch')
      .set('Content-Type', 'application/json')
      .send(`[${'1,'.repeat(499_990)}1]`)
    expect(answer.body.code).toBe('validation_failed')
  })

  it.each([
    ['nothing', undefined, 200],
    ['an empty object', '{}', 200],
    ['white space', ' ', 400],
    ['a field', '{"a":1}', 400],
    ['an array', '[]', 400],
    ['null', 'null', 400],
  ])('gives a handler without a body %s', async (_what, body, status) => {
    const put = request(server)
      .put('/api/things/3')
      .set('Authorization', as('service'))
      .set('Content-Type', 'application/json')
    expect((await put.send(body)).status).toBe(status)
  })

  it('refuses parameters to a handler without a query, open ones too', async () => {
    const answer = await request(server).get('/api/doors/public?verbose=1&x')
    expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(['verbose', 'x'])
  })
})

describe('validation', () => {
  it('names every broken field at once', async () => {
    const answer = await post('/api/things/spend').send({ Amount: 5, account_id: '7', other: 1 })
    expect(answer.body.errors).toEqual([
      { field: 'Amount', message: 'did you mean amount?' },
      { field: 'other', message: 'is not a field of this request' },
      { field: 'account_id', message: 'must be an integer from 1 to 9007199254740991' },
      { field: 'amount', message: 'is required: must be an integer from 1 to 1000000000000' },
    ])
  })

  it.each(['7.0', '0.7e1', '70e-1'])('takes %s for 7', async (number) => {
    const answer = await post('/api/things/spend')
      .set('Idempotency-Key', 'k')
      .set('Content-Type', 'application/json')
      .send(`{"account_id":${number},"amount":1e2}`)
    expect(answer.body).toMatchObject({ account_id: 7, amount: 100 })
  })

  it.each([
    'page=01',
    'page=',
    'page=1.0',
    'page=+1',
    'page=%201',
    'page=1&page=2',
    'page_size=101',
    'page=0',
    'Page=1',
    'status=Active',
    'page[]=1',
    '__proto__=1',
    'page=5001',
    'before_id=3&page=1',
    'page=1000000000000000000000',
  ])('refuses ?%s', async (query) => {
    const answer = await get(`/api/things?${query}`)
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
  })

  it('takes a page, and the way on', async () => {
    expect((await get('/api/things?page=5000&status=active')).body).toEqual({
      page: 5000,
      pageSize: 20,
      status: 'active',
    })
    expect((await get('/api/things?before_id=9&page_size=100')).body).toEqual({
      page: 1,
      pageSize: 100,
      beforeId: 9,
      status: null,
    })
    expect((await get('/api/things?page=5001')).body.detail).toContain('before_id')
  })

  it('sees the last of a thousand parameters', async () => {
    expect((await get(`/api/things?${'page=1&'.repeat(1200)}x=1`)).body.detail).toContain('x: is not a parameter')
  })

  it('comes before the key, and the path before the body, in whatever order a handler declares them', async () => {
    expect((await post('/api/things/spend').send({})).body.code).toBe('validation_failed')
    expect((await post('/api/things/spend').send(SPEND)).body.code).toBe('idempotency_key_missing')
    expect((await post('/api/things/spend/7/x').send(SPEND)).body.errors).toMatchObject([{ field: 'operation' }])
    expect((await post(`/api/things/spend/7/${OPERATION}`).send({ account_id: 1 })).body.errors).toMatchObject([
      { field: 'amount' },
    ])
    expect((await post(`/api/things/spend/7/${OPERATION}`).send(SPEND)).body.code).toBe('idempotency_key_missing')
    const answer = await post(`/api/things/spend/7/${OPERATION.toUpperCase()}`)
      .set('Idempotency-Key', 'a, b')
      .send(SPEND)
    expect(answer.body).toEqual({ key: 'a, b', operation: OPERATION, id: 7, ...SPEND })
  })
})

describe('the key', () => {
  it.each([
    ['an empty one', 'Idempotency-Key:\r\n'],
    ['two', 'Idempotency-Key: a\r\nidempotency-key: a\r\n'],
    ['a tab within', 'Idempotency-Key: a\tb\r\n'],
    ['more than ASCII', 'Idempotency-Key: é\r\n'],
    ['256 characters', `Idempotency-Key: ${'k'.repeat(256)}\r\n`],
  ])('may not be %s', async (_what, header) => {
    const body = JSON.stringify(SPEND)
    const answer = await raw(
      `POST /api/things/spend HTTP/1.1\r\nHost: a\r\nAuthorization: ${as('service')}\r\n${header}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(answer).toContain('"code":"idempotency_key_invalid"')
  })

  it('may be left out where it is optional', async () => {
    const put = () => request(server).put('/api/things/3').set('Authorization', as('service'))
    expect((await put()).body).toEqual({ id: 3, key: null })
    expect((await put().set('Idempotency-Key', 'a b~')).body).toEqual({ id: 3, key: 'a b~' })
  })
})

describe('origins', () => {
  const preflight = (origin: string) =>
    request(server).options('/api/things').set('Origin', origin).set('Access-Control-Request-Method', 'GET')

  it.each(['https://office.example.com', 'http://localhost:8080'])('lets %s call', async (origin) => {
    const answer = await preflight(origin)
    expect(answer.status).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
      'access-control-max-age': '600',
      'cache-control': 'no-store',
      'x-request-id': expect.any(String),
      vary: 'Origin',
    })
    const got = await get('/api/things').set('Origin', origin)
    expect([got.status, got.headers['access-control-allow-origin'], got.headers['vary']]).toEqual([
      200,
      origin,
      'Origin',
    ])
    expect(got.headers['access-control-expose-headers']).toContain('Idempotency-Replayed')
  })

  it.each(['https://office.example.com.evil.org', 'https://OFFICE.example.com', 'http://office.example.com', 'null'])(
    'does not let %s call',
    async (origin) => {
      const answer = await preflight(origin)
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([401, undefined])
      expect(answer.headers['vary']).toContain('Origin')
      const got = await get('/api/things').set('Origin', origin)
      expect(Object.keys(got.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      expect(got.headers['vary']).toContain('Origin')
    },
  )
})

describe('what is no HTTP', () => {
  it.each([
    ['noise', 'NOISE\r\n\r\n'],
    ['a huge header', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
  ])('is told so: %s', async (_what, text) => {
    const answer = await raw(text)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/\r\nX-Request-Id: [\w.-]+\r\n/i)
    expect(answer).toContain('application/problem+json')
  })

  it('ignores an expectation it does not know', async () => {
    const answer = await raw(
      `GET /api/things/3 HTTP/1.1\r\nHost: a\r\nExpect: more\r\nAuthorization: ${as('service')}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

/** Sends bytes as they are and reads one answer. */
function raw(text: string): Promise<string> {
  const { port } = server.address() as { port: number }
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let answer = ''
    socket.on('data', (data) => {
      answer += data.toString()
      const [head = '', body] = answer.split('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(head)?.[1]
      if (body !== undefined && (length === undefined || body.length >= Number(length))) socket.destroy()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
