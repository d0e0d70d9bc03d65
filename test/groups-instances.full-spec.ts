import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { unlikeAnswer } from './support/document.js'
import { figure, SCALE } from './support/figures.js'
import { Instance, OTHER } from './support/instance.js'
import { verified } from './support/verify.js'
import {
  bodyOf,
  fresh,
  inParallel,
  MAIL,
  owners,
  resultsOf,
  shuffled,
  SMS,
  tally,
  times,
  type Wire,
} from './support/wire.js'

/** For a test on a machine that is busy with other things. */
const PATIENCE_MS = 180_000 * Math.max(1, SCALE)
const END = '2099-01-01T00:00:00Z'
const NEW_OWNERS = 40

// Two processes of the built service on one database: what one of them keeps in memory is no help to the other.
const onServer = HAS_SERVER ? describe : describe.skip

onServer('groups, with two instances on one database', () => {
  let database: TestDatabase
  let instances: [Instance, Instance]

  beforeAll(async () => {
    database = await TestDatabase.open()
    const started = () => Instance.start(database.url, { NEW_OWNERS_PER_HOUR: String(NEW_OWNERS) })
    instances = await Promise.all([started(), started()])
  })

  afterAll(async () => {
    const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
    expect(codes).toEqual([0, 0])
    expect(instances.map((instance) => instance.log)).toEqual(['', ''])
  })

  /** One of the two, by turns. */
  const instance = (turn: number): Instance => instances[turn % 2]!

  const made = async (wire: Wire, path: string, body: object): Promise<number> => {
    const answer = await instance(0).post(`${wire.quotas}${path}`, body)
    expect([answer.status, answer.text]).toEqual([201, expect.anything()])
    return bodyOf(answer).id
  }

  // First: no group has a shared quota yet, whose lock row `verify` would look for.
  it(
    'of which each member has a count: a principal brings in as many owners as it may, and not one more',
    async () => {
      const group_id = await made(MAIL, '/groups', { name: fresh('all'), default: true })
      await made(MAIL, '', { group_id, per: 'member', quota_type: 1, total: 9, expire_at: END })
      const use = async (turn: number, account_id: number, token?: string): Promise<string> => {
        const body = { account_id, amount: 1 }
        const sent = { key: fresh('new'), body, ...(token === undefined ? {} : { token }) }
        const answer = await instance(turn).send('POST', MAIL.consume, sent)
        return answer.status === 200 ? 'taken' : bodyOf(answer).code
      }
      const brought = () => database.number('SELECT COUNT(*) FROM mail_owner WHERE brought_at IS NOT NULL')
      const counts = () =>
        database.number(`SELECT COUNT(*) FROM mail_quota WHERE group_id = ${group_id} AND follows > 0`)

      // Each of them at both instances at once.
      const strangers = owners(5 * NEW_OWNERS)
      const told: [number, string][] = []
      await inParallel(64, [...strangers, ...strangers], async (owner, turn) => {
        told.push([owner, await use(turn, owner)])
      })
      expect(Object.keys(tally(told.map(([, what]) => what))).sort()).toEqual(['taken', 'too_many_new_owners'])
      const taken = [...new Set(told.flatMap(([owner, what]) => (what === 'taken' ? [owner] : [])))]
      expect([taken.length, await brought(), await counts()]).toEqual([NEW_OWNERS, NEW_OWNERS, NEW_OWNERS])

      const refused = strangers.filter((owner) => !taken.includes(owner))
      // The items of a batch are such requests.
      const key = fresh('known')
      const first = { key, body: { account_id: taken[0], amount: 1 } }
      expect((await instance(0).send('POST', MAIL.consume, first)).status).toBe(200)
      const items = [fresh('new'), key].map((idempotency_key) => ({
        account_id: refused[0],
        amount: 1,
        idempotency_key,
      }))
      const batch = await instance(0).post(`${MAIL.consume}/batch`, { items })
      const codes = resultsOf(batch).map(({ problem }) => problem.code)
      expect(codes).toEqual(['too_many_new_owners', 'idempotency_key_reused'])
      expect(unlikeAnswer(`${MAIL.consume}/batch`, bodyOf(batch), 'post')).toBeUndefined()

      // Owners that are known are served further; those added by name are; and another principal has its own share.
      const known = taken[0]!
      expect(await Promise.all([use(0, known), use(1, known)])).toEqual(['taken', 'taken'])
      const byName = refused.slice(0, 2)
      expect(
        (await instance(0).post(`${MAIL.quotas}/groups/${group_id}/members`, { account_ids: byName })).status,
      ).toBe(200)
      expect(await Promise.all(byName.map((owner, turn) => use(turn, owner)))).toEqual(['taken', 'taken'])
      const others = await Promise.all(refused.slice(2).map((owner, turn) => use(turn, owner, OTHER)))
      expect(tally(others)['taken']).toBe(NEW_OWNERS)
      expect(await brought()).toBe(2 * NEW_OWNERS)
      const seen = await Promise.all(instances.map(async (one) => (await one.get('/metrics')).text))
      const firstSeen = /^quota_owners_first_seen_total\{channel="mail"\} (\d+)$/m
      expect(seen.reduce((sum, text) => sum + Number(firstSeen.exec(text)?.[1]), 0)).toBe(2 * NEW_OWNERS)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'give what a due hold of a member kept to another one only under the lock of both',
    async () => {
      const group_id = await made(MAIL, '/groups', { name: fresh('due') })
      await made(MAIL, '', { group_id, quota_type: 1, total: 10, expire_at: END })
      const [holder, taker] = owners(2)
      const members = { account_ids: [holder, taker] }
      expect((await instance(0).post(`${MAIL.quotas}/groups/${group_id}/members`, members)).status).toBe(200)
      // An instance whose clock is behind may be committing the hold.
      const other = await createConnection({ uri: database.url })
      try {
        const held = { account_id: holder, amount: 10, ttl_seconds: 1 }
        expect((await instance(0).post(`${MAIL.usage}/reserve`, held, fresh('hold'))).status).toBe(201)
        await other.query('START TRANSACTION')
        await other.query('SELECT * FROM mail_owner WHERE owner_id = ? FOR UPDATE', [holder])
        const take = () => instance(1).post(MAIL.consume, { account_id: taker, amount: 1 }, fresh('take'))
        let answer = await take()
        while (answer.status === 409) answer = await take()
        expect([answer.status, bodyOf(answer).code]).toEqual([503, 'unavailable'])
        await other.query('ROLLBACK')
        while (answer.status === 503) answer = await take()
        expect(answer.status).toBe(200)
      } finally {
        other.destroy()
      }
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    PATIENCE_MS,
  )

  it.each([MAIL, SMS])(
    '$name: are never overdrawn, while members move and parents change',
    async (wire) => {
      const top = await made(wire, '/groups', { name: fresh('top') })
      const other = await made(wire, '/groups', { name: fresh('other') })
      const groups = [
        await made(wire, '/groups', { name: fresh('one'), parent_id: top }),
        await made(wire, '/groups', { name: fresh('two'), parent_id: top }),
      ]
      const shared = (group_id: number, more: object): Promise<number> =>
        made(wire, '', { group_id, quota_type: 1, total: 400, expire_at: END, ...more })
      const rolling = { quota_type: 3, window_seconds: 2_678_400, cap: 'enforce', expire_at: null }
      const quotas = [
        await shared(top, { total: 300 }),
        await shared(other, { total: 200 }),
        await shared(groups[0]!, { total: 250 }),
        await shared(groups[1]!, { total: 250 }),
        await shared(top, { ...rolling, total: 700 }),
        await shared(groups[0]!, { ...rolling, total: 400 }),
      ]
      const each = (group_id: number, more: object): Promise<number> => shared(group_id, { per: 'member', ...more })
      const followed = [
        await each(top, { total: 20 }),
        await each(groups[0]!, { ...rolling, total: 60 }),
        await each(groups[1]!, { quota_type: 2, total: 30, expire_at: null, cycle_unit: 'month', cycle_reset_at: END }),
      ]
      const members = owners(24)
      for (const owner of members.slice(0, 8))
        await made(wire, '', { [wire.owner]: owner, quota_type: 1, total: 9, expire_at: END })
      const join = (turn: number, group: number, ids: number[]) =>
        instance(turn).post(`${wire.quotas}/groups/${group}/members`, { [`${wire.owner}s`]: ids })
      expect((await join(0, groups[0]!, members)).status).toBe(200)

      const statuses: number[] = []
      const told = (answer: { status: number }): void => void statuses.push(answer.status)
      const OPERATIONS = Math.round(900 * SCALE)
      const stop = new AbortController()
      const moving = (async () => {
        for (let turn = 0; !stop.signal.aborted; turn += 1) {
          told(await join(turn, groups[turn % 2]!, shuffled(members).slice(0, 9)))
          // The total of the third stays, and so no count of it exceeds it.
          const edited = followed[turn % 3]!
          const label = `turn ${turn}`
          const changed = [
            { total: 20 + (turn % 40), label },
            { window_seconds: 86_400 * (1 + turn), label },
            { label },
          ]
          told(await instance(turn).send('PUT', `${wire.quotas}/${edited}`, { body: changed[turn % 3] }))
          const parent_id = [top, other, null][turn % 3]
          told(await instance(turn).send('PUT', `${wire.quotas}/groups/${groups[turn % 2]!}`, { body: { parent_id } }))
        }
      })()
      await inParallel(24, times(OPERATIONS), async (n) => {
        const body = { [wire.owner]: members[n % members.length]!, amount: 1 + (n % 5) }
        const act = n % 3 === 0 ? 'reserve' : 'consume'
        const taken = await instance(n).post(`${wire.usage}/${act}`, body, fresh('use'))
        told(taken)
        if (taken.status >= 300) return
        const path = `${wire.usage}/${bodyOf(taken).id}`
        if (act === 'reserve') told(await instance(n + 1).post(`${path}/${n % 2 === 0 ? 'commit' : 'release'}`, {}))
        else if (n % 4 === 0) told(await instance(n + 1).post(`${path}/refund`, { amount: 1 }, fresh('back')))
      })
      stop.abort()
      await moving

      expect(Object.keys(tally(statuses)).sort()).toEqual(['200', '201', '409'])
      const taken = await database.rows(
        `SELECT id, total, used, reserved, cap FROM ${wire.channel}_quota WHERE id IN (${quotas.join()})`,
      )
      for (const row of taken)
        expect(Number(row['used']) + Number(row['reserved'])).toBeLessThanOrEqual(Number(row['total']))
      expect(taken.some((row) => Number(row['used']) > 100)).toBe(true)
      const fixed = await database.rows(
        `SELECT id FROM ${wire.channel}_quota WHERE follows = ${followed[2]!} AND used + reserved > 30`,
      )
      expect(fixed).toEqual([])
      // Each member has one count of each at most, however many first consumes met.
      const counts = await database.rows<{ n: number; used: number }>(
        `SELECT COUNT(*) AS n, SUM(used) AS used FROM ${wire.channel}_quota WHERE follows IN (${followed.join()})`,
      )
      expect(Number(counts[0]?.n)).toBeGreaterThan(members.length)
      expect(Number(counts[0]?.n)).toBeLessThanOrEqual(members.length * followed.length)
      expect(Number(counts[0]?.used)).toBeGreaterThan(100)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      figure(`groups of ${wire.name}`, tally(statuses))
    },
    PATIENCE_MS,
  )
})
