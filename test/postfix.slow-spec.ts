import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { Connector, type LogLine } from './support/connector.js'
import { Detour } from './support/detour.js'
import { figure } from './support/figures.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { inTime } from './support/pace.js'
import { Postfix, Sink, SmtpSession } from './support/postfix.js'
import { type Store, STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

/** A server where there is one, else SQLite. */
const kind = STORES.at(-1)!
const PATIENCE_MS = 300_000
const WAIT_MS = 40_000

/** Waits until it is so, or has had time enough. */
async function until(so: () => boolean | Promise<boolean>, forMs = WAIT_MS): Promise<void> {
  const deadline = performance.now() + forMs
  while (performance.now() < deadline && !(await so())) await sleep(100)
}

/** Every message that Postfix took, and how many recipients it had. */
interface Mail {
  accepted: number
  refused: { readonly recipients: number; readonly reply: string }[]
}

describe(`a real Postfix in front of the service on ${kind.name}`, () => {
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
    folder = temporaryFolder('quota-connector-')
    // Account n belongs to user-n; the tests take ranges of their own.
    const lines = times(400).map((n) => `user-${n}@example.org ${n + 1}`)
    await writeFile(join(folder, 'accounts'), `${lines.join('\n')}\n`)
    settings = {
      QUOTA_URL: service.url,
      QUOTA_TOKEN: ADMIN,
      ACCOUNTS_FILE: join(folder, 'accounts'),
      PAYER_WITHOUT_SASL: 'sender',
    }
    connector = await Connector.start(settings)
    sink = await Sink.start()
    // As documented: `NAME = check_policy_service { … }`, with at most one level of braces in it.
    const documented = (await readFile('docs/postfix.md', 'utf8')).matchAll(
      /^ *(smtpd_\w+) =\s+(check_policy_service \{(?:[^{}]|\{[^}]*\})*\})/gm,
    )
    const options = [...documented].map(([, name, restriction = '']) => {
      expect(restriction).toContain('inet:127.0.0.1:10040')
      return `${name}=${restriction.replace(/\s+/g, ' ').replace(':10040', `:${connector.port}`)}`
    })
    expect(options.map((option) => option.split('=', 1)[0])).toEqual([
      'smtpd_data_restrictions',
      'smtpd_end_of_data_restrictions',
    ])
    postfix = await Postfix.start(options, sink.port)
  }, PATIENCE_MS)

  const user = (n: number): string => `user-${n}@example.org`
  const total = async (n: number, units: number): Promise<void> => {
    const body = { account_id: n + 1, quota_type: 1, total: units, expire_at: '2999-01-01T00:00:00Z' }
    expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
  }
  const hourly = async (n: number, units: number, resetAt: Date): Promise<void> => {
    const cycle = { quota_type: 2, total: units, cycle_unit: 'hour', cycle_reset_at: resetAt.toISOString() }
    expect(await service.post(MAIL.quotas, { account_id: n + 1, ...cycle })).toMatchObject({ status: 201 })
  }
  const usedBy = async (n: number): Promise<number> => bodyOf(await service.get(`/api/v1/quotas/summary/${n + 1}`)).used
  /**
   * Runs a scenario with a sender of its own. One in which the connector could not ask in time, on a busy machine, says
   * nothing: it runs again with the next sender.
   */
  const asked = async (from: number, scenario: (n: number) => Promise<void>): Promise<void> => {
    for (let n = from; ; n += 1) {
      try {
        await scenario(n)
        return
      } catch (error) {
        const isLate = (): boolean =>
          connector.log.some(({ account, message }) => account === n + 1 && /postponed|unreachable/.test(message))
        await until(isLate, 2_000)
        if (!isLate()) throw error
      }
    }
  }
  const addresses = (count: number): string[] => times(count).map((n) => `someone-${n}@elsewhere.test`)

  it(
    'takes 1,000 messages of 20 senders with 1 to 50 recipients: quotas are exact to the recipient',
    async () => {
      const senders = times(20)
      for (const n of senders) {
        // Some 1,275 are asked for.
        if (n % 2 === 0) await total(n, 400 + n * 50)
        else await hourly(n, 400 + n * 50, new Date('2900-01-01'))
      }
      const begun = performance.now()
      const mails = await Promise.all(
        senders.map(async (n): Promise<Mail> => {
          const session = await SmtpSession.open(postfix.submission, user(n))
          const mail: Mail = { accepted: 0, refused: [] }
          for (let message = 0; message < 50; message += 1) {
            const recipients = 1 + ((message * 17 + n * 13) % 50)
            // Whoever is logged in pays, whatever stands on the envelope.
            const reply = await session.send(user((n + 1) % 20), addresses(recipients))
            if (reply.startsWith('250')) mail.accepted += recipients
            else mail.refused.push({ recipients, reply })
          }
          session.close()
          return mail
        }),
      )
      figure('1,000 messages', { seconds: Math.round((performance.now() - begun) / 1_000) })
      for (const [n, { accepted, refused }] of mails.entries()) {
        const granted = 400 + n * 50
        expect({ n, used: await usedBy(n) }).toEqual({ n, used: accepted })
        expect(accepted).toBeLessThanOrEqual(granted)
        for (const { recipients, reply } of refused) {
          // What was refused did not fit even in the end, and time helps where the quota refills.
          expect(recipients).toBeGreaterThan(granted - accepted)
          expect(reply).toMatch(n % 2 === 0 ? /^554 5\.7\.1 .*ask your administrator/ : /^450 4\.7\.1 .* fits again in/)
        }
      }
      // All that was taken is delivered, and nothing else.
      const delivered = (): number => times(20).reduce((sum, n) => sum + (sink.recipients.get(user(n)) ?? 0), 0)
      const taken = mails.reduce((sum, { accepted }) => sum + accepted, 0)
      await until(() => delivered() >= taken)
      expect(delivered()).toBe(taken)
      expect(mails.reduce((sum, { refused }) => sum + refused.length, 0)).toBeGreaterThan(100)
      const [line] = connector.log.filter(({ account }) => account === 1)
      expect(line).toMatchObject({
        queue_id: expect.stringMatching(/^[0-9A-F]{6,}$/),
        account: 1,
        message: 'pass: fits',
      })
    },
    PATIENCE_MS,
  )

  it(
    'refuses at DATA, before the body: nothing is uploaded, nothing charged; what fits is charged at its end',
    async () => {
      await asked(370, async (n) => {
        await total(n, 3)
        const session = await SmtpSession.open(postfix.submission, user(n))
        expect(await session.begin(user(n), addresses(4))).toMatch(
          /^554 5\.7\.1 <DATA>: Data command rejected: Sending quota exceeded: 4 recipients asked for, 3 left/,
        )
        // In pieces, too (BDAT), Postfix refuses before it has all.
        expect(await session.command('BDAT 3\r\na')).toMatch(/^554 5\.7\.1 .*4 recipients asked for, 3 left/)
        expect(await usedBy(n)).toBe(0)
        await session.command('RSET')
        expect(await session.begin(user(n), addresses(3))).toMatch(/^354/)
        expect(await usedBy(n)).toBe(0)
        expect(await session.body(user(n))).toMatch(/^250/)
        expect(await usedBy(n)).toBe(3)
        expect(await session.begin(user(n), addresses(1))).toMatch(/^554 5\.7\.1 <DATA>: .* 0 left/)
        expect(await session.command('QUIT')).toMatch(/^221/)
        expect(await usedBy(n)).toBe(3)
        const answers = (): LogLine[] => connector.log.filter(({ account }) => account === n + 1)
        // The log arrives later than the answer.
        await until(() => answers().length >= 4)
        expect(answers().map(({ state, message }) => [state, message])).toEqual([
          ['DATA', 'reject: exceeded'],
          ['DATA', 'reject: exceeded'],
          ['END-OF-MESSAGE', 'pass: fits'],
          ['DATA', 'reject: exceeded'],
        ])
      })
    },
    PATIENCE_MS,
  )

  it(
    'keeps the envelope of a refused message for a client that sends no RSET, and charges what is delivered',
    async () => {
      await asked(380, async (n) => {
        await total(n, 2)
        const session = await SmtpSession.open(postfix.submission, user(n))
        const mail = `MAIL FROM:<${user(n)}>`
        expect(await session.begin(user(n), addresses(3))).toMatch(
          /^554 5\.7\.1 <DATA>: .*3 recipients asked for, 2 left/,
        )
        // There is no next message; its recipients would be added.
        expect(await session.command(mail)).toMatch(/^503 5\.5\.1 .*nested MAIL/)
        expect(await session.command('RCPT TO:<one-more@elsewhere.test>')).toMatch(/^250/)
        expect(await session.command('DATA')).toMatch(/^554 5\.7\.1 <DATA>: .*4 recipients asked for, 2 left/)
        await total(n, 2)
        expect(await session.command('DATA')).toMatch(/^354/)
        // Another message takes what was left.
        expect(await service.post(MAIL.consume, { account_id: n + 1, amount: 1 }, `taken-${n}`)).toMatchObject({
          status: 200,
        })
        expect(await session.body(user(n))).toMatch(/^554 5\.7\.1 <END-OF-MESSAGE>: .*4 recipients asked for, 3 left/)
        expect(await session.command(mail)).toMatch(/^503/)
        // Postfix 3.7 crashes here: in any case, nothing is charged.
        await session.command('DATA').catch(() => undefined)
        session.close()
        expect(await usedBy(n)).toBe(1)
        const next = await SmtpSession.open(postfix.submission, user(n))
        expect(await next.begin(user(n), addresses(4))).toMatch(/^554 5\.7\.1 <DATA>/)
        await total(n, 1)
        expect(await next.command('DATA')).toMatch(/^354/)
        expect(await next.body(user(n))).toMatch(/^250/)
        expect(await usedBy(n)).toBe(5)
        await until(() => sink.recipients.get(user(n)) === 4)
        expect(sink.recipients.get(user(n))).toBe(4)
      })
    },
    PATIENCE_MS,
  )

  it(
    'lets another server retry 9 MB without sending them, until they fit',
    async () => {
      await hourly(41, 2, new Date('2900-01-01'))
      const session = await SmtpSession.open(postfix.queue)
      expect(await session.send(user(41), addresses(1))).toMatch(/^250/)
      await until(() => sink.recipients.get(user(41)) === 1)
      const body = `${'x'.repeat(73)}\r\n`.repeat(120_000)
      expect(await session.send(user(41), ['big-1@elsewhere.test', 'big-2@elsewhere.test'], body)).toMatch(/^250/)
      const refused = async (): Promise<number> =>
        (await postfix.log()).match(/to=<big-1@.*status=deferred.*<DATA>: .*in reply to DATA command/g)?.length ?? 0
      await until(async () => (await refused()) >= 3)
      expect(await refused()).toBeGreaterThanOrEqual(3)
      expect(await usedBy(41)).toBe(1)
      await total(41, 1)
      await until(() => sink.recipients.get(user(41)) === 3)
      expect([sink.recipients.get(user(41)), await usedBy(41)]).toEqual([3, 3])
      // Its body came once: Postfix asks at the end of each.
      const ends = connector.log.filter(({ account, state }) => account === 42 && state === 'END-OF-MESSAGE')
      expect(ends.map(({ recipients }) => recipients)).toEqual([1, 2])
    },
    PATIENCE_MS,
  )

  it(
    'defers mail over the limit, and it goes out by itself when the window is over',
    async () => {
      const resetAt = new Date(Date.now() + 10_000)
      await hourly(30, 10, resetAt)
      const session = await SmtpSession.open(postfix.queue)
      for (let message = 0; message < 4; message += 1)
        expect(await session.send(user(30), addresses(5))).toMatch(/^250/)
      const arrived = (): number => sink.recipients.get(user(30)) ?? 0
      await until(() => arrived() >= 10)
      await sleep(Math.max(0, resetAt.getTime() - Date.now() - 1_000))
      expect(arrived()).toBe(10)
      expect(Date.now()).toBeLessThan(resetAt.getTime())
      await until(() => arrived() >= 20)
      expect(Date.now()).toBeGreaterThanOrEqual(resetAt.getTime())
      expect(arrived()).toBe(20)
      expect(await usedBy(30)).toBe(10)
      expect(await postfix.log()).toMatch(/to=<someone-0@elsewhere.test>.*status=deferred.*fits again in 1 minute/)
    },
    PATIENCE_MS,
  )

  it(
    'with the service killed and back while mail flows: nothing is spent twice, nothing passes unasked',
    async () => {
      const senders = times(20).map((n) => 50 + n)
      for (const n of senders) await total(n, 100_000)
      const sent = new Map<number, number>()
      const [deferred, stopped] = [[] as string[], { now: false as boolean }]
      const flowing = senders.map(async (n) => {
        const session = await SmtpSession.open(postfix.submission, user(n))
        for (let message = 0; !stopped.now; message += 1) {
          const recipients = 1 + (message % 50)
          const reply = await session.send(user(n), addresses(recipients))
          if (reply.startsWith('250')) sent.set(n, (sent.get(n) ?? 0) + recipients)
          else deferred.push(reply)
        }
        session.close()
      })
      for (const outageMs of [0, 6_000, 1_000]) {
        await sleep(2_000)
        await service.kill()
        await sleep(outageMs)
        await service.start()
      }
      await sleep(2_000)
      stopped.now = true
      await Promise.all(flowing)
      // Those who waited longer than they may were told to come later, and nothing worse.
      expect(deferred.length).toBeGreaterThan(10)
      for (const reply of deferred) expect(reply).toMatch(/^450 4\.7\.1 .*cannot be checked at the moment/)
      const spent = async (): Promise<Record<string, number>> =>
        Object.fromEntries(await Promise.all(senders.map(async (n) => [n, await usedBy(n)] as const)))
      const expected = Object.fromEntries(senders.map((n) => [n, sent.get(n) ?? 0]))
      // What was charged in vain comes back within seconds.
      const deadline = performance.now() + 30_000
      while (performance.now() < deadline && JSON.stringify(await spent()) !== JSON.stringify(expected))
        await sleep(500)
      expect(await spent()).toEqual(expected)
      figure('service killed three times', {
        recipients: Object.values(expected).reduce((sum, one) => sum + one, 0),
        deferred: deferred.length,
        refunded: await connector.metric('quota_postfix_doubts_settled_total', 'refunded'),
      })
    },
    PATIENCE_MS,
  )

  it(
    'with the connector stopped, and killed, and started again while mail flows: no message is deferred',
    async () => {
      const senders = times(20).map((n) => 350 + n)
      for (const n of senders) await total(n, 100_000)
      const sent = new Map<number, number>()
      const [refused, stopped] = [[] as string[], { now: false as boolean }]
      let longestAway = 0
      const flowing = senders.map(async (n) => {
        const session = await SmtpSession.open(postfix.submission, user(n))
        while (!stopped.now) {
          const reply = await session.send(user(n), addresses(3))
          if (reply.startsWith('250')) sent.set(n, (sent.get(n) ?? 0) + 3)
          else refused.push(reply)
        }
        session.close()
      })
      for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
        // Nobody still waits since the outage before: the attempts of one question would have to bridge both.
        const before = new Map(sent)
        await until(() => senders.every((n) => (sent.get(n) ?? 0) > (before.get(n) ?? 0)))
        await sleep(2_000)
        connector.signal(signal)
        const since = performance.now()
        await connector.exited
        // Longer than Postfix waits by default.
        await sleep(2_000)
        connector = await Connector.start(settings, connector)
        longestAway = Math.max(longestAway, performance.now() - since)
      }
      await sleep(2_000)
      stopped.now = true
      await Promise.all(flowing)
      // Postfix asks eight times in eight seconds; on a busy machine, the start alone may take longer.
      expect(longestAway < 7_000 ? refused : []).toEqual([])
      // A question whose answer was lost is asked again, and charged once.
      for (const n of senders) expect(await usedBy(n)).toBe(sent.get(n))
      figure('connector ended three times', { messages: [...sent.values()].reduce((sum, one) => sum + one, 0) / 3 })
    },
    PATIENCE_MS,
  )

  it(
    'with answers of the service lost, and the connector killed meanwhile: what was charged is what was taken',
    async () => {
      const senders = times(10).map((n) => 330 + n)
      for (const n of senders) await total(n, 100_000)
      const detour = await Detour.start(service.url)
      const kept = { ...settings, QUOTA_URL: detour.url, STATE_DIRECTORY: join(folder, 'state') }
      const restart = async (signal: NodeJS.Signals, env: Record<string, string>): Promise<number> => {
        const since = performance.now()
        connector.signal(signal)
        await connector.exited
        connector = await Connector.start(env, connector)
        return performance.now() - since
      }
      await restart('SIGTERM', kept)
      const sent = new Map<number, number>()
      const [deferred, stopped] = [[] as string[], { now: false as boolean }]
      const flowing = senders.map(async (n) => {
        const session = await SmtpSession.open(postfix.submission, user(n))
        while (!stopped.now) {
          const reply = await session.send(user(n), addresses(3))
          if (reply.startsWith('250')) sent.set(n, (sent.get(n) ?? 0) + 3)
          else deferred.push(reply)
        }
        session.close()
      })
      await until(() => sent.size === senders.length)
      detour.loses = (path) => path.startsWith(MAIL.consume)
      await until(() => deferred.length >= 20)
      const open = await connector.metric('quota_postfix_doubts ')
      const away = await restart('SIGKILL', kept)
      await until(() => deferred.length >= 40)
      detour.loses = () => false
      await service.kill()
      await service.start()
      const before = new Map(sent)
      await until(() => senders.every((n) => (sent.get(n) ?? 0) > (before.get(n) ?? 0)))
      stopped.now = true
      await Promise.all(flowing)
      expect(open).toBeGreaterThan(0)
      await until(async () => (await connector.metric('quota_postfix_doubts ')) === 0, 90_000)
      const used = await Promise.all(senders.map(usedBy))
      const taken = senders.map((n) => sent.get(n) ?? 0)
      // Nobody gets too much; and nothing is charged in vain, if Postfix did not give up on a connector that was late.
      for (const [n, count] of taken.entries()) expect(used[n]).toBeGreaterThanOrEqual(count)
      if (away < 7_000) expect(used).toEqual(taken)
      figure('connector killed while answers were lost', {
        recipients: taken.reduce((sum, one) => sum + one, 0),
        deferred: deferred.length,
        refunded: await connector.metric('quota_postfix_doubts_settled_total', 'refunded'),
      })
      await restart('SIGTERM', settings)
    },
    PATIENCE_MS * 2,
  )

  it(
    'answers 200 connections at once',
    async () => {
      const senders = times(200).map((n) => 100 + n)
      await Promise.all(senders.map((n) => total(n, 7)))
      const sessions = await Promise.all(senders.map((n) => SmtpSession.open(postfix.submission, user(n))))
      const begun = performance.now()
      // All at once, and until it is so: a machine that is busy with much else is told to come again.
      const sent = (recipients: number, so: RegExp): Promise<string[]> =>
        Promise.all(
          sessions.map(async (session, n) => {
            for (;;) {
              const reply = await session.send(user(100 + n), addresses(recipients))
              if (so.test(reply) || !/^450 4\.7\.1 .*cannot be checked/.test(reply)) return reply
              // What was charged in vain has to come back before it is charged again.
              while ((await connector.metric('quota_postfix_doubts ')) > 0) await sleep(100)
            }
          }),
        )
      const replies = await sent(7, /^250/)
      figure('200 connections', { ms: Math.round(performance.now() - begun) })
      expect(replies.filter((reply) => !reply.startsWith('250'))).toEqual([])
      expect(await connector.metric('quota_postfix_connections')).toBeGreaterThanOrEqual(200)
      const again = await sent(1, /^554/)
      expect(again.filter((reply) => !reply.startsWith('554'))).toEqual([])
      expect(await Promise.all(senders.map(usedBy))).toEqual(senders.map(() => 7))
      // Each process of Postfix keeps its connection, and does not look at it: the connector ends all the same.
      const ended = performance.now()
      connector.signal('SIGTERM')
      expect(await connector.exited).toBe(0)
      expect(performance.now() - ended).toBeLessThan(inTime(10_000))
      // Without a connector, Postfix defers in the end, and says why.
      expect(await sessions[0]!.send(user(100), addresses(1))).toMatch(/^451 4\.7\.1 .*cannot be checked/)
      for (const session of sessions) session.close()
    },
    PATIENCE_MS,
  )
})
