import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { hashOf, newToken } from '../src/auth/token.js'
import { figure, SCALE } from './support/figures.js'
import { HttpClient } from './support/http-client.js'
import { ADMIN, Instance } from './support/instance.js'
import { inTime, repeatOnce } from './support/pace.js'
import { guard } from './support/guard.js'
import { onEveryStore, type Store } from './support/store.js'
import { healthProbe, Victim } from './support/victim.js'
import { fresh, MAIL, tally, times, totalQuota } from './support/wire.js'

repeatOnce()

/** RELIABILITY_SCALE=60 makes each flood five minutes long. */
const ATTACK_SECONDS = Math.max(10, 5 * SCALE)
const PATIENCE_MS = 180_000 + 1_000 * ATTACK_SECONDS
const CONNECTIONS = 250
/** Operations in the owner's ledger: more than a page of a narrowed caller walks past. */
const OPERATIONS = 6_000

const HONEST = newToken('usage')
const HARMFUL = newToken('usage')
const NARROWED = newToken('usage')
const AUTH_TOKENS = [
  ['admin:admin', ADMIN],
  ['honest:usage', HONEST],
  ['harmful:usage', HARMFUL],
  ['narrowed:usage+own', NARROWED],
]
  .map(([entry, token]) => `${entry}:${hashOf(token!).toString('hex')}`)
  .join(',')

onEveryStore('one caller who reads among others', (kind) => {
  let store: Store
  let client: HttpClient
  let instance: Instance

  beforeAll(async () => {
    store = await kind.open()
    client = new HttpClient()
    instance = await Instance.start(store.url, { AUTH_TOKENS })
    await instance.post(MAIL.quotas, totalQuota(MAIL, 1, 1_000_000))
    for (let sent = 0; sent < OPERATIONS; sent += 1_000) {
      const items = times(1_000).map(() => ({ account_id: 1, amount: 1, idempotency_key: fresh('read') }))
      expect((await instance.post(`${MAIL.usage}/consume/batch`, { items })).status).toBe(200)
    }
  }, PATIENCE_MS)

  afterAll(async () => {
    expect(await instance.terminate()).toBe(0)
  })

  it.each([
    ['pages of the ledger', HARMFUL, ''],
    ['a period in which nothing was', HARMFUL, '&from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z'],
    ['pages of its own in the ledger of others', NARROWED, ''],
  ])(
    `over ${CONNECTIONS} connections, %s, does not keep another one waiting`,
    async (what, token, filter) => {
      const check = new Victim(
        async () => instance.send('GET', `${MAIL.usage}/check?account_id=1&amount=1`, { token: HONEST }),
        { callers: 2, pauseMs: 10 },
      )
      const page = new Victim(
        async () => instance.send('GET', `${MAIL.usage}?account_id=1&page_size=20`, { token: HONEST }),
        { pauseMs: 10 },
      )
      const ready = new Victim(async () => client.send(instance.url, 'GET', '/health/ready', { token: 'none' }), {
        pauseMs: 50,
      })
      const live = healthProbe(client, instance.url)
      await sleep(1_000)
      for (const victim of [check, page, ready, live]) victim.mark()
      const flood = spawn(
        process.execPath,
        [
          join(process.cwd(), 'test/support/flood.mjs'),
          new URL(instance.url).port,
          'path',
          String(ATTACK_SECONDS),
          String(CONNECTIONS),
          `${MAIL.usage}?account_id=1&page_size=100${filter}`,
          token,
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      const release = guard(flood.pid!)
      let said = ''
      flood.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      await once(flood, 'close')
      release()
      for (const victim of [check, page, ready, live]) await victim.stop()
      figure(`${kind.name}, ${CONNECTIONS} connections ask for ${what}`, {
        'check p99 ms': check.quantile(0.99),
        'check worst ms': check.quantile(1),
        'page p99 ms': page.quantile(0.99),
        'ready p99 ms': ready.quantile(0.99),
        'live p99 ms': live.quantile(0.99),
        ready: JSON.stringify(tally(ready.told.map(({ outcome }) => outcome))),
        attacker: said.trim(),
      })
      for (const victim of [check, page, ready, live]) {
        expect(tally(victim.told.map(({ outcome }) => outcome))).toEqual({ 200: victim.told.length })
      }
      expect(check.quantile(0.99)).toBeLessThan(inTime(500))
      expect(page.quantile(0.99)).toBeLessThan(inTime(1_000))
      expect(ready.quantile(0.99)).toBeLessThan(inTime(500))
      expect(live.quantile(0.99)).toBeLessThan(inTime(300))
    },
    PATIENCE_MS,
  )
})
