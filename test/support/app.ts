import type { AddressInfo } from 'node:net'
import type { Type } from '@nestjs/common'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { Test } from '@nestjs/testing'
import request from 'supertest'
import { DataSource } from 'typeorm'
import { APP_OPTIONS, configureApp } from '../../src/app.js'
import { AppModule } from '../../src/app.module.js'
import { hashOf, newToken } from '../../src/auth/token.js'
import type { Role } from '../../src/common/role.js'
import type { Scope } from '../../src/common/scope.js'
import { Clock } from '../../src/common/clock.js'
import { type Config, loadConfig } from '../../src/config/config.js'
import { migrate } from '../../src/database/migrate.js'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { ENTITIES } from '../../src/entities.js'
import { TestClock } from './clock.js'
import { NativeExpressAdapter } from '../../src/http/express.adapter.js'
import { opened } from './opened.js'
import { stopIfOver } from './scoped.js'
import { Sorts } from './sorts.js'
import type { Store, StoreKind } from './store.js'

/** Principals with a narrowed role, by name. */
export const NARROWED = {
  'mail-usage': { role: 'usage', scopes: ['mail'] },
  'sms-usage': { role: 'usage', scopes: ['sms'] },
  'own-usage': { role: 'usage', scopes: ['own'] },
  'own-mail': { role: 'usage', scopes: ['mail', 'own'] },
  'mail-service': { role: 'service', scopes: ['mail'] },
  'sms-admin': { role: 'admin', scopes: ['sms'] },
} as const satisfies Record<string, { role: Role; scopes: readonly Scope[] }>

/** The caller: one of the principals that every app under test knows. */
export type As = Role | 'other' | keyof typeof NARROWED

const ROLE_OF: Record<Exclude<As, keyof typeof NARROWED>, Role> = {
  usage: 'usage',
  service: 'service',
  admin: 'admin',
  metrics: 'metrics',
  other: 'service',
}

/** The rights of each principal's entry, by name. */
const RIGHTS: Record<string, string> = {
  ...ROLE_OF,
  ...Object.fromEntries(
    Object.entries(NARROWED).map(([name, { role, scopes }]) => [name, [role, ...scopes].join('+')]),
  ),
}

/** Valid tokens, by principal. */
export const TOKENS = Object.fromEntries(
  Object.entries(RIGHTS).map(([name, right]) => [name, newToken(right.split('+')[0] as Role)]),
) as Record<As, string>

/** AUTH_TOKENS with all of them. */
export const AUTH_TOKENS = authTokens(RIGHTS)

/** The same with other rights for some of them. @param rights by name, in the format of an entry: `usage+own` */
export function authTokens(rights: Partial<Record<As, string>>): string {
  return Object.entries({ ...RIGHTS, ...rights })
    .map(([name, right]) => `${name}:${right}:${hashOf(TOKENS[name as As]).toString('hex')}`)
    .join(',')
}

/** The options of one request. */
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
    /** Checks the plan of each statement that was sent; undefined on SQLite. */
    readonly sorts: Sorts | undefined,
    private readonly closed: () => void,
  ) {}

  /**
   * Starts it.
   * @param options.env additional environment variables
   * @param options.imports additional modules
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
      // Tests of the verification run it themselves.
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
    let started: TestApp | undefined
    const closed = opened(async () => (started === undefined ? app.close() : started.stop()))
    const sorts =
      config.database.kind === 'sqlite' ? undefined : new Sorts(app.get(DataSource), app.get(TransactionRunner))
    configureApp(app)
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address() as AddressInfo
    return (started = new TestApp(app, clock, store, `http://127.0.0.1:${port}`, sorts, closed))
  }

  /** Starts it on a store of its own. */
  static async on(kind: StoreKind, options?: Parameters<typeof TestApp.start>[1]): Promise<TestApp> {
    return TestApp.start(await kind.open(), options)
  }

  /** Sends one request: without `as` from a service, with `as: undefined` without a token. */
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

  /** Stops it. @throws Error if a statement was sent whose plan may leave rows out (`Sorts`) */
  async stop(): Promise<void> {
    try {
      await this.sorts?.check()
    } finally {
      await this.app.close()
      this.closed()
    }
  }
}
