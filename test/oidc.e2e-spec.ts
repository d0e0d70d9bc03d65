import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import request, { type Response } from 'supertest'
import { TestApp } from './support/app.js'
import { ALGORITHMS, Issuer, type TokenOptions } from './support/issuer.js'
import { ME, Provided, REFUSED } from './support/provided.js'
import { bodyOf, fresh, refusal } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onEveryStore, type Store } from './support/store.js'

onEveryStore('tokens of an identity provider', (kind) => {
  const provided = new Provided(kind)
  const { clock, env, bearing, asked } = provided
  let store: Store
  let issuer: Issuer
  let app: TestApp

  beforeAll(() => {
    ;({ store, issuer, app } = provided)
  })

  const status = async (options: TokenOptions = {}): Promise<unknown> => {
    const answer = await asked(options)
    return answer.status === 200 ? 200 : refusal(answer)
  }

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
    for (const told of ['\ud800', 'eve\r\nBcc: x', '\0nul', '\u202eeve'])
      expect(await name({ preferred_username: told })).toBe('oidc:u-1')
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
})
