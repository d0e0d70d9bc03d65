import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector } from './support/connector.js'
import { Detour } from './support/detour.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const PATIENCE_MS = 240_000
const TOKEN = 'a token of callers of the connector'

let service: Instance
let folder: string
let connector: Connector

const user = (account: number): string => `user-${account}@example.org`
const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  QUOTA_URL: service.url,
  QUOTA_TOKEN: ADMIN,
  ACCOUNTS_FILE: join(folder, 'accounts'),
  HTTP_TOKEN: TOKEN,
  ...more,
})
const total = async (account: number, units: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used

interface Said {
  readonly status: number
  readonly body: { readonly action?: string; readonly error?: string; readonly response?: { message: string } }
}
const post = async (to: Connector, path: string, body: unknown, token = TOKEN, signal?: AbortSignal): Promise<Said> => {
  const response = await fetch(`http://127.0.0.1:${to.http}${path}`, {
    method: 'POST',
    // Each over a connection of its own: on a busy machine, the other side may just have closed an idle one.
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
  return { status: response.status, body: (await response.json()) as Said['body'] }
}
/** Asks until the service could be asked in time: a busy machine is told to come again, and nothing is charged. */
const asked = async (path: string, body: unknown, of = connector): Promise<Said> => {
  for (;;) {
    const said = await post(of, path, body)
    if (said.body.response?.message.includes('cannot be checked') !== true) return said
    while ((await of.metric('quota_postfix_doubts ')) > 0) await sleep(50)
  }
}
const hook = (account: number, recipients: number, more: object = {}): object => ({
  context: { stage: 'data', sasl: { login: user(account) }, client: { ip: '192.0.2.7' }, queue: { id: '2f5d9' } },
  envelope: {
    from: { address: user(account) },
    to: times(recipients).map((n) => ({ address: `b-${n}@elsewhere.test` })),
  },
  message: { headers: [['Subject', 'test']], contents: 'text', size: 1_234 },
  ...more,
})
const ACCEPTED = { status: 200, body: { action: 'accept' } }

beforeAll(async () => {
  const [kind] = STORES
  service = await Instance.start((await kind!.open()).url)
  folder = temporaryFolder('quota-http-')
  await writeFile(
    join(folder, 'accounts'),
    times(100)
      .map((n) => `${user(n + 1)} ${n + 1}\n`)
      .join(''),
  )
  connector = await Connector.start(settings())
}, PATIENCE_MS)

describe('the connector over HTTP', () => {
  it('answers a hook of Stalwart at the stage data, with a reply of SMTP if it refuses', async () => {
    await total(1, 5)
    const early = {
      context: { stage: 'rcpt', client: { ip: '192.0.2.7' } },
      envelope: { from: { address: 'a' }, to: [] },
    }
    expect(await post(connector, '/mta-hook', early)).toEqual(ACCEPTED)
    expect(await asked('/mta-hook', hook(1, 3))).toEqual(ACCEPTED)
    expect(await usedBy(1)).toBe(3)
    expect(await asked('/mta-hook', hook(1, 3))).toEqual({
      status: 200,
      body: {
        action: 'reject',
        response: {
          status: 550,
          message:
            '5.7.1 Sending quota exceeded: 3 recipients asked for, 2 left. Waiting does not help; send to at most 2 at a time, or ask your administrator',
        },
      },
    })
    const unknown = hook(1, 1, { context: { stage: 'data', client: { ip: '192.0.2.7' } } })
    expect(await post(connector, '/mta-hook', unknown)).toMatchObject({
      body: {
        action: 'reject',
        response: { status: 451, message: expect.stringMatching(/^4\.7\.1 No sending quota/) },
      },
    })
    expect(await usedBy(1)).toBe(3)
    expect(connector.log.find(({ account }) => account === 1)).toMatchObject({ queue_id: '2f5d9', recipients: 3 })
  })

  it('answers plugins: checks at data, charges at the end, once for each id', async () => {
    await total(2, 5)
    const message = { login: user(2), sender: user(2), recipients: 3 }
    expect(await asked('/message', { ...message, stage: 'data' })).toEqual(ACCEPTED)
    expect(await usedBy(2)).toBe(0)
    for (let n = 0; n < 3; n += 1) expect(await asked('/message', { ...message, id: 'one' })).toEqual(ACCEPTED)
    expect(await usedBy(2)).toBe(3)
    expect(await asked('/message', { ...message, stage: 'data' })).toMatchObject({ body: { action: 'reject' } })
    expect(await asked('/message', { ...message, recipients: 2 })).toEqual(ACCEPTED)
    expect(await usedBy(2)).toBe(5)
  })

  it('refunds what was charged for a caller that had gone before the answer, unless it may ask again', async () => {
    await total(3, 100)
    const slow = await Detour.start(service.url)
    // The end of the connection is noticed before the answer comes.
    slow.delayMs = 1_200
    const late = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const leave = async (body: object): Promise<void> => {
      const gone = new AbortController()
      const before = slow.paths.length
      const said = post(late, '/message', body, TOKEN, gone.signal).catch(() => undefined)
      while (!slow.paths.slice(before).some((path) => path.startsWith(MAIL.consume))) await sleep(5)
      gone.abort()
      await said
    }
    await leave({ login: user(3), recipients: 4 })
    while ((await late.metric('quota_postfix_doubts_settled_total', 'outcome="refunded"')) === 0) await sleep(50)
    expect(await usedBy(3)).toBe(0)
    const named = { id: 'again', login: user(3), recipients: 4 }
    await leave(named)
    let said = await post(late, '/message', named)
    while (said.body.action !== 'accept') said = await post(late, '/message', named)
    expect(await usedBy(3)).toBe(4)
  })

  it.each([
    [401, '/message', {}, 'another token that is long enough', /bearer token/],
    [404, '/elsewhere', {}, TOKEN, /\/message and \/mta-hook/],
    [400, '/message', '{', TOKEN, /JSON/],
    [400, '/message', { login: 1, recipients: 'many' }, TOKEN, /login must be a string; recipients must be an integer/],
    [400, '/message', { login: 'ann' }, TOKEN, /without recipients/],
    [413, '/message', `[${'1,'.repeat(300_000)}1]`, TOKEN, /bytes/],
  ])('answers %d to what is no question (%s)', async (status, path, body, token, error) => {
    expect(await post(connector, path, body, token)).toEqual({ status, body: { error: expect.stringMatching(error) } })
  })

  it('answers only POST, and a message of 30 MB within a hook takes no memory', async () => {
    const got = await fetch(`http://127.0.0.1:${connector.http}/message`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    expect(got.status).toBe(405)
    await total(4, 5)
    const before = await connector.metric('process_resident_memory_bytes')
    const message = { headers: [], contents: 'x'.repeat(30_000_000), size: 30_000_000 }
    for (let n = 0; n < 5; n += 1) expect(await asked('/mta-hook', hook(4, 1, { message }))).toEqual(ACCEPTED)
    expect((await connector.metric('process_resident_memory_bytes')) - before).toBeLessThan(100_000_000)
    expect(await usedBy(4)).toBe(5)
  })

  it('charges no recipients of LOCAL_DOMAINS, and null senders with a login alone', async () => {
    await total(6, 20)
    const local = await Connector.start(settings({ LOCAL_DOMAINS: 'local.test', NULL_SENDER: 'pass' }))
    const mixed = ['a@local.test', 'b@elsewhere.test', 'c@LOCAL.test', 'd%elsewhere.test@local.test']
    for (const [login, recipients, sender, cost] of [
      [user(6), mixed, user(6), 2],
      [user(6), ['a@local.test'], user(6), 0],
      ['', ['a@local.test'], 'eve@elsewhere.test', 0],
      ['', ['b@elsewhere.test'], '', 0],
      [user(6), ['b@elsewhere.test'], '', 1],
    ] as const) {
      const before = await usedBy(6)
      expect(await asked('/message', { login, sender, recipients }, local)).toEqual(ACCEPTED)
      const envelope = { from: { address: sender }, to: recipients.map((address) => ({ address })) }
      const context = { stage: 'data', ...(login === '' ? {} : { sasl: { login } }) }
      expect(await asked('/mta-hook', { context, envelope }, local)).toEqual(ACCEPTED)
      expect(await usedBy(6)).toBe(before + 2 * cost)
    }
    // A number names nobody.
    expect(await asked('/message', { login: user(6), recipients: 2 }, local)).toEqual(ACCEPTED)
    expect(await usedBy(6)).toBe(8)
  })

  it.each([
    ['defer', { action: 'reject', response: { status: 451, message: '4.7.1 No quota here; ask quota@example.org' } }],
    ['pass', { action: 'accept' }],
    ['reject', { action: 'reject', response: { status: 550, message: '5.7.1 No quota here; ask quota@example.org' } }],
  ])(
    'answers accounts without a quota as it is told to, in the words of its language file: %s',
    async (setting, said) => {
      const file = join(folder, `${setting}.txt`)
      const texts = await readFile('connectors/mail/texts/de.txt', 'utf8')
      await writeFile(file, texts.replace(/^no_quota = .*$/m, 'no_quota = No quota here; ask {contact}'))
      const env = { NO_QUOTA: setting, CONTACT: 'quota@example.org', TEXTS_FILE: file }
      const strict = await Connector.start(settings(env))
      expect((await asked('/message', { login: user(70), recipients: 1 }, strict)).body).toEqual(said)
    },
  )

  it('ends when it is told to: after pending answers, and not for idle or unfinished requests', async () => {
    await total(5, 10)
    const slow = await Detour.start(service.url)
    slow.delayMs = 500
    const ending = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const said = post(ending, '/message', { login: user(5), recipients: 1 })
    const half = connect(ending.http, '127.0.0.1')
    half.on('error', () => undefined)
    half.write(`POST /message HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 9\r\n\r\n{`)
    while (!slow.paths.some((path) => path.startsWith(MAIL.consume))) await sleep(5)
    ending.signal('SIGTERM')
    expect((await said).status).toBe(200)
    expect(await ending.exited).toBe(0)
  })

  it('wants a token of its own', async () => {
    const broken = await Connector.start(settings({ HTTP_TOKEN: '' }))
    expect(await broken.exited).toBe(1)
    expect(broken.stderr).toContain('  - one of HTTP_TOKEN and HTTP_TOKEN_FILE')
    const off = await Connector.start(settings({ LISTEN: 'off', MILTER_LISTEN: 'off', HTTP_LISTEN: 'off' }))
    expect(await off.exited).toBe(1)
    expect(off.stderr).toContain('  - one of LISTEN, MILTER_LISTEN and HTTP_LISTEN')
  })
})
