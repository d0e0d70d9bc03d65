import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  ConflictException,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  HttpException,
  Injectable,
  type MessageEvent,
  type MiddlewareConsumer,
  Module,
  type NestInterceptor,
  Param,
  type PipeTransform,
  Post,
  Redirect,
  Res,
  Sse,
  StreamableFile,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common'
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core'
import { HealthCheckService, TerminusModule } from '@nestjs/terminus'
import type { NextFunction, Request, Response } from 'express'
import helmet from 'helmet'
import { map, type Observable, of } from 'rxjs'
import { AnyAdminAuth, AnyPrincipal, Public } from '../src/auth/access.decorator.js'
import { AdminGuard } from '../src/auth/role.guard.js'
import { AmountField } from '../src/http/field.decorator.js'
import { IdParam, OperationIdParam } from '../src/http/id-param.decorator.js'
import { IdempotencyKey } from '../src/http/idempotency-key.decorator.js'
import { AUTH_TOKENS, TestApp } from './support/app.js'
import { opened } from './support/opened.js'
import { it } from './support/scoped.js'
import { type StoreKind, STORES } from './support/store.js'

class Amount {
  @AmountField()
  amount!: number
}

/** What the guards and interceptors of this table saw, in order. */
const seen: string[] = []

const requestOf = (context: ExecutionContext | ArgumentsHost) => context.switchToHttp().getRequest<Request>()

@Injectable()
class NoGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { principal, body, params } = requestOf(context)
    seen.push(`${principal?.name} ${String(params['id'])} ${body === undefined ? 'unread' : 'read'}`)
    return false
  }
}

@Injectable()
class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return requestOf(context).headers['x-app-guard'] !== 'no'
  }
}

@Injectable()
class WrapInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { amount } = requestOf(context).body as Partial<Amount>
    return next.handle().pipe(map((value: object) => ({ ...value, seen: amount })))
  }
}

@Injectable()
class AppInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (requestOf(context).headers['x-app-interceptor'] === undefined) return next.handle()
    return next.handle().pipe(map((value: object) => ({ ...value, by: 'app' })))
  }
}

@Injectable()
class TwicePipe implements PipeTransform {
  transform(value: unknown): unknown {
    return value instanceof Amount ? { amount: value.amount * 2 } : value
  }
}

class Teapot extends Error {}
class Kettle extends Error {}

@Catch(Teapot)
class TeapotFilter implements ExceptionFilter {
  catch(_error: Teapot, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ short: 'stout' })
  }
}

@Catch(Kettle)
class KettleFilter implements ExceptionFilter {
  catch(_error: Kettle, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(424).json({ boils: true })
  }
}

@Catch(Teapot)
class BrokenFilter implements ExceptionFilter {
  catch(): void {
    throw new Error('the filter itself')
  }
}

@Controller('nest')
@AnyPrincipal()
class NestController {
  constructor(private readonly health: HealthCheckService) {}

  @Post('guard/:id')
  @UseGuards(NoGuard)
  guarded(@Body() dto: Amount): Amount {
    return dto
  }

  @Post('admin')
  @UseGuards(AdminGuard)
  admin(@Body() dto: Amount): Amount {
    return dto
  }

  @Post('interceptor')
  @UseInterceptors(WrapInterceptor)
  intercepted(@Body() dto: Amount): object {
    return { amount: dto.amount }
  }

  @Post('pipe')
  @UsePipes(TwicePipe)
  piped(@Body() dto: Amount): Amount {
    return dto
  }

  @Post('parameters/:id/:operation')
  parameters(
    @IdempotencyKey() key: string,
    @Body() dto: Amount,
    @OperationIdParam('operation') operation: string,
    @IdParam('id') id: number,
  ): object {
    return { key, amount: dto.amount, operation, id }
  }

  @Get('filter')
  @UseFilters(TeapotFilter)
  filtered(): never {
    throw new Teapot()
  }

  @Get('second-filter')
  @UseFilters(TeapotFilter)
  secondFilter(): never {
    throw new Kettle()
  }

  @Get('broken-filter')
  @UseFilters(BrokenFilter)
  brokenFilter(): never {
    throw new Teapot('the inside')
  }

  @Get('conflict')
  conflict(): never {
    throw new ConflictException('two of them')
  }

  @Get('exception/:status')
  exception(@Param('status') status: string): never {
    throw new HttpException('as it is', Number(status))
  }

  @Get('health')
  async unhealthy(): Promise<unknown> {
    return this.health.check([() => ({ disk: { status: 'down' } })])
  }

  @Get('res')
  res(@Res() response: Response): void {
    response.status(202).json({ by: 'express' })
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Readable.from(['one,', 'two']), { type: 'text/csv', disposition: 'attachment' })
  }

  @Get('redirect')
  @Redirect('/nest/header', 301)
  redirect(): void {}

  @Get('header')
  @Header('Cache-Control', 'max-age=5')
  @Header('X-Own', 'yes')
  header(): object {
    return { ok: true }
  }

  @Get('text')
  @Header('Content-Type', 'text/plain')
  text(): string {
    return 'plain'
  }

  @Sse('sse')
  sse(): Observable<MessageEvent> {
    return of({ data: 'first' }, { data: { second: 2 } })
  }
}

@Controller('bare')
class BareController {
  @Get('admin')
  @Public()
  @UseGuards(AdminGuard)
  admin(): object {
    return { ok: true }
  }

  @Get('closed')
  @UseGuards(AdminGuard)
  closed(): object {
    return { ok: true }
  }

  @Get('all-admins')
  @AnyAdminAuth()
  all(): object {
    return { ok: true }
  }
}

@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [NestController, BareController],
  providers: [
    { provide: APP_GUARD, useClass: HeaderGuard },
    { provide: APP_INTERCEPTOR, useClass: AppInterceptor },
    { provide: APP_FILTER, useClass: KettleFilter },
  ],
})
class NestModule {}

@Module({})
class MiddlewareModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((request: Request, response: Response, next: NextFunction) => {
        response.setHeader('X-Applied', request.path)
        next()
      })
      .forRoutes(NestController)
  }
}

const [SQLITE] = STORES as [StoreKind]

/** What the table is made with: the service's own application, and a module of somebody who knows Nest. */
async function start(...imports: Type[]): Promise<TestApp> {
  return TestApp.start(await SQLITE.open(), { imports })
}

describe('what somebody who knows Nest may use', () => {
  let app: TestApp
  const get = (path: string, headers: Record<string, string> = {}) => app.get(`/nest/${path}`, { headers })
  const post = (path: string, amount: unknown, headers: Record<string, string> = {}) =>
    app.post(`/nest/${path}`, { amount }, { headers })

  beforeAll(async () => {
    app = await start(NestModule)
  })
  afterAll(async () => app.stop())

  it('@UseGuards: the guard knows who calls and comes before the body; false is 403', async () => {
    seen.length = 0
    const answer = await app
      .post('/nest/guard/7', undefined, { headers: { 'Content-Type': 'application/json' } })
      .send('{"amount":')
    expect([answer.status, answer.body.code, answer.headers['content-type']]).toEqual([
      403,
      'forbidden',
      'application/problem+json',
    ])
    expect(seen).toEqual(['admin 7 unread'])
  })

  it('@UseGuards: nobody who is not known gets as far as the guard', async () => {
    seen.length = 0
    const answer = await app.post('/nest/guard/7', { amount: 1 }, { as: undefined })
    expect([answer.status, seen]).toEqual([401, []])
  })

  it('@UseGuards(AdminGuard) beside a rule holds as well, and before the body', async () => {
    expect((await app.post('/nest/admin', { amount: 1 })).status).toBe(201)
    expect((await app.post('/nest/admin', { amount: 'x' })).status).toBe(400)
    expect((await app.post('/nest/admin', { amount: 'x' }, { as: 'service' })).status).toBe(403)
    expect((await app.post('/nest/admin', { amount: 1 }, { as: 'sms-admin' })).status).toBe(403)
  })

  it('@UseGuards(AdminGuard) on a public route lets nobody in, and without a rule nobody either', async () => {
    expect((await app.get('/bare/admin')).status).toBe(403)
    expect((await app.get('/bare/closed')).status).toBe(403)
    expect((await app.get('/bare/all-admins')).status).toBe(200)
  })

  it('APP_GUARD: asked on every route, once it is known who calls', async () => {
    const refused = { headers: { 'x-app-guard': 'no' } }
    expect((await app.get('/api/v1/me', refused)).status).toBe(403)
    expect((await app.get('/api/v1/me', { ...refused, as: undefined })).status).toBe(401)
    expect((await app.get('/api/v1/me')).status).toBe(200)
  })

  it('@UseInterceptors: sees the body, changes the answer', async () => {
    expect((await post('interceptor', 3)).body).toEqual({ amount: 3, seen: 3 })
  })

  it('APP_INTERCEPTOR: changes the answer of every route', async () => {
    const answer = await app.get('/api/v1/me', { headers: { 'x-app-interceptor': '1' } })
    expect(answer.body).toMatchObject({ name: 'admin', by: 'app' })
  })

  it('@UsePipes: gets what the global pipe has validated', async () => {
    expect((await post('pipe', 4)).body).toEqual({ amount: 8 })
    expect((await post('pipe', 'x')).body.code).toBe('validation_failed')
  })

  it('parameters: the path comes before the body and that before the key, in whatever order they are declared', async () => {
    const operation = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
    const sent = async (path: string, amount: unknown, key?: string) =>
      app.post(`/nest/parameters/${path}`, { amount }, key === undefined ? {} : { key })
    expect((await sent('7/x', 'x')).body.errors).toMatchObject([{ field: 'operation' }])
    expect((await sent(`0/${operation}`, 'x')).body.errors).toMatchObject([{ field: 'id' }])
    expect((await sent(`7/${operation}`, 'x')).body.errors).toMatchObject([{ field: 'amount' }])
    expect((await sent(`7/${operation}`, 5)).body.code).toBe('idempotency_key_missing')
    const answer = await sent(`7/${operation.toUpperCase()}`, 5, 'a, b')
    expect(answer.body).toEqual({ key: 'a, b', amount: 5, operation, id: 7 })
  })

  it('@UseFilters: answers by response.status().json(), with the headers of every answer', async () => {
    const answer = await get('filter', { 'X-Request-Id': 'tea' })
    expect([answer.status, answer.body]).toEqual([418, { short: 'stout' }])
    expect(answer.headers).toMatchObject({
      'x-request-id': 'tea',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
  })

  it('a second filter: the one that catches the error answers it', async () => {
    const answer = await get('second-filter')
    expect([answer.status, answer.body]).toEqual([424, { boils: true }])
  })

  it('a filter that fails is a 500, and the service goes on', async () => {
    const answer = await get('broken-filter')
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error'])
    expect(answer.text).not.toContain('inside')
  })

  it.each([
    ['conflict', 409, 'Conflict', 'two of them'],
    ['exception/402', 402, 'Payment Required', 'as it is'],
    ['exception/507', 507, 'Insufficient Storage', 'as it is'],
  ])('an HttpException: %s is %i as a problem', async (path, status, title, detail) => {
    const answer = await get(path)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect([answer.status, answer.body]).toEqual([
      status,
      { type: 'about:blank', title, status, detail, request_id: answer.headers['x-request-id'] },
    ])
  })

  it('@nestjs/throttler: 429 with its headers', async () => {
    const store = await SQLITE.open()
    const child = fork(fileURLToPath(new URL('support/throttled.mjs', import.meta.url)), {
      env: { ...process.env, DATABASE_URL: store.url, AUTH_TOKENS },
      execArgv: [],
    })
    opened(() => void child.kill('SIGKILL'))
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    const throttled = async () => fetch(`http://127.0.0.1:${port}/throttled`)
    const statuses = [(await throttled()).status, (await throttled()).status]
    const answer = await throttled()
    expect([...statuses, answer.status]).toEqual([200, 200, 429])
    expect(await answer.json()).toMatchObject({ title: 'Too Many Requests', status: 429 })
    expect(answer.headers.get('retry-after')).toBe('60')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    child.disconnect()
    await once(child, 'exit')
  })

  it('@nestjs/terminus: 503 where a part is down', async () => {
    const answer = await get('health')
    expect([answer.status, answer.body.title]).toEqual([503, 'Service Unavailable'])
  })

  it('@Res(): response.json(), with the headers of every answer', async () => {
    const answer = await get('res')
    expect([answer.status, answer.body]).toEqual([202, { by: 'express' }])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-request-id': expect.any(String) })
  })

  it('StreamableFile: streamed as what it is', async () => {
    const answer = await get('file')
    expect([answer.status, answer.text]).toEqual([200, 'one,two'])
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv',
      'content-disposition': 'attachment',
      'cache-control': 'no-store',
      'x-request-id': expect.any(String),
    })
  })

  it('@Redirect: with the headers of every answer', async () => {
    const answer = await get('redirect').redirects(0)
    expect([answer.status, answer.headers['location']]).toEqual([301, '/nest/header'])
    expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-request-id': expect.any(String) })
  })

  it('@Header: said once, and stronger than what every answer says', async () => {
    const answer = await get('header')
    expect(answer.body).toEqual({ ok: true })
    expect(answer.headers).toMatchObject({ 'cache-control': 'max-age=5', 'x-own': 'yes' })
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    const text = await get('text')
    expect([text.text, text.headers['content-type']]).toEqual(['plain', expect.stringMatching(/^text\/plain/)])
  })

  it('@Sse: events as they come', async () => {
    const answer = await get('sse').buffer(true)
    expect(answer.headers['content-type']).toMatch(/^text\/event-stream/)
    expect(answer.text.match(/^data: .*$/gm)).toEqual(['data: first', 'data: {"second":2}'])
  })

  it('consumer.apply() runs before the routes that it names, and before no other', async () => {
    const applied = await start(NestModule, MiddlewareModule)
    expect((await applied.get('/nest/text')).headers['x-applied']).toBe('/nest/text')
    expect((await applied.get('/api/v1/me')).headers['x-applied']).toBeUndefined()
    await applied.stop()
  })

  it('app.use() and enableCors() run before the route is looked up, whoever calls', async () => {
    const using = await start(NestModule)
    const seenBy: string[] = []
    using.app.use(
      helmet({ referrerPolicy: { policy: 'origin' } }),
      async (_: Request, response: Response, next: NextFunction) => {
        response.setHeader('X-Used', 'yes')
        await Promise.resolve()
        next()
      },
    )
    using.app.use('/early', (_: Request, response: Response) => response.status(202).json({ by: 'middleware' }))
    using.app.use('/denied', () => {
      throw new ConflictException('not through here')
    })
    using.app.use('/broken', (_: Request, __: Response, next: NextFunction) => next(new Error('the inside')))
    using.app.enableCors({ origin: 'https://other.example' })
    using.app.use((request: Request, _: Response, next: NextFunction) => {
      seenBy.push(`${request.method} ${request.path}`)
      next()
    })
    const me = await using.get('/api/v1/me')
    expect([me.status, me.headers['x-used'], me.headers['referrer-policy']]).toEqual([200, 'yes', 'origin'])
    expect(await using.get('/early/7', { as: undefined })).toMatchObject({ status: 202, body: { by: 'middleware' } })
    expect(await using.get('/denied')).toMatchObject({ status: 409, body: { detail: 'not through here' } })
    const broken = await using.get('/broken')
    expect([broken.status, broken.text.includes('the inside')]).toEqual([500, false])
    const preflight = await using.send('OPTIONS', '/nest/text', {
      as: undefined,
      headers: { Origin: 'https://other.example', 'Access-Control-Request-Method': 'GET' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers['access-control-allow-origin']).toBe('https://other.example')
    expect((await using.get('/unknown', { as: undefined })).status).toBe(401)
    expect(await using.post('/nest/pipe', { amount: 2 })).toMatchObject({ status: 201, body: { amount: 4 } })
    expect(seenBy).toEqual(['GET /api/v1/me', 'GET /unknown', 'POST /nest/pipe'])
    await using.stop()
  })
})
