import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import request, { type Response } from 'supertest'
import { ProviderKeys } from '../src/auth/provider-keys.js'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { ALGORITHMS, Issuer, type TokenOptions } from './support/issuer.js'
import { bodyOf, fresh, refusal } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onEveryStore, type Store } from './support/store.js'

/** What stays as it is where a test moves the timers of the background: only `setTimeout` is the test's. */
const REAL = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const

/** Moves the timers, second by second: a look that one begins ends before its time limit. */
async function passTimers(seconds: number, background: ProviderKeys): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    jest.advanceTimersByTime(1_000)
    await settled(background)
  }
}

const ROLES = 'quota-admins:admin,mailers:usage+mail,own mailers:usage+own,urn:x:office:service'
const ME = '/api/v1/me'

/** Ends with the look that is under way, if there is one. */
async function settled(keys: ProviderKeys): Promise<void> {
  await (Reflect.get(keys, 'looking') as Promise<void> | undefined)
}

onEveryStore('tokens of an identity provider', (kind) => {
  let store: Store
  let issuer: Issuer
  let app: TestApp
  const clock = new TestClock()
  const env = () => ({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: 'quota', OIDC_ROLES: ROLES })

  beforeAll(async () => {
    store = await kind.open()
    issuer = await Issuer.start(() => clock.now())
    for (const alg of ALGORITHMS) await issuer.addKey(alg, alg)
    app = await TestApp.start(store, { clock, env: env() })
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  const bearing = (token: string, path = ME, to = app): request.Test =>
    request(to.url).get(path).set('Authorization', `Bearer ${token}`)
  const asked = async (options: TokenOptions = {}, to = app): Promise<Response> =>
    bearing(await issuer.token(options), ME, to)
  const status = async (options: TokenOptions = {}): Promise<unknown> => {
    const answer = await asked(options)
    return answer.status === 200 ? 200 : refusal(answer)
  }
  const REFUSED = [401, 'unauthenticated']

  describe('belong to issuer and subject', () => {
    const usage = '/api/v1/quotas/usage'
    const consume = async (claims: Record<string, unknown>, owner: number, key: string): Promise<Response> =>
      request(app.url)
        .post(`${usage}/consume`)
        .set('Authorization', `Bearer ${await issuer.token({ claims })}`)
        .set('Idempotency-Key', key)
        .send({ account_id: owner, amount: 5 })
    const ANNA = { sub: 'anna', preferred_username: 'anna', roles: ['own mailers', 'mailers'] }
    const own = { ...ANNA, roles: 'own' }
    const withQuota = async (): Promise<number> => {
      const owner = fresh()
      const body = { account_id: owner, quota_type: 1, total: 100, expire_at: clock.after(86_400) }
      bodyOf(201, await app.post('/api/v1/quotas', body))
      return owner
    }
    let narrowed: TestApp
    beforeAll(async () => {
      narrowed = await TestApp.start(store, { clock, env: { ...env(), OIDC_ROLES: 'own:usage+own' } })
    })
    afterAll(async () => narrowed.stop())

    it('keys: the same subject with another name is the same caller, another subject with the same name is not', async () => {
      const owner = await withQuota()
      const first = await consume(ANNA, owner, `key ${owner}`)
      const { id } = bodyOf(200, first)
      const renamed = await consume({ ...ANNA, preferred_username: 'anna.maria' }, owner, `key ${owner}`)
      expect([renamed.text, renamed.headers['idempotency-replayed']]).toEqual([first.text, 'true'])
      const other = bodyOf(200, await consume({ ...ANNA, sub: 'another anna' }, owner, `key ${owner}`)).id
      expect(other).not.toBe(id)
      const { items } = bodyOf(200, await app.get(`${usage}/${id}/acts`))
      expect(items).toMatchObject([{ kind: 'consume', actor: 'oidc:anna' }])
      const found = async (caller: string): Promise<string[]> => {
        const query = new URLSearchParams({ idempotency_key: `key ${owner}`, caller })
        return bodyOf(200, await app.get(`${usage}?${query.toString()}`)).items.map((one: { id: string }) => one.id)
      }
      expect((await found('oidc:anna.maria')).sort()).toEqual([id])
      expect((await found('oidc:anna')).sort()).toEqual([other])
      expect((await found('*')).sort()).toEqual([id, other].sort())
    })

    it('are shown and found by names in any language', async () => {
      const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)
      for (const [sub, told, name] of [
        ['müller', 'Jürgen Müller, 100%', 'oidc:Jürgen Müller, 100%'],
        ['ivanova', 'Екатерина Александровна Иванова', 'oidc:Екатерина Александровна Иванова'],
        ['long', '\u{1f511}日'.repeat(30), `oidc:${'\u{1f511}日'.repeat(23)}~${digest('\u{1f511}日'.repeat(30))}`],
      ] as const) {
        const bearer = { Authorization: `Bearer ${await issuer.token({ claims: { sub, preferred_username: told } })}` }
        const owner = fresh()
        const body = { account_id: owner, quota_type: 1, total: 100, expire_at: clock.after(86_400) }
        const made = bodyOf(201, await request(app.url).post('/api/v1/quotas').set(bearer).send(body))
        const changes = async (actor: string): Promise<unknown[]> => {
          const query = new URLSearchParams({ actor, quota_id: String(made.id) })
          const { items } = bodyOf(200, await app.get(`/api/v1/quotas/changes?${query.toString()}`))
          return items.map((one: { actor: string }) => one.actor)
        }
        expect(await changes(name)).toEqual([name])
        expect(await changes(`${name} `)).toEqual([])
        expect(await changes(encodeURIComponent(name))).toEqual([])
        const events = bodyOf(200, await app.get(`/api/v1/quotas/events?quota_id=${made.id}`)).items
        expect(events).toMatchObject([{ type: 'quota.created', data: { actor: name } }])

        const spent = { account_id: owner, amount: 1 }
        const key = `key ${owner}`
        const consume = request(app.url).post(`${usage}/consume`).set(bearer).set('Idempotency-Key', key)
        const { id } = bodyOf(200, await consume.send(spent))
        expect(bodyOf(200, await app.get(`${usage}/${id}/acts`)).items).toMatchObject([{ actor: name }])
        const ledger = bodyOf(200, await app.get(`${usage}?account_id=${owner}&made_by=true`)).items
        expect(ledger).toMatchObject([{ id, made_by: { actor: name } }])
        const query = new URLSearchParams({ idempotency_key: key, caller: name })
        expect(bodyOf(200, await app.get(`${usage}?${query.toString()}`)).items).toMatchObject([{ id }])
        const asking = new URLSearchParams({ idempotency_key: key })
        const mine = await request(app.url).get(`${usage}?${asking.toString()}`).set(bearer)
        expect(bodyOf(200, mine).items).toMatchObject([{ id }])

        const sets = '/api/v1/quotas/change-sets'
        const asked = { filter: { account_id: owner }, change: { update: { label: 'new' } } }
        const set = bodyOf(202, await request(app.url).post(sets).set(bearer).send(asked))
        const become = async (state: string): Promise<Record<string, unknown>> => {
          for (;;) {
            const shown = bodyOf(200, await app.get(`${sets}/${set.id}`))
            if (shown.state === state) return shown
          }
        }
        const { version, actor } = await become('ready')
        expect([set.actor, actor]).toEqual([name, name])
        const apply = request(app.url).post(`${sets}/${set.id}/apply`).set(bearer)
        bodyOf(202, await apply.send({ version, rows: 1 }))
        await become('applied')
        expect(await changes(name)).toEqual([name, name])
      }
    })

    it('operations, with the scope own', async () => {
      const owner = await withQuota()
      const mine = bodyOf(200, await consume(ANNA, owner, `mine ${owner}`)).id
      const others = bodyOf(200, await consume({ ...ANNA, sub: 'another anna' }, owner, `mine ${owner}`)).id
      const see = async (path: string): Promise<Response> =>
        bearing(await issuer.token({ claims: own }), path, narrowed)
      const page = bodyOf(200, await see(`${usage}?account_id=${owner}`))
      expect(page.items.map((one: { id: string }) => one.id)).toEqual([mine])
      expect((await see(`${usage}/${mine}`)).status).toBe(200)
      expect(refusal(await see(`${usage}/${others}`))).toEqual([404, 'operation_not_found'])
      expect(refusal(await see(`${usage}/${others}/acts`))).toEqual([404, 'operation_not_found'])
    })
  })

  it.each(ALGORITHMS)('are admitted with a signature by %s', async (key) => {
    const { body } = await asked({ key })
    const expires = new Date(Math.floor(clock.now() / 1000) * 1000 + 600_000).toISOString()
    expect(body).toEqual({ name: 'oidc:anna', role: 'admin', scopes: [], expires_at: expires, source: 'oidc' })
  })

  it('do not affect static tokens', async () => {
    const { body } = await app.get(ME, { as: 'usage' })
    expect(body).toEqual({ name: 'usage', role: 'usage', scopes: [], expires_at: null, source: 'token' })
  })

  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://elsewhere.example' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'console' }],
    ['no audience', { aud: undefined }],
    ['an end that has come', { exp: 1 }],
    ['no end', { exp: undefined }],
    ['an end that is no number', { exp: 'tomorrow' }],
    ['a beginning that is to come', { nbf: 4_000_000_000 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is no text', { sub: 7 }],
  ])('are refused with %s', async (_what, claims) => {
    expect(await status({ claims })).toEqual(REFUSED)
  })

  it('are valid within the permitted clock skew, and no longer', async () => {
    const now = clock.now() / 1000
    expect(await status({ claims: { exp: now - 29 } })).toBe(200)
    expect(await status({ claims: { exp: now - 31 } })).toEqual(REFUSED)
    expect(await status({ claims: { nbf: now + 29 } })).toBe(200)
    expect(await status({ claims: { nbf: now + 31 } })).toEqual(REFUSED)
  })

  it('may have a very late expiry, and expire at the latest time', async () => {
    for (const exp of [1e13, 1e300]) {
      const { body } = await asked({ claims: { exp } })
      expect(body.expires_at).toBe('9999-12-31T23:59:59.999Z')
    }
  })

  it('may name several audiences', async () => {
    expect(await status({ claims: { aud: ['other', 'quota'] } })).toBe(200)
  })

  it("are refused without a signature, with a secret, with another's key, and with one byte changed", async () => {
    const good = await issuer.token()
    const thief = await Issuer.start(() => clock.now())
    await thief.addKey('RS256', 'RS256')
    const [head = '', body = '', signature = ''] = good.split('.')
    const changed = signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const bad = [
      issuer.unsigned(),
      await issuer.confused(),
      await thief.token({ claims: { iss: issuer.url } }),
      `${head}.${body}.`,
      `${head}.${body}.${changed}`,
      'a.b.c',
      '..',
    ]
    for (const token of bad) expect(refusal(await bearing(token))).toEqual(REFUSED)
    const challenge = (await bearing('a.b.c')).headers['www-authenticate']
    expect(challenge).toBe('Bearer realm="quota", error="invalid_token"')
  })

  it.each(['RS384', 'RS512', 'PS512', 'ES384'])('are refused with a signature by %s', async (alg) => {
    const own = await Issuer.start(() => clock.now())
    await own.addKey(alg, alg)
    const other = await TestApp.start(store, { clock, env: { ...env(), OIDC_ISSUER: own.url } })
    try {
      expect(refusal(await bearing(await own.token({ key: alg }), ME, other))).toEqual(REFUSED)
      expect(own.asked).toEqual([])
    } finally {
      await other.stop()
    }
  })

  it('get the first role of the list that the claim contains, with its scopes', async () => {
    const role = async (roles: unknown): Promise<unknown> => {
      const answer = await asked({ claims: { roles } })
      return answer.status === 200 ? [answer.body.role, answer.body.scopes] : refusal(answer)
    }
    expect(await role(['mailers', 'quota-admins'])).toEqual(['admin', []])
    expect(await role(['x', 'mailers'])).toEqual(['usage', ['mail']])
    expect(await role(['urn:x:office'])).toEqual(['service', []])
    expect(await role('x mailers')).toEqual(['usage', ['mail']])
    for (const none of [[], ['x'], '', 'Mailers', { mailers: true }, null, undefined, 7, [['mailers']]])
      expect(await role(none)).toEqual([403, 'forbidden'])
  })

  it('are limited to the scope of their role', async () => {
    const token = await issuer.token({ claims: { roles: ['mailers'] } })
    expect((await bearing(token, '/api/v1/quotas/usage/check?account_id=1&amount=1')).status).toBe(200)
    expect(refusal(await bearing(token, '/api/sms/quota/usage/check?user_id=1&amount=1'))).toEqual([403, 'forbidden'])
  })

  it('are named by the first name that they contain', async () => {
    const name = async (claims: Record<string, unknown>): Promise<unknown> => {
      const answer = await asked({ claims: { preferred_username: undefined, ...claims } })
      return answer.status === 200 ? answer.body.name : refusal(answer)
    }
    expect(await name({ email: 'anna@x.example', client_id: 'c' })).toBe('oidc:anna@x.example')
    expect(await name({ client_id: 'c', azp: 'z' })).toBe('oidc:c')
    expect(await name({ azp: 'z' })).toBe('oidc:z')
    expect(await name({})).toBe('oidc:u-1')
    expect(await name({ preferred_username: 7, email: '' })).toBe('oidc:u-1')
    expect(await name({ preferred_username: 'Zoë 100%' })).toBe('oidc:Zoë 100%')
    const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)
    expect(await name({ preferred_username: 'x'.repeat(59) })).toBe(`oidc:${'x'.repeat(59)}`)
    for (const one of ['x', 'ë', '日', '\u{1f511}']) {
      expect(await name({ preferred_username: one.repeat(59) })).toBe(`oidc:${one.repeat(59)}`)
      const long = one.repeat(60)
      expect(await name({ preferred_username: long })).toBe(`oidc:${one.repeat(46)}~${digest(long)}`)
    }
    expect(await name({ preferred_username: '\ud800' })).toBe('oidc:u-1')
  })

  it('use the configured claims', async () => {
    const other = await TestApp.start(store, {
      clock,
      env: { ...env(), OIDC_ROLES_CLAIM: 'realm_access.roles', OIDC_NAME_CLAIM: 'https://x.example/name' },
    })
    try {
      const claims = { roles: [], realm_access: { roles: ['mailers'] }, 'https://x.example/name': 'boris' }
      expect((await asked({ claims }, other)).body).toMatchObject({ name: 'oidc:boris', role: 'usage' })
      expect(refusal(await asked({ claims: { realm_access: { roles: ['mailers'] } } }, other))).toEqual(REFUSED)
      expect(refusal(await asked({ claims: { ...claims, realm_access: null } }, other))).toEqual([403, 'forbidden'])
      // A name with dots is one where there is no such path.
      const named = { ...claims, 'realm_access.roles': ['quota-admins'] }
      expect((await asked({ claims: named }, other)).body.role).toBe('usage')
      expect((await asked({ claims: { ...named, realm_access: {} } }, other)).body.role).toBe('admin')
    } finally {
      await other.stop()
    }
  })

  it('are refused before the answer reveals which paths exist', async () => {
    const bad = await issuer.token({ claims: { exp: 1 } })
    expect(refusal(await bearing(bad, '/nowhere'))).toEqual(REFUSED)
    expect(refusal(await bearing(await issuer.token(), '/nowhere'))).toEqual([404, 'route_not_found'])
  })

  describe('and its keys', () => {
    let other: TestApp
    let keys: ProviderKeys

    beforeEach(async () => {
      issuer.up = true
      issuer.answers.clear()
      issuer.asked.length = 0
      other = await TestApp.start(store, { clock, env: env() })
      keys = other.app.get(ProviderKeys)
    })
    afterEach(async () => other.stop())

    const told = async (options: TokenOptions = {}): Promise<unknown> => {
      const answer = await asked(options, other)
      return answer.status === 200 ? 200 : refusal(answer)
    }

    it('are read when the first token arrives, once for any number of tokens', async () => {
      expect(issuer.asked).toEqual([])
      await other.get(ME)
      expect(issuer.asked).toEqual([])
      expect(await Promise.all(Array.from({ length: 20 }, async () => told()))).toEqual(
        Array.from({ length: 20 }, () => 200),
      )
      expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks'])
    })

    it('are read once for thousands of unknown keys, and again after thirty seconds', async () => {
      expect(await told()).toBe(200)
      // Nobody looks at a signature for which there is no key.
      const [, body = '', signature = ''] = (await issuer.token({ key: 'ES256' })).split('.')
      const named = (kid: string) => Buffer.from(JSON.stringify({ alg: 'ES256', kid })).toString('base64url')
      const answers = new Set<number>()
      for (let start = 0; start < 500; start += 50) {
        const part = Array.from({ length: 50 }, async (_, n) =>
          fetch(other.url + ME, {
            headers: { authorization: `Bearer ${named(`k-${start + n}`)}.${body}.${signature}` },
          }),
        )
        for (const answer of await Promise.all(part)) answers.add(answer.status)
      }
      const found = await Promise.all(
        Array.from({ length: 10_000 }, async (_, n) => keys.find({ alg: 'ES256', kid: `past-http-${n}` })),
      )
      expect(found.filter((key) => key !== undefined)).toEqual([])
      expect([[...answers], issuer.looks]).toEqual([[401], 2])
      clock.pass(29)
      expect([await told({ kid: 'k' }), issuer.looks]).toEqual([REFUSED, 2])
      clock.pass(2)
      expect([await told({ kid: 'k' }), issuer.looks]).toEqual([REFUSED, 3])
    })

    it('are read once if the first tokens have unknown keys, and the address of the keys once', async () => {
      for (const kid of ['a', 'b', 'c']) expect(await told({ kid })).toEqual(REFUSED)
      expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks'])
      clock.pass(31)
      expect(await told({ kid: 'd' })).toEqual(REFUSED)
      expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks', '/jwks'])
    })

    it('are found when the provider changes them', async () => {
      expect(await told()).toBe(200)
      await issuer.addKey('new', 'ES256')
      clock.pass(31)
      expect(await told({ key: 'new' })).toBe(200)
      issuer.removeKey('new')
    })

    it('are read once in thirty seconds, also if the read found one', async () => {
      expect(await told()).toBe(200)
      await issuer.addKey('new', 'ES256')
      expect([await told({ key: 'new' }), issuer.looks]).toEqual([200, 2])
      await issuer.addKey('newer', 'ES256')
      expect([await told({ key: 'newer' }), issuer.looks]).toEqual([REFUSED, 2])
      clock.pass(30)
      expect([await told({ key: 'newer' }), issuer.looks]).toEqual([200, 3])
      issuer.removeKey('new')
      issuer.removeKey('newer')
    })

    it('may be invalid: tokens with such a key are refused, and others are admitted', async () => {
      const good = JSON.parse(issuer.answerOf('/jwks').body) as { keys: Record<string, string>[] }
      const broken = good.keys.map((key) => ({ ...key, kid: `broken ${key['kid']}`, x: 'AA', n: 'AA' }))
      issuer.answers.set('/jwks', { body: JSON.stringify({ keys: [...good.keys, ...broken] }) })
      for (const key of ALGORITHMS) expect([key, await told({ key, kid: `broken ${key}` })]).toEqual([key, REFUSED])
      expect(await told()).toBe(200)
    })

    it('become invalid at once when they are removed, also for tokens that were verified before', async () => {
      await issuer.addKey('short', 'ES256')
      expect(await told({ key: 'short' })).toBe(200)
      const token = await issuer.token({ key: 'short' })
      expect((await bearing(token, ME, other)).status).toBe(200)
      issuer.removeKey('short')
      expect((await bearing(token, ME, other)).status).toBe(200)
      await keys.refresh()
      expect(refusal(await bearing(token, ME, other))).toEqual(REFUSED)
    })

    it('need no kid if exactly one fits', async () => {
      expect(await told({ key: 'ES256', kid: null })).toBe(200)
      await issuer.addKey('second', 'ES256')
      await keys.refresh()
      const { looks } = issuer
      clock.pass(60)
      expect(await told({ key: 'ES256', kid: null })).toEqual(REFUSED)
      expect(await told({ key: 'PS256', kid: null })).toBe(200)
      expect(issuer.looks).toBe(looks)
      issuer.removeKey('second')
    })

    it('stay valid while the provider is unavailable', async () => {
      expect(await told()).toBe(200)
      issuer.up = false
      await keys.refresh()
      clock.pass(3_600)
      expect([await told(), await told({ key: 'ES256' })]).toEqual([200, 200])
      const answer = await asked({ kid: 'unknown' }, other)
      expect([refusal(answer), answer.headers['retry-after']]).toEqual([[503, 'unavailable'], '5'])
      expect((await other.get(ME)).status).toBe(200)
      issuer.up = true
      clock.pass(31)
      expect(await told({ kid: 'unknown' })).toEqual(REFUSED)
    })

    it('are missing once in the log, however often they cannot be read', async () => {
      const said: unknown[] = []
      for (const level of ['warn', 'log'] as const)
        jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => said.push(line))
      await keys.refresh()
      expect(said).toEqual([])
      issuer.up = false
      for (let time = 0; time < 3; time += 1) await keys.refresh()
      issuer.up = true
      for (let time = 0; time < 2; time += 1) await keys.refresh()
      expect(said).toEqual([
        expect.stringMatching(
          /^failed, retrying: the keys of the identity provider cannot be read, known keys stay valid: .+/,
        ),
        'works again after 3 failures in a row',
      ])
    })

    it("are read again in the background, and stay valid through an hour's outage of the provider", async () => {
      // Timers alone are the test's: what sockets and the clock do stays real.
      jest.useFakeTimers({ doNotFake: [...REAL] })
      const own = await TestApp.start(store, { clock, env: { ...env() } })
      try {
        const background = own.app.get(ProviderKeys)
        const pass = async (seconds: number): Promise<void> => {
          clock.pass(seconds)
          await passTimers(seconds, background)
        }
        const metric = async (): Promise<string | undefined> =>
          /^identity_provider_available (\d)$/m.exec((await own.get('/metrics')).text)?.[1]
        const usage = '/api/v1/quotas/usage'
        const owner = fresh()
        const body = { account_id: owner, quota_type: 1, total: 1e6, expire_at: clock.after(86_400) }
        bodyOf(201, await own.post('/api/v1/quotas', body))
        /** Consumes, by a token that nobody has seen or by a static one: as many answers as asked for. */
        const load = async (count: number, token?: string): Promise<string> => {
          const sent = Array.from({ length: count }, async () => {
            const consume = own.post(
              `${usage}/consume`,
              { account_id: owner, amount: 1 },
              { key: `load ${(loaded += 1)}` },
            )
            if (token !== undefined) void consume.set('Authorization', `Bearer ${token}`)
            return (await consume).status
          })
          return [...new Set(await Promise.all(sent))].join()
        }
        let loaded = 0
        const known = await issuer.token({ claims: { exp: clock.now() / 1000 + 7_200 } })
        expect((await bearing(known, ME, own)).status).toBe(200)
        const { looks } = issuer
        await pass(599)
        expect(issuer.looks).toBe(looks)
        await pass(2)
        expect([issuer.looks, await metric()]).toEqual([looks + 1, '1'])

        issuer.up = false
        const before = issuer.asked.length
        const seen = new Set<string>()
        const end = clock.now() + 3_600_000
        while (clock.now() < end) {
          await pass(30)
          const token = await issuer.token({ key: 'ES256' })
          const [remembered, fresh, unknown, fixed] = await Promise.all([
            bearing(known, ME, own),
            bearing(token, ME, own),
            bearing(await issuer.token({ kid: 'unknown' }), ME, own),
            own.get(ME),
          ])
          seen.add([remembered.status, fresh.status, unknown.status, fixed.status].join())
          if ((clock.now() - end) % 180_000 === 0)
            seen.add(`load ${(await Promise.all([load(20, token), load(20)])).join()}`)
        }
        // Until the provider is known to be away a key that it does not know is refused for good.
        expect([...seen]).toEqual(['200,200,503,200', 'load 200,200'])
        expect(loaded).toBe(20 * 40)
        expect(bodyOf(200, await own.get(`/api/v1/quotas/summary/${owner}`)).used).toBe(loaded)
        expect(await metric()).toBe('0')
        // One look in the background and one for whoever names an unknown key, each at most every 30 s.
        expect(issuer.asked.length - before).toBeLessThanOrEqual(2 * 121)
        expect(issuer.asked.length - before).toBeGreaterThanOrEqual(100)

        issuer.up = true
        await pass(31)
        expect([await metric(), refusal(await asked({ kid: 'unknown' }, own))]).toEqual(['1', REFUSED])
      } finally {
        jest.useRealTimers()
        await own.stop()
      }
    })

    it('are read until they are found if the console needs the provider', async () => {
      jest.useFakeTimers({ doNotFake: [...REAL] })
      issuer.up = false
      const own = await TestApp.start(store, {
        clock,
        env: { ...env(), OIDC_CONSOLE_CLIENT_ID: 'console' },
      })
      try {
        const background = own.app.get(ProviderKeys)
        await background.refresh()
        issuer.up = true
        const discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, token_endpoint: 'https://t.example/x' }
        issuer.answers.set('/.well-known/openid-configuration', { body: JSON.stringify(discovery) })
        expect(background.origins).toEqual([new URL(issuer.url).origin])
        await passTimers(30, background)
        const { origin } = new URL(issuer.url)
        expect(background.origins).toEqual([origin, 'https://t.example'])
        const { headers } = await own.get('/admin/', { as: undefined })
        expect(headers['content-security-policy']).toBe(
          `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${origin} https://t.example; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        )
      } finally {
        jest.useRealTimers()
        await own.stop()
      }
    })

    it.each<[string, string, { status?: number; body: string; headers?: Record<string, string> }]>([
      [
        'a discovery document of another issuer',
        '/.well-known/openid-configuration',
        { body: '{"issuer":"https://x.example","jwks_uri":"https://x.example/jwks"}' },
      ],
      ['one without keys', '/.well-known/openid-configuration', { body: '{}' }],
      ['a redirect', '/jwks', { status: 302, body: '', headers: { location: 'http://127.0.0.1:9/' } }],
      ['an error', '/jwks', { status: 500, body: 'no' }],
      ['no JSON', '/jwks', { body: '<html>' }],
      ['no keys', '/jwks', { body: '{"keys":7}' }],
      ['far too much', '/jwks', { body: JSON.stringify({ keys: [], more: 'x'.repeat(400_000) }) }],
    ])('count as away with %s', async (_what, path, answer) => {
      issuer.answers.set(path, answer)
      const refused = await asked({}, other)
      expect([refusal(refused), refused.headers['retry-after']]).toEqual([[503, 'unavailable'], '5'])
      expect((await other.get(ME)).status).toBe(200)
      issuer.answers.clear()
      expect(await told()).toEqual([503, 'unavailable'])
      clock.pass(6)
      expect(await told()).toBe(200)
    })

    it.each(['/.well-known/openid-configuration', '/jwks'])('count as away where %s takes too long', async (path) => {
      jest.useFakeTimers({ doNotFake: [...REAL] })
      try {
        for (const answer of ['silent', 'endless'] as const) {
          issuer.hanging.set(path, answer)
          const before = issuer.asked.filter((one) => one === path).length
          let refused: Response | undefined
          const waiting = asked({}, other).then((one) => (refused = one))
          while (issuer.asked.filter((one) => one === path).length === before)
            await new Promise((resolve) => setImmediate(resolve))
          jest.advanceTimersByTime(4_999)
          expect((await other.get(ME)).status).toBe(200)
          expect(refused).toBeUndefined()
          jest.advanceTimersByTime(1)
          await waiting
          expect([refusal(refused!), refused!.headers['retry-after']]).toEqual([[503, 'unavailable'], '5'])
          clock.pass(6)
        }
      } finally {
        issuer.hanging.clear()
        jest.useRealTimers()
      }
      expect(await told()).toBe(200)
    })

    it('are not read for tokens that cannot be valid', async () => {
      for (const token of [
        issuer.unsigned(),
        await issuer.confused(),
        'a.b.c',
        await issuer.token({ claims: { iss: 'x' } }),
        await issuer.token({ claims: { aud: 'x' } }),
        await issuer.token({ claims: { exp: clock.now() / 1000 - 31 } }),
        await issuer.token({ kid: 'unknown', claims: { nbf: clock.now() / 1000 + 31 } }),
      ])
        expect(refusal(await bearing(token, ME, other))).toEqual(REFUSED)
      expect(issuer.asked).toEqual([])
    })

    it('are no longer needed for a verified token, until it expires', async () => {
      const token = await issuer.token()
      expect((await bearing(token, ME, other)).status).toBe(200)
      clock.pass(200)
      expect((await bearing(token, ME, other)).status).toBe(200)
      clock.pass(429)
      expect((await bearing(token, ME, other)).status).toBe(200)
      clock.pass(2)
      expect(refusal(await bearing(token, ME, other))).toEqual(REFUSED)
    })
  })
})
