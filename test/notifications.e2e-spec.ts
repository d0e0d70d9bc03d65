import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { Endpoints, until } from './support/endpoints.js'
import { type Mail, MailServer, parsed } from './support/mail-server.js'
import { type Body, bodyOf, fresh, stopSweepers } from './support/quota-api.js'
import { Receiver, status } from './support/receiver.js'
import { onEveryStore, type Store } from './support/store.js'
import { TcpProxy } from './support/tcp-proxy.js'

const HOUR = 3_600

onEveryStore('mail and chat', (kind) => {
  let store: Store
  let app: TestApp
  let receiver: Receiver
  let server: MailServer
  let hooks: Endpoints
  let lastPerson = 0

  const start = async (): Promise<TestApp> => {
    const started = await TestApp.start(store, { env: { WEBHOOKS_FILE: hooks.path }, clock })
    await stopSweepers(started)
    return started
  }
  const person = (): string => `person-${(lastPerson += 1)}@example.org`
  /** Adds mailboxes. @returns the endpoint's name, and its recipients */
  const mail = async (more: object = {}, count = 1): Promise<{ name: string; to: string[] }> => {
    const to = Array.from({ length: count }, person)
    const base = {
      kind: 'mail',
      to,
      from: 'quota@example.org',
      smtp: server.url,
      base_url: 'https://quota.example.org',
    }
    return { name: await hooks.add(() => ({ ...base, ...more })), to }
  }
  const chat = async (more: object = {}): Promise<{ name: string; at: string }> => {
    const name = await hooks.add((own) => ({ kind: 'slack', url: receiver.url(`/services/${own}`), ...more }))
    return { name, at: `/services/${name}` }
  }
  const come = async (address: string, count: number): Promise<Mail[]> =>
    until(`${count} mails to ${address}`, async () => server.to(address).length >= count && server.to(address))
  const texts = (at: string): string[] => receiver.of(at).map(({ body }) => JSON.parse(body).text as string)
  const clock = new TestClock(new Date(Math.ceil(Date.now() / 86_400_000) * 86_400_000).toISOString())

  beforeAll(async () => {
    store = await kind.open()
    receiver = await Receiver.start()
    server = await MailServer.start()
    hooks = await Endpoints.make()
    app = await start()
    hooks.app = app
  })

  beforeEach(() => {
    hooks.list = []
    server.behaviour = 'ordinary'
    server.refused.clear()
  })

  it('mails an event once to all, with headers that never change, and no markup of the label', async () => {
    const { name, to } = await mail({}, 2)
    const label = 'Früh\u2028Bcc: x@example.org \u202Elairetxe <b>'
    const [id] = await hooks.happen(1, undefined, undefined, { label })
    await hooks.settled(name, { delivered: 1, waiting: 0 })
    const [received] = await come(to[0]!, 1)
    expect(received?.to).toEqual(to)
    const { headers, body } = parsed(received?.text ?? '')
    const [event] = bodyOf(200, await app.get(`/api/v1/quotas/events?quota_id=${id}`)).items
    expect(Object.fromEntries(headers)).toEqual({
      From: 'quota@example.org',
      To: to.join(', '),
      Subject: expect.stringMatching(/^=\?UTF-8\?/),
      'Message-ID': `<${event.id}.${name}@example.org>`,
      Date: new Date(event.at).toUTCString().replace('GMT', '+0000'),
      'Auto-Submitted': 'auto-generated',
      'MIME-Version': '1.0',
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Transfer-Encoding': 'quoted-printable',
    })
    expect(body).toContain(`created quota ${id} of mail account ${event.account_id}.`)
    expect(body).toContain('Label: “Früh Bcc: x@example.org lairetxe <b>”\n')
    expect(body).toContain(`https://quota.example.org/admin/mail/quotas/${id}\n`)
    expect((await hooks.shown(name)).url).toBe(server.url)
    expect((await hooks.shown(name)).last_attempt).toMatchObject({ status: 250, error: null })
    expect(bodyOf(200, await hooks.does(name, 'test'))).toMatchObject({ status: 250, error: null })
    expect(parsed(server.to(to[0]!)[1]?.text ?? '').headers.get('Subject')).toBe('Test of the quota service')
  })

  it('posts texts to a chat, where labels are no markup, and tries again as ever', async () => {
    const { name, at } = await chat()
    receiver.answers.set(at, status(500))
    await hooks.happen(1, '/api/sms/admin/quota', 'user_id', { label: '<!channel> *x* `y` @all & co' })
    await until('a failure', async () => (await hooks.shown(name)).last_attempt !== null)
    receiver.answers.delete(at)
    clock.pass(6)
    await hooks.settled(name, { delivered: 1, waiting: 0 })
    const [first, second] = receiver.of(at)
    expect(second?.body).toBe(first?.body)
    expect(Object.keys(JSON.parse(first?.body ?? ''))).toEqual(['text'])
    expect(first?.headers['webhook-signature']).toBeUndefined()
    expect(texts(at)[0]).toContain("Label: `&lt;!channel&gt; *x* 'y' ＠all &amp; co`\n")
    expect(await hooks.shown(name)).toMatchObject({ kind: 'slack', url: new URL(receiver.url('/')).origin })
    receiver.answers.set(at, status(410))
    await hooks.happen()
    await hooks.settled(name, { state: 'disabled', failed: 1 })
  })

  it('sends to those alone who have not received it, with the same bytes, by another instance too', async () => {
    const { name, to } = await mail({}, 3)
    const [first = '', greylisted = '', gone = ''] = to
    server.refused.set(greylisted, [451, `<${greylisted}>: come again`])
    server.refused.set(gone, [550, 'no such person'])
    await hooks.happen()
    await come(first, 1)
    await until('the attempt to be recorded', async () => (await hooks.shown(name)).last_attempt !== null)
    expect(await hooks.shown(name)).toMatchObject({
      waiting: 1,
      delivered: 0,
      last_attempt: { status: 451, error: expect.stringMatching(/^answered 451 (4\S+ )?<\*{3}>: come again/) },
    })
    await app.stop()
    app = await start()
    hooks.app = app
    server.refused.delete(greylisted)
    clock.pass(6)
    const [second] = await come(greylisted, 1)
    expect(second?.to).toEqual([greylisted])
    expect(second?.text).toBe(server.to(first)[0]?.text)
    await until('a refusal for good', async () => (await hooks.shown(name)).last_attempt?.status === 550)
    server.refused.delete(gone)
    clock.pass(400)
    expect((await come(gone, 1)).map((one) => one.to)).toEqual([[gone]])
    await hooks.settled(name, { delivered: 1, waiting: 0, failed: 0 })
    for (const address of to) expect(server.to(address)).toHaveLength(1)
  })

  it('is held up neither by a server that greets nobody nor by one that closes in the middle', async () => {
    const { name, to } = await mail()
    const other = await chat()
    server.behaviour = 'never'
    const before = server.connected
    await hooks.happen()
    await until('a connection', async () => server.connected > before)
    await hooks.settled(other.name, { delivered: 1 })
    await hooks.happen()
    await hooks.settled(other.name, { delivered: 2 })
    await hooks.settled(name, { waiting: 2, last_attempt: null })
    const cut = await mail()
    server.behaviour = 'cuts'
    await hooks.happen()
    await until('a failure', async () => (await hooks.shown(cut.name)).last_attempt !== null)
    expect((await hooks.shown(cut.name)).last_attempt).toMatchObject({
      status: null,
      error: expect.stringMatching(/\w/),
    })
    expect(server.to(to[0]!).concat(server.to(cut.to[0]!))).toEqual([])
    server.behaviour = 'ordinary'
    clock.pass(6)
    await hooks.settled(cut.name, { delivered: 1, waiting: 0 })
    expect(server.to(cut.to[0]!)).toHaveLength(1)
  })

  it('filters by the beginning of a label as the list does, of owners by any live quota, and by group', async () => {
    const owner = fresh()
    const group = bodyOf(201, await app.post('/api/v1/quotas/groups', { name: `g-${owner}` })).id
    const labelled = await chat({ filter: { label: 'früh' }, channels: ['mail'] })
    const grouped = await chat({ filter: { group_id: group }, channels: ['mail'] })
    const quota = { quota_type: 1, total: 1, expire_at: '2030-01-01T00:00:00Z' }
    await hooks.happen(2)
    await hooks.happen(1, undefined, undefined, { account_id: owner, total: 1, label: 'FRÜH 1' })
    bodyOf(201, await app.post('/api/v1/quotas', { ...quota, group_id: group, per: 'group', label: 'other' }))
    bodyOf(200, await app.post(`/api/v1/quotas/groups/${group}/members`, { account_ids: [owner] }))
    const consume = { account_id: owner, amount: 9 }
    expect((await app.post('/api/v1/quotas/usage/consume', consume, { key: `k-${owner}` })).status).toBe(409)
    clock.pass(10)
    await hooks.settled(labelled.name, { delivered: 2, waiting: 0 })
    await hooks.settled(grouped.name, { delivered: 2, waiting: 0 })
    const refusal = expect.stringContaining(`Requests of mail account ${owner} are refused`)
    const sorted = (at: string): string[] => texts(at).sort((a, b) => a.length - b.length)
    expect(sorted(labelled.at)).toEqual([expect.stringContaining('FRÜH 1'), refusal])
    expect(sorted(grouped.at)).toEqual([expect.stringContaining(`of mail group ${group}`), refusal])
    expect(sorted(labelled.at)[1]).toContain('Label: `FRÜH 1`')
    const { events } = bodyOf(202, await hooks.does(labelled.name, 'replay', { from: clock.after(-60) }))
    expect(events).toBe(2)
    await hooks.settled(labelled.name, { delivered: 4, waiting: 0 })
  })

  it('collects events for an hour, tells the worst first, and the same again after a failure and by a replay', async () => {
    clock.set(Math.ceil((clock.now() + 1) / (HOUR * 1000)) * HOUR * 1000)
    // Refusals of the test before end meanwhile.
    const types = ['quota.created', 'quota.threshold_reached']
    const { name, to } = await mail({ digest: 'hourly', types })
    const [address = ''] = to
    const at = clock.after(0)
    const ids = await hooks.happen(55, undefined, undefined, { thresholds: [80, 100], total: 10 })
    const quotas: Body[] = []
    for (const id of ids.slice(0, 2)) quotas.push(bodyOf(200, await app.get(`/api/v1/quotas/${id}`)))
    clock.pass(60)
    const uses = async (n: number, amount: number): Promise<void> => {
      const body = { account_id: quotas[n].account_id, amount }
      bodyOf(200, await app.post('/api/v1/quotas/usage/consume', body, { key: `${name}-${n}-${amount}` }))
    }
    await uses(0, 8)
    await uses(1, 10)
    await hooks.settled(name, { waiting: 57, delivered: 0, oldest_waiting_at: at })
    clock.set(Date.parse(at) + HOUR * 1000)
    await sleep(100)
    server.refused.set(address, [451, 'not now'])
    await hooks.happen(1)
    clock.pass(5)
    await until('the first attempt', async () => (await hooks.shown(name)).last_attempt !== null)
    // The event of the next hour is queued by a later step than the attempt.
    await hooks.settled(name, { waiting: 58, delivered: 0 })
    server.refused.clear()
    clock.pass(6)
    const [digest] = await come(address, 1)
    await hooks.settled(name, { delivered: 57, waiting: 1, failed: 0 })
    const { headers, body } = parsed(digest?.text ?? '')
    expect(headers.get('Date')).toBe(new Date(Date.parse(at) + HOUR * 1000).toUTCString().replace('GMT', '+0000'))
    const [oldest] = bodyOf(200, await app.get(`/api/v1/quotas/events?quota_id=${ids[0]}`)).items
    expect(headers.get('Message-ID')).toBe(`<${oldest.id}.57.${name}@example.org>`)
    const lines = body.split('\n').filter((line) => line.startsWith('• '))
    expect(lines).toHaveLength(50)
    expect(lines[0]).toContain(`100 % of quota ${ids[1]} used, 10 of 10`)
    expect(lines[1]).toContain(`80 % of quota ${ids[0]} used, 8 of 10`)
    expect(lines[2]).toContain(`quota ${ids[0]} created`)
    expect(body).toContain('\nand 7 others.\n')

    // Nothing happens in the hour after the next one.
    clock.pass(HOUR)
    await come(address, 2)
    clock.pass(HOUR)
    await hooks.settled(name, { delivered: 58, waiting: 0 })
    expect(bodyOf(202, await hooks.does(name, 'replay', { from: at }))).toEqual({ events: 58 })
    await hooks.settled(name, { delivered: 116, waiting: 0 })
    const mails = server.to(address)
    expect(mails).toHaveLength(4)
    expect(
      mails
        .slice(2)
        .map(({ text }) => text)
        .sort(),
    ).toEqual(
      mails
        .slice(0, 2)
        .map(({ text }) => text)
        .sort(),
    )
  })

  it('replays into digests what waits in none, and part of a digest as another message', async () => {
    clock.set(Math.ceil((clock.now() + 1) / (HOUR * 1000)) * HOUR * 1000)
    const { name, to } = await mail({ digest: 'hourly', types: ['quota.created'] })
    const [address = ''] = to
    const from = clock.after(0)
    await hooks.happen(3)
    await hooks.settled(name, { waiting: 3 })
    expect(bodyOf(202, await hooks.does(name, 'replay', { from }))).toEqual({ events: 3 })
    await hooks.settled(name, { waiting: 3 })
    clock.pass(60)
    const later = clock.after(0)
    await hooks.happen(1)
    await hooks.settled(name, { waiting: 4 })
    clock.pass(HOUR)
    await hooks.settled(name, { waiting: 0, delivered: 4 })
    expect(bodyOf(202, await hooks.does(name, 'replay', { from, to: later }))).toEqual({ events: 3 })
    await hooks.settled(name, { waiting: 0, delivered: 7 })
    const ids = server.to(address).map(({ text }) => parsed(text).headers.get('Message-ID'))
    expect(new Set(ids).size).toBe(2)
    expect(ids).toHaveLength(2)
  })

  it('sends a digest that is due and was refused, though a longer period is wanted since', async () => {
    clock.set((Math.ceil(clock.now() / (24 * HOUR * 1000)) * 24 + 10) * HOUR * 1000)
    const { name, to } = await mail({ digest: 'hourly', types: ['quota.created'] })
    const [address = ''] = to
    await hooks.happen(2)
    await hooks.settled(name, { waiting: 2 })
    server.refused.set(address, [451, 'not now'])
    clock.pass(HOUR + 5)
    await until('the first attempt', async () => (await hooks.shown(name)).last_attempt !== null)
    hooks.list = hooks.list.map((one) => ({ ...one, digest: 'daily' }))
    await hooks.take()
    server.refused.clear()
    clock.pass(6)
    await hooks.settled(name, { waiting: 0, delivered: 2 })
  })

  it('fails an event whose message cannot be made like one that is refused, and sends the others', async () => {
    const { name, at } = await chat({ types: ['quota.threshold_reached'] })
    receiver.answers.set(at, status(503))
    const ids = await hooks.happen(2, undefined, undefined, { thresholds: [50], total: 10 })
    for (const id of ids) {
      const { account_id: owner } = bodyOf(200, await app.get(`/api/v1/quotas/${id}`))
      const body = { account_id: owner, amount: 9 }
      bodyOf(200, await app.post('/api/v1/quotas/usage/consume', body, { key: `${name}-${id}` }))
    }
    await hooks.settled(name, { waiting: 2 })
    await until('an attempt', async () => (await hooks.shown(name)).last_attempt !== null)
    const [damaged, sound] = ids
    const damage = `UPDATE mail_event SET data_json = '{}' WHERE quota_id = ${damaged} AND type = 'quota.threshold_reached'`
    await app.app.get(DataSource).query(damage)
    receiver.answers.delete(at)
    clock.pass(400)
    await hooks.settled(name, { waiting: 1, delivered: 1, failed: 0 })
    expect(texts(at).at(-1)).toContain(`quota ${sound}.`)
    clock.pass(HOUR)
    await until('another attempt', async () => (await hooks.shown(name)).last_attempt.error !== null)
    expect((await hooks.shown(name)).last_attempt).toMatchObject({ status: null, error: expect.stringMatching(/\w/) })
  })

  it('gives up what was collected for people if the endpoint has become a program', async () => {
    clock.set(Math.ceil((clock.now() + 1) / (HOUR * 1000)) * HOUR * 1000)
    const types = ['quota.created']
    const { name, at } = await chat({ digest: 'hourly', types })
    const from = clock.after(0)
    await hooks.happen(2)
    await hooks.settled(name, { waiting: 2 })
    hooks.list = [{ name, ...{ url: receiver.url(at), secrets: [`whsec_${'A'.repeat(32)}`], types } }]
    await hooks.take()
    clock.pass(HOUR + 5)
    const { last_attempt: attempt } = await hooks.settled(name, { waiting: 0, failed: 2, delivered: 0 })
    expect(attempt).toMatchObject({ status: null, error: 'a webhook takes no digest' })
    expect(receiver.of(at)).toEqual([])
    expect(bodyOf(202, await hooks.does(name, 'replay', { from }))).toEqual({ events: 2 })
    await hooks.settled(name, { waiting: 0, delivered: 2 })
    expect(receiver.of(at).map(({ body }) => JSON.parse(body).type)).toEqual([...types, ...types])
  })

  if (kind.name !== 'SQLite')
    it('replays once if the answer to COMMIT is lost', async () => {
      const proxy = await TcpProxy.start(store.url)
      const url = new URL(proxy.url)
      url.protocol = new URL(store.url).protocol
      const { name, at } = await chat({ digest: 'hourly', types: ['quota.created'] })
      const from = clock.after(0)
      await hooks.happen(2)
      // An event that is numbered after its period is closed would join the next digest.
      await hooks.settled(name, { waiting: 2 })
      clock.pass(2 * HOUR)
      await hooks.settled(name, { waiting: 0, delivered: 2 })
      const env = { WEBHOOKS_FILE: hooks.path }
      const other = await TestApp.start({ ...store, url: url.toString() }, { env, clock })
      try {
        let lost = 0
        proxy.rule = ({ text, earlier }) => {
          const isReplay = earlier.some((one) => one.startsWith('UPDATE `webhook`') && one.includes('replays\\":[{'))
          if (lost > 0 || text !== 'COMMIT' || !isReplay) return 'pass'
          lost += 1
          return 'swallow'
        }
        const answer = await other.post(`/api/v1/webhooks/${name}/replay`, { from })
        expect([lost, bodyOf(202, answer)]).toEqual([1, { events: 2 }])
        await hooks.settled(name, { waiting: 0, delivered: 4 })
        expect(receiver.of(at)).toHaveLength(2)
      } finally {
        await other.stop()
        await proxy.close()
      }
    })

  it('tells a day at 07:00 in the zone, and draws no conclusion from a time that is in doubt', async () => {
    const { name, at } = await chat({ digest: 'daily', time_zone: 'Asia/Kolkata' })
    await hooks.settled(name, { state: 'active' })
    await hooks.happen(2)
    await hooks.settled(name, { waiting: 2 })
    // 07:00 there.
    const due = Math.ceil((clock.now() - 1.5 * HOUR * 1000) / (24 * HOUR * 1000)) * 24 * HOUR * 1000 + 1.5 * HOUR * 1000
    clock.steadyMs = 0
    clock.set(due + 5_000)
    hooks.webhooks.wake()
    await sleep(100)
    expect(receiver.of(at)).toEqual([])
    clock.steadyMs = Infinity
    await hooks.settled(name, { delivered: 2, waiting: 0 })
    expect(receiver.of(at)).toHaveLength(1)
    expect(texts(at)[0]).toContain(`2 events of quotas until ${new Date(due).toISOString().slice(0, 10)} 07:00 +05:30`)
  })

  it('tells each event once, and one digest, whatever number of instances there are', async () => {
    const single = await mail()
    const digest = await mail({ digest: 'hourly' })
    const other = await start()
    await hooks.happen(20)
    await hooks.settled(single.name, { delivered: 20, waiting: 0 })
    await hooks.settled(digest.name, { waiting: 20 })
    clock.pass(HOUR + 5)
    await hooks.settled(digest.name, { delivered: 20, waiting: 0 })
    await other.stop()
    expect(server.to(single.to[0]!)).toHaveLength(20)
    expect(server.to(digest.to[0]!)).toHaveLength(1)
  })
})
