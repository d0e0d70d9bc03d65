import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { freePort } from '../scripts/mariadb.mjs'
import { hashOf, newToken } from '../src/auth/token.js'
import { Connector, MilterClient, milterPacket, PolicyClient, questionText } from './support/connector.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { Detour } from './support/detour.js'
import { runNode } from './support/command.js'
import { ADMIN, Instance } from './support/instance.js'
import { opened, temporaryFolder } from './support/opened.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const onServer = HAS_SERVER ? describe : describe.skip
const PATIENCE_MS = 240_000
/** As in quota-postfix.service: afterwards, systemd kills it. */
const STOP_WITHIN_MS = 15_000
const CALLERS = 'a token of callers of the connector'

let service: Instance
let url: string
let folder: string
let accounts: string
let connector: Connector
let count = 0

/** Settings of a connector that asks the service. */
const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  QUOTA_URL: service.url,
  QUOTA_TOKEN: ADMIN,
  ACCOUNTS_FILE: accounts,
  ...more,
})
/** A message that no other question is about. */
const instance = (): string => `${process.pid.toString(16)}.6a0b1c2d.${(count += 1).toString(16)}.0`
const user = (account: number): string => `user-${account}@example.org`
const message = (account: number, recipients: number): Record<string, string | number> => ({
  instance: instance(),
  sasl_username: user(account),
  recipient_count: recipients,
})
const total = async (account: number, units: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used

beforeAll(async () => {
  const [kind] = STORES
  ;({ url } = await kind!.open())
  service = await Instance.start(url)
  folder = temporaryFolder('quota-connector-')
  accounts = join(folder, 'accounts')
  await writeFile(
    accounts,
    times(1_000)
      .map((n) => `${user(n + 1)} ${n + 1}\n`)
      .join(''),
  )
  connector = await Connector.start(settings({ CHECK_AT_RCPT: 'true' }))
}, PATIENCE_MS)

describe('the connector', () => {
  it('accepts a message that fits, and says when or whether others will', async () => {
    await total(1, 10)
    const cycle = { quota_type: 2, total: 5, cycle_unit: 'year', cycle_reset_at: '2900-01-01T00:00:00Z' }
    await service.post(MAIL.quotas, { account_id: 2, ...cycle })
    const postfix = PolicyClient.to(connector.port)
    expect(await postfix.ask(message(1, 10))).toBe('DUNNO')
    expect(await postfix.ask(message(1, 1))).toMatch(/^REJECT .*1 recipient asked for, 0 left/)
    expect(await postfix.ask(message(2, 4))).toBe('DUNNO')
    expect(await postfix.ask(message(2, 2))).toMatch(
      /^DEFER_IF_PERMIT .*2 recipients asked for, 1 left.* 1 January 2900 at 00:00 UTC$/,
    )
    // More than a whole cycle has never fits.
    expect(await postfix.ask(message(2, 6))).toMatch(/^REJECT .* 6 recipients asked for, 1 left/)
    expect(await postfix.ask(message(3, 1))).toMatch(/^REJECT .*no sending quota/)
    expect([await usedBy(1), await usedBy(2)]).toEqual([10, 4])
  })

  it('charges a repeated question once: repeated at once, later, over another connection, after a restart', async () => {
    await total(4, 100)
    const asked = message(4, 7)
    const clients = times(10).map(() => PolicyClient.to(connector.port))
    expect(new Set(await Promise.all(clients.map((postfix) => postfix.ask(asked))))).toEqual(new Set(['DUNNO']))
    const other = await Connector.start(settings())
    expect(await PolicyClient.to(other.port).ask(asked)).toBe('DUNNO')
    expect(await usedBy(4)).toBe(7)
    // Another envelope of the same dialogue is another message.
    expect(await clients[0]!.ask({ ...asked, sender: 'grüße@example.org' })).toBe('DUNNO')
    expect(await clients[0]!.ask({ ...asked, sender: `${'x'.repeat(300)}@example.org` })).toBe('DUNNO')
    expect(await usedBy(4)).toBe(21)
    // More recipients do not pass for the charge of fewer.
    expect(await clients[0]!.ask({ ...asked, recipient_count: 8 })).toMatch(/^DEFER_IF_PERMIT /)
    expect(await usedBy(4)).toBe(21)
  })

  it('only checks before the end of a message: one recipient at RCPT, all of them at DATA', async () => {
    await total(5, 3)
    const postfix = PolicyClient.to(connector.port)
    const rcpt = { ...message(5, 0), protocol_state: 'RCPT' }
    const data = (recipients: number): Record<string, string | number> => ({
      ...message(5, recipients),
      protocol_state: 'DATA',
    })
    for (const state of ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'VRFY', 'ETRN'])
      expect(await postfix.ask({ ...rcpt, protocol_state: state })).toBe('DUNNO')
    expect(await postfix.ask(data(3))).toBe('DUNNO')
    expect(await postfix.ask({ ...data(4), queue_id: 'DATA4' })).toMatch(/^REJECT .*4 recipients asked for, 3 left/)
    expect(await postfix.ask({ ...data(1), sasl_username: 'nobody' })).toMatch(/^DEFER_IF_PERMIT No sending quota/)
    expect(await usedBy(5)).toBe(0)
    expect(await postfix.ask(message(5, 3))).toBe('DUNNO')
    expect(await postfix.ask(data(1))).toMatch(/^REJECT /)
    expect(await postfix.ask(rcpt)).toMatch(/^REJECT /)
    expect(await PolicyClient.to((await Connector.start(settings())).port).ask(rcpt)).toBe('DUNNO')
    // A refused message does not reach its end: this is its line.
    while (!connector.log.some(({ queue_id: id }) => id === 'DATA4')) await sleep(10)
    expect(connector.log.filter(({ queue_id: id }) => id === 'DATA4')).toMatchObject([
      { level: 'info', message: 'reject: exceeded', state: 'DATA', account: 5, recipients: 4, remaining: 3 },
    ])
  })

  it('leaves it to the end of a message while the service, or the database of accounts, is away', async () => {
    const away = { QUOTA_URL: 'http://127.0.0.1:1', CHECK_AT_RCPT: 'true' }
    const noAccounts = {
      ACCOUNTS_DATABASE_URL: 'mysql://reader@127.0.0.1:1/mail',
      ACCOUNTS_QUERY: 'SELECT 1 FROM mailbox WHERE username = :user',
      ACCOUNTS_FILE: '',
    }
    for (const lost of [await Connector.start(settings(away)), await Connector.start(settings(noAccounts))]) {
      const postfix = PolicyClient.to(lost.port)
      for (const state of ['RCPT', 'DATA'])
        expect(await postfix.ask({ ...message(1, 1), protocol_state: state })).toBe('DUNNO')
      expect(await lost.metric('quota_postfix_questions_total', 'unreachable')).toBe(0)
      expect(await postfix.ask(message(1, 1))).toMatch(/^DEFER_IF_PERMIT Sending quotas cannot be checked/)
    }
  })

  it.each([
    ['defer', /^DEFER_IF_PERMIT /],
    ['pass', /^DUNNO$/],
    ['reject', /^REJECT /],
  ])('answers unknown senders as it is told to: %s', async (setting, answer) => {
    const strict = await Connector.start(settings({ UNKNOWN_SENDER: setting }))
    const postfix = PolicyClient.to(strict.port)
    expect(await postfix.ask({ ...message(1, 1), sasl_username: 'nobody@elsewhere.test' })).toMatch(answer)
    // The envelope pays for nobody, unless it is told so.
    expect(await postfix.ask({ ...message(1, 1), sasl_username: '', sender: user(1) })).toMatch(answer)
    expect(await strict.metric('quota_postfix_questions_total', 'unknown_sender')).toBe(2)
  })

  it.each([
    ['defer', /^DEFER_IF_PERMIT This account has no sending quota; please ask quota@example.org$/],
    ['pass', /^DUNNO$/],
    ['reject', /^REJECT /],
  ])('answers accounts without a quota as it is told to: %s', async (setting, answer) => {
    const strict = await Connector.start(settings({ NO_QUOTA: setting, CONTACT: 'quota@example.org' }))
    const postfix = PolicyClient.to(strict.port)
    expect(await postfix.ask({ ...message(3, 1), protocol_state: 'DATA' })).toMatch(
      setting === 'reject' ? /^REJECT / : /^DUNNO$/,
    )
    expect(await postfix.ask(message(3, 1))).toMatch(answer)
    expect(await strict.metric('quota_postfix_questions_total', 'no_quota')).toBe(1)
  })

  it.each([
    ['messages', 13, 1, /1 message asked for, 0 left/],
    ['kb', 14, 3, /3 kB asked for, 0 left/],
  ])('counts %s as it is told to, at the end, when the size is known', async (unit, account, amount, refused) => {
    await total(account, amount)
    const { port } = await Connector.start(settings({ UNITS: unit }))
    const postfix = PolicyClient.to(port)
    const data = { ...message(account, 9), protocol_state: 'DATA', size: 0 }
    expect(await postfix.ask(data)).toBe('DUNNO')
    expect(await postfix.ask({ ...message(account, 9), size: 2_001 })).toBe('DUNNO')
    expect(await usedBy(account)).toBe(amount)
    expect(await postfix.ask({ ...message(account, 9), size: 2_001 })).toMatch(refused)
    // What the client has announced.
    expect(await postfix.ask({ ...data, size: 2_001 })).toMatch(refused)
    expect(await postfix.ask({ ...message(account, 9), size: 'large' })).toBeUndefined()
  })

  it('counts a message without a byte as one kB, and answers no end without a size', async () => {
    await total(24, 2)
    const { port } = await Connector.start(settings({ UNITS: 'kb' }))
    const postfix = PolicyClient.to(port)
    expect(await postfix.ask({ ...message(24, 1), size: 0 })).toBe('DUNNO')
    expect(await usedBy(24)).toBe(1)
    expect(await postfix.ask({ ...message(24, 1), size: '' })).toBeUndefined()
  })

  it.each([
    ['recipients', 17, [2, 0, 1, 1]],
    ['messages', 18, [1, 0, 1, 1]],
  ])(
    'charges no recipients of LOCAL_DOMAINS, and null senders with a login alone (%s)',
    async (unit, account, costs) => {
      await total(account, 10)
      const env = { LOCAL_DOMAINS: 'Local.test, .sub.test', NULL_SENDER: 'pass', UNITS: unit }
      const postfix = PolicyClient.to((await Connector.start(settings(env))).port)
      const send = async (to: string[], more: Record<string, string> = {}): Promise<string | undefined> => {
        const asked = { ...message(account, to.length), ...more }
        for (const recipient of to)
          expect(await postfix.ask({ ...asked, protocol_state: 'RCPT', recipient_count: 0, recipient })).toBe('DUNNO')
        const known = { ...asked, recipient: to.length === 1 ? to[0]! : '' }
        expect(await postfix.ask({ ...known, protocol_state: 'DATA' })).toBe('DUNNO')
        return postfix.ask(known)
      }
      const sent = [
        await send(['a@LOCAL.test', 'b@elsewhere.test', 'c@mail.sub.test', 'd%elsewhere.test@local.test']),
        await send(['a@local.test', 'c@mail.sub.test']),
        await send(['b@elsewhere.test']),
        await send(['a@local.test'], { sasl_username: 'nobody' }),
        await send(['b@elsewhere.test'], { sender: '' }),
        await send(['b@elsewhere.test', 'c@elsewhere.test'], { sender: '', sasl_username: '' }),
      ]
      expect(sent).toEqual(sent.map(() => 'DUNNO'))
      expect(await usedBy(account)).toBe(costs.reduce((sum, one) => sum + one))
      expect(await postfix.ask({ ...message(account, 1), sasl_username: '' })).toMatch(
        /^DEFER_IF_PERMIT No sending quota/,
      )
    },
  )

  it('counts no recipient that it has refused itself', async () => {
    await total(90, 0)
    const env = { LOCAL_DOMAINS: 'local.test', CHECK_AT_RCPT: 'true' }
    const postfix = PolicyClient.to((await Connector.start(settings(env))).port)
    const asked = message(90, 2)
    const rcpt = async (recipient: string): Promise<string | undefined> =>
      postfix.ask({ ...asked, protocol_state: 'RCPT', recipient_count: 0, recipient })
    expect(await rcpt('b@elsewhere.test')).toMatch(/^REJECT /)
    for (const local of ['a@local.test', 'c@local.test']) expect(await rcpt(local)).toBe('DUNNO')
    expect(await postfix.ask({ ...asked, protocol_state: 'DATA' })).toBe('DUNNO')
    expect(await postfix.ask(asked)).toBe('DUNNO')
    expect(await usedBy(90)).toBe(0)
  })

  it("charges the envelope's sender or the network without a login, as configured", async () => {
    await total(6, 100)
    const file = join(folder, 'networks')
    await writeFile(file, `${user(6)} 6\n192.0.2.0/24 6\n`)
    for (const [setting, used] of [
      ['sender', 1],
      ['network', 2],
    ] as const) {
      const { port } = await Connector.start(settings({ ACCOUNTS_FILE: file, PAYER_WITHOUT_SASL: setting }))
      const open = { ...message(6, 1), sasl_username: '', sender: setting === 'sender' ? user(6) : '' }
      expect(await PolicyClient.to(port).ask(open)).toBe('DUNNO')
      expect(await usedBy(6)).toBe(used)
      // Who has logged in never sends at somebody else's expense.
      const foreign = { ...message(6, 1), sasl_username: 'eve', sender: user(6) }
      expect(await PolicyClient.to(port).ask(foreign)).toMatch(/^DEFER_IF_PERMIT /)
      expect(await usedBy(6)).toBe(used)
    }
  })

  it(
    'answers pipelined questions in their order, over 300 connections, each charge once',
    async () => {
      const senders = times(300).map((n) => 100 + n)
      await Promise.all(senders.map((account) => total(account, 2)))
      const granted = await Promise.all(
        senders.map(async (account) => {
          const postfix = PolicyClient.to(connector.port)
          // In one piece: three messages of which two fit, each behind a question of which the answer is known.
          const text = times(3).map(() => questionText({ protocol_state: 'MAIL' }) + questionText(message(account, 1)))
          postfix.socket.write(text.join(''))
          const heard = { dunno: 0, reject: 0, defer: 0 }
          for (let n = 0; n < 3; n += 1) {
            expect(await postfix.answer()).toBe('DUNNO')
            const [answer] = ((await postfix.answer()) ?? 'nothing').toLowerCase().split(/[ _]/)
            heard[answer as keyof typeof heard] += 1
          }
          // A busy machine may not ask in time; nothing else may be wrong.
          expect(heard.dunno + heard.defer + heard.reject).toBe(3)
          expect(heard.reject).toBeLessThanOrEqual(1)
          return heard.dunno
        }),
      )
      expect(granted.filter((count) => count === 2).length).toBeGreaterThan(0)
      // What was charged in vain comes back.
      const deadline = performance.now() + 20_000
      let used = await Promise.all(senders.map(usedBy))
      while (String(used) !== String(granted) && performance.now() < deadline) {
        await sleep(200)
        used = await Promise.all(senders.map(usedBy))
      }
      expect(used).toEqual(granted)
    },
    PATIENCE_MS,
  )

  it(
    'never answers what is no question, and goes on answering others',
    async () => {
      await total(7, 10)
      const postfix = PolicyClient.to(connector.port)
      const noise = fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom('\n', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'request=junk\n\n').map((text) => Buffer.from(text)),
        // All but the last line of a good one, and then an end that is none.
        fc.nat({ max: 300 }).map((length) => Buffer.from(`${questionText(message(7, 1)).slice(0, length)}\0\n\n`)),
        fc.constant(Buffer.from(questionText({ ...message(7, 1), instance: '' }))),
        fc.constant(Buffer.from(questionText({ ...message(7, 1), recipient_count: 0 }))),
        fc.constant(Buffer.from(questionText({ ...message(7, 1), recipient_count: '' }))),
      )
      await fc.assert(
        fc.asyncProperty(noise, async (bytes) => {
          const stranger = PolicyClient.to(connector.port)
          stranger.socket.end(bytes)
          expect(await stranger.answer()).toBeUndefined()
        }),
        { numRuns: 200 },
      )
      expect(await postfix.ask(message(7, 1))).toBe('DUNNO')
      expect(await usedBy(7)).toBe(1)
      expect(await connector.metric('quota_postfix_connections_closed_total', 'malformed')).toBeGreaterThan(20)
      expect(await connector.metric('quota_postfix_connections_closed_total', 'failed')).toBeGreaterThan(0)
    },
    PATIENCE_MS,
  )

  it('answers a client that has sent its last question and closed its half of the connection', async () => {
    await total(12, 10)
    const postfix = PolicyClient.to(connector.port)
    postfix.socket.end(questionText(message(12, 1)) + questionText(message(12, 2)))
    expect([await postfix.answer(), await postfix.answer()]).toEqual(['DUNNO', 'DUNNO'])
    expect(await postfix.answer()).toBeUndefined()
    expect(await usedBy(12)).toBe(3)
  })

  it('passes nothing because the service takes no more new owners', async () => {
    const [kind] = STORES
    const store = await kind!.open()
    const strict = await Instance.start(store.url, { NEW_OWNERS_PER_HOUR: '1' })
    const group = bodyOf(await strict.post(`${MAIL.quotas}/groups`, { name: 'all', default: true }))
    const quota = { group_id: group.id, per: 'member', quota_type: 1, total: 5, expire_at: '2999-01-01T00:00:00Z' }
    expect(await strict.post(MAIL.quotas, quota)).toMatchObject({ status: 201 })
    const lenient = await Connector.start(settings({ QUOTA_URL: strict.url, UNREACHABLE: 'pass' }))
    const postfix = PolicyClient.to(lenient.port)
    expect(await postfix.ask(message(13, 1))).toBe('DUNNO')
    expect(await postfix.ask(message(14, 1))).toMatch(/^DEFER_IF_PERMIT /)
    const told = () => lenient.log.find(({ account }) => account === 14)
    while (told() === undefined) await sleep(10)
    expect(told()).toMatchObject({ level: 'error', error: expect.stringContaining('too_many_new_owners') })
    expect(await postfix.ask(message(13, 1))).toBe('DUNNO')
  })

  it('passes nothing because of an answer that is not the service’s', async () => {
    const foreign = createHttpServer((_, response) => response.end('{"status":"ok"}'))
    opened(() => {
      foreign.close()
      foreign.closeAllConnections()
    })
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
    const { port } = foreign.address() as AddressInfo
    const lost = await Connector.start(settings({ QUOTA_URL: `http://127.0.0.1:${port}` }))
    const postfix = PolicyClient.to(lost.port)
    expect(await postfix.ask({ ...message(12, 1), protocol_state: 'DATA' })).toBe('DUNNO')
    expect(await postfix.ask(message(12, 1))).toMatch(/^DEFER_IF_PERMIT Sending quotas cannot be checked/)
    expect(await lost.metric('quota_postfix_questions_total', 'unreachable')).toBe(1)
    expect(await lost.get('/health/ready')).toMatchObject({ status: 503 })
  })

  it(
    'takes over the charges that an earlier process has left in doubt before it answers anybody',
    async () => {
      await total(40, 100)
      const [state, go, key] = [join(folder, 'left'), join(folder, 'go'), 'mail:left']
      const left = { key, account: 40, amount: 7 }
      expect(await service.post(MAIL.consume, { account_id: 40, amount: 7 }, key)).toMatchObject({ status: 200 })
      await mkdir(state)
      await writeFile(join(state, 'doubts.jsonl'), `${JSON.stringify({ ...left, queueId: '', at: Date.now() })}\n`)
      // The last front finds its address late: the first one listens already.
      const late = `import dns from 'node:dns'; import { existsSync } from 'node:fs'; const { lookup } = dns
        dns.lookup = (name, ...more) => {
          if (name !== 'late.test') return lookup(name, ...more)
          const timer = setInterval(() => {
            if (!existsSync(${JSON.stringify(go)})) return
            clearInterval(timer)
            more.at(-1)(null, '127.0.0.1', 4)
          }, 10)
        }`
      const port = await freePort()
      const starting = Connector.start(
        settings({
          LISTEN: `127.0.0.1:${port}`,
          HTTP_LISTEN: `late.test:${await freePort()}`,
          HTTP_TOKEN: 'x'.repeat(32),
          STATE_DIRECTORY: state,
          NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(late)}`,
        }),
      )
      let exim = PolicyClient.to(port)
      let answer = exim.ask({ ...message(40, 2), repeats: 'no' })
      // Time enough for an answer, if it did not wait for the doubts.
      while (await Promise.race([answer.then(() => exim.ended), sleep(2_000, false)])) {
        await sleep(20)
        exim = PolicyClient.to(port)
        answer = exim.ask({ ...message(40, 2), repeats: 'no' })
      }
      await writeFile(go, '')
      const connector = await starting
      expect(connector.log).toContainEqual(expect.objectContaining({ message: 'doubts are on disk', doubts: 1 }))
      expect(await answer).toBe('DUNNO')
      while ((await connector.metric('quota_postfix_doubts_settled_total', 'outcome="refunded"')) === 0) await sleep(50)
      expect(await usedBy(40)).toBe(2)
    },
    PATIENCE_MS,
  )

  it('closes connections beyond the limit, and accepts others when there is room', async () => {
    const small = await Connector.start(settings({ MAX_CONNECTIONS: '3' }))
    const question = { protocol_state: 'MAIL' }
    const kept = times(3).map(() => PolicyClient.to(small.port))
    for (const postfix of kept) expect(await postfix.ask(question)).toBe('DUNNO')
    expect(await PolicyClient.to(small.port).ask(question)).toBeUndefined()
    kept[0]!.socket.destroy()
    while ((await small.metric('quota_postfix_connections ')) > 2) await sleep(10)
    expect(await PolicyClient.to(small.port).ask(question)).toBe('DUNNO')
  })

  it('reads its accounts again when they change', async () => {
    const file = join(folder, 'changing')
    await writeFile(file, 'ann 8\n')
    await total(8, 10)
    await total(9, 10)
    const changing = await Connector.start(settings({ ACCOUNTS_FILE: file }))
    const postfix = PolicyClient.to(changing.port)
    const send = (): Promise<string | undefined> => postfix.ask({ ...message(8, 1), sasl_username: 'ann' })
    expect(await send()).toBe('DUNNO')
    await writeFile(file, 'ann nine\n')
    changing.signal('SIGHUP')
    while ((await changing.metric('quota_postfix_accounts_stale')) !== 1) await sleep(20)
    expect(await send()).toBe('DUNNO')
    await writeFile(file, 'ann 9\n')
    while ((await changing.metric('quota_postfix_accounts_stale')) !== 0) await sleep(100)
    expect(await send()).toBe('DUNNO')
    expect([await usedBy(8), await usedBy(9)]).toEqual([2, 1])
  })

  it('listens on a Unix socket, also if a dead process has left one, but never if another process listens', async () => {
    const path = join(folder, 'policy')
    const first = await Connector.start(settings({ LISTEN: `unix:${path}` }))
    expect(await PolicyClient.to(path).ask({ protocol_state: 'MAIL' })).toBe('DUNNO')
    const rival = await Connector.start(settings({ LISTEN: `unix:${path}` }))
    expect(await rival.exited).toBe(1)
    expect(rival.stderr).toContain('somebody listens')
    first.signal('SIGKILL')
    await first.exited
    await Connector.start(settings({ LISTEN: `unix:${path}` }))
    expect(await PolicyClient.to(path).ask({ protocol_state: 'MAIL' })).toBe('DUNNO')
  })

  it('answers pending questions before it ends', async () => {
    await total(10, 100)
    const slow = await Detour.start(service.url)
    slow.delayMs = 1_000
    const ending = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const [busy, idle] = [PolicyClient.to(ending.port), PolicyClient.to(ending.port)]
    expect(await idle.ask({ protocol_state: 'MAIL' })).toBe('DUNNO')
    const answer = busy.ask(message(10, 1))
    while (!slow.paths.includes('/api/v1/quotas/usage/consume')) await sleep(10)
    ending.signal('SIGTERM')
    expect(await answer).toBe('DUNNO')
    expect(await ending.exited).toBe(0)
    expect([busy.ended, idle.ended]).toEqual([true, true])
    expect(ending.log.at(-1)).toMatchObject({ message: 'the end' })
  })

  it('ends beside a client that asks on and on', async () => {
    await total(23, 1_000)
    const slow = await Detour.start(service.url)
    slow.delayMs = 500
    const ending = await Connector.start(settings({ QUOTA_URL: slow.url }))
    const { socket } = PolicyClient.to(ending.port)
    const asking = setInterval(() => socket.write(questionText(message(23, 1))), 50)
    opened(() => clearInterval(asking))
    while (!slow.paths.includes('/api/v1/quotas/usage/consume')) await sleep(10)
    ending.signal('SIGTERM')
    expect(await Promise.race([ending.exited, sleep(STOP_WITHIN_MS, 'killed')])).toBe(0)
  })

  it('ends beside a client that does not read its answers', async () => {
    const path = join(folder, 'milter')
    const ending = await Connector.start(settings({ MILTER_LISTEN: `unix:${path}` }))
    const { socket } = MilterClient.silent(path)
    socket.pause()
    // 32 bytes, so that each read ends with a packet: half a one would not be waited for.
    const offer = milterPacket('O', Buffer.from([0, 0, 0, 6, ...Array<number>(23).fill(0)]))
    socket.write(Buffer.alloc(125_000 * offer.length, offer))
    for (let before = -1; socket.writableLength !== before;) {
      before = socket.writableLength
      await sleep(200)
    }
    ending.signal('SIGTERM')
    expect(await Promise.race([ending.exited, sleep(STOP_WITHIN_MS, 'killed')])).toBe(0)
  })

  it('reports liveness, and whether the service is available', async () => {
    expect(await connector.get('/health/live')).toEqual({ status: 200, text: 'live\n' })
    expect(await connector.get('/health/ready')).toEqual({ status: 200, text: 'ready\n' })
    expect(await connector.get('/elsewhere')).toMatchObject({ status: 404 })
    const stranger = await Connector.start(settings({ QUOTA_TOKEN: 'wrong' }))
    expect(await stranger.get('/health/ready')).toMatchObject({
      status: 503,
      text: expect.stringMatching(
        /^the service does not know the token; .*AUTH_TOKENS of the service: .*unauthenticated/,
      ),
    })
    expect(await PolicyClient.to(stranger.port).ask(message(1, 1))).toMatch(/^DEFER_IF_PERMIT /)
  })

  it('is ready only with a token that may spend from mail accounts', async () => {
    const tokens = ['usage', 'usage+mail+own', 'usage+sms', 'metrics'].map((role) => ({
      role,
      token: newToken('usage'),
    }))
    const AUTH_TOKENS = tokens
      .map(({ role, token }, n) => `token-${n}:${role}:${hashOf(token).toString('hex')}`)
      .join(',')
    const strict = await Instance.start((await STORES[0]!.open()).url, { AUTH_TOKENS })
    const ready = tokens.map(async ({ role, token }) => {
      const narrow = await Connector.start(settings({ QUOTA_URL: strict.url, QUOTA_TOKEN: token }))
      return [role, (await narrow.get('/health/ready')).text]
    })
    expect(await Promise.all(ready)).toEqual([
      ['usage', 'ready\n'],
      ['usage+mail+own', 'ready\n'],
      ['usage+sms', expect.stringMatching(/^the token may not spend from mail accounts; .*forbidden/)],
      ['metrics', expect.stringMatching(/^the token may not spend from mail accounts; .*forbidden/)],
    ])
  })

  it('is no longer ready when its token is revoked, and again with another one in its file', async () => {
    const [first, second] = [newToken('usage'), newToken('usage')]
    const [admitted, held] = [join(folder, 'admitted'), join(folder, 'held')]
    const admit = async (token: string): Promise<void> => {
      await writeFile(`${admitted}.new`, `postfix:usage+mail:${hashOf(token).toString('hex')}\n`)
      await rename(`${admitted}.new`, admitted)
    }
    await admit(first)
    await writeFile(held, first)
    const env = { AUTH_TOKENS: '', AUTH_TOKENS_FILE: admitted }
    const strict = await Instance.start((await STORES[0]!.open()).url, env)
    const { QUOTA_TOKEN: _, ...others } = settings({ QUOTA_URL: strict.url, QUOTA_TOKEN_FILE: held })
    const narrow = await Connector.start(others)
    const untilReady = async (status: number, words: string): Promise<void> => {
      for (;;) {
        const ready = await narrow.get('/health/ready')
        if (ready.status === status && ready.text.includes(words)) return
        await sleep(50)
      }
    }
    await untilReady(200, 'ready')
    await admit(second)
    await untilReady(503, 'the service does not know the token')
    await writeFile(held, second)
    await untilReady(200, 'ready')
  })

  it('has the metrics of the alerts, from the start, of its process and its version', async () => {
    const { text } = await (await Connector.start(settings())).get('/metrics')
    const rules = await readFile('deploy/prometheus/postfix-rules.yaml', 'utf8')
    const named = [...rules.matchAll(/(quota_postfix_\w+)\{job="quota-postfix"(?:,(\w+="\w+"))?\}/g)]
    expect(named).toHaveLength(6)
    for (const [, name = '', label = ''] of named)
      expect(text.split('\n')).toContainEqual(expect.stringMatching(new RegExp(`^${name}(\\{.*${label}.*\\})? 0$`)))
    expect(text).toMatch(/^quota_postfix_build_info\{version="[\d.]+"\} 1$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
  })

  it('writes a line for each message, with its queue id', async () => {
    await total(11, 5)
    const postfix = PolicyClient.to(connector.port)
    const asked = { instance: instance(), sasl_username: user(11), recipient_count: 2, queue_id: 'ABCDEF0123' }
    expect(await postfix.ask(asked)).toBe('DUNNO')
    const line = (): unknown => connector.log.find(({ queue_id: id }) => id === 'ABCDEF0123')
    while (line() === undefined) await sleep(10)
    expect(line()).toMatchObject({
      level: 'info',
      message: 'pass: fits',
      state: 'END-OF-MESSAGE',
      instance: asked.instance,
      payer_hash: expect.stringMatching(/^[0-9a-f]{12}$/),
      account: 11,
      recipients: 2,
      amount: 2,
      remaining: 3,
      key: expect.stringMatching(/^mail:[0-9a-f]{64}$/),
    })
  })

  it('has keys that all connectors of one system agree on: by the token, or by a secret of its own', async () => {
    await total(15, 100)
    const asked = { ...message(15, 1), queue_id: 'AGREED' }
    const KEY_SECRET = 'a secret that other tokens share'
    const keys: unknown[] = []
    for (const more of [{}, {}, { KEY_SECRET }, { KEY_SECRET, LOG_LEVEL: 'debug' }]) {
      const one = await Connector.start(settings(more))
      await PolicyClient.to(one.port).ask(asked)
      const line = (): Record<string, unknown> | undefined => one.log.find(({ queue_id: id }) => id === 'AGREED')
      while (line() === undefined) await sleep(10)
      keys.push(line()!['key'])
      expect(line()!['payer']).toBe('LOG_LEVEL' in more ? user(15) : undefined)
    }
    expect(keys).toEqual([keys[0], keys[0], keys[2], keys[2]])
    expect(keys[2]).not.toBe(keys[0])
  })

  it('names no address, over any front: neither to the service, nor in its log, its metrics or its file', async () => {
    await total(16, 1_000)
    const detour = await Detour.start(service.url)
    const state = join(folder, 'silent')
    const file = join(folder, 'silent-accounts')
    await writeFile(file, `${user(16)} 16\n192.0.2.0/24 16\n`)
    const env = { QUOTA_URL: detour.url, STATE_DIRECTORY: state, ACCOUNTS_FILE: file, PAYER_WITHOUT_SASL: 'network' }
    const texts = { HTTP_TOKEN: CALLERS, LOCAL_DOMAINS: 'example.org' }
    const silent = await Connector.start(settings({ ...env, ...texts, CHECK_AT_RCPT: 'true' }))
    const postfix = PolicyClient.to(silent.port)
    const next = (recipients: number, login = user(16)): Record<string, string | number> => ({
      ...message(16, recipients),
      sender: user(16),
      recipient: recipients === 1 ? 'user-17@elsewhere.test' : '',
      sasl_username: login,
    })
    /** Asks until this is the answer: a busy machine may not ask the service in time. */
    const until = async (
      answer: RegExp,
      question: () => Record<string, string | number>,
    ): Promise<Record<string, string | number>> => {
      for (;;) {
        const asked = question()
        const heard = await postfix.ask(asked)
        if (heard === undefined) throw new Error('the connection has ended')
        if (answer.test(heard)) return asked
      }
    }
    await until(/^DUNNO/, () => ({ ...next(2), protocol_state: 'RCPT' }))
    const asked = await until(/^DUNNO/, () => next(2))
    await until(/^DEFER_IF_PERMIT /, () => ({ ...asked, recipient_count: 1 }))
    await until(/^REJECT /, () => next(9_000))
    await until(/^DEFER_IF_PERMIT No sending quota/, () => next(1, user(18)))
    await until(/^DUNNO/, () => next(1, ''))
    const milter = await MilterClient.to(silent.milter)
    for (const to of [[user(17), 'user-17@elsewhere.test'], times(9_000).map((n) => `user-${n}@elsewhere.test`)])
      for (const login of [user(16), user(18), ''])
        while ((await milter.message(login, to, user(16)))?.includes('cannot be checked') === true) milter.send('A')
    const form = { login: user(16), sender: user(16), recipients: [user(17), 'user-17@elsewhere.test'], queue_id: 'Q' }
    const bodies = [form, { ...form, login: user(18) }, { ...form, [user(19)]: 1 }, { ...form, size: user(19) }]
    for (const body of [...bodies.map((one) => JSON.stringify(one)), user(19), `{"login":${user(19)}}`])
      for (const path of ['/message', '/mta-hook', `/${user(19)}`])
        await fetch(`http://127.0.0.1:${silent.http}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${CALLERS}` },
          body,
        })
    await writeFile(file, `${user(18)} x\n${user(16)} 1\n${user(16)} 1\n/(${user(16)}/ 1\n${user(19)}\n`)
    silent.signal('SIGHUP')
    while ((await silent.metric('quota_postfix_accounts_stale')) !== 1) await sleep(20)
    detour.loses = () => true
    while ((await silent.metric('quota_postfix_doubts ')) === 0) await postfix.ask(next(1))
    const doubts = await readFile(join(state, 'doubts.jsonl'), 'utf8')
    expect(doubts).toMatch(/"key":"mail:[0-9a-f]{64}"/)
    const { text: metrics } = await silent.get('/metrics')
    await PolicyClient.to(silent.port).ask({ ...asked, recipient_count: 'many' })
    MilterClient.silent(silent.milter).socket.write(user(19))
    while ((await silent.metric('quota_postfix_connections_closed_total', 'malformed')) < 18) await sleep(20)
    silent.signal('SIGTERM')
    await silent.exited
    expect(silent.log.length).toBeGreaterThan(20)
    for (const text of [JSON.stringify(silent.log), silent.stderr, metrics, doubts, detour.heard])
      expect(text).not.toMatch(/user-\d|example\.org|elsewhere\.test|192\.0\.2/)
  })

  it('has keys that the erase command makes unreadable', async () => {
    await total(19, 10)
    const asked = { ...message(19, 1), queue_id: 'ERASED' }
    expect(await PolicyClient.to(connector.port).ask(asked)).toBe('DUNNO')
    const line = (): Record<string, unknown> | undefined => connector.log.find(({ queue_id: id }) => id === 'ERASED')
    while (line() === undefined) await sleep(10)
    const key = String(line()!['key'])
    const found = async (filter: string): Promise<unknown> =>
      bodyOf(await service.get(`/api/v1/quotas/usage?${filter}`))
    expect(await found(`idempotency_key=${key}`)).toMatchObject({ items: [{ account_id: 19, charged: 1 }] })
    const { code, stderr } = await runNode(['dist/src/erase.js', '--mail', '19'], { env: { DATABASE_URL: url } })
    expect([code, stderr]).toEqual([0, ''])
    expect(await found(`idempotency_key=${key}`)).toMatchObject({ items: [] })
    expect(await found('account_id=19')).toMatchObject({ items: [{ account_id: 19, charged: 1 }] })
  })

  it('names every mistake in its configuration', async () => {
    const texts = join(folder, 'texts')
    await writeFile(texts, '# ours\nnever = {when}\n')
    const broken = await Connector.start({
      LISTEN: 'here',
      METRICS_LISTEN: '127.0.0.1:99999',
      UNREACHABLE: 'maybe',
      TIME_ZONE: 'Mars/Olympus',
      NO_QUOTA: 'perhaps',
      UNITS: 'bytes',
      KEY_SECRET: 'short',
      CONTACT: 'grüße@example.org',
      MAX_CONNECTIONS: '0',
      NULL_SENDER: 'free',
      LOCAL_DOMAINS: 'example.org ann@example.org',
      TEXTS_FILE: texts,
      ACCOUNTS_DATABASE_URL: 'oracle://x/y',
    })
    expect(await broken.exited).toBe(1)
    for (const name of [
      'QUOTA_URL is',
      'one of QUOTA_TOKEN',
      'LISTEN',
      'METRICS_LISTEN',
      'UNREACHABLE',
      'TIME_ZONE',
      'NO_QUOTA',
      'UNITS',
      'CONTACT',
      'KEY_SECRET',
      'MAX_CONNECTIONS',
      'NULL_SENDER must be one of pay, pass',
      'LOCAL_DOMAINS must be names of domains, which ann@example.org is not',
      `TEXTS_FILE ${texts}: line 2: never has no {when}: {requested} {left} {contact}; contact is missing`,
      'ACCOUNTS_DATABASE_URL',
      'ACCOUNTS_QUERY',
    ])
      expect(broken.stderr).toContain(`  - ${name}`)
  })
})

onServer('the connector, with a database of mail accounts,', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TestDatabase.open()
    await database.execute('CREATE TABLE mailbox (username VARCHAR(255) PRIMARY KEY, quota_account BIGINT)')
    await database.execute('INSERT INTO mailbox VALUES (?, 20), (?, NULL)', [user(20), user(21)])
    await total(20, 1_000)
    await total(22, 1_000)
  })

  afterAll(async () => database.drop())

  const start = (query: string, more: Record<string, string> = {}): Promise<Connector> =>
    Connector.start(
      settings({ ACCOUNTS_FILE: '', ACCOUNTS_DATABASE_URL: database.url, ACCOUNTS_QUERY: query, ...more }),
    )
  const QUERY = 'SELECT quota_account FROM mailbox WHERE username = :user'

  it("finds the payer, and treats no part of a sender's name as SQL", async () => {
    const postfix = PolicyClient.to((await start(QUERY)).port)
    expect(await postfix.ask(message(20, 3))).toBe('DUNNO')
    expect(await usedBy(20)).toBe(3)
    for (const name of [user(21), user(22), "' OR '1'='1", ':user', '?', '%'])
      expect(await postfix.ask({ ...message(20, 1), sasl_username: name })).toMatch(/^DEFER_IF_PERMIT No sending quota/)
    expect(await usedBy(20)).toBe(3)
  })

  it('provides the parts of an address', async () => {
    const query = "SELECT quota_account FROM mailbox WHERE username = CONCAT(:local, '@', :domain)"
    expect(await PolicyClient.to((await start(query)).port).ask(message(20, 1))).toBe('DUNNO')
  })

  it('asks again when its cached answer is too old', async () => {
    const [cached, fresh] = [
      await start(QUERY, { ACCOUNTS_CACHE_SECONDS: '3600' }),
      await start(QUERY, { ACCOUNTS_CACHE_SECONDS: '0' }),
    ]
    const clients = [cached, fresh].map(({ port }) => PolicyClient.to(port))
    for (const postfix of clients) expect(await postfix.ask(message(20, 1))).toBe('DUNNO')
    const before = await usedBy(20)
    await database.execute('UPDATE mailbox SET quota_account = 22 WHERE username = ?', [user(20)])
    for (const postfix of clients) expect(await postfix.ask(message(20, 1))).toBe('DUNNO')
    expect([await usedBy(20), await usedBy(22)]).toEqual([before + 1, 1])
    cached.signal('SIGHUP')
    while ((await clients[0]!.ask(message(20, 1))) === 'DUNNO' && (await usedBy(22)) === 1) await sleep(20)
    expect(await usedBy(22)).toBe(2)
  })

  it(
    'gives up a database that answers a connection and then nothing, and ends beside it',
    async () => {
      const { hostname, port } = new URL(database.url)
      const PREPARE = 0x16
      const silent = createServer((client) => {
        const server = connect(Number(port), hostname)
        server.on('data', (chunk) => client.write(chunk))
        client.on('data', (chunk) => chunk[4] !== PREPARE && server.write(chunk))
        for (const socket of [client, server]) socket.on('error', () => undefined)
        client.on('close', () => server.destroy())
      })
      opened(() => silent.close())
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      const url = new URL(database.url)
      url.port = String((silent.address() as AddressInfo).port)
      url.hostname = '127.0.0.1'
      const stuck = await start(QUERY, { ACCOUNTS_DATABASE_URL: url.href })
      expect(await PolicyClient.to(stuck.port).ask(message(20, 1))).toMatch(/^DEFER_IF_PERMIT .* cannot be checked/)
      stuck.signal('SIGTERM')
      expect(await stuck.exited).toBe(0)
    },
    PATIENCE_MS,
  )

  it.each([
    ['finds two accounts', "SELECT 1 FROM mailbox WHERE :user <> ''"],
    ['finds no number', "SELECT 'seven' FROM DUAL WHERE :user <> ''"],
    ['is broken', 'SELECT FROM :user'],
    ['takes too long', "SELECT SLEEP(30) FROM DUAL WHERE :user <> ''"],
  ])('defers where the query %s', async (_, query) => {
    const lost = await start(query)
    const begun = performance.now()
    expect(await PolicyClient.to(lost.port).ask(message(20, 1))).toMatch(
      /^DEFER_IF_PERMIT Sending quotas cannot be checked/,
    )
    expect(performance.now() - begun).toBeLessThan(5_000)
    expect(await lost.metric('quota_postfix_questions_total', 'unreachable')).toBe(1)
  })
})
