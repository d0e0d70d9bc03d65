import type { AddressInfo } from 'node:net'
import type { Type } from '@nestjs/common'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { Test } from '@nestjs/testing'
import request from 'supertest'
import { APP_OPTIONS, configureApp } from '../../src/app.js'
import { AppModule } from '../../src/app.module.js'
import { hashOf, newToken } from '../../src/auth/token.js'
import type { Role } from '../../src/role/role.js'
import { Clock } from '../../src/clock/clock.js'
import { type Config, loadConfig } from '../../src/config/config.js'
import { migrate } from '../../src/database/migrate.js'
import { ENTITIES } from '../../src/entities.js'
import { TestClock } from './clock.js'
import { NativeExpressAdapter } from '../../src/http/express.adapter.js'
import { opened } from './opened.js'
import { stopIfOver } from './scoped.js'
import type { Store } from './store.js'

/** Who calls: one of the principals that every app under test knows. */
export type As = Role | 'other'

const ROLE_OF: Record<As, Role> = { usage: 'usage', service: 'service', admin: 'admin', other: 'service' }

/** Good tokens, by principal. */
export const TOKENS: Record<As, string> = {
  usage: newToken('usage'),
  service: newToken('service'),
  admin: newToken('admin'),
  other: newToken('service'),
}

/** AUTH_TOKENS with all of them. */
export const AUTH_TOKENS = (Object.keys(TOKENS) as As[])
  .map((name) => `${name}:${ROLE_OF[name]}:${hashOf(TOKENS[name]).toString('hex')}`)
  .join(',')

/** How one request is sent. */
export interface Sent {
  as?: As | undefined
  key?: string
  headers?: Record<string, string>
  body?: unknown
}

/** The real application, listening on a socket, on a clock that stands still. */
export class TestApp {
  private constructor(
    readonly app: NestExpressApplication,
    readonly clock: TestClock,
    readonly store: Store,
    readonly url: string,
    private readonly closed: () => void,
  ) {}

  /**
   * Starts it.
   * @param options.env more of the environment
   * @param options.imports modules beside the application's own
   */
  static async start(
    store: Store,
    options: { env?: Record<string, string>; clock?: TestClock; imports?: Type[] } = {},
  ): Promise<TestApp> {
    const config: Config = loadConfig({
      NODE_ENV: 'production',
      DATABASE_URL: store.url,
      AUTH_TOKENS,
      LOG_LEVEL: 'error',
      // A test that wants it looks by itself.
      VERIFY_BACKGROUND: 'false',
      ...options.env,
    })
    await migrate(config.database, ENTITIES)
    const clock = options.clock ?? new TestClock()
    const module = await Test.createTestingModule({ imports: [AppModule.with(config), ...(options.imports ?? [])] })
      .overrideProvider(Clock)
      .useValue(clock)
      .compile()
    const app = module.createNestApplication<NestExpressApplication>(new NativeExpressAdapter(), {
      ...APP_OPTIONS,
      logger: ['error', 'fatal'],
    })
    const closed = opened(async () => app.close())
    configureApp(app)
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address() as AddressInfo
    return new TestApp(app, clock, store, `http://127.0.0.1:${port}`, closed)
  }

  /** Sends one request; without `as` it is a service's, with `as: undefined` nobody's. */
  send(method: string, path: string, sent: Sent = {}): request.Test {
    stopIfOver()
    const as = 'as' in sent ? sent.as : 'admin'
    const test = request(this.url)[method.toLowerCase() as 'get'](path)
    if (as !== undefined) void test.set('Authorization', `Bearer ${TOKENS[as]}`)
    if (sent.key !== undefined) void test.set('Idempotency-Key', sent.key)
    for (const [name, value] of Object.entries(sent.headers ?? {})) void test.set(name, value)
    return sent.body === undefined ? test : test.send(sent.body as object)
  }

  get(path: string, sent?: Sent): request.Test {
    return this.send('get', path, sent)
  }

  post(path: string, body?: unknown, sent: Sent = {}): request.Test {
    return this.send('post', path, { ...sent, body })
  }

  put(path: string, body: unknown, sent: Sent = {}): request.Test {
    return this.send('put', path, { ...sent, body })
  }

  delete(path: string, sent?: Sent): request.Test {
    return this.send('delete', path, sent)
  }

  async stop(): Promise<void> {
    await this.app.close()
    this.closed()
  }
}
