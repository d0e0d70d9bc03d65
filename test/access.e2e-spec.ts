import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Get, Module } from '@nestjs/common'
import type { Response } from 'supertest'
import { ClosedTo, UsageAuth } from '../src/auth/access.decorator.js'
import type { AccessRule } from '../src/auth/access-rule.js'
import { ROLES } from '../src/common/role.js'
import { type Scope, SCOPES } from '../src/common/scope.js'
import { OwnerLinks } from '../src/auth/owner-link.js'
import { hashOf, newToken } from '../src/auth/token.js'
import type { NativeExpressAdapter } from '../src/http/express.adapter.js'
import { RouteTable } from '../src/http/route-table.js'
import { type As, AUTH_TOKENS, NARROWED, TestApp, TOKENS } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { bodyOf, fresh, refusal, START } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

/** Whom a rule lets pass, of everybody who may knock. */
const MAY = {
  public: [undefined, 'usage', 'service', 'admin', 'metrics'],
  any: ['usage', 'service', 'admin', 'metrics'],
  docs: ['usage', 'service', 'admin'],
  usage: ['usage', 'service', 'admin'],
  service: ['service', 'admin'],
  admin: ['admin'],
  // Links open it, and no token.
  link: [],
} satisfies Record<AccessRule, (As | undefined)[]>

/** Who may what, by the contract (§5). A route that is missing here fails the suite. */
const ROUTES: Record<string, keyof typeof MAY> = {
  'GET /health/live': 'public',
  'GET /health/ready': 'public',
  'GET /metrics': 'any',
  'GET /docs': 'docs',
  'GET /docs/:file': 'docs',
  'GET /openapi.json': 'docs',
  'GET /api/v1/me': 'any',
  'GET /api/v1/view': 'link',

  'POST /api/v1/quotas': 'service',
  'GET /api/v1/quotas': 'service',
  'GET /api/v1/quotas/summary/:accountID': 'service',
  'GET /api/v1/quotas/:id': 'service',
  'PUT /api/v1/quotas/:id': 'service',
  'DELETE /api/v1/quotas/:id': 'service',
  'POST /api/v1/quotas/:id/restore': 'service',
  'POST /api/v1/quotas/:id/reset': 'service',
  'GET /api/v1/quotas/:id/changes': 'service',

  'POST /api/sms/admin/quota': 'admin',
  'GET /api/sms/admin/quota/list': 'admin',
  'GET /api/sms/admin/quota/summary': 'admin',
  'GET /api/sms/admin/quota/:id': 'admin',
  'PUT /api/sms/admin/quota/:id': 'admin',
  'DELETE /api/sms/admin/quota/:id': 'admin',
  'POST /api/sms/admin/quota/:id/restore': 'admin',
  'POST /api/sms/admin/quota/:id/reset': 'admin',
  'GET /api/sms/admin/quota/:id/changes': 'admin',

  'POST /api/v1/quotas/groups': 'service',
  'GET /api/v1/quotas/groups': 'service',
  'GET /api/v1/quotas/groups/:id': 'service',
  'PUT /api/v1/quotas/groups/:id': 'service',
  'DELETE /api/v1/quotas/groups/:id': 'service',
  'POST /api/v1/quotas/groups/:id/restore': 'service',
  'GET /api/v1/quotas/groups/:id/changes': 'service',
  'GET /api/v1/quotas/groups/:id/summary': 'service',
  'GET /api/v1/quotas/groups/:id/members': 'service',
  'POST /api/v1/quotas/groups/:id/members': 'service',
  'DELETE /api/v1/quotas/groups/:id/members/:account_id': 'service',

  'POST /api/sms/admin/quota/groups': 'admin',
  'GET /api/sms/admin/quota/groups': 'admin',
  'GET /api/sms/admin/quota/groups/:id': 'admin',
  'PUT /api/sms/admin/quota/groups/:id': 'admin',
  'DELETE /api/sms/admin/quota/groups/:id': 'admin',
  'POST /api/sms/admin/quota/groups/:id/restore': 'admin',
  'GET /api/sms/admin/quota/groups/:id/changes': 'admin',
  'GET /api/sms/admin/quota/groups/:id/summary': 'admin',
  'GET /api/sms/admin/quota/groups/:id/members': 'admin',
  'POST /api/sms/admin/quota/groups/:id/members': 'admin',
  'DELETE /api/sms/admin/quota/groups/:id/members/:user_id': 'admin',

  'GET /api/v1/webhooks': 'admin',
  'POST /api/v1/webhooks/:name/test': 'admin',
  'POST /api/v1/webhooks/:name/enable': 'admin',
  'POST /api/v1/webhooks/:name/replay': 'admin',

  ...Object.fromEntries(
    (
      [
        ['/api/v1/quotas', 'service'],
        ['/api/sms/admin/quota', 'admin'],
      ] as const
    ).flatMap(([quotas, rule]) =>
      [
        ...['owners', 'changes', 'expiring', 'events', 'refusals', 'refusals/top', 'change-sets', 'export.csv'].map(
          (name) => `GET ${name}`,
        ),
        'POST caps/preview',
        'POST groups/:id/caps/preview',
        'POST change-sets',
        'POST import',
        'GET change-sets/:id',
        'GET change-sets/:id/rows',
        'GET change-sets/:id/rows.csv',
        'POST change-sets/:id/apply',
        'POST change-sets/:id/revert',
        'DELETE change-sets/:id',
        `POST owners/:${quotas.includes('sms') ? 'user' : 'account'}_id/link`,
        `POST owners/:${quotas.includes('sms') ? 'user' : 'account'}_id/links/revoke`,
      ].map((route) => [route.replace(' ', ` ${quotas}/`), rule]),
    ),
  ),

  ...Object.fromEntries(
    ['/api/v1/quotas/usage', '/api/sms/quota/usage'].flatMap((usage) =>
      [
        `POST ${usage}/consume`,
        `POST ${usage}/consume/batch`,
        `POST ${usage}/reserve`,
        `POST ${usage}/:operationId/commit`,
        `POST ${usage}/:operationId/release`,
        `POST ${usage}/:operationId/refund`,
        `GET ${usage}/:operationId`,
        `GET ${usage}/:operationId/acts`,
        `GET ${usage}/check`,
        `GET ${usage}/series`,
        `GET ${usage}`,
      ].map((route) => [route, 'usage' as const]),
    ),
  ),
}

/**
 * What a scope takes from a role: the other channel's routes, and with `own` what is not about operations, or about
 * everybody's.
 */
function isLeft(scopes: readonly Scope[], route: string, rule: keyof typeof MAY): boolean {
  const channel = route.includes(' /api/v1/quotas') ? 'mail' : route.includes(' /api/sms/') ? 'sms' : undefined
  const others = scopes.some(
    // What belongs to no channel is for those who may see both.
    (scope) => scope !== 'own' && (channel !== undefined || rule === 'admin') && scope !== channel,
  )
  const shut = rule === 'service' || rule === 'admin' || route.endsWith('/series')
  return !others && !(scopes.includes('own') && shut)
}

const CALLERS: [string, As | undefined][] = [['nobody', undefined], ...ROLES.map((role): [string, As] => [role, role])]

const OPERATION_ID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'

/** A route's method, and a path of it that is well formed. */
function placeOf(route: string): [string, string] {
  const [method = '', path = ''] = route.split(' ')
  return [
    method,
    path
      .replace(':operationId', OPERATION_ID)
      .replace(':file', 'initializer.js')
      .replace(/series$/, 'series?all=true')
      .replace(/:id|:accountID|:account_id|:user_id/g, '9007199254740991'),
  ]
}

@Controller('scratch')
class ScratchController {
  @Get()
  forgotten(): object {
    return { open: true }
  }

  @Get('totals')
  @UsageAuth('mail')
  @ClosedTo('own')
  totals(): object {
    return { open: true }
  }
}

@Module({ controllers: [ScratchController] })
class ScratchModule {}

onEveryStore('access', (kind) => {
  let app: TestApp
  let open: TestApp
  /** A second good token of the principal `service`, as in a rotation. */
  const rotated = newToken('service')
  const nobody = newToken('admin')

  beforeAll(async () => {
    app = await TestApp.on(kind, {
      env: {
        LINK_SECRET: randomBytes(24).toString('base64'),
        AUTH_TOKENS: `${AUTH_TOKENS},service:service:${hashOf(rotated).toString('hex')}`,
      },
      imports: [ScratchModule],
    })
    open = await TestApp.start(app.store, { env: { DOCS_PUBLIC: 'true', METRICS_PUBLIC: 'true' } })
  })

  const withToken = (method: string, path: string, token: string, body?: object): Promise<Response> =>
    app.send(method, path, { as: undefined, headers: { Authorization: `Bearer ${token}` }, body })

  describe('of the routes', () => {
    it('is known for every one that is served, and for no other', () => {
      const declared = open.app.get(RouteTable).routes.map(({ method, path }) => `${method} ${path}`)
      expect(declared.sort()).toEqual(Object.keys(ROUTES).sort())
      const rules = open.app.get(RouteTable).routes.map(({ method, path, access }) => [`${method} ${path}`, access])
      expect(Object.fromEntries(rules)).toEqual(ROUTES)
      const served = [...(open.app.getHttpAdapter() as unknown as NativeExpressAdapter).handlers.keys()]
      expect(served.sort()).toEqual(declared)
    })

    describe.each(Object.entries(ROUTES))('%s', (route, rule) => {
      const [method, path] = placeOf(route)
      const may: readonly (As | undefined)[] = MAY[rule]

      it.each(CALLERS)(`is for ${rule}: asked by %s`, async (_name, as) => {
        const answer = await app.send(method, path, { as })
        if (may.includes(as)) {
          expect([401, 403]).not.toContain(answer.status)
          expect(answer.headers['www-authenticate']).toBeUndefined()
        } else if (as === undefined) {
          expect(refusal(answer)).toEqual([401, 'unauthenticated'])
          expect(answer.headers['www-authenticate']).toBe('Bearer realm="quota"')
        } else if (rule === 'link') {
          expect(refusal(answer)).toEqual([401, 'unauthenticated'])
          expect(answer.headers['www-authenticate']).toBe('Bearer realm="quota", error="invalid_token"')
        } else {
          expect(refusal(answer)).toEqual([403, 'forbidden'])
          expect(answer.headers['www-authenticate']).toBeUndefined()
        }
      })

      it.each(Object.entries(NARROWED))('%s reaches it as its scopes say', async (as, { role, scopes }) => {
        const answer = await app.send(method, path, { as: as as As })
        const plain = await app.send(method, path, { as: role })
        if (may.includes(role) && isLeft(scopes, route, rule)) {
          expect([401, 403]).not.toContain(answer.status)
          expect(answer.status).toBe(plain.status)
        } else {
          const status = rule === 'link' ? 401 : 403
          expect(answer.status).toBe(status)
          // Access comes first.
          const broken = { as: as as As, headers: { 'Content-Type': 'text/plain', 'Idempotency-Key': '' }, body: '{' }
          expect((await app.send(method, `${path}?nonsense=1&nonsense=2`, broken)).status).toBe(status)
        }
      })

      it.each([
        ['a token that is not known', { Authorization: `Bearer ${nobody}` }],
        ['a good token with a letter more', { Authorization: `Bearer ${TOKENS.admin}x` }],
        ['the digest of a good token', { Authorization: `Bearer ${hashOf(TOKENS.admin).toString('hex')}` }],
        ['another scheme', { Authorization: `Basic ${Buffer.from(`admin:${TOKENS.admin}`).toString('base64')}` }],
        ['a token without a scheme', { Authorization: TOKENS.admin }],
        ['a cookie', { Cookie: `access_token=${TOKENS.admin}; Authorization=Bearer ${TOKENS.admin}` }],
        [
          'a header of another name',
          { 'X-Access-Token': TOKENS.admin, 'Proxy-Authorization': `Bearer ${TOKENS.admin}` },
        ],
      ])('does not take %s for a good token', async (_what, headers) => {
        const answer = await app.send(method, path, { as: undefined, headers })
        if (rule === 'public') {
          expect(answer.status).toBe(200)
        } else {
          expect(refusal(answer)).toEqual([401, 'unauthenticated'])
          expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="quota"/)
        }
      })

      it('takes no token from the query or the body', async () => {
        const asked = await app.send(method, `${path}?access_token=${TOKENS.admin}`, { as: undefined })
        const told = await app.send(method, path, { as: undefined, body: { access_token: TOKENS.admin } })
        const form = await app.send(method, path, {
          as: undefined,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: `access_token=${TOKENS.admin}`,
        })
        const expected = rule === 'public' ? [400, 400, 415] : [401, 401, 401]
        expect([asked.status, told.status, form.status]).toEqual(expected)
      })

      it('is looked at before everything else of a request', async () => {
        const broken = { headers: { 'Content-Type': 'text/plain', 'Idempotency-Key': '' }, body: '{' }
        for (const [, as] of CALLERS) {
          if (may.includes(as)) continue
          const answer = await app.send(method, `${path}?nonsense=1&nonsense=2`, { ...broken, as })
          expect(answer.status).toBe(as === undefined || rule === 'link' ? 401 : 403)
        }
      })

      it.each(['mail', 'sms'])('is not opened by a link of %s, unless it is for links', async (channel) => {
        const { token } = await app.app.get(OwnerLinks).make(channel, 7, 60)
        const answer = await withToken(method, path, token)
        if (rule === 'public' || rule === 'link') expect(answer.status).toBe(200)
        else expect(refusal(answer)).toEqual([401, 'unauthenticated'])
      })
    })
  })

  it.each(['/metrics', '/docs', '/docs/initializer.js', '/openapi.json'])(
    'to %s may be opened to everybody by configuration, to nothing else',
    async (path) => {
      const answer = await open.get(path, { as: undefined })
      expect([401, 403]).not.toContain(answer.status)
      expect(refusal(await open.get(MAIL_API.list, { as: undefined }))).toEqual([401, 'unauthenticated'])
      expect(refusal(await open.get('/nowhere', { as: undefined }))).toEqual([401, 'unauthenticated'])
    },
  )

  it('to the API document is open while the service makes its own tokens, in no production', async () => {
    const trial = await TestApp.start(app.store, { env: { NODE_ENV: 'development', AUTH_TOKENS: '' } })
    try {
      for (const path of ['/docs', '/docs/initializer.js', '/openapi.json']) {
        expect((await trial.get(path, { as: undefined })).status).toBe(200)
        expect(refusal(await app.get(path, { as: undefined }))).toEqual([401, 'unauthenticated'])
      }
      for (const path of ['/metrics', MAIL_API.list, '/nowhere'])
        expect(refusal(await trial.get(path, { as: undefined }))).toEqual([401, 'unauthenticated'])
    } finally {
      await trial.stop()
    }
  })

  it.each(CALLERS)('to a route that declares no rule is closed: asked by %s', async (_name, as) => {
    const answer = await app.get('/scratch', { as })
    expect(refusal(answer)).toEqual(as === undefined ? [401, 'unauthenticated'] : [403, 'forbidden'])
  })

  it('knows a narrowed token for each scope, and for both together', () => {
    const used = Object.values(NARROWED).map(({ scopes }) => scopes.join('+'))
    expect(used).toEqual(expect.arrayContaining([...SCOPES, 'mail+own']))
  })

  it('to a route may be closed to a scope by the route itself', async () => {
    const ask = async (as: As) => (await app.get('/scratch/totals', { as })).status
    const answers = await Promise.all(
      (['usage', 'admin', 'mail-usage', 'own-usage', 'own-mail', 'sms-admin'] as const).map(ask),
    )
    expect(answers).toEqual([200, 200, 200, 403, 403, 403])
    const refused = await app.get('/scratch/totals', { as: 'own-usage' })
    expect(refused.body.detail).toBe('a token of the scope own may not do this')
  })

  it('is told with its scopes, an end and a source, whatever is configured', async () => {
    const told = async (as: As) => (await app.get('/api/v1/me', { as })).text
    const text = (name: string, role: string, ...scopes: string[]) =>
      JSON.stringify({ name, role, scopes, expires_at: null, source: 'token' })
    for (const role of ROLES) expect(await told(role)).toBe(text(role, role))
    expect(await told('own-mail')).toBe(text('own-mail', 'usage', 'mail', 'own'))
    expect(await told('sms-admin')).toBe(text('sms-admin', 'admin', 'sms'))
  })

  it('by a scope is no more than by the role: nobody names another caller', async () => {
    const ask = async (as: As, usage: string) =>
      (await app.get(`${usage}?idempotency_key=x&caller=somebody`, { as })).status
    const asked = ['own-usage', 'own-mail', 'mail-usage', 'mail-service', 'sms-admin'] as const
    expect(await Promise.all(asked.map((as) => ask(as, MAIL_API.usage)))).toEqual([403, 403, 403, 200, 403])
    expect(await Promise.all(asked.map((as) => ask(as, SMS_API.usage)))).toEqual([403, 403, 403, 403, 200])
  })

  it.each(CALLERS)(
    'to the console is for everybody, to all of it and to nothing else: asked by %s',
    async (_name, as) => {
      const statuses = async (...paths: string[]): Promise<number[]> =>
        Promise.all(paths.map(async (path) => (await app.get(path, { as })).status))
      expect(await statuses('/admin', '/admin/', '/admin/mail/quotas/7?x=1', '/admin/assets/none.js')).toEqual([
        302, 200, 200, 404,
      ])
      const closed = as === undefined ? 401 : 404
      expect(await statuses('/adminx', '/admin.js', '/api/admin/')).toEqual([closed, closed, closed])
    },
  )

  it('to HEAD is what it is to GET', async () => {
    const statuses = []
    for (const [, as] of CALLERS) statuses.push((await app.send('head', SMS_API.list, { as })).status)
    expect(statuses).toEqual([401, 403, 403, 200, 403])
  })

  it.each([
    '//api/sms/admin/quota/list',
    '/API/SMS/ADMIN/QUOTA/LIST',
    '/api/sms/admin/quota/list/',
    '/api/sms/admin/quota/%6cist',
  ])('is not gone round by %s', async (path) => {
    expect((await app.get(path, { as: undefined })).status).toBe(401)
    expect([403, 404]).toContain((await app.get(path, { as: 'service' })).status)
  })

  it('takes no second token beside a good one', async () => {
    const answer = await app
      .get(MAIL_API.list, { as: undefined })
      .set('Authorization', [`Bearer ${TOKENS.admin}`, `Bearer ${TOKENS.admin}`] as unknown as string)
    expect(refusal(answer)).toEqual([401, 'unauthenticated'])
    const beside = await app.get(`${MAIL_API.list}?access_token=${TOKENS.admin}`)
    expect(beside.body.errors).toEqual([{ field: 'access_token', message: 'is not a parameter of this route' }])
  })

  it('takes the scheme in any case, as RFC 9110 says', async () => {
    const answer = await app.get(MAIL_API.list, {
      as: undefined,
      headers: { Authorization: `bEARER ${TOKENS.service}` },
    })
    expect(answer.status).toBe(200)
  })

  it('knows both tokens of a rotation as one principal', async () => {
    const owner = fresh()
    const body = { account_id: owner, quota_type: 1, total: 5, expire_at: '2027-01-01T00:00:00Z' }
    const first = await app.post(MAIL_API.quotas, body, { as: 'service', key: `k-${owner}` })
    const second = await app.send('post', MAIL_API.quotas, {
      as: undefined,
      key: `k-${owner}`,
      headers: { Authorization: `Bearer ${rotated}` },
      body,
    })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(second.headers['idempotency-replayed']).toBe('true')
    const path = `${MAIL_API.quotas}/${first.body.id}`
    bodyOf(200, await withToken('put', path, rotated, { total: 6 }))
    const { items } = bodyOf(200, await app.get(`${path}/changes`))
    expect(items.map(({ actor }: { actor: string }) => actor)).toEqual(['service', 'service'])
  })

  it('tells principals apart: a key belongs to the one who sent it', async () => {
    const owner = fresh()
    const body = { account_id: owner, quota_type: 1, total: 5, expire_at: '2027-01-01T00:00:00Z' }
    const answers = []
    for (const as of ['service', 'other', 'admin'] as const) {
      answers.push(await app.post(MAIL_API.quotas, body, { as, key: `k-${owner}` }))
    }
    expect(new Set(answers.map((answer) => bodyOf(201, answer).id)).size).toBe(3)
    expect(answers.map(({ headers }) => headers['idempotency-replayed'])).toEqual([undefined, undefined, undefined])
  })

  it('that is refused has no effect', async () => {
    const owner = fresh()
    const body = { account_id: owner, quota_type: 1, total: 5, expire_at: '2027-01-01T00:00:00Z' }
    const quota = bodyOf(201, await app.post(MAIL_API.quotas, body))
    const path = `${MAIL_API.quotas}/${quota.id}`
    for (const as of [undefined, 'usage'] as const) {
      const status = as === undefined ? 401 : 403
      expect((await app.post(MAIL_API.quotas, body, { as })).status).toBe(status)
      expect((await app.put(path, { total: 9 }, { as })).status).toBe(status)
      expect((await app.delete(path, { as })).status).toBe(status)
      expect((await app.post(`${path}/restore`, undefined, { as })).status).toBe(status)
    }
    const use = { account_id: owner, amount: 1 }
    expect((await app.post(MAIL_API.consume, use, { as: undefined, key: `k-${owner}` })).status).toBe(401)
    expect(bodyOf(200, await app.get(path))).toEqual({ ...quota, created_at: START, updated_at: START })
    expect(bodyOf(200, await app.get(`${MAIL_API.list}?account_id=${owner}`)).total).toBe(1)
    expect(bodyOf(200, await app.get(`${path}/changes`)).total).toBe(1)
  })
})
