import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector, PolicyClient } from './support/connector.js'
import { Detour } from './support/detour.js'
import { ADMIN, Instance } from './support/instance.js'
import { opened, temporaryFolder } from './support/opened.js'
import { inTime, repeatOnce } from './support/pace.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

repeatOnce()

const ANSWERED_WITHIN_MS = 5_000
const CONSUME = '/api/v1/quotas/usage/consume'

let service: Instance
let folder: string
let accounts: string
let count = 0

const message = (account: number, recipients = 1): Record<string, string | number> => ({
  instance: `${process.pid.toString(16)}.6a0b1c2d.${(count += 1).toString(16)}.0`,
  sasl_username: `user-${account}@example.org`,
  recipient_count: recipients,
})
const settings = (url: string): Record<string, string> => ({
  QUOTA_URL: url,
  QUOTA_TOKEN: ADMIN,
  ACCOUNTS_FILE: accounts,
})
const start = (url: string, more: Record<string, string> = {}): Promise<Connector> =>
  Connector.start({ ...settings(url), ...more })
const total = async (account: number, units: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used

beforeAll(async () => {
  service = await Instance.start((await STORES[0]!.open()).url)
  folder = temporaryFolder('quota-connector-')
  accounts = join(folder, 'accounts')
  await writeFile(
    accounts,
    times(300)
      .map((n) => `user-${n + 1}@example.org ${n + 1}\n`)
      .join(''),
  )
})

describe('the connector, where the service', () => {
  it.each([
    ['takes connections and never answers', 'defer', /^DEFER_IF_PERMIT .*cannot be checked/],
    ['takes connections and never answers', 'pass', /^DUNNO$/],
    ['is not there', 'defer', /^DEFER_IF_PERMIT .*cannot be checked/],
    ['is not there', 'pass', /^DUNNO$/],
  ])('%s, answers 200 connections within 5 s each, as it is told to: %s', async (trouble, setting, answer) => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    opened(() => silent.close())
    if (trouble === 'is not there') await new Promise((resolve) => silent.close(resolve))
    const connector = await start(`http://127.0.0.1:${port}`, { UNREACHABLE: setting })
    const slowest = await Promise.all(
      times(200).map(async (n) => {
        const postfix = PolicyClient.to(connector.port)
        const begun = performance.now()
        expect(await postfix.ask(message(n + 1))).toMatch(answer)
        return performance.now() - begun
      }),
    )
    expect(Math.max(...slowest)).toBeLessThan(inTime(ANSWERED_WITHIN_MS))
    expect(await connector.metric('quota_postfix_questions_total', 'reason="unreachable"')).toBe(200)
    expect(
      connector.log.filter(
        ({ level, reason, message: text }) => level === 'error' && reason === undefined && text.endsWith('unreachable'),
      ).length,
    ).toBe(200)
    // What has passed stays; and without a connection there is little to doubt: a last attempt that came too late.
    const doubts = await connector.metric('quota_postfix_doubts ')
    if (setting === 'pass') expect(doubts).toBe(0)
    else if (trouble === 'is not there') expect(doubts).toBeLessThan(200)
    else expect(doubts).toBeGreaterThan(0)
  })

  it('loses its answers: defers, refunds the charge, and repeats its answer', async () => {
    await total(1, 100)
    const detour = await Detour.start(service.url)
    const connector = await start(detour.url)
    detour.loses = (path) => path.startsWith(CONSUME)
    const postfix = PolicyClient.to(connector.port)
    const asked = message(1, 30)
    expect(await postfix.ask(asked)).toMatch(/^DEFER_IF_PERMIT /)
    detour.loses = () => false
    while ((await usedBy(1)) !== 0) await sleep(50)
    while ((await connector.metric('quota_postfix_doubts_settled_total', 'refunded')) !== 1) await sleep(50)
    // Postfix has told the client to come again, whatever it asks about this message over another connection.
    expect(await PolicyClient.to(connector.port).ask(asked)).toMatch(/^DEFER_IF_PERMIT /)
    expect(await usedBy(1)).toBe(0)
    // As it does, as another message.
    expect(await postfix.ask(message(1, 30))).toBe('DUNNO')
    expect(await usedBy(1)).toBe(30)
  })

  it('loses one answer: receives the second, and charges once', async () => {
    await total(2, 100)
    const detour = await Detour.start(service.url)
    const connector = await start(detour.url)
    let lost = 0
    detour.loses = (path) => path.startsWith(CONSUME) && (lost += 1) === 1
    expect(await PolicyClient.to(connector.port).ask(message(2, 30))).toBe('DUNNO')
    expect(lost).toBe(2)
    expect(await usedBy(2)).toBe(30)
  })

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'loses its answers until the connector gets %s: the next one refunds the charges, and defers these messages still',
    async (signal) => {
      const account = signal === 'SIGKILL' ? 4 : 5
      await total(account, 1_000)
      const detour = await Detour.start(service.url)
      const state = join(folder, signal)
      const connector = await start(detour.url, { STATE_DIRECTORY: state })
      const asked = times(20).map(() => message(account, 30))
      detour.loses = () => true
      const answers = await Promise.all(asked.map((one) => PolicyClient.to(connector.port).ask(one)))
      for (const answer of answers) expect(answer).toMatch(/^DEFER_IF_PERMIT /)
      // The file has them before Postfix has an answer, and names no sender.
      const open = await Connector.run(['settle'], { ...settings(detour.url), STATE_DIRECTORY: state })
      expect(open).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(.+ account \d, 30 units, .+\n){20}$/) })
      expect(await usedBy(account)).toBe(600)
      connector.signal(signal)
      await connector.exited
      // Nothing has to be done by hand.
      expect(connector.log.filter(({ level, why }) => level === 'error' && why !== undefined)).toEqual([])
      detour.loses = () => false
      const next = await start(detour.url, { STATE_DIRECTORY: state })
      expect(next.log).toContainEqual(expect.objectContaining({ message: 'doubts are on disk', doubts: 20 }))
      while ((await next.metric('quota_postfix_doubts ')) > 0) await sleep(50)
      expect(await usedBy(account)).toBe(0)
      expect(await PolicyClient.to(next.port).ask(asked[0]!)).toMatch(/^DEFER_IF_PERMIT /)
      // Also after they have been settled by a connector that is gone.
      next.signal('SIGKILL')
      await next.exited
      const third = await start(detour.url, { STATE_DIRECTORY: state })
      expect(await PolicyClient.to(third.port).ask(asked[0]!)).toMatch(/^DEFER_IF_PERMIT /)
      expect(await PolicyClient.to(third.port).ask(message(account, 30))).toBe('DUNNO')
      expect(await usedBy(account)).toBe(30)
    },
  )

  it.each([
    ['remembers local recipients', 7, ['bob@local.test', 'bob@elsewhere.test'], {}],
    ['is asked by a server that does not ask again', 8, [], { repeats: 'no' }],
  ])(
    'has charged a message when the connector, which %s, is killed: the next one defers it, and refunds the charge',
    async (_, account, recipients, more) => {
      await total(account, 100)
      const detour = await Detour.start(service.url)
      const kept = { STATE_DIRECTORY: join(folder, `killed-${account}`), LOCAL_DOMAINS: 'local.test' }
      const connector = await start(detour.url, kept)
      const asked = { ...message(account, Math.max(recipients.length, 1)), ...more }
      const postfix = PolicyClient.to(connector.port)
      for (const recipient of recipients)
        await postfix.ask({ ...asked, protocol_state: 'RCPT', recipient, recipient_count: 0 })
      detour.loses = (path) => path.startsWith(CONSUME)
      void postfix.ask(asked)
      while ((await usedBy(account)) === 0) await sleep(20)
      expect(await usedBy(account)).toBe(1)
      connector.signal('SIGKILL')
      await connector.exited
      detour.loses = () => false
      const next = await start(detour.url, kept)
      expect(await PolicyClient.to(next.port).ask(asked)).toMatch(/^DEFER_IF_PERMIT /)
      while ((await next.metric('quota_postfix_doubts_settled_total', 'outcome="refunded"')) === 0) await sleep(50)
      expect(await usedBy(account)).toBe(0)
    },
  )

  it('is asked by hand: refunds once what a key has charged', async () => {
    await total(6, 100)
    const env = settings(service.url)
    const connector = await start(service.url)
    expect(await PolicyClient.to(connector.port).ask({ ...message(6, 30), queue_id: 'BYHAND' })).toBe('DUNNO')
    const key = (): string =>
      (connector.log.find(({ queue_id: id }) => id === 'BYHAND') as { key?: string } | undefined)?.key ?? ''
    while (key() === '') await sleep(10)
    const settle = (...keys: string[]): Promise<unknown> => Connector.run(['settle', ...keys], env)
    expect(await settle(key())).toMatchObject({ code: 0, stdout: expect.stringContaining('refunded 30 of account 6') })
    expect(await usedBy(6)).toBe(0)
    expect(await settle(key(), 'nobody')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/was refunded before.*\nnobody: nothing is charged/),
    })
    expect(await Connector.run(['settle', key()], settings('http://127.0.0.1:1'))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('not settled'),
    })
    expect(await settle()).toMatchObject({ code: 1, stderr: expect.stringContaining('STATE_DIRECTORY') })
    expect(await Connector.run(['what'], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('usage') })
  })

  it('loses its answers until the end: logs the remaining charges', async () => {
    await total(3, 100)
    const detour = await Detour.start(service.url)
    const connector = await start(detour.url)
    detour.loses = () => true
    expect(await PolicyClient.to(connector.port).ask(message(3, 30))).toMatch(/^DEFER_IF_PERMIT /)
    connector.signal('SIGTERM')
    expect(await connector.exited).toBe(0)
    expect(connector.log.filter(({ level, why }) => level === 'error' && why !== undefined)).toMatchObject([
      { account: 3, amount: 30, key: expect.stringMatching(/^mail:[0-9a-f]{64}$/), why: 'the connector ends' },
    ])
  })
})

describe('a question that does not end', () => {
  it('is not waited for, however slowly it arrives', async () => {
    const connector = await start(service.url)
    const postfix = PolicyClient.to(connector.port)
    const begun = performance.now()
    while (!postfix.ended) {
      postfix.socket.write('a=b\n')
      await sleep(100)
    }
    expect(performance.now() - begun).toBeGreaterThan(9_000)
    expect(await connector.metric('quota_postfix_connections_closed_total', 'slow')).toBe(1)
  })
})
