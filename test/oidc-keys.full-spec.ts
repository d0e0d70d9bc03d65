import { afterEach, beforeAll, beforeEach, expect, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { ProviderKeys } from '../src/auth/provider-keys.js'
import { TestApp } from './support/app.js'
import { ALGORITHMS, type Issuer, type TokenOptions } from './support/issuer.js'
import { ME, Provided, REFUSED } from './support/provided.js'
import { bodyOf, fresh, refusal } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onOneStore, type Store } from './support/store.js'

onOneStore('the keys of an identity provider', (kind) => {
  const provided = new Provided(kind)
  const { clock, env, bearing, asked } = provided
  let store: Store
  let issuer: Issuer

  beforeAll(() => {
    ;({ store, issuer } = provided)
  })

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

  it("stay valid through an hour's outage of the provider", async () => {
    const own = await TestApp.start(store, { clock, env: { ...env() } })
    try {
      const background = own.app.get(ProviderKeys)
      const pass = async (seconds: number): Promise<void> => {
        clock.pass(seconds)
        // What its timer does, every thirty seconds while the provider is away.
        await background.refresh()
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
      expect(await metric()).toBe('1')

      issuer.up = false
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

      issuer.up = true
      await pass(31)
      expect([await metric(), refusal(await asked({ kid: 'unknown' }, own))]).toEqual(['1', REFUSED])
    } finally {
      await own.stop()
    }
  })

  it("are read at the start if the console needs the provider: its page names the provider's origins", async () => {
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
      await background.refresh()
      const { origin } = new URL(issuer.url)
      expect(background.origins).toEqual([origin, 'https://t.example'])
      const { headers } = await own.get('/admin/', { as: undefined })
      expect(headers['content-security-policy']).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${origin} https://t.example; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
    } finally {
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
