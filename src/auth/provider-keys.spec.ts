import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { TestClock } from '../../test/support/clock.js'
import { Issuer } from '../../test/support/issuer.js'
import { loadConfig } from '../config/config.js'
import { ProviderKeys } from './provider-keys.js'

const DISCOVERY = '/.well-known/openid-configuration'
const UNKNOWN = { alg: 'RS256', kid: 'unknown' }

// Timers are the test's: only in this file, where nothing else waits for one.
describe('the keys of an identity provider, by time', () => {
  const clock = new TestClock()
  let issuer: Issuer
  let keys: ProviderKeys

  beforeAll(async () => {
    issuer = await Issuer.start(() => clock.now())
    await issuer.addKey('RS256', 'RS256')
  })

  beforeEach(() => {
    Logger.overrideLogger(false)
    jest.useFakeTimers({
      // What sockets and the clock do stays real: only `setTimeout` is the test's.
      doNotFake: [
        'Date',
        'hrtime',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
        'clearImmediate',
        'setInterval',
        'clearInterval',
      ],
    })
    issuer.up = true
    issuer.answers.clear()
    issuer.asked.length = 0
    keys = started()
  })
  afterEach(() => {
    issuer.hanging.clear()
    keys.onApplicationShutdown()
    jest.useRealTimers()
  })

  function started(env: Record<string, string> = {}): ProviderKeys {
    const config = loadConfig({
      DATABASE_URL: 'sqlite:unused.db',
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: 'quota',
      OIDC_ROLES: 'quota-admins:admin',
      ...env,
    })
    const made = new ProviderKeys(config, clock)
    made.onApplicationBootstrap()
    return made
  }

  /** Moves the timers, second by second: a read that one begins ends before the next second. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      clock.pass(1)
      jest.advanceTimersByTime(1_000)
      await (Reflect.get(keys, 'looking') as Promise<void> | undefined)
    }
  }

  it('are read again every ten minutes, and every thirty seconds while the provider is away', async () => {
    expect(await keys.find({ alg: 'RS256', kid: 'RS256' })).toBeDefined()
    expect(issuer.asked).toEqual([DISCOVERY, '/jwks'])
    await pass(599)
    expect(issuer.looks).toBe(1)
    await pass(2)
    expect([issuer.looks, keys.away]).toEqual([2, false])

    issuer.up = false
    await pass(600)
    expect(keys.away).toBe(true)
    const before = issuer.asked.length
    for (let time = 0; time < 120; time += 1) {
      await pass(30)
      expect(await keys.find({ alg: 'RS256', kid: 'RS256' })).toBeDefined()
      await expect(keys.find(UNKNOWN)).rejects.toMatchObject({ code: 'unavailable' })
    }
    // One read in the background and one for whoever names an unknown key, each at most every 30 s.
    expect(issuer.asked.length - before).toBeLessThanOrEqual(2 * 121)
    expect(issuer.asked.length - before).toBeGreaterThanOrEqual(100)

    issuer.up = true
    await pass(31)
    expect(keys.away).toBe(false)
    expect(await keys.find(UNKNOWN)).toBeUndefined()
  })

  it('are read until they are found if the console needs the provider', async () => {
    issuer.up = false
    keys = started({ OIDC_CONSOLE_CLIENT_ID: 'console' })
    await keys.refresh()
    issuer.up = true
    const discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, token_endpoint: 'https://t.example/x' }
    issuer.answers.set(DISCOVERY, { body: JSON.stringify(discovery) })
    expect(keys.origins).toEqual([new URL(issuer.url).origin])
    await pass(30)
    expect(keys.origins).toEqual([new URL(issuer.url).origin, 'https://t.example'])
  })

  it.each([DISCOVERY, '/jwks'])('count as away where %s takes longer than five seconds', async (path) => {
    for (const answer of ['silent', 'endless'] as const) {
      issuer.hanging.set(path, answer)
      const before = issuer.asked.filter((one) => one === path).length
      let refusal: unknown
      const waiting = keys.find({ alg: 'RS256', kid: 'RS256' }).catch((error: unknown) => (refusal = error))
      for (let turns = 0; issuer.asked.filter((one) => one === path).length === before; turns += 1) {
        expect(turns).toBeLessThan(1_000_000)
        await new Promise((resolve) => setImmediate(resolve))
      }
      jest.advanceTimersByTime(4_999)
      await new Promise((resolve) => setImmediate(resolve))
      expect(refusal).toBeUndefined()
      jest.advanceTimersByTime(1)
      await waiting
      expect(refusal).toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 })
      clock.pass(6)
    }
    issuer.hanging.clear()
    expect(await keys.find({ alg: 'RS256', kid: 'RS256' })).toBeDefined()
  })
})
