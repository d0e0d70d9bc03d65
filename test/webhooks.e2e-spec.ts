import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { DataSource } from 'typeorm'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { Webhooks } from '../src/webhook/webhooks.js'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { Endpoints, until } from './support/endpoints.js'
import { type Body, bodyOf, brokenFields, refusal, stopSweepers } from './support/quota-api.js'
import { Receiver, type Received, status } from './support/receiver.js'
import { onEveryStore, type Store } from './support/store.js'

const secret = (): string => `whsec_${randomBytes(32).toString('base64')}`

onEveryStore('webhooks', (kind) => {
  let store: Store
  let app: TestApp
  let receiver: Receiver
  let hooks: Endpoints

  /** Adds an endpoint, which begins with what happens now. */
  const endpoint = async (more: object = {}): Promise<{ name: string; at: string; secrets: string[] }> => {
    const secrets = [secret()]
    const name = await hooks.add((own) => ({ url: receiver.url(`/${own}?token=hush`), secrets, ...more }))
    return { name, at: `/${name}?token=hush`, secrets }
  }
  const webhooks = () => hooks.webhooks
  const take = async (): Promise<void> => hooks.take()
  const shown = async (name: string): Promise<Body> => hooks.shown(name)
  const does = async (name: string, verb: string, body?: object) => hooks.does(name, verb, body)
  const settled = async (name: string, what: object): Promise<Body> => hooks.settled(name, what)
  const happen = async (count?: number, quotas?: string, owner?: string): Promise<number[]> =>
    hooks.happen(count, quotas, owner)
  const come = async (at: string, count: number): Promise<Received[]> =>
    until(
      `${count} messages at ${at}, not ${receiver.of(at).length}`,
      async () => receiver.of(at).length >= count && receiver.of(at),
    )

  beforeAll(async () => {
    store = await kind.open()
    receiver = await Receiver.start()
    hooks = await Endpoints.make()
    app = await TestApp.start(store, {
      env: { WEBHOOKS_FILE: hooks.path },
      clock: new TestClock(new Date().toISOString()),
    })
    hooks.app = app
    await stopSweepers(app)
  })

  beforeEach(() => {
    hooks.list = []
  })

  /** After a gap, the instance removes nothing for so long. */
  async function announceForAMinute(): Promise<void> {
    for (let second = 0; second < 60; second += 15) {
      app.clock.pass(15)
      await webhooks().announce()
    }
  }

  it('delivers each event once, signed, with the body that its feed shows', async () => {
    const { name, at, secrets } = await endpoint()
    const ids = await happen(30)
    const messages = await come(at, 30)
    const events = bodyOf(200, await app.get('/api/v1/quotas/events?after=latest')).next_after as string
    expect(events).toMatch(/^e\d+$/)
    const told = messages.map(({ headers, body }) => {
      const message = new Webhook(secrets[0] ?? '').verify(body, headers) as Body
      expect(headers['webhook-id']).toBe(message.data.id)
      expect(Object.keys(message)).toEqual(['type', 'timestamp', 'data'])
      expect([message.type, message.timestamp]).toEqual([message.data.type, message.data.at])
      return message.data
    })
    expect(told.map(({ quota_id: id }) => id).sort((a, b) => a - b)).toEqual(ids)
    for (const event of told.slice(0, 3)) {
      const [found] = bodyOf(200, await app.get(`/api/v1/quotas/events?quota_id=${event.quota_id}`)).items
      expect(event).toEqual(found)
    }
    const item = await settled(name, { delivered: 30, waiting: 0 })
    expect(item).toEqual({
      name,
      kind: 'webhook',
      url: receiver.url(`/${name}`),
      types: expect.arrayContaining(['quota.created']),
      channels: ['mail', 'sms'],
      state: 'active',
      delivered: 30,
      failed: 0,
      waiting: 0,
      oldest_waiting_at: null,
      last_attempt: { at: expect.any(String), status: 204, error: null },
    })
    await settled(name, { delivered: 30 })
    expect(receiver.of(at)).toHaveLength(30)
  })

  it('sends a test message, and shows its answer', async () => {
    const { name, at, secrets } = await endpoint()
    expect(bodyOf(200, await does(name, 'test'))).toEqual({ status: 204, error: null, ms: expect.any(Number) })
    const [message] = receiver.of(at)
    expect(new Webhook(secrets[0] ?? '').verify(message?.body ?? '', message?.headers ?? {})).toMatchObject({
      type: 'webhook.test',
    })
    receiver.answers.set(at, status(500))
    expect(bodyOf(200, await does(name, 'test'))).toMatchObject({ status: 500, error: 'answered 500' })
    receiver.answers.set(at, status(999))
    expect(bodyOf(200, await does(name, 'test'))).toMatchObject({ status: null, error: 'answered 999' })
    expect(await shown(name)).toMatchObject({ delivered: 0, failed: 0, last_attempt: null })
    for (const verb of ['test', 'enable'])
      expect(refusal(await does('nobody', verb))).toEqual([404, 'webhook_not_found'])
    expect(refusal(await does('nobody', 'replay', { from: app.clock.after(0) }))).toEqual([404, 'webhook_not_found'])
    expect((await app.get('/api/v1/webhooks', { as: 'service' })).status).toBe(403)
    expect((await app.get('/api/v1/webhooks', { as: 'sms-admin' })).status).toBe(403)
  })

  it('signs with both secrets during a rotation', async () => {
    const { at, secrets } = await endpoint()
    const [old = ''] = secrets
    const next = secret()
    await happen()
    const [before] = await come(at, 1)
    expect(new Webhook(old).verify(before?.body ?? '', before?.headers ?? {})).toBeDefined()
    for (const hook of hooks.list) Object.assign(hook, { secrets: [next, old] })
    await take()
    await happen()
    const [, both] = await come(at, 2)
    for (const one of [old, next]) expect(new Webhook(one).verify(both?.body ?? '', both?.headers ?? {})).toBeDefined()
    for (const hook of hooks.list) Object.assign(hook, { secrets: [next] })
    await take()
    await happen()
    const [, , after] = await come(at, 3)
    expect(new Webhook(next).verify(after?.body ?? '', after?.headers ?? {})).toBeDefined()
    expect(() => new Webhook(old).verify(after?.body ?? '', after?.headers ?? {})).toThrow()
  })

  it('delivers only the selected types and channels, and begins with later events', async () => {
    await happen()
    const mail = await endpoint({ channels: ['mail'] })
    const updates = await endpoint({ types: ['quota.updated'], channels: ['sms'] })
    const [id] = await happen(1, '/api/sms/admin/quota', 'user_id')
    await app.put(`/api/sms/admin/quota/${id}`, { total: 6 })
    const [kept] = await happen()
    await settled(mail.name, { delivered: 1 })
    await settled(updates.name, { delivered: 1 })
    expect(receiver.of(mail.at).map(({ body }) => JSON.parse(body).data.quota_id)).toEqual([kept])
    expect(receiver.of(updates.at).map(({ body }) => JSON.parse(body).type)).toEqual(['quota.updated'])
  })

  it.each<[string, (at: string) => void, number | null, RegExp]>([
    ['500', (at) => receiver.answers.set(at, status(500)), 500, /answered 500/],
    [
      'a redirect',
      (at) => receiver.answers.set(at, status(302, { Location: receiver.url('/elsewhere') })),
      302,
      /answered 302/,
    ],
    ['a reset', (at) => receiver.answers.set(at, (response) => response.socket?.destroy()), null, /\w/],
  ])('tries again after %s, with the same id and bytes', async (_what, break_, code, error) => {
    const { name, at } = await endpoint()
    break_(at)
    await happen()
    const failed = await until('a failed attempt', async () => {
      const { last_attempt: attempt, waiting } = await shown(name)
      return attempt !== null && { attempt, waiting }
    })
    expect(failed).toMatchObject({ attempt: { status: code, error: expect.stringMatching(error) }, waiting: 1 })
    receiver.answers.delete(at)
    webhooks().wake()
    await sleep(50)
    expect(receiver.of(at)).toHaveLength(1)
    app.clock.pass(6)
    await settled(name, { delivered: 1, waiting: 0, failed: 0 })
    const [first, second] = receiver.of(at)
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(receiver.of('/elsewhere')).toEqual([])
  })

  it('delays no event and no request for an endpoint that hangs, and accepts an endless answer as received', async () => {
    const { name, at } = await endpoint()
    let hanging = 0
    receiver.answers.set(at, (response) => {
      hanging += 1
      if (hanging > 1) response.writeHead(200).end()
    })
    const stream = await endpoint()
    receiver.answers.set(stream.at, (response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 5)
      response.on('close', () => clearInterval(timer))
    })
    await happen(5)
    await settled(name, { delivered: 4, waiting: 1 })
    await settled(stream.name, { delivered: 5 })
  })

  it('honours Retry-After, and gives up after the tenth attempt', async () => {
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(503, { 'Retry-After': '3600' }))
    await happen()
    await until('the first attempt', async () => (await shown(name)).last_attempt !== null)
    app.clock.pass(3_500)
    webhooks().wake()
    await sleep(50)
    expect(receiver.of(at)).toHaveLength(1)
    app.clock.pass(200)
    await come(at, 2)
    receiver.answers.set(at, status(503))
    for (let attempts = 3; attempts <= 10; attempts += 1) {
      await until(
        'the attempt to be written down',
        async () => (await shown(name)).last_attempt.at === app.clock.after(0),
      )
      app.clock.pass(27 * 3_600)
      webhooks().wake()
      await come(at, attempts)
    }
    await settled(name, { failed: 1, waiting: 0, delivered: 0 })
    expect(new Set(receiver.of(at).map(({ body }) => body)).size).toBe(1)
  })

  it('tries again soon after a time that was ahead is set back', async () => {
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(503))
    const right = app.clock.now()
    app.clock.pass(31 * 86_400)
    await happen()
    await until('the first attempt', async () => (await shown(name)).last_attempt !== null)
    receiver.answers.delete(at)
    app.clock.set(right)
    webhooks().wake()
    await settled(name, { delivered: 1, waiting: 0 })
  })

  it('is not tried again each time an instance with another time takes over', async () => {
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(503))
    await happen()
    await until('the first attempt', async () => (await shown(name)).last_attempt !== null)
    const env = { WEBHOOKS_FILE: hooks.path }
    const other = await TestApp.start(store, { env, clock: new TestClock(app.clock.after(-3_600)) })
    try {
      for (let turn = 0; turn < 8; turn += 1) {
        for (const one of [other, app]) {
          one.app.get(Webhooks).wake()
          await sleep(250)
        }
      }
      // On a busy machine, an instance may lose the lease before it records an attempt, which is then sent in vain.
      const [{ failures_in_row: recorded }] = await app.app
        .get(DataSource)
        .query('SELECT failures_in_row FROM webhook WHERE name = ?', [name])
      expect(Number(recorded)).toBeLessThan(8)
    } finally {
      await other.stop()
    }
  })

  it('tries only the oldest event after twenty failures in a row, until one is received', async () => {
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(500))
    await happen(30)
    await come(at, 20)
    await settled(name, { waiting: 30 })
    app.clock.pass(6)
    webhooks().wake()
    const messages = await come(at, 21)
    await until(
      'the attempt to be written down',
      async () => (await shown(name)).last_attempt.at === app.clock.after(0),
    )
    await sleep(100)
    expect(receiver.of(at)).toHaveLength(21)
    expect(messages[20]?.body).toBe(messages[0]?.body)
    receiver.answers.delete(at)
    app.clock.pass(400)
    webhooks().wake()
    await settled(name, { delivered: 30, waiting: 0 })
    expect(new Set(receiver.of(at).map(({ headers }) => headers['webhook-id'])).size).toBe(30)
  })

  it('is disabled by 410, enabled manually, and gets missed events by a replay', async () => {
    const { name, at } = await endpoint()
    const from = app.clock.after(0)
    receiver.answers.set(at, status(410))
    await happen(1)
    await settled(name, { state: 'disabled', failed: 1, waiting: 0 })
    await happen(2)
    receiver.answers.delete(at)
    for (const verb of ['test', 'replay'])
      expect(refusal(await does(name, verb, verb === 'replay' ? { from } : undefined))).toEqual([
        409,
        'webhook_disabled',
      ])
    const enabled = bodyOf(200, await does(name, 'enable'))
    expect(enabled).toMatchObject({ name, state: 'active', waiting: 0 })
    await happen(1)
    await settled(name, { delivered: 1 })
    app.clock.pass(1)
    expect(bodyOf(202, await does(name, 'replay', { from, to: app.clock.after(0) }))).toEqual({ events: 4 })
    await settled(name, { delivered: 5, waiting: 0 })
    expect(bodyOf(202, await does(name, 'replay', { from, to: from }))).toEqual({ events: 0 })
    expect(Object.keys(brokenFields(await does(name, 'replay', {})))).toEqual(['from'])
    expect(Object.keys(brokenFields(await does(name, 'replay', { from, to: '2001-01-01T00:00:00Z' })))).toEqual([
      'from',
    ])
  })

  /** Has 64 events delivered, and sent again: sixteen wait for their answers, the others were read ahead. */
  const sixteenInFlight = async (name: string, at: string): Promise<ServerResponse[]> => {
    const from = app.clock.after(0)
    await happen(64)
    await settled(name, { delivered: 64 })
    const held: ServerResponse[] = []
    receiver.answers.set(at, (response) => held.push(response))
    app.clock.pass(1)
    expect(bodyOf(202, await does(name, 'replay', { from, to: app.clock.after(0) }))).toEqual({ events: 64 })
    await until('sixteen at a time', async () => held.length === 16)
    return held
  }

  it('gets only attempts in flight after 410', async () => {
    const { name, at } = await endpoint()
    const held = await sixteenInFlight(name, at)
    receiver.answers.set(at, (response) => void held.push(response.writeHead(204).end()))
    held.forEach((response, n) => response.writeHead(n === 0 ? 410 : 204).end())
    await settled(name, { state: 'disabled' })
    // Some answers may be read before the first one.
    expect(held.length).toBeLessThan(24)
  })

  it('gets only attempts in flight once the lease has ended and cannot be renewed', async () => {
    const { name, at } = await endpoint()
    const held = await sixteenInFlight(name, at)
    receiver.answers.delete(at)
    let renewable = (): void => undefined
    const locked = new Promise<void>((has) => {
      void app.app.get(TransactionRunner).write(async (transaction) => {
        await webhooks().store.one(transaction, name, true)
        has()
        await new Promise<void>((resolve) => (renewable = resolve))
      })
    })
    await locked
    app.clock.pass(11)
    held.forEach((response) => response.writeHead(204).end())
    await sleep(200)
    renewable()
    // Within the same turn of the event loop: nothing was sent before.
    expect(receiver.of(at)).toHaveLength(64 + 16)
    await settled(name, { delivered: 128, waiting: 0 })
    expect(receiver.of(at)).toHaveLength(128)
  })

  it('gets no message that was made for what it was before', async () => {
    const { name, at } = await endpoint()
    const held = await sixteenInFlight(name, at)
    receiver.answers.delete(at)
    hooks.list = [{ name, ...{ kind: 'slack', url: receiver.url(at) } }]
    await take()
    held.forEach((response) => response.writeHead(204).end())
    await settled(name, { delivered: 128, waiting: 0 })
    const later = receiver.of(at).slice(64 + 16)
    expect(later.map(({ body }) => Object.keys(JSON.parse(body) as object))).toEqual(
      Array.from({ length: 48 }, () => ['text']),
    )
  })

  it('gives up what is too old, but not by a time that is in doubt', async () => {
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(500))
    await happen(1)
    await until('the first attempt', async () => (await shown(name)).last_attempt !== null)
    receiver.answers.set(at, status(503))
    app.clock.steadyMs = 0
    app.clock.pass(31 * 86_400)
    webhooks().wake()
    const second = await until('the second attempt', async () => {
      const { last_attempt: attempt, waiting, failed } = await shown(name)
      return (attempt.status === 503 || failed > 0) && { waiting, failed }
    })
    expect(second).toEqual({ waiting: 1, failed: 0 })
    app.clock.steadyMs = Infinity
    webhooks().wake()
    await settled(name, { waiting: 0, failed: 1 })
  })

  it('keeps the previous endpoints if the file is invalid or incomplete', async () => {
    const { name, at } = await endpoint()
    for (const text of ['', '[{"name":', '{}', JSON.stringify([{ ...hooks.list[0], url: 'http://example.com' }])]) {
      await writeFile(hooks.path, text)
      await webhooks().file.readAgain()
      expect(webhooks().file.stale).toBe(true)
    }
    await happen()
    await come(at, 1)
    await take()
    expect(webhooks().file.stale).toBe(false)
    await settled(name, { delivered: 1, state: 'active' })
  })

  /** An endpoint that no file names any more, after a failed attempt. @returns also what the file named before */
  async function removedWhileItFails() {
    await announceForAMinute()
    const { name, at } = await endpoint()
    receiver.answers.set(at, status(500))
    await happen(1)
    await until('the first attempt', async () => (await shown(name)).last_attempt !== null)
    const gone = hooks.list
    hooks.list = []
    await take()
    return { name, at, gone }
  }

  it('is removed if no file names it any more, and begins anew if one names it again', async () => {
    const { name, at, gone } = await removedWhileItFails()
    expect(await shown(name)).toMatchObject({
      state: 'removed',
      failed: 1,
      waiting: 0,
      url: null,
      types: [],
      channels: [],
    })
    expect(refusal(await does(name, 'enable'))).toEqual([409, 'webhook_disabled'])
    expect(refusal(await does(name, 'test'))).toEqual([409, 'webhook_disabled'])
    await happen(1)
    receiver.answers.delete(at)
    hooks.list = gone
    await take()
    const [id] = await happen(1)
    await settled(name, { delivered: 1, state: 'active', waiting: 0 })
    expect(JSON.parse(receiver.of(at).at(-1)?.body ?? '').data.quota_id).toBe(id)
    expect(receiver.of(at)).toHaveLength(2)
  })

  it('stays after an outage, whichever instance announces itself first', async () => {
    const { name } = await endpoint()
    const clock = new TestClock(app.clock.after(0))
    // It names no endpoint.
    const other = await TestApp.start(store, { clock })
    try {
      const { registry } = other.app.get(Webhooks)
      await registry.announce()
      clock.pass(90)
      await registry.announce()
      expect(await shown(name)).toMatchObject({ state: 'active' })
    } finally {
      await other.stop()
    }
    // One that starts after the outage knows no gap.
    const started = await TestApp.start(store, { clock })
    try {
      await started.app.get(Webhooks).registry.announce()
      expect(await shown(name)).toMatchObject({ state: 'active' })
    } finally {
      await started.stop()
    }
  })

  it('begins anew only when nothing is left of its long queue, which delays no announcement', async () => {
    const { name, at, gone } = await removedWhileItFails()
    const database = app.app.get(DataSource)
    const past = "'2026-11-01 00:00:00.000'"
    await database.query(
      'INSERT INTO webhook_delivery (name, channel, position, at, attempts, next_at) ' +
        `SELECT '${name}', 'mail', MAX(position), ${past}, 1, ${past} FROM mail_event`,
    )
    for (let rows = 1; rows < 30_000; rows *= 2)
      await database.query(
        'INSERT INTO webhook_delivery (name, channel, position, at, attempts, next_at) SELECT name, channel, ' +
          `position + ${rows}, at, attempts, next_at FROM webhook_delivery WHERE name = '${name}'`,
      )
    expect(await webhooks().registry.announce()).toBe(false)
    receiver.answers.delete(at)
    hooks.list = gone
    await take()
    await until('the queue is empty', async () => (await webhooks().announce(), (await shown(name)).state === 'active'))
    const [{ n }] = await database.query(`SELECT COUNT(*) AS n FROM webhook_delivery WHERE name = '${name}'`)
    expect(Number(n)).toBe(0)
    await happen(1)
    await settled(name, { delivered: 1, state: 'active', waiting: 0 })
  })

  it('is measured', async () => {
    const { name, at } = await endpoint()
    await happen()
    await settled(name, { delivered: 1 })
    await webhooks().announce()
    const { text } = await app.get('/metrics')
    expect(text).toContain(`quota_webhook_deliveries_total{endpoint="${name}",result="delivered"} 1`)
    expect(text).toContain(`quota_webhook_oldest_waiting_seconds{endpoint="${name}"} 0`)
    expect(text).toContain(`quota_webhook_disabled{endpoint="${name}"} 0`)
    receiver.answers.set(at, status(500))
    await happen()
    await come(at, 2)
    await settled(name, { waiting: 1 })
    app.clock.pass(4)
    // Twice: the first one may be one that has begun before.
    for (let time = 0; time < 2; time += 1) await webhooks().announce()
    const late = await app.get('/metrics')
    expect(late.text).toContain(`quota_webhook_oldest_waiting_seconds{endpoint="${name}"} 4\n`)
  })

  it('returns its lease at an orderly shutdown', async () => {
    const leaving = { name: 'leaving', url: receiver.url('/leaving'), secrets: [secret()] }
    const file = join(hooks.folder, 'leaving.json')
    await writeFile(file, JSON.stringify([leaving]))
    const other = await TestApp.start(store, {
      env: { WEBHOOKS_FILE: file },
      clock: new TestClock(new Date(app.clock.now()).toISOString()),
    })
    const row = async (): Promise<Body> =>
      (
        await app.app
          .get(DataSource)
          .query('SELECT holder, delivered, waiting FROM webhook WHERE name = ?', ['leaving'])
      )[0]
    await until('the lease', async () => (await row())?.holder != null)
    await happen(3)
    await come('/leaving', 3)
    await other.stop()
    const { holder, delivered, waiting } = await row()
    // Answers that were still on their way are not recorded: another instance sends these again.
    expect([holder, Number(delivered) + Number(waiting)]).toEqual([null, 3])
  })
})
