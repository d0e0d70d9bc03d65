import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector, milterPacket, MilterClient } from './support/connector.js'
import { Detour } from './support/detour.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const PATIENCE_MS = 240_000

let service: Instance
let folder: string
let connector: Connector

const user = (account: number): string => `user-${account}@example.org`
const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  QUOTA_URL: service.url,
  QUOTA_TOKEN: ADMIN,
  ACCOUNTS_FILE: join(folder, 'accounts'),
  ...more,
})
const total = async (account: number, units: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used
/** Asks until the service could be asked in time: a busy machine is told to come again, and nothing is charged. */
const asked = async (send: () => Promise<string | undefined>, of = connector): Promise<string | undefined> => {
  for (;;) {
    const said = await send()
    if (said?.includes('cannot be checked') !== true) return said
    while ((await of.metric('quota_postfix_doubts ')) > 0) await sleep(50)
  }
}

beforeAll(async () => {
  const [kind] = STORES
  service = await Instance.start((await kind!.open()).url)
  folder = temporaryFolder('quota-milter-')
  const lines = [...times(100).map((n) => `${user(n + 1)} ${n + 1}\n`), '192.0.2.0/24 90\n']
  await writeFile(join(folder, 'accounts'), lines.join(''))
  connector = await Connector.start(settings())
}, PATIENCE_MS)

describe('the connector as a filter (milter)', () => {
  it('charges the accepted recipients at the end of each message, and refuses at DATA what does not fit', async () => {
    await total(1, 5)
    const milter = await MilterClient.to(connector.milter)
    expect(await asked(async () => milter.message(user(1), 3))).toBe('c')
    // Postfix does so after every message.
    milter.send('A')
    expect(await milter.message(user(1), 3)).toBe(
      'y550 5.7.1 Sending quota exceeded: 3 recipients asked for, 2 left. Waiting does not help; send to at most 2 at a time, or ask your administrator\0',
    )
    milter.send('A')
    expect(await usedBy(1)).toBe(3)
    expect(await asked(async () => milter.message(user(1), 2))).toBe('c')
    // Another session on the same connection.
    milter.send('K')
    milter.send('C', 'client.test\x004\x00\x19192.0.2.8\0')
    expect(await milter.message(user(1), 1)).toMatch(/^y550 5\.7\.1 /)
    milter.send('Q')
    expect(await milter.answer()).toBeUndefined()
    expect(await usedBy(1)).toBe(5)
  })

  it('never charges the login of one message for another, nor what is aborted before its end', async () => {
    await total(2, 10)
    const milter = await MilterClient.to(connector.milter)
    milter.envelope(user(2), 4)
    milter.send('A')
    expect(await asked(async () => milter.message('', 1))).toMatch(/^y451 4\.7\.1 No sending quota is known/)
    milter.send('A')
    milter.envelope(user(2), 4)
    milter.socket.destroy()
    const next = await MilterClient.to(connector.milter)
    expect(await asked(async () => next.message(user(2), 1))).toBe('c')
    expect(await asked(async () => next.message('', 1))).toMatch(/^y451 /)
    expect(await usedBy(2)).toBe(1)
  })

  it('refunds what was charged for a mail server that had gone before the answer', async () => {
    await total(3, 10)
    const slow = await Detour.start(service.url)
    // The end of the connection is noticed before the answer comes.
    slow.delayMs = 500
    const late = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const milter = await MilterClient.to(late.milter)
    milter.envelope(user(3), 4)
    milter.send('E')
    while (!slow.paths.some((path) => path.startsWith(MAIL.consume))) await sleep(5)
    milter.socket.destroy()
    while ((await late.metric('quota_postfix_doubts_settled_total', 'outcome="refunded"')) === 0) await sleep(50)
    expect(await usedBy(3)).toBe(0)
    expect(late.log.find(({ unheard }) => unheard === true)).toMatchObject({ account: 3, recipients: 4 })
  })

  it('refunds after a kill what it had charged and not answered, and nothing else', async () => {
    await total(7, 10)
    const slow = await Detour.start(service.url)
    const kept = settings({ QUOTA_URL: slow.url, STATE_DIRECTORY: join(folder, 'state') })
    const killed = await Connector.start(kept)
    const [one, other] = [await MilterClient.to(killed.milter), await MilterClient.to(killed.milter)]
    expect(await asked(async () => one.message(user(7), 2))).toBe('c')
    slow.loses = (path) => path.startsWith(MAIL.consume)
    other.envelope(user(7), 5)
    other.send('E')
    while ((await usedBy(7)) < 7) await sleep(20)
    killed.signal('SIGKILL')
    await killed.exited
    slow.loses = () => false
    const next = await Connector.start(kept)
    while ((await next.metric('quota_postfix_doubts_settled_total', 'outcome="refunded"')) === 0) await sleep(50)
    expect(await next.metric('quota_postfix_doubts ')).toBe(0)
    expect(await usedBy(7)).toBe(2)
  })

  it('defers with its own text while the service is away, and passes DATA', async () => {
    const lost = await Connector.start(settings({ QUOTA_URL: 'http://127.0.0.1:1' }))
    const milter = await MilterClient.to(lost.milter)
    milter.envelope(user(1), 1)
    milter.send('T')
    expect(await milter.answer()).toBe('c')
    milter.send('E')
    expect(await milter.answer()).toMatch(/^y451 4\.7\.1 Sending quotas cannot be checked at the moment/)
  })

  it('answers each step for a mail server that offers to leave out none, and checks recipients if told to', async () => {
    await total(4, 1)
    const strict = await Connector.start(settings({ CHECK_AT_RCPT: 'true', CONTACT: 'https://example.org/a%20b' }))
    const milter = await MilterClient.to(strict.milter, 0)
    const step = async (command: string, data = ''): Promise<string | undefined> => {
      milter.send(command, data)
      return milter.answer()
    }
    const message = async (): Promise<(string | undefined)[]> => {
      milter.send('D', `M{auth_authen}\0${user(4)}\0i\0ABCDEF\0`)
      const said = [await step('H', 'client.test\0'), await step('M', '<ann@example.org>\0')]
      said.push(await step('R', '<bob@example.org>\0'), await step('T'), await step('L', 'Subject\0a\0'))
      said.push(await step('N'), await step('B', 'text\r\n'), await step('E'))
      milter.send('A')
      return said
    }
    let said = await message()
    while (said.at(-1)?.includes('cannot be checked') === true) said = await message()
    expect(said).toEqual(times(8).map(() => 'c'))
    milter.send('D', `M{auth_authen}\0${user(4)}\0`)
    expect(await step('M', '<ann@example.org>\0')).toBe('c')
    expect(await step('R', '<bob@example.org>\0')).toMatch(
      /^y550 5\.7\.1 .* 0 left.*ask https:\/\/example.org\/a%%20b\0$/,
    )
    expect(await usedBy(4)).toBe(1)
    expect(strict.log.find(({ queue_id: id }) => id === 'ABCDEF')).toMatchObject({ account: 4 })
  })

  it('counts kB of headers and body, and checks what the client announces', async () => {
    await total(5, 3)
    const sized = await Connector.start(settings({ UNITS: 'kb' }))
    const milter = await MilterClient.to(sized.milter)
    const message = async (size: number): Promise<string | undefined> => {
      milter.envelope(user(5), 7)
      milter.send('L', 'Subject\0 test\0')
      milter.send('B', Buffer.alloc(size - 'Subject: test\r\n\r\n'.length))
      milter.send('E')
      return milter.answer()
    }
    expect(await asked(async () => message(2_000))).toBe('c')
    expect(await usedBy(5)).toBe(2)
    expect(await asked(async () => message(1_001))).toMatch(/^y550 .*2 kB asked for, 1 left/)
    milter.envelope(user(5), 1, ['SIZE=1001'])
    milter.send('T')
    expect(await milter.answer()).toMatch(/^y550 .*2 kB asked for, 1 left/)
    expect(await asked(async () => message(1_000))).toBe('c')
    expect(await usedBy(5)).toBe(3)
  })

  it('charges no recipients of LOCAL_DOMAINS, and null senders with a login alone', async () => {
    await total(8, 10)
    const local = await Connector.start(settings({ LOCAL_DOMAINS: 'local.test', NULL_SENDER: 'pass' }))
    const milter = await MilterClient.to(local.milter)
    const mixed = ['a@local.test', 'b@elsewhere.test', 'c@LOCAL.test', 'd%elsewhere.test@local.test']
    for (const [login, to, sender, used] of [
      [user(8), mixed, user(8), 2],
      [user(8), ['a@local.test', 'c@local.test'], user(8), 2],
      ['', ['a@local.test'], 'eve@elsewhere.test', 2],
      ['', ['b@elsewhere.test'], '', 2],
      [user(8), ['b@elsewhere.test'], '', 3],
    ] as const) {
      expect(await asked(async () => milter.message(login, to, sender), local)).toBe('c')
      milter.send('A')
      expect(await usedBy(8)).toBe(used)
    }
    expect(await milter.message('', ['a@local.test', 'b@elsewhere.test'])).toMatch(/^y451 4\.7\.1 No sending quota/)
  })

  it.each([
    ['defer', /^y451 4\.7\.1 This account has no sending quota; please ask quota@example.org/],
    ['pass', /^c$/],
    ['reject', /^y550 5\.7\.1 /],
  ])('answers accounts without a quota as it is told to: %s', async (setting, answer) => {
    const strict = await Connector.start(settings({ NO_QUOTA: setting, CONTACT: 'quota@example.org' }))
    const milter = await MilterClient.to(strict.milter)
    expect(await asked(async () => milter.message(user(70), 1), strict)).toMatch(answer)
  })

  it('charges the network without a login, as configured, over a Unix socket', async () => {
    await total(90, 10)
    const path = join(folder, 'milter')
    const env = { MILTER_LISTEN: `unix:${path}`, LISTEN: 'off', PAYER_WITHOUT_SASL: 'network' }
    await Connector.start(settings(env))
    const milter = await MilterClient.to(path)
    expect(await asked(async () => milter.message('', 2))).toBe('c')
    expect(await usedBy(90)).toBe(2)
    const stranger = await MilterClient.to(path, undefined, '198.51.100.1')
    expect(await stranger.message('', 1)).toMatch(/^y451 4\.7\.1 No sending quota/)
  })

  it('ends when it is told to: after pending answers, and not for idle sessions', async () => {
    await total(6, 10)
    const slow = await Detour.start(service.url)
    slow.delayMs = 500
    const ending = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const [busy, idle] = [await MilterClient.to(ending.milter), await MilterClient.to(ending.milter)]
    busy.envelope(user(6), 1)
    busy.send('E')
    while (!slow.paths.some((path) => path.startsWith(MAIL.consume))) await sleep(5)
    ending.signal('SIGTERM')
    expect(await busy.answer()).toMatch(/^(c|y451 .*cannot be checked.*)$/s)
    expect(await ending.exited).toBe(0)
    expect([busy.ended, idle.ended]).toEqual([true, true])
  })

  const negotiation = (version: number): Buffer =>
    milterPacket('O', Buffer.from([0, 0, 0, version, ...times(8).map(() => 0)]))

  it.each([
    ['without a negotiation', milterPacket('M', '<ann@example.org>\0')],
    ['with an old protocol', negotiation(1)],
    ['without a message', Buffer.concat([negotiation(6), milterPacket('E')])],
    ['with an unknown command', Buffer.concat([negotiation(6), milterPacket('?')])],
    ['over another protocol', Buffer.from('EHLO client.test\r\n')],
  ])('closes a connection %s', async (_, bytes) => {
    const closed = async (): Promise<number> => connector.metric('quota_postfix_connections_closed_total', 'malformed')
    const before = await closed()
    const stranger = MilterClient.silent(connector.milter)
    stranger.socket.write(bytes)
    let answer = await stranger.answer()
    while (answer?.startsWith('O') === true) answer = await stranger.answer()
    expect(answer).toBeUndefined()
    expect(await closed()).toBe(before + 1)
  })
})
