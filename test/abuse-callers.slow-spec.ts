import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hashOf, newToken } from '../src/auth/token.js'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { HttpClient } from './support/http-client.js'
import { ADMIN, Instance } from './support/instance.js'
import { fresh, MAIL, tally, times, totalQuota } from './support/wire.js'
import { inTime, repeatOnce } from './support/pace.js'
import { healthProbe, Victim } from './support/victim.js'
import { verified } from './support/verify.js'

repeatOnce()

const onServer = HAS_SERVER ? describe : describe.skip

/** RELIABILITY_SCALE=60 makes each flood five minutes long. */
const ATTACK_MS = Math.max(12_000, 5_000 * SCALE)
const PATIENCE_MS = 180_000 + ATTACK_MS
/** Three floods have left up to 20,000 acts for each of their seconds. */
const AUDIT_PATIENCE_MS = 180_000 + 24 * ATTACK_MS
const ACCOUNTS = 1_000

const HONEST = newToken('usage')
const HARMFUL = newToken('usage')
const AUTH_TOKENS = Object.entries({ admin: ['admin', ADMIN], honest: ['usage', HONEST], harmful: ['usage', HARMFUL] })
  .map(([name, [role, token]]) => `${name}:${role}:${hashOf(token!).toString('hex')}`)
  .join(',')

onServer('one caller among others', () => {
  let database: TestDatabase
  let client: HttpClient
  let instance: Instance

  beforeAll(async () => {
    database = await TestDatabase.open()
    client = new HttpClient()
    instance = await Instance.start(database.url, { AUTH_TOKENS })
    for (let at = 1; at <= ACCOUNTS; at += 50) {
      await Promise.all(times(50).map(async (n) => instance.post(MAIL.quotas, totalQuota(MAIL, at + n, 1_000_000))))
    }
  }, PATIENCE_MS)

  afterAll(async () => {
    expect(await instance.terminate()).toBe(0)
  })

  it.each([32, 128, 256])(
    'who sends batches of 500 over %d connections does not keep another one waiting',
    async (connections) => {
      const honest = new Victim(
        async (turn) =>
          instance.send('POST', `${MAIL.usage}/consume`, {
            token: HONEST,
            key: fresh('honest'),
            body: { account_id: 1 + (turn % ACCOUNTS), amount: 1 },
          }),
        { callers: 4, pauseMs: 10 },
      )
      const health = healthProbe(client, instance.url)
      await sleep(2_000)
      honest.mark()
      health.mark()
      const flood = spawn(
        process.execPath,
        [
          join(process.cwd(), 'test/support/batch-flood.mjs'),
          instance.url,
          HARMFUL,
          String(connections),
          '500',
          String(ACCOUNTS),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      let said = ''
      flood.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      await sleep(ATTACK_MS)
      flood.kill('SIGTERM')
      await once(flood, 'close')
      await honest.stop()
      await health.stop()
      const ended = JSON.parse(said) as { ended: Record<string, number>; accepted: number }
      figure(`batch flood, ${connections} connections`, {
        'victim p99 ms': honest.quantile(0.99),
        'victim p50 ms': honest.quantile(0.5),
        'victim worst ms': honest.quantile(1),
        'victim answers by second': honest.perSecond().join(' '),
        'health p99 ms': health.quantile(0.99),
        'attacker consumed': ended.accepted,
        attacker: JSON.stringify(ended.ended),
        victim: JSON.stringify(tally(honest.told.map(({ outcome }) => outcome))),
      })
      expect(tally(honest.told.map(({ outcome }) => outcome))).toEqual({ 200: honest.told.length })
      expect(honest.quantile(0.99)).toBeLessThan(inTime(1_000))
      expect(health.quantile(0.99)).toBeLessThan(inTime(300))
    },
    PATIENCE_MS,
  )

  it(
    'leaves sums that are exact',
    async () => {
      expect(await database.inMemory(async (session) => audit(session))).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    AUDIT_PATIENCE_MS,
  )
})
