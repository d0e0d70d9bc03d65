import { describe, expect, it } from '@jest/globals'
import { Clock, SystemClock } from '../common/clock.js'
import { loadConfig } from '../config/config.js'
import { Authenticator, Unauthenticated } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { JwtVerifier } from './jwt.js'
import { LinkStrategy, OwnerLinks } from './owner-link.js'
import { ProviderKeys } from './provider-keys.js'
import { hashOf, newToken } from './token.js'
import { Tokens } from './tokens.js'

const entry = (name: string, role: string, token: string) => `${name}:${role}:${hashOf(token).toString('hex')}`
const clock = new SystemClock()
const config = loadConfig({})
const jwts = new JwtVerifier(config, clock, new ProviderKeys(config, clock))
const tokensOf = (env: NodeJS.ProcessEnv) => new Tokens(loadConfig(env), clock)
const links = new LinkStrategy(new OwnerLinks(config, clock))
const authenticatorOf = (tokens: Tokens) => new Authenticator(new BearerStrategy(tokens, clock, jwts), links)
const good = authenticatorOf(
  tokensOf({
    AUTH_TOKENS: [entry('a', 'usage', 'one'), entry('b', 'admin', 'two'), entry('b', 'admin', 'three')].join(','),
  }),
)
const ask = (authorization?: string, more: object = {}) =>
  good.authenticate({ ...(authorization === undefined ? {} : { authorization }), ...more }, [])

describe('the authenticator', () => {
  it.each([
    ['Bearer one', { name: 'a', role: 'usage' }],
    ['bearer two', { name: 'b', role: 'admin' }],
    ['BEARER three', { name: 'b', role: 'admin' }],
  ])('knows %s', async (authorization, principal) => {
    await expect(ask(authorization)).resolves.toMatchObject(principal)
  })

  it.each([
    [undefined, 'Bearer realm="quota"'],
    ['', 'Bearer realm="quota"'],
    ['one', 'Bearer realm="quota", error="invalid_request"'],
    ['Bearer', 'Bearer realm="quota", error="invalid_request"'],
    ['Bearer  one', 'Bearer realm="quota", error="invalid_request"'],
    ['Token one', 'Bearer realm="quota"'],
    ['Bearer One', 'Bearer realm="quota", error="invalid_token"'],
    ['Bearer one,', 'Bearer realm="quota", error="invalid_token"'],
    [`Bearer ${hashOf('one').toString('hex')}`, 'Bearer realm="quota", error="invalid_token"'],
  ])('does not know %p', async (authorization, challenge) => {
    const error: unknown = await ask(authorization).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Unauthenticated)
    expect(error).toMatchObject({ code: 'unauthenticated', challenge })
    expect((error as Error).message).not.toContain('one')
  })

  it('refuses a repeated header', async () => {
    const raw = ['Authorization', 'Bearer one', 'Host', 'x', 'AUTHORIZATION', 'Bearer two']
    await expect(good.authenticate({ authorization: 'Bearer one' }, raw)).rejects.toBeInstanceOf(Unauthenticated)
    await expect(good.authenticate({ authorization: 'Bearer one' }, raw.slice(0, 4))).resolves.toMatchObject({
      name: 'a',
    })
  })

  it('keeps apart callers whose tokens are looked up at the same time', async () => {
    class Slow extends BearerStrategy {
      override async validate(token: string) {
        await new Promise((resolve) => setTimeout(resolve, token === 'one' ? 20 : 5))
        return super.validate(token)
      }
    }
    const tokens = tokensOf({ AUTH_TOKENS: [entry('a', 'usage', 'one'), entry('b', 'admin', 'two')].join(',') })
    const slow = new Authenticator(new Slow(tokens, clock, jwts), links)
    const asked = ['one', 'two', 'three', 'two', 'one'].map(async (token) =>
      slow.authenticate({ authorization: `Bearer ${token}` }, []).then(
        ({ name }) => name,
        (error: unknown) => (error as Unauthenticated).code,
      ),
    )
    expect(await Promise.all(asked)).toEqual(['a', 'b', 'unauthenticated', 'b', 'a'])
  })

  it('keeps two applications in one process apart', async () => {
    const other = authenticatorOf(tokensOf({ AUTH_TOKENS: entry('c', 'service', 'one') }))
    await expect(ask('Bearer one')).resolves.toMatchObject({ name: 'a' })
    await expect(other.authenticate({ authorization: 'Bearer one' }, [])).resolves.toMatchObject({ name: 'c' })
  })
})

describe('a token that expires', () => {
  const end = Date.parse('2027-01-01T00:00:00Z')
  let now = end
  const present = new (class extends Clock {
    override now(): number {
      return now
    }
  })()
  const env = { AUTH_TOKENS: `${entry('a', 'usage', 'one')}:2027-01-01T00:00:00Z,${entry('a', 'usage', 'two')}` }
  const tokens = new Tokens(loadConfig(env), present)
  const authenticator = new Authenticator(new BearerStrategy(tokens, present, jwts), links)
  const asked = async (token: string): Promise<string> =>
    authenticator.authenticate({ authorization: `Bearer ${token}` }, []).then(
      ({ name }) => name,
      (error: unknown) => (error as Unauthenticated).challenge,
    )

  it('is valid up to that instant, and unknown after it', async () => {
    now = end
    expect(await asked('one')).toBe('a')
    now = end + 1
    expect(await asked('one')).toBe('Bearer realm="quota", error="invalid_token"')
    expect(await asked('two')).toBe('a')
    now = end - 1
    expect(await asked('one')).toBe('a')
  })

  it('reports its expiry while it is valid', () => {
    now = end
    expect([...tokens.ends()]).toEqual([['a', end]])
    now = end + 1
    expect([...tokens.ends()]).toEqual([])
  })
})

describe('tokens', () => {
  it('are long, random and named by their role', () => {
    expect(newToken('usage')).toMatch(/^qs_usage_[A-Za-z0-9_-]{43}$/)
    expect(newToken('usage')).not.toBe(newToken('usage'))
  })

  it('are created for the process if none is configured', async () => {
    const tokens = tokensOf({})
    expect(tokens.made.map(({ name, role }) => [name, role])).toEqual([
      ['service', 'service'],
      ['admin', 'admin'],
    ])
    const authenticator = authenticatorOf(tokens)
    for (const { name, role, token } of tokens.made) {
      await expect(authenticator.authenticate({ authorization: `Bearer ${token}` }, [])).resolves.toMatchObject({
        name,
        role,
      })
    }
  })

  it('are not created if some are configured', () => {
    expect(tokensOf({ AUTH_TOKENS: entry('a', 'usage', 'one') }).made).toEqual([])
  })
})
