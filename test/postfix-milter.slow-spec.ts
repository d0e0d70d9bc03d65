import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector } from './support/connector.js'
import { figure } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { Postfix, Sink, SmtpSession } from './support/postfix.js'
import { type Store, STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

/** A server where there is one, else SQLite. */
const kind = STORES.at(-1)!
const PATIENCE_MS = 240_000
const WAIT_MS = 60_000
const REFUSED = 'nobody@elsewhere.test'

/** Waits until it is so, or has had time enough. */
async function until(so: () => boolean | Promise<boolean>, forMs = WAIT_MS): Promise<void> {
  const deadline = performance.now() + forMs
  while (performance.now() < deadline && !(await so())) await sleep(100)
}

describe(`a real Postfix with the connector as a filter (milter), on ${kind.name}`, () => {
  let store: Store
  let service: Instance
  let folder: string
  let settings: Record<string, string>
  let connector: Connector
  let sink: Sink
  let postfix: Postfix

  beforeAll(async () => {
    store = await kind.open()
    service = await Instance.start(store.url)
    folder = temporaryFolder('quota-milter-')
    const lines = times(100).map((n) => `user-${n}@example.org ${n + 1}`)
    await writeFile(join(folder, 'accounts'), `${lines.join('\n')}\n`)
    settings = {
      QUOTA_URL: service.url,
      QUOTA_TOKEN: ADMIN,
      ACCOUNTS_FILE: join(folder, 'accounts'),
      STATE_DIRECTORY: join(folder, 'state'),
      CONTACT: 'https://example.org/a%20b',
      LISTEN: 'off',
    }
    connector = await Connector.start(settings)
    sink = await Sink.start()
    postfix = await Postfix.start(
      [
        `smtpd_milters=inet:127.0.0.1:${connector.milter}`,
        'milter_default_action=tempfail',
        `smtpd_recipient_restrictions=check_recipient_access inline:{ ${REFUSED}=REJECT }`,
      ],
      sink.port,
    )
  }, PATIENCE_MS)

  const user = (n: number): string => `user-${n}@example.org`
  const total = async (n: number, units: number): Promise<void> => {
    const body = { account_id: n + 1, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
    expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
  }
  const usedBy = async (n: number): Promise<number> => {
    const read = async (): Promise<Answer> => service.get(`/api/v1/quotas/summary/${n + 1}`)
    // A connection that was kept meanwhile may end just then.
    return bodyOf(await read().catch(read)).used
  }
  const addresses = (count: number): string[] => times(count).map((n) => `someone-${n}@elsewhere.test`)
  const delivered = (n: number): number => sink.recipients.get(user(n)) ?? 0
  /** An envelope without refused recipients. @returns how many were accepted, and the reply to `DATA` */
  const begin = async (session: SmtpSession, n: number, recipients: readonly string[]): Promise<[number, string]> => {
    let accepted = 0
    if (!(await session.command(`MAIL FROM:<${user(n)}>`)).startsWith('250')) return [0, '']
    for (const recipient of recipients)
      if ((await session.command(`RCPT TO:<${recipient}>`)).startsWith('250')) accepted += 1
    return [accepted, await session.command('DATA')]
  }

  it(
    'charges what is accepted, neither refused recipients nor aborted messages, and refuses at DATA',
    async () => {
      await total(0, 5)
      const session = await SmtpSession.open(postfix.submission, user(0))
      expect(await begin(session, 0, [...addresses(2), REFUSED, REFUSED])).toEqual([2, expect.stringMatching(/^354/)])
      expect(await session.body(user(0))).toMatch(/^250/)
      expect(await usedBy(0)).toBe(2)
      // An envelope, and a half of a body, that end nowhere.
      await session.command(`MAIL FROM:<${user(0)}>`)
      await session.command('RCPT TO:<someone@elsewhere.test>')
      expect(await session.command('RSET')).toMatch(/^250/)
      const broken = await SmtpSession.open(postfix.submission, user(0))
      expect(await begin(broken, 0, addresses(1))).toEqual([1, expect.stringMatching(/^354/)])
      broken.close()
      expect(await begin(session, 0, addresses(4))).toEqual([
        4,
        '550 5.7.1 Sending quota exceeded: 4 recipients asked for, 3 left. Waiting does not help; send to at most 3 at a time, or ask https://example.org/a%20b',
      ])
      await session.command('RSET')
      expect(await session.send(user(0), addresses(3))).toMatch(/^250/)
      expect(await session.command('QUIT')).toMatch(/^221/)
      await until(() => delivered(0) === 5)
      expect([delivered(0), await usedBy(0)]).toEqual([5, 5])
      expect(connector.log.find(({ message }) => message === 'pass: fits')).toMatchObject({
        queue_id: expect.stringMatching(/^[0-9A-F]{6,}$/),
        state: 'END-OF-MESSAGE',
        account: 1,
        recipients: 2,
      })
    },
    PATIENCE_MS,
  )

  it(
    'of 1,000 messages with faults, what is accepted is charged and delivered, to the recipient',
    async () => {
      const senders = times(20).map((n) => 10 + n)
      for (const n of senders) await total(n, 100_000)
      const accepted = new Map(senders.map((n) => [n, 0]))
      const said = { messages: 0, aborted: 0, refused: 0, deferred: 0 }
      const flowing = senders.map(async (n) => {
        let session = await SmtpSession.open(postfix.submission, user(n))
        for (let message = 0; message < 50; message += 1) {
          said.messages += 1
          const recipients = addresses(1 + ((message * 7 + n * 3) % 20))
          if (message % 5 === 0) recipients.splice(message % recipients.length, 0, REFUSED)
          try {
            const [count, reply] = await begin(session, n, recipients)
            if (message % 7 === 0) {
              said.aborted += 1
              // In the middle of the envelope or of the body.
              if (message % 2 === 0 && !reply.startsWith('354')) await session.command('RSET')
              else {
                session.close()
                session = await SmtpSession.open(postfix.submission, user(n))
              }
              continue
            }
            const end = reply.startsWith('354') ? await session.body(user(n)) : reply
            if (end.startsWith('250')) accepted.set(n, accepted.get(n)! + count)
            else {
              expect(end).toMatch(/^(451 4\.7\.1|$)/)
              throw new Error('deferred')
            }
          } catch {
            said.deferred += 1
            session.close()
            session = await SmtpSession.open(postfix.submission, user(n))
          }
        }
        session.close()
      })
      const faults = (async () => {
        for (const fault of ['service', 'SIGKILL', 'service', 'SIGTERM'] as const) {
          const before = said.messages
          await until(() => said.messages >= before + 150 || said.messages >= 1_000)
          if (fault === 'service') {
            await service.kill()
            await service.start()
          } else {
            connector.signal(fault)
            await connector.exited
            connector = await Connector.start(settings, connector)
          }
        }
      })()
      await Promise.all([...flowing, faults])
      // What was charged in vain comes back.
      await until(async () => (await connector.metric('quota_postfix_doubts ')) === 0, 120_000)
      await until(() => senders.every((n) => delivered(n) >= accepted.get(n)!))
      const found: Record<string, number>[] = []
      for (const n of senders) found.push({ n, used: await usedBy(n), delivered: delivered(n) })
      expect(found).toEqual(senders.map((n) => ({ n, used: accepted.get(n)!, delivered: accepted.get(n)! })))
      figure('1,000 messages through a milter', {
        recipients: [...accepted.values()].reduce((sum, one) => sum + one, 0),
        ...said,
      })
    },
    PATIENCE_MS,
  )

  it(
    'counts the same kB as Postfix does',
    async () => {
      await total(50, 100)
      const sized = await Connector.start(
        { ...settings, UNITS: 'kb', STATE_DIRECTORY: join(folder, 'sized') },
        undefined,
      )
      const other = await Postfix.start(
        [`smtpd_milters=inet:127.0.0.1:${sized.milter}`, 'local_header_rewrite_clients='],
        sink.port,
      )
      const session = await SmtpSession.open(other.submission, user(50))
      // As `body` sends it, without the dot.
      const around = `From: <${user(50)}>\r\nSubject: test\r\n\r\n\r\n`.length
      const lines = (bytes: number): string => `${'x'.repeat(98)}\r\n`.repeat(80).slice(0, bytes)
      for (const [bytes, used] of [
        [2_000, 2],
        [2_001, 5],
      ] as const) {
        expect(await session.send(user(50), addresses(3), lines(bytes - around))).toMatch(/^250/)
        expect(await usedBy(50)).toBe(used)
      }
      session.close()
    },
    PATIENCE_MS,
  )

  describe('for mail that is handed in on the host (non_smtpd_milters)', () => {
    /** A Postfix whose own mail alone is asked about, with a connector for it. */
    const host = async (more: Record<string, string>): Promise<{ own: Connector; of: Postfix }> => {
      const { STATE_DIRECTORY: _, ...others } = settings
      const own = await Connector.start({ ...others, PAYER_WITHOUT_SASL: 'sender', ...more })
      const filter = [`non_smtpd_milters=inet:127.0.0.1:${own.milter}`, 'milter_default_action=tempfail']
      return { own, of: await Postfix.start([], sink.port, filter) }
    }
    const seen = async (of: Postfix, pattern: RegExp, times = 1): Promise<void> => {
      await until(async () => ((await of.log()).match(new RegExp(pattern, 'g'))?.length ?? 0) >= times)
      expect(await of.log()).toMatch(pattern)
    }

    it.each(['false', 'true'])(
      'charges the sender, and what does not fit goes back to it, with CHECK_AT_RCPT=%s',
      async (checks) => {
        const n = checks === 'true' ? 60 : 61
        await total(n, 3)
        const { own, of } = await host({ CHECK_AT_RCPT: checks, UNKNOWN_SENDER: 'reject' })
        await of.sendmail(user(n), addresses(2))
        await until(() => delivered(n) === 2)
        await of.sendmail(user(n), addresses(2))
        await seen(
          of,
          /milter-reject: \S+ from localhost\[127\.0\.0\.1\]: 5\.7\.1 Sending quota exceeded: 2 recipients/,
        )
        const bounced = sink.recipients.get('') ?? 0
        await of.sendmail('stranger@elsewhere.test', addresses(1))
        await seen(of, /milter-reject: DATA .*5\.7\.1 No sending quota is known/)
        await of.sendmail(user(n), addresses(1))
        await until(() => delivered(n) === 3 && (sink.recipients.get('') ?? 0) > bounced)
        await until(async () => (await own.metric('quota_postfix_doubts ')) === 0)
        expect([delivered(n), await usedBy(n)]).toEqual([3, 3])
        // The notices themselves are free.
        await seen(of, /bounce.*sender non-delivery notification/, 2)
        const said = new Set(own.log.filter(({ state }) => state !== undefined).map(({ message }) => message))
        // A busy machine is told to come again.
        said.delete('defer: unreachable')
        expect(said).toEqual(new Set(['pass: fits', 'reject: exceeded', 'reject: unknown_sender']))
        expect(await of.log()).not.toMatch(/milter configuration error/)
      },
      PATIENCE_MS,
    )

    it(
      'keeps what is deferred, and asks again, until it is charged once',
      async () => {
        await total(62, 10)
        const { own, of } = await host({ PAYER_WITHOUT_SASL: 'network' })
        await of.sendmail(user(62), addresses(2))
        await seen(of, /milter-reject: DATA .*4\.7\.1 No sending quota is known/, 3)
        expect(delivered(62)).toBe(0)
        own.signal('SIGTERM')
        await own.exited
        await seen(of, /warning: connect to Milter service .*Connection refused/, 2)
        await writeFile(join(folder, 'host'), '127.0.0.1 63\n')
        const next = await Connector.start(
          { ...settings, STATE_DIRECTORY: '', PAYER_WITHOUT_SASL: 'network', ACCOUNTS_FILE: join(folder, 'host') },
          own,
        )
        await until(() => delivered(62) === 2)
        await until(async () => (await next.metric('quota_postfix_doubts ')) === 0)
        expect([delivered(62), await usedBy(62)]).toEqual([2, 2])
      },
      PATIENCE_MS,
    )
  })
})
