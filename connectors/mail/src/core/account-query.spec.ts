import { describe, expect, it } from '@jest/globals'
import { AccountQuery, type Found, type Name } from './account-query.js'
import { numbered } from './account-database.js'

const payer = (name: string) => ({ kind: 'sasl', name }) as const

/** A source of the given answers, and what it was asked. */
function source(answers: (name: Name) => readonly Found[] | Promise<readonly Found[]>) {
  const asked: Name[] = []
  return {
    asked,
    ask: async (name: Name) => {
      asked.push(name)
      return answers(name)
    },
    close: async () => undefined,
  }
}

describe('accounts that are asked for', () => {
  it('names the parts of a login, in the case in which it was given', async () => {
    const place = source(() => [7])
    const accounts = new AccountQuery(place, 0)
    for (const name of ['Ann@home@Example.org', 'ann', '@example.org']) expect(await accounts.find(payer(name))).toBe(7)
    expect(place.asked).toEqual([
      { user: 'Ann@home@Example.org', local: 'Ann@home', domain: 'Example.org' },
      { user: 'ann', local: 'ann', domain: '' },
      { user: '@example.org', local: '', domain: 'example.org' },
    ])
  })

  it('does not ask for names that no login has', async () => {
    const place = source(() => [7])
    for (const name of ['', 'x'.repeat(321), 'ann\0@example.org'])
      expect(await new AccountQuery(place, 0).find(payer(name))).toBeUndefined()
    expect(place.asked).toEqual([])
  })

  it.each<[Found[], number | undefined]>([
    [[], undefined],
    [[null], undefined],
    [[undefined], undefined],
    [[7], 7],
    [['9007199254740991'], 9_007_199_254_740_991],
    [[Buffer.from('7')], 7],
  ])('takes %j as %j', async (values, account) => {
    expect(
      await new AccountQuery(
        source(() => values),
        0,
      ).find(payer('ann')),
    ).toBe(account)
  })

  it.each<[unknown[], RegExp]>([
    [[7, 7], /2 accounts/],
    [[7, null], /2 accounts/],
    [['seven'], /no account id/],
    [[''], /no account id/],
    [[0], /no account id/],
    [[true], /no account id/],
    [['9007199254740992'], /no account id/],
  ])('has no account for %j', async (values, reason) => {
    await expect(
      new AccountQuery(
        source(() => values as Found[]),
        0,
      ).find(payer('ann')),
    ).rejects.toThrow(reason)
  })

  it('keeps an answer, also that there is none, for its time; and none that failed', async () => {
    let [now, fails] = [0, true]
    const place = source(({ user }) => {
      if (fails) throw new Error('away')
      return user === 'ann' ? [7] : []
    })
    const accounts = new AccountQuery(place, 60_000, () => now)
    await expect(accounts.find(payer('ann'))).rejects.toThrow('away')
    fails = false
    expect([await accounts.find(payer('ann')), await accounts.find(payer('bob'))]).toEqual([7, undefined])
    fails = true
    now = 59_999
    expect([await accounts.find(payer('ann')), await accounts.find(payer('bob'))]).toEqual([7, undefined])
    // Whether it is the same name, the source says.
    await expect(accounts.find(payer('Ann'))).rejects.toThrow('away')
    now = 60_000
    await expect(accounts.find(payer('ann'))).rejects.toThrow('away')
    fails = false
    expect(await accounts.find(payer('ann'))).toBe(7)
    accounts.forget()
    fails = true
    await expect(accounts.find(payer('ann'))).rejects.toThrow('away')
  })

  it('does not keep an answer that was asked for before the cache was cleared', async () => {
    let [account, answer] = [7, (): void => undefined]
    const place = source(() => new Promise((resolve) => (answer = () => resolve([account]))))
    const accounts = new AccountQuery(place, 60_000, () => 0)
    const find = async (): Promise<number | undefined> => {
      const found = accounts.find(payer('ann'))
      answer()
      return found
    }
    const early = accounts.find(payer('ann'))
    accounts.forget()
    answer()
    expect(await early).toBe(7)
    account = 70
    expect(await find()).toBe(70)
    account = 700
    expect(await find()).toBe(70)
  })

  it('keeps 10,000 answers, and asks 1,000 questions at a time', async () => {
    const place = source(() => [7])
    const accounts = new AccountQuery(place, 60_000)
    for (let n = 0; n <= 10_000; n += 1) await accounts.find(payer(`user-${n}`))
    const before = place.asked.length
    await accounts.find(payer('user-1'))
    expect(place.asked.length).toBe(before)
    await accounts.find(payer('user-0'))
    expect(place.asked.length).toBe(before + 1)

    let answer: () => void = () => undefined
    const slow = source(() => new Promise((resolve) => (answer = () => resolve([7]))))
    const busy = new AccountQuery(slow, 60_000)
    for (let n = 0; n < 1_000; n += 1) void busy.find(payer(`user-${n}`))
    await expect(busy.find(payer('ann'))).rejects.toThrow('more than 1000 lookups')
    answer()
    await new Promise(setImmediate)
    const asked = busy.find(payer('ann'))
    answer()
    expect(await asked).toBe(7)
  })

  it("hides a name in a source's words", async () => {
    const place = source(({ user, local }) => {
      throw new Error(`invalid integer: "${local}", in line 1 for ${user}, ${user.toLowerCase()}`)
    })
    for (const name of ['ann.b@example.org', 'Ann.B@Example.org'])
      await expect(new AccountQuery(place, 0).find(payer(name))).rejects.toThrow(
        /^invalid integer: "…", in line 1 for …, …$/,
      )
  })
})

describe("a query's parameters for PostgreSQL", () => {
  it.each([
    ['SELECT a FROM m WHERE u = :user', 'SELECT a FROM m WHERE u = $1', ['user']],
    [
      "SELECT a::text FROM m WHERE l = lower(:local) AND d = :domain AND l <> ':user' AND :local::text <> ''",
      "SELECT a::text FROM m WHERE l = lower($1) AND d = $2 AND l <> ':user' AND $1::text <> ''",
      ['local', 'domain'],
    ],
    [
      `SELECT ":user" FROM m WHERE 'it''s :local' <> :user`,
      `SELECT ":user" FROM m WHERE 'it''s :local' <> $1`,
      ['user'],
    ],
    ['SELECT x::user, :username, :user', 'SELECT x::user, :username, $1', ['user']],
  ])('%s', (query, text, parts) => {
    expect(numbered(query)).toEqual({ text, parts })
  })
})
