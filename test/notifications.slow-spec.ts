import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { findPostfix } from '../scripts/programs.mjs'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { Endpoints, until } from './support/endpoints.js'
import { MailServer, parsed } from './support/mail-server.js'
import { Postfix } from './support/postfix.js'
import { bodyOf, stopSweepers } from './support/quota-api.js'
import { type Store, STORES } from './support/store.js'

// Ten thousand events, on a busy machine.
jest.setTimeout(300_000)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const EVENTS = 10_000
const MAX_GROWTH_MB = 64
const PATIENCE_MS = 240_000

describe('mail in earnest', () => {
  let store: Store
  let app: TestApp
  let server: MailServer
  let hooks: Endpoints
  const clock = new TestClock('2026-11-21T12:10:00.000Z')

  beforeAll(async () => {
    store = await STORES.at(-1)!.open()
    server = await MailServer.start()
    hooks = await Endpoints.make()
    app = await TestApp.start(store, { env: { WEBHOOKS_FILE: hooks.path }, clock })
    hooks.app = app
    await stopSweepers(app)
  })

  const people = (smtp: string, to: string[], more: object = {}) => ({
    kind: 'mail',
    to,
    from: 'quota@example.org',
    smtp,
    ...more,
  })

  const postfix = findPostfix() === undefined ? it.skip : it
  postfix('reaches every recipient once through a real mail server', async () => {
    const real = await Postfix.start([], server.port)
    const to = ['a@example.org', 'b@example.org']
    const name = await hooks.add(() => people(`smtp://127.0.0.1:${real.queue}`, to))
    const ids = await hooks.happen(50, undefined, undefined, { label: 'Grüße, שלום' })
    await hooks.settled(name, { delivered: 50, waiting: 0, failed: 0 })
    for (const address of to)
      await until(`50 mails to ${address}`, async () => server.to(address).length >= 50, PATIENCE_MS)
    for (const address of to) {
      const mails = server.to(address).map(({ text }) => parsed(text))
      expect(mails).toHaveLength(50)
      expect(new Set(mails.map(({ headers }) => headers.get('Message-ID'))).size).toBe(50)
      const told = mails.map(({ body }) => Number(/created quota (\d+) of/.exec(body)?.[1]))
      expect(told.sort((a, b) => a - b)).toEqual(ids)
      for (const { body, headers } of mails) {
        expect(body).toContain('Label: “\u2068Grüße, שלום\u2069”')
        expect(headers.get('Auto-Submitted')).toBe('auto-generated')
      }
    }
    hooks.list = []
    await hooks.take()
  })

  it(`collects ${EVENTS} events in little memory`, async () => {
    clock.pass(1)
    const from = clock.after(0)
    const expiry = '2030-01-01T00:00:00Z'
    const rows = Array.from({ length: EVENTS }, (_, n) => `${100_000 + n},1,5,${expiry},Mailbox ${n}`)
    const csv = ['account_id,quota_type,total,expire_at,label', ...rows].join('\n')
    const { id } = bodyOf(
      202,
      await app.send('post', '/api/v1/quotas/import', { headers: { 'Content-Type': 'text/csv' }, body: csv }),
    )
    const set = async (state: string) =>
      until(
        `the import to be ${state}`,
        async () => {
          const now = bodyOf(200, await app.get(`/api/v1/quotas/change-sets/${id}`))
          return now.state === state && now
        },
        PATIENCE_MS,
      )
    const { version } = await set('ready')
    bodyOf(202, await app.post(`/api/v1/quotas/change-sets/${id}/apply`, { version, rows: EVENTS }))
    await set('applied')
    const to = ['digest@example.org']
    const name = await hooks.add(() => people(server.url, to, { digest: 'hourly' }))
    clock.pass(3_600)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    let most = before
    expect(bodyOf(202, await hooks.does(name, 'replay', { from, to: clock.after(0) }))).toEqual({ events: EVENTS })
    await until(
      'the digest',
      async () => {
        most = Math.max(most, process.memoryUsage().heapUsed)
        collectGarbage()
        return (await hooks.shown(name)).delivered === EVENTS
      },
      PATIENCE_MS,
    )
    const growth = (most - before) / 1e6
    process.stdout.write(`a digest of ${EVENTS} events: ${growth.toFixed(1)} MB more in use at most\n`)
    expect(growth).toBeLessThan(MAX_GROWTH_MB)
    expect(server.to('digest@example.org')).toHaveLength(1)
    expect(parsed(server.to('digest@example.org')[0]?.text ?? '').body).toContain(
      `and ${(EVENTS - 50).toLocaleString('en-US')} others.`,
    )
  })
})
