import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { BASE, PASSWORD, Postgres, READER, Slapd } from './support/account-sources.js'
import { Authority } from './support/certificates.js'
import { Connector, PolicyClient } from './support/connector.js'
import { figure, SCALE } from './support/figures.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { Postfix, Sink, SmtpSession } from './support/postfix.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const PATIENCE_MS = 240_000
/** How long a source is away, at least: from RELIABILITY_SCALE=2 on, a minute. */
const AWAY_MS = SCALE >= 2 ? 60_000 : 0
const AWAY = /^DEFER_IF_PERMIT Sending quotas cannot be checked at the moment/
const UNKNOWN = /^DEFER_IF_PERMIT No sending quota is known/
const QUERY = 'SELECT quota_account FROM mailbox WHERE username = :user'
/** Each with the accounts of a login. The last two are one login, written in two forms of Unicode. */
const PEOPLE = {
  ...Object.fromEntries(times(20).map((n) => [`user-${n}@example.org`, [n + 1]])),
  'nobody@example.org': [],
  'two@example.org': [1, 2],
  'J\u00f6rg@example.org': [30],
}

let service: Instance
let folder: string
let authority: Authority
let stranger: Authority
let count = 0

const user = (n: number): string => `user-${n}@example.org`
const message = (login: string): Record<string, string | number> => ({
  instance: `${process.pid.toString(16)}.6a0b1c2d.${(count += 1).toString(16)}.0`,
  sasl_username: login,
})
const start = (settings: Record<string, string>): Promise<Connector> =>
  Connector.start({ QUOTA_URL: service.url, QUOTA_TOKEN: ADMIN, ACCOUNTS_CACHE_SECONDS: '0', ...settings })
const total = async (account: number): Promise<void> => {
  const body = { account_id: account, quota_type: 1, total: 1_000, expire_at: '2999-01-01T00:00:00Z' }
  expect(await service.post(MAIL.quotas, body)).toMatchObject({ status: 201 })
}
const usedBy = async (account: number): Promise<number> =>
  bodyOf(await service.get(`/api/v1/quotas/summary/${account}`)).used
/** The answer, once the connector is asked in time: a busy machine is told to come again. */
const ask = async (connector: Connector, login: string): Promise<string | undefined> => {
  const postfix = PolicyClient.to(connector.port)
  for (;;) {
    const said = await postfix.ask(message(login))
    if (said === undefined || !AWAY.test(said)) return said
    await sleep(100)
  }
}

/** Asks until the message is deferred for that reason, and for no other than that there was no time. */
const deferredFor = async (connector: Connector, login: string, reason: RegExp): Promise<void> => {
  const postfix = PolicyClient.to(connector.port)
  while (!connector.log.some(({ error }) => typeof error === 'string' && reason.test(error)))
    expect(await postfix.ask(message(login))).toMatch(AWAY)
  expect(JSON.stringify(connector.log)).not.toMatch(/user-\d|example\.org/)
}

beforeAll(async () => {
  const [kind] = STORES
  service = await Instance.start((await kind!.open()).url)
  folder = temporaryFolder('quota-sources-')
  authority = await Authority.found(folder, 'authority')
  stranger = await Authority.found(folder, 'stranger')
  for (const account of [...times(20).map((n) => n + 1), 30]) await total(account)
}, PATIENCE_MS)

/** What is so whatever the source, with the settings by which it is asked. */
function contract(
  source: () => { start(): Promise<void>; stop(): Promise<void> },
  settings: () => Record<string, string>,
): void {
  it(
    'finds the payer, in either form of Unicode, and treats no part of a name as part of the question',
    async () => {
      const connector = await start(settings())
      const before = [await usedBy(1), await usedBy(30)] as const
      expect(await ask(connector, user(0))).toBe('DUNNO')
      for (const login of ['J\u00f6rg@example.org', 'Jo\u0308rg@example.org'])
        expect(await ask(connector, login)).toBe('DUNNO')
      expect([await usedBy(1), await usedBy(30)]).toEqual([before[0] + 1, before[1] + 2])
      for (const login of [
        'nobody@example.org',
        '*',
        'user-*',
        "' OR '1'='1",
        ':user',
        '$1',
        '%',
        '\\2a',
        'a)(uid=*',
        '\\',
      ])
        expect(await ask(connector, login)).toMatch(UNKNOWN)
      const lines = JSON.stringify(connector.log)
      expect(lines).not.toMatch(/example\.org|OR '1'/)
    },
    PATIENCE_MS,
  )

  it(
    'keeps its answers while the source is away, and defers what it has to ask',
    async () => {
      const connector = await start({ ...settings(), ACCOUNTS_CACHE_SECONDS: '3600' })
      for (const login of [user(1), 'nobody@example.org']) await ask(connector, login)
      await source().stop()
      expect(await ask(connector, user(1))).toBe('DUNNO')
      expect(await ask(connector, 'nobody@example.org')).toMatch(UNKNOWN)
      await deferredFor(connector, user(2), /^the account is not known: .*ECONNREFUSED/)
      await source().start()
      expect(await ask(connector, user(2))).toBe('DUNNO')
    },
    PATIENCE_MS,
  )

  it(
    'defers the mail of a real Postfix while the source is away, and loses none',
    async () => {
      const connector = await start({ ...settings(), PAYER_WITHOUT_SASL: 'sender' })
      const sink = await Sink.start()
      const policy = `check_policy_service { inet:127.0.0.1:${connector.port}, timeout=10s }`
      const postfix = await Postfix.start([`smtpd_end_of_data_restrictions=${policy}`], sink.port)
      const senders = times(5).map((n) => 10 + n)
      const before = await Promise.all(senders.map((n) => usedBy(n + 1)))
      const sendAll = async (): Promise<void> => {
        const session = await SmtpSession.open(postfix.queue)
        for (const n of senders)
          expect(await session.send(user(n), [`one-${n}@elsewhere.test`, `two-${n}@elsewhere.test`])).toMatch(/^250/)
        session.close()
      }
      const deferred = async (n: number): Promise<number> =>
        (await postfix.log()).match(
          new RegExp(
            `to=<one-${n}@.*status=deferred.* 450 4\\.7\\.1 .*Sending quotas cannot be checked at the moment; `,
            'g',
          ),
        )?.length ?? 0
      await sendAll()
      await source().stop()
      const since = performance.now()
      await sendAll()
      // Each is tried again, in vain.
      for (const n of senders) while ((await deferred(n)) < 2) await sleep(100)
      while (performance.now() - since < AWAY_MS) await sleep(100)
      const deferrals = (await Promise.all(senders.map(deferred))).reduce((sum, one) => sum + one, 0)
      figure('accounts away', { seconds: Math.round((performance.now() - since) / 1_000), deferrals })
      await source().start()
      await sendAll()
      while (senders.some((n) => (sink.recipients.get(user(n)) ?? 0) < 6)) await sleep(100)
      expect(senders.map((n) => sink.recipients.get(user(n)))).toEqual(senders.map(() => 6))
      while ((await connector.metric('quota_postfix_doubts ')) > 0) await sleep(100)
      const used = await Promise.all(senders.map((n) => usedBy(n + 1)))
      expect(used.map((units, index) => units - before[index]!)).toEqual(senders.map(() => 6))
    },
    PATIENCE_MS,
  )
}

describe('accounts from PostgreSQL', () => {
  let postgres: Postgres
  const settings = (query = QUERY, url = postgres.url): Record<string, string> => ({
    ACCOUNTS_DATABASE_URL: url,
    ACCOUNTS_QUERY: query,
  })

  beforeAll(async () => {
    postgres = await Postgres.open(authority)
    const rows = Object.entries(PEOPLE).flatMap(([login, accounts]) =>
      (accounts.length === 0 ? ['NULL'] : accounts).map((account) => `('${login}', ${account})`),
    )
    await postgres.execute(
      `CREATE TABLE mailbox (username text, quota_account bigint); INSERT INTO mailbox VALUES ${rows.join(', ')}`,
    )
  }, PATIENCE_MS)

  contract(
    () => postgres,
    () => settings(),
  )

  it('compares names as the query says, and provides the parts of an address', async () => {
    expect(await ask(await start(settings()), 'USER-3@example.org')).toMatch(UNKNOWN)
    for (const query of [
      'SELECT quota_account FROM mailbox WHERE username = lower(:user)',
      "SELECT quota_account FROM mailbox WHERE username = lower(:local) || '@' || :domain::text",
    ])
      expect(await ask(await start(settings(query)), 'USER-3@example.org')).toBe('DUNNO')
  })

  it.each([
    ['finds two accounts', QUERY, 'two@example.org', /2 accounts/],
    ['finds no number', 'SELECT true WHERE :user <> $$$$', user(3), /no account id/],
    ['is broken', 'SELECT FROM WHERE :user', user(3), /syntax error/],
    ['repeats the name in an error', 'SELECT :local::int', user(3), /invalid input syntax for type integer: "…"/],
    [
      'takes too long',
      'SELECT 1 FROM pg_sleep(30) WHERE :user <> $$$$',
      user(3),
      /Query read timeout|no answer within/,
    ],
  ])('defers where the query %s', async (_, query, login, reason) => {
    await deferredFor(await start(settings(query)), login, reason)
  })

  it('proves who the server is, as its URL says', async () => {
    const trusting = (name: Authority): string => `${postgres.url}?sslmode=verify-full&sslrootcert=${name.certificate}`
    expect(await ask(await start(settings(QUERY, trusting(authority))), user(3))).toBe('DUNNO')
    const connector = await start(settings(QUERY, trusting(stranger)))
    expect(await PolicyClient.to(connector.port).ask(message(user(3)))).toMatch(AWAY)
    const broken = await start(settings(QUERY, `${postgres.url}?sslrootcert=/nowhere`))
    expect(await broken.exited).toBe(1)
    expect(broken.stderr).toMatch(/^ACCOUNTS_DATABASE_URL: ENOENT/)
  })
})

describe('accounts from a directory (LDAP)', () => {
  let slapd: Slapd
  const settings = (more: Record<string, string> = {}): Record<string, string> => ({
    ACCOUNTS_LDAP_URL: `ldap://127.0.0.1:${slapd.port}`,
    ACCOUNTS_LDAP_BASE: BASE,
    ACCOUNTS_LDAP_FILTER: '(&(objectClass=inetOrgPerson)(uid=:user))',
    ACCOUNTS_LDAP_ATTRIBUTE: 'departmentNumber',
    ACCOUNTS_LDAP_BIND_DN: READER,
    ACCOUNTS_LDAP_PASSWORD: PASSWORD,
    ...more,
  })

  beforeAll(async () => {
    slapd = await Slapd.open(authority, PEOPLE)
  }, PATIENCE_MS)

  contract(
    () => slapd,
    () => settings(),
  )

  it('compares names as the directory does, and provides the parts of an address', async () => {
    expect(await ask(await start(settings()), 'USER-3@example.org')).toBe('DUNNO')
    const parts = settings({
      ACCOUNTS_LDAP_FILTER: '(uid=:local@:domain)',
      ACCOUNTS_LDAP_ATTRIBUTE: 'DEPARTMENTNUMBER',
    })
    expect(await ask(await start(parts), user(3))).toBe('DUNNO')
    const exact = settings({ ACCOUNTS_LDAP_FILTER: '(uid:caseExactMatch:=:user)' })
    expect(await ask(await start(exact), 'USER-3@example.org')).toMatch(UNKNOWN)
  })

  it.each([
    ['there are two values', {}, 'two@example.org', /2 accounts/],
    ['there are two entries', { ACCOUNTS_LDAP_FILTER: '(|(uid=:user)(uid=user-4*))' }, user(3), /2 accounts/],
    ['the value is no number', { ACCOUNTS_LDAP_ATTRIBUTE: 'cn' }, user(3), /no account id/],
    ['the password is wrong', { ACCOUNTS_LDAP_PASSWORD: 'wrong' }, user(3), /InvalidCredentialsError: .*0x31$/],
    ['the base is missing', { ACCOUNTS_LDAP_BASE: 'dc=elsewhere' }, user(3), /NoSuchObjectError: .*0x20$/],
  ])('defers where %s', async (_, more, login, reason) => {
    await deferredFor(await start(settings(more)), login, reason)
  })

  it('shows the directory to those who may read it alone', async () => {
    const anybody = settings({ ACCOUNTS_LDAP_BIND_DN: '', ACCOUNTS_LDAP_PASSWORD: '' })
    expect(await PolicyClient.to((await start(anybody)).port).ask(message(user(3)))).toMatch(AWAY)
  })

  it.each(['ldaps', 'StartTLS'])('proves who the server is: %s', async (way) => {
    const secure = (name: Authority, host = 'localhost'): Record<string, string> =>
      settings({
        ACCOUNTS_LDAP_CA_FILE: name.certificate,
        ...(way === 'ldaps'
          ? { ACCOUNTS_LDAP_URL: `ldaps://${host}:${slapd.securePort}` }
          : { ACCOUNTS_LDAP_URL: `ldap://${host}:${slapd.port}`, ACCOUNTS_LDAP_STARTTLS: 'true' }),
      })
    const connector = await start(secure(authority))
    expect(await ask(connector, user(3))).toBe('DUNNO')
    await slapd.stop()
    await slapd.start()
    expect(await ask(connector, user(3))).toBe('DUNNO')
    for (const wrong of [secure(stranger), secure(authority, '127.0.0.1')])
      expect(await PolicyClient.to((await start(wrong)).port).ask(message(user(3)))).toMatch(AWAY)
  })

  it('answers in time where the directory is stopped, and goes on where it goes on', async () => {
    const connector = await start(settings())
    expect(await ask(connector, user(3))).toBe('DUNNO')
    await slapd.pause()
    for (const _ of times(2)) expect(await PolicyClient.to(connector.port).ask(message(user(3)))).toMatch(AWAY)
    slapd.signal('SIGCONT')
    expect(await ask(connector, user(3))).toBe('DUNNO')
  })
})
