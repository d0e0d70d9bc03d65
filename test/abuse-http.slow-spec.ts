import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { hashOf, newToken } from '../src/auth/token.js'
import { figure, SCALE } from './support/figures.js'
import { guard } from './support/guard.js'
import { HttpClient } from './support/http-client.js'
import { ADMIN, Instance, OTHER } from './support/instance.js'
import { onOneStore, type Store } from './support/store.js'
import { PROBED, Victim } from './support/victim.js'
import { inTime, repeatOnce } from './support/pace.js'
import { fresh, MAIL, tally, totalQuota } from './support/wire.js'

repeatOnce()

const FLOOD = join(process.cwd(), 'test/support/flood.mjs')
/**
 * RELIABILITY_SCALE=2: longer floods, each on every store, and as many connections as are let in by default; 60 makes
 * each five minutes long.
 */
const THOROUGH = SCALE >= 2
const BEFORE_MS = THOROUGH ? 3_000 : 1_500
const ATTACK_SECONDS = THOROUGH ? 5 * SCALE : 6
const AFTER_MS = THOROUGH ? 4_000 : 1_500
const MINUTES = 120_000 + 1_000 * ATTACK_SECONDS

/**
 * As many connections as may be, how many are held, how many of them are opened in a hundredth of a second, and for how
 * many seconds a request may take to arrive.
 */
const [LET_IN, HELD, EACH, ARRIVES_SECONDS] = THOROUGH ? [2_000, 2_100, 2, 20] : [500, 525, 1, 5]
/** Longer than it takes to open them, and then for a request to arrive. */
const HELD_SECONDS = THOROUGH ? Math.max(25, ATTACK_SECONDS) : 12

/**
 * What is bearable while somebody attacks, on two busy cores; the least that was seen without a defence was ten times
 * as much.
 */
const CONSUME_P99_MS = 1_000
const PROBE_P90_MS = 500
/** While hundreds connect at once, who comes behind them waits for them to be let in. */
const PROBE_WORST_MS = 5_000

const SCRAPER = newToken('metrics')
const AUTH_TOKENS = Object.entries({ 'admin:admin': ADMIN, 'other:admin': OTHER, 'scraper:metrics': SCRAPER })
  .map(([name, token]) => `${name}:${hashOf(token).toString('hex')}`)
  .join(',')

onOneStore('under a flood', (kind) => {
  let store: Store
  let instance: Instance
  let owner = 0

  beforeAll(async () => {
    store = await kind.open()
    instance = await Instance.start(store.url, { MAX_CONNECTIONS: '500' })
  })

  /**
   * Runs an attacker beside a victim, and notes what the victim got in each second.
   * @param seconds of the attack
   */
  async function attack(name: string, how: readonly string[], seconds = ATTACK_SECONDS) {
    const body = { account_id: (owner += 1), amount: 1 }
    await instance.send('POST', MAIL.quotas, { token: OTHER, body: totalQuota(MAIL, owner, 1_000_000) })
    const consumes = new Victim(async () =>
      instance.send('POST', `${MAIL.usage}/consume`, { token: OTHER, key: fresh('victim'), body }),
    )
    // Each on a connection of its own: whoever probes is as a rule not connected yet.
    const probes = new Victim(
      async (turn) => {
        const own = new HttpClient()
        return own.send(instance.url, 'GET', PROBED[turn % 2]!, { token: OTHER }).finally(() => own.close())
      },
      { callers: 4, pauseMs: 200 },
    )
    const began = performance.now()
    await sleep(BEFORE_MS)
    for (const victim of [consumes, probes]) victim.mark()
    const from = Math.round((performance.now() - began) / 1000)
    const { port } = new URL(instance.url)
    const [kindOf = '', ...more] = how
    const flood = spawn(process.execPath, [FLOOD, port, kindOf, String(seconds), ...more], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const release = guard(flood.pid!)
    const [said] = await Promise.all([text(flood.stdout), once(flood, 'exit')])
    release()
    const to = Math.round((performance.now() - began) / 1000)
    await sleep(AFTER_MS)
    for (const victim of [consumes, probes]) await victim.stop()
    const answers = consumes.perSecond()
    figure(`${name} on ${kind.name}`, {
      'answers by second, before': answers.slice(0, from).join(' '),
      during: answers.slice(from, to).join(' '),
      after: answers.slice(to).join(' '),
      'consume p99 ms': consumes.quantile(0.99),
      'worst ms': consumes.quantile(1),
      'probe p90 ms': probes.quantile(0.9),
      'probe p99 ms': probes.quantile(0.99),
      'worst probe ms': probes.quantile(1),
      outcomes: JSON.stringify(tally([...consumes.told, ...probes.told].map(({ outcome }) => outcome))),
      attacker: said.trim(),
    })
    return { consumes, probes }
  }

  const bearable = ({ consumes, probes }: Awaited<ReturnType<typeof attack>>, probeP90 = PROBE_P90_MS) => {
    for (const { told } of [consumes, probes]) {
      expect(tally(told.map(({ outcome }) => outcome))).toEqual({ 200: told.length })
    }
    expect(consumes.quantile(0.99)).toBeLessThan(inTime(CONSUME_P99_MS))
    expect(probes.quantile(0.9)).toBeLessThan(inTime(probeP90))
    expect(probes.quantile(1)).toBeLessThan(inTime(PROBE_WORST_MS))
  }

  describe('of requests without a token', () => {
    it(
      'on one socket, 20,000 pipelined at a time, others are answered',
      async () => {
        bearable(await attack('pipelining', ['pipeline', '1', '20000']))
      },
      MINUTES,
    )

    it(
      'on 20 sockets, 2,000 pipelined at a time, others are answered',
      async () => {
        bearable(await attack('pipelining on 20 sockets', ['pipeline', '20', '2000']))
      },
      MINUTES,
    )
  })

  it(
    'of probes on 200 connections, others are answered',
    async () => {
      bearable(await attack('readiness', ['path', '200', '/health/ready']))
    },
    MINUTES,
  )

  it(
    'of scrapes on 200 connections, others are answered',
    async () => {
      bearable(await attack('metrics', ['path', '200', '/metrics', ADMIN]))
    },
    MINUTES,
  )

  it(
    'of idle connections, twice as many as are let in, others are answered',
    async () => {
      bearable(await attack('connections', ['connect', '1000']), PROBE_WORST_MS)
    },
    MINUTES,
  )

  describe('of more connections than are let in, that do not go on', () => {
    const consume = `${MAIL.usage}/consume`
    const ways: readonly [string, string[]][] = [
      ['read no answer, without a token', ['GET', '/openapi.json']],
      ['read no answer, with a token', ['GET', '/openapi.json', ADMIN]],
      ['send no body, without a token', ['POST', consume, '', '9']],
      ['send no body, with a token', ['POST', consume, ADMIN, '9']],
      ['send no body, with a token that may scrape alone', ['GET', '/api/v1/me', SCRAPER, '9']],
    ]

    beforeAll(async () => {
      await instance.terminate()
      instance = await Instance.start(store.url, {
        AUTH_TOKENS,
        DOCS_PUBLIC: 'true',
        MAX_CONNECTIONS: String(LET_IN),
        REQUEST_TIMEOUT_SECONDS: String(ARRIVES_SECONDS),
      })
    })

    it.each(ways)(
      'and %s, others are answered',
      async (what, how) => {
        const { consumes, probes } = await attack(what, ['hold', String(HELD), String(EACH), ...how], HELD_SECONDS)
        for (const { told } of [consumes, probes]) {
          expect(tally(told.map(({ outcome }) => outcome))).toEqual({ 200: told.length })
        }
        expect(consumes.quantile(0.99)).toBeLessThan(inTime(CONSUME_P99_MS))
        expect(probes.quantile(0.99)).toBeLessThan(inTime(300))
      },
      MINUTES,
    )
  })
})
