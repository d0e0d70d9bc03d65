import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector, PolicyClient } from './support/connector.js'
import { Detour } from './support/detour.js'
import { HttpClient } from './support/http-client.js'
import { ADMIN, Instance } from './support/instance.js'
import { opened } from './support/opened.js'
import { inTime } from './support/pace.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const ANSWERED_WITHIN_MS = 5_000
const CONSUME = '/api/v1/quotas/usage/consume'

let service: Instance
let accounts: string
let count = 0

const message = (account: number, recipients = 1): Record<string, string | number> => ({
  instance: `${process.pid.toString(16)}.6a0b1c2d.${(count += 1).toString(16)}.0`,
  sasl_username: `user-${account}@example.org`,
  recipient_count: recipients,
})
const start = (url: string, more: Record<string, string> = {}): Promise<Connector> =>
  Connector.start({ QUOTA_URL: url, QUOTA_TOKEN: ADMIN, ACCOUNTS_FILE: accounts, ...more })
const total = async (account: number, units: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used

beforeAll(async () => {
  service = await Instance.start((await STORES[0]!.open()).url, new HttpClient())
  const folder = await mkdtemp(join(tmpdir(), 'quota-connector-'))
  opened(async () => rm(folder, { recursive: true, force: true }))
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

  it('loses its answers until the end: logs the remaining charges', async () => {
    await total(3, 100)
    const detour = await Detour.start(service.url)
    const connector = await start(detour.url)
    detour.loses = () => true
    const asked = message(3, 30)
    expect(await PolicyClient.to(connector.port).ask(asked)).toMatch(/^DEFER_IF_PERMIT /)
    connector.signal('SIGTERM')
    expect(await connector.exited).toBe(0)
    expect(connector.log.filter(({ level, why }) => level === 'error' && why !== undefined)).toMatchObject([
      { account: 3, amount: 30, key: `postfix:${asked['instance']}:ann@example.org`, why: 'the connector ends' },
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
