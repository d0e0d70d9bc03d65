import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { instantToStore } from '../src/database/column.js'
import { EventSequencer } from '../src/ledger/feed/event-sequencer.js'
import { FOLD_LAG_MS, firstIdAt } from '../src/ledger/rows/act-id.js'
import { Upkeep } from '../src/ledger/upkeep/upkeep.js'
import { LAZY_MS } from '../src/ledger/totals/totals-updater.js'
import type { Repaired } from '../src/ledger/verify/verifier.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { TestApp } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { SCALE } from './support/figures.js'
import { readable, stored } from './support/ids.js'
import { type Body, bodyOf, fresh, stopSweepers } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'
import { linesOf, mailVerifierOf, outcomesOf } from './support/verify.js'

const DAY = 86_400
/** Longer than totals lag behind. */
const LAG = (FOLD_LAG_MS + LAZY_MS) / 1000 + 1
const TOTAL = 1_000

onEveryStore('verify --repair', (kind) => {
  let app: TestApp
  let owner: number
  let upkeep: Upkeep<never>

  beforeAll(async () => {
    app = await TestApp.on(kind, { env: { RETENTION_DAYS: '30' } })
    upkeep = app.app.get<Upkeep<never>>(channelToken(MAIL, Upkeep))
    // Adding up and removing are done here, step by step; and what is damaged is not swept while it is looked at.
    await stopSweepers(app)
    await upkeep.onModuleDestroy()
  })

  beforeEach(() => {
    owner = fresh()
  })

  const sql = async (statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    app.app.get(DataSource).query<Record<string, unknown>[]>(statement, stored(values)).then(readable)
  const lines = async (): Promise<string[]> => linesOf(mailVerifierOf(app))
  const repair = async (): Promise<[string, Repaired | undefined][]> =>
    outcomesOf(mailVerifierOf(app), { repair: true })

  const quota = async (): Promise<number> =>
    bodyOf(
      201,
      await app.post(MAIL_API.quotas, {
        account_id: owner,
        quota_type: 1,
        total: TOTAL,
        expire_at: app.clock.after(2_000 * DAY),
      }),
    ).id
  const consume = async (amount: number): Promise<Body> =>
    bodyOf(200, await app.post(MAIL_API.consume, { account_id: owner, amount }, { key: `k${fresh()}` }))
  const usedOf = async (id: number): Promise<number> => bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)).used
  /** Takes what there is, one by one where need be. @returns how much that was */
  async function spendAll(): Promise<number> {
    let spent = 0
    for (let amount = TOTAL; amount >= 1;) {
      const answer = await app.post(MAIL_API.consume, { account_id: owner, amount }, { key: `k${fresh()}` })
      if (answer.status === 200) spent += amount
      else amount = Math.floor(amount / 2)
    }
    return spent
  }
  async function fold(): Promise<void> {
    app.clock.pass(LAG)
    while (await upkeep.totals.fold());
  }
  /** A quota of which an old consume was removed: 100 units are in the totals alone, 400 in acts that are there. */
  async function withRemoved(): Promise<number> {
    const id = await quota()
    await consume(100)
    await fold()
    app.clock.pass(31 * DAY)
    await consume(400)
    await fold()
    const cutoff = upkeep.retention.cutoff(30)
    await sql('UPDATE mail_ledger_state SET begins_at = ?', [instantToStore(cutoff)])
    for (let after: string | undefined = ''; after !== undefined;)
      after = (await upkeep.retention.removeActs(after, cutoff, 30)).last
    expect(await sql('SELECT id FROM mail_act WHERE plain_owner_id = ?', [owner])).toHaveLength(1)
    expect(await lines()).toEqual([])
    return id
  }

  const totals = async (): Promise<unknown> =>
    sql(
      'SELECT step, began_at, quota_id, cycle_seq, charged, refunded FROM mail_usage_total WHERE owner_id = ? ORDER BY step, began_at, quota_id, cycle_seq',
      [owner],
    )
  /** As a fold does whose clock is ahead: the watermark moves, and what comes in afterwards comes in behind it. */
  const ahead = async (seconds: number): Promise<unknown> =>
    sql('UPDATE mail_ledger_state SET folded_to = ?', [firstIdAt(app.clock.now() + seconds * 1_000)])

  async function clean(): Promise<void> {
    await sql('DELETE FROM mail_allocation WHERE quota_id IN (SELECT id FROM mail_quota WHERE account_id = ?)', [owner])
    for (const table of ['act', 'operation', 'hold', 'change', 'event', 'usage_total', 'owner'])
      await sql(`DELETE FROM mail_${table} WHERE owner_id = ?`, [owner])
    await sql('DELETE FROM mail_usage_total WHERE owner_id = 0')
    await sql('UPDATE mail_event_feed SET removed_to = last_position')
    await sql('DELETE FROM mail_quota WHERE account_id = ?', [owner])
    await sql('UPDATE mail_ledger_state SET folded_to = ?, begins_at = NULL, removed_to = NULL', [
      firstIdAt(app.clock.now() - FOLD_LAG_MS),
    ])
    expect(await lines()).toEqual([])
  }

  afterEach(clean)

  describe('where operations have been removed', () => {
    it('does not lower a counter if a total is lost', async () => {
      const id = await withRemoved()
      await sql('DELETE FROM mail_usage_total WHERE owner_id = ?', [owner])
      const outcomes = await repair()
      expect(await usedOf(id)).toBe(500)
      expect(await spendAll()).toBe(TOTAL - 500)
      // What is lost for good is named, and nobody guesses.
      expect(outcomes.filter(([, outcome]) => outcome === 'left').length).toBeGreaterThan(0)
      expect((await lines()).length).toBeGreaterThan(0)
    })

    it('rebuilds the totals of acts behind the watermark', async () => {
      const id = await withRemoved()
      await ahead(360)
      await consume(52)
      expect((await lines()).join()).toContain('totals: quota')
      for (const statement of await marksBack()) await sql(statement)
      await repair()
      expect(await usedOf(id)).toBe(552)
      expect(await spendAll()).toBe(TOTAL - 552)
      expect(await lines()).toEqual([])
    })

    it('rebuilds lost totals if all their acts exist', async () => {
      await withRemoved()
      const before = await totals()
      await sql('DELETE FROM mail_usage_total WHERE owner_id = ? AND began_at >= ?', [
        owner,
        instantToStore(app.clock.now() - DAY * 1_000),
      ])
      expect(await totals()).not.toEqual(before)
      expect((await repair()).map(([, outcome]) => outcome)).toEqual(['mended'])
      expect(await totals()).toEqual(before)
    })

    it('raises a lost counter to the sum of the rows, and reports that it was more', async () => {
      const id = await withRemoved()
      await sql('UPDATE mail_quota SET used = 3 WHERE id = ?', [id])
      expect(await repair()).toEqual([
        [expect.stringMatching(/counters: .*expected used 500, .*found used 3,/), 'left'],
      ])
      expect(await usedOf(id)).toBe(400)
    })

    it('does not lower a counter that is too high', async () => {
      const id = await withRemoved()
      await sql('UPDATE mail_quota SET used = 600 WHERE id = ?', [id])
      expect(await repair()).toEqual([[expect.stringContaining('counters: '), 'left']])
      expect(await usedOf(id)).toBe(600)
    })
  })

  /** The statements that set marks back, as `verify` prints them. */
  async function marksBack(): Promise<string[]> {
    const statements: string[] = []
    for await (const { findings } of mailVerifierOf(app).pages())
      for (const { rule, show } of findings) if (rule === 'watermark') statements.push(show.replace(';', ''))
    return statements
  }

  describe('a watermark in the future', () => {
    it('is reported, and set back: each act is in the totals once', async () => {
      const id = await quota()
      await consume(10)
      await fold()
      const refunded = await consume(20)
      // For some seconds an instance is ten years ahead: it adds up all there is, and what is next comes in behind.
      app.clock.pass(LAG)
      while (await upkeep.totals.fold());
      await ahead(10 * 365 * DAY)
      await consume(30)
      bodyOf(200, await app.post(`${MAIL_API.usage}/${refunded.id}/refund`, { amount: 5 }, { key: `k${fresh()}` }))
      // Whoever looks up how far the totals have come makes ids after it.
      const other = await TestApp.start(app.store, { clock: app.clock })
      try {
        bodyOf(200, await other.post(MAIL_API.consume, { account_id: owner, amount: 40 }, { key: `k${fresh()}` }))
      } finally {
        await other.stop()
      }
      expect(await lines()).toEqual([
        expect.stringMatching(
          /^mail watermark: folded_to of mail_ledger_state: expected not after the present; found 20\d\d-/,
        ),
        expect.stringContaining('mail totals: '),
      ])
      expect((await repair()).map(([line, outcome]) => [line.split(':')[0], outcome])).toEqual([
        ['mail watermark', 'left'],
        ['mail totals', 'mended'],
        // The hour and the day of all owners.
        ['mail totals', 'mended'],
        ['mail totals', 'mended'],
      ])
      // By hand, while no instance runs; then the repair of the totals.
      for (const statement of await marksBack()) await sql(statement)
      expect(await marksBack()).toEqual([])
      await repair()
      expect(await lines()).toEqual([])
      await fold()
      expect(await lines()).toEqual([])
      const steps = bodyOf(200, await app.get(`${MAIL_API.usage}/series?quota_id=${id}`)).items as Body[]
      const sum = (what: string): number => steps.reduce<number>((units, step) => units + Number(step[what]), 0)
      expect([sum('charged'), sum('refunded')]).toEqual([100, 5])
    })

    it('has a statement for each mark', async () => {
      await quota()
      await ahead(32 * DAY)
      const in2days = instantToStore(app.clock.now() + 2 * DAY * 1_000)
      await sql('UPDATE mail_ledger_state SET begins_at = ?, removed_to = ?', [in2days, in2days])
      await sql('UPDATE mail_ledger_gate SET closed_to = ?', [firstIdAt(app.clock.now() + 32 * DAY * 1_000)])
      const statements = await marksBack()
      expect(statements.map((text) => text.split(' ')[3])).toEqual([
        'folded_to',
        'begins_at',
        'removed_to',
        'closed_to',
      ])
      for (const statement of statements) await sql(statement)
      expect(await lines()).toEqual([])
    })
  })

  it('does not lower a counter that equals the totals: acts are missing', async () => {
    const id = await quota()
    const lost = await consume(30)
    await consume(5)
    await fold()
    await sql('DELETE FROM mail_act WHERE id = ?', [lost.id])
    const outcomes = await repair()
    expect(outcomes.map(([line, outcome]) => [line.split(':')[0], outcome])).toEqual([
      ['mail totals', 'left'],
      ['mail counters', 'left'],
    ])
    expect(await usedOf(id)).toBe(35)
  })

  it('replaces an unreadable window by an empty one, and takes that for no reset by hand', async () => {
    const cap = { account_id: owner, quota_type: 3, total: 10, window_seconds: 3_600, cap: 'enforce' }
    const { id } = bodyOf(201, await app.post(MAIL_API.quotas, cap))
    await app.app.get<EventSequencer<never>>(channelToken(MAIL, EventSequencer)).number()
    app.clock.pass(60)
    await sql("UPDATE mail_quota SET window_counts = 'rubbish' WHERE id = ?", [id])
    expect(await repair()).toEqual([[expect.stringContaining('found unreadable window_counts'), 'mended']])
    expect(await lines()).toEqual([])
  })

  it.each([DAY - 1, DAY + 1])('moves nothing in a rolling cap whose window was edited to %d s', async (edited) => {
    await quota()
    const cap = { account_id: owner, cap: 'enforce', quota_type: 3, window_seconds: DAY, total: TOTAL }
    const { id } = bodyOf(201, await app.post(MAIL_API.quotas, cap))
    await consume(520)
    const counted = async () => sql(`SELECT used, reserved, window_counts FROM mail_quota WHERE id = ${id}`)
    const before = await counted()
    await sql('UPDATE mail_quota SET window_seconds = ? WHERE id = ?', [edited, id])
    expect(await repair()).toEqual([[expect.stringContaining('expected window_seconds 86400'), 'left']])
    expect(await counted()).toEqual(before)
  })

  it('creates a lock row, and leaves the membership that was lost with it to a person', async () => {
    await quota()
    await sql('DELETE FROM mail_owner WHERE owner_id = ?', [owner])
    expect(await repair()).toEqual([[expect.stringMatching(/^mail owner_row: .*found none/), 'left']])
    const [row] = await sql('SELECT link_generation FROM mail_owner WHERE owner_id = ?', [owner])
    // One in which no link can have been made.
    expect(Number(row?.['link_generation'])).toBeGreaterThan(1_000)
    expect(await lines()).toEqual([])
  })

  describe('totals of what a group paid', () => {
    let group: number
    let shared: number
    let right: unknown

    const ofShared = async (): Promise<unknown> =>
      sql(
        'SELECT owner_id, step, began_at, quota_id, charged, refunded FROM mail_usage_total WHERE charged > 0 ORDER BY owner_id, step, began_at, quota_id',
      )

    beforeEach(async () => {
      const terms = { quota_type: 1, total: TOTAL, expire_at: app.clock.after(DAY) }
      group = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: `g${owner}` })).id
      shared = bodyOf(201, await app.post(MAIL_API.quotas, { group_id: group, per: 'group', ...terms })).id
      bodyOf(200, await app.post(`${MAIL_API.quotas}/groups/${group}/members`, { account_ids: [owner] }))
      const refunded = await consume(100)
      bodyOf(200, await app.post(`${MAIL_API.usage}/${refunded.id}/refund`, { amount: 5 }, { key: `k${fresh()}` }))
      await fold()
      await consume(10)
      await fold()
      await consume(1)
      right = await ofShared()
      expect(await lines()).toEqual([])
    })

    afterEach(async () => {
      await sql('DELETE FROM mail_allocation WHERE quota_id = ?', [shared])
      for (const table of ['act', 'hold', 'change', 'event', 'usage_total', 'owner'])
        await sql(`DELETE FROM mail_${table} WHERE owner_id = ?`, [-group])
      await sql('DELETE FROM mail_quota WHERE id = ?', [shared])
      await sql('DELETE FROM mail_group WHERE id = ?', [group])
    })

    it('are rebuilt for the members, too', async () => {
      await sql('DELETE FROM mail_usage_total WHERE quota_id = ?', [shared])
      await repair()
      expect(await ofShared()).toEqual(right)
      expect(await lines()).toEqual([])
    })

    it('are not taken away from the whole channel if those of a member are lost', async () => {
      await sql('DELETE FROM mail_usage_total WHERE quota_id = ? AND owner_id > 0', [shared])
      const outcomes = await repair()
      expect([...new Set(outcomes.map(([, outcome]) => outcome))]).toEqual(['left'])
      expect(outcomes.map(([line]) => line).join()).toMatch(/of members: .*that groups paid: charged 110, refunded 5/)
      // As the page says.
      await sql('DELETE FROM mail_usage_total WHERE quota_id = ?', [shared])
      await repair()
      expect(await ofShared()).toEqual(right)
      expect(await lines()).toEqual([])
    })
  })

  it('compares hours with days, and rebuilds both', async () => {
    await quota()
    await consume(30)
    await fold()
    const before = await totals()
    await sql("UPDATE mail_usage_total SET charged = 31 WHERE owner_id = ? AND step = 'hour'", [owner])
    expect(await lines()).toEqual([
      expect.stringMatching(/totals: .*hours of .* add up to its day; found charged 31/),
      expect.stringMatching(/totals: hour .* of all owners: .*charged 31, refunded 0; found charged 30/),
    ])
    expect((await repair()).map(([, outcome]) => outcome)).toEqual(['mended'])
    expect(await totals()).toEqual(before)
  })

  describe('any damage', () => {
    const RUNS = Math.round(10 * SCALE)
    const random = (() => {
      let seed = Number(process.env['REPAIR_SEED'] ?? process.env['PROPERTY_SEED'] ?? Date.now() % 2 ** 31)
      console.log(`REPAIR_SEED=${seed}`)
      return (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
        return Math.floor((seed / 2 ** 31) * below)
      }
    })()
    const act = async (id: string, what: string, amount?: number): Promise<Body> =>
      bodyOf(
        200,
        await app.post(
          `${MAIL_API.usage}/${id}/${what}`,
          amount === undefined ? {} : { amount },
          what === 'refund' ? { key: `k${fresh()}` } : {},
        ),
      )
    const reserve = async (amount: number): Promise<Body> =>
      bodyOf(201, await app.post(MAIL_API.reserve, { account_id: owner, amount }, { key: `k${fresh()}` }))

    interface Life {
      readonly id: number
      readonly operations: readonly string[]
    }

    async function live(): Promise<Life> {
      const removed = random(2) === 0
      const id = removed ? await withRemoved() : await quota()
      const plain = await consume(20)
      const refunded = await consume(30)
      await act(refunded.id, 'refund', 10)
      const open = await reserve(40)
      const committed = await reserve(50)
      await act(committed.id, 'commit', 45)
      await act(committed.id, 'refund', 5)
      const released = await reserve(60)
      await act(released.id, 'release')
      if (random(3) > 0) await fold()
      await consume(7)
      expect(await lines()).toEqual([])
      return { id, operations: [plain, refunded, open, committed, released].map((operation) => operation.id) }
    }

    const DAMAGES: Record<string, (life: Life, operation: string) => Promise<unknown>> = {
      'used is lower': async ({ id }) => sql('UPDATE mail_quota SET used = ? WHERE id = ?', [random(50), id]),
      'used is higher': async ({ id }) => sql('UPDATE mail_quota SET used = used + ? WHERE id = ?', [random(50), id]),
      'reserved is gone': async ({ id }) => sql('UPDATE mail_quota SET reserved = 0 WHERE id = ?', [id]),
      'no hold is due': async ({ id }) => sql('UPDATE mail_quota SET hold_due_at = NULL WHERE id = ?', [id]),
      'totals are gone': async () => sql('DELETE FROM mail_usage_total WHERE owner_id = ?', [owner]),
      'hours are gone': async () => sql("DELETE FROM mail_usage_total WHERE owner_id = ? AND step = 'hour'", [owner]),
      'totals say more': async () =>
        sql('UPDATE mail_usage_total SET charged = charged + ? WHERE owner_id = ?', [1 + random(50), owner]),
      'totals say less': async () => sql('UPDATE mail_usage_total SET charged = refunded WHERE owner_id = ?', [owner]),
      'the watermark is ahead': async () => ahead(random(100_000)),
      'the watermark is behind': async () => ahead(-60 - random(100_000)),
      'a key is lost': async (_, operation) =>
        sql('UPDATE mail_act SET deduplication_key = NULL WHERE id = ?', [operation]),
      'an act is lost': async (_, operation) =>
        sql("DELETE FROM mail_act WHERE operation_id = ? AND kind IN ('commit', 'refund', 'release')", [operation]),
      'an operation is lost': async (_, operation) => sql('DELETE FROM mail_operation WHERE id = ?', [operation]),
      'allocations are lost': async (_, operation) =>
        sql('DELETE FROM mail_allocation WHERE operation_id = ?', [operation]),
      'charged more': async (_, operation) =>
        sql('UPDATE mail_operation SET charged = charged + 1 WHERE id = ?', [operation]),
      'charged nothing': async (_, operation) =>
        sql('UPDATE mail_operation SET charged = 0, refunded = 0 WHERE id = ?', [operation]),
      'another state': async (_, operation) =>
        sql('UPDATE mail_operation SET state = ? WHERE id = ?', [
          ['committed', 'released', 'expired', 'reserved'][random(4)],
          operation,
        ]),
      'a smaller amount': async (_, operation) => sql('UPDATE mail_operation SET amount = 1 WHERE id = ?', [operation]),
      'no hold': async (_, operation) => sql('DELETE FROM mail_hold WHERE operation_id = ?', [operation]),
      'a hold that ends early': async () =>
        sql("UPDATE mail_hold SET expires_at = '2020-01-01 00:00:00.000' WHERE owner_id = ?", [owner]),
      'no lock row': async () => sql('DELETE FROM mail_owner WHERE owner_id = ?', [owner]),
      'the act says less': async (_, operation) => sql('UPDATE mail_act SET amount = 1 WHERE id = ?', [operation]),
    }

    /** What the acts and operations that are there add up to, counted by hand: units used, and units held. */
    async function there(id: number): Promise<{ used: number; held: number }> {
      const acts = await sql('SELECT id, kind, operation_id, amount, plain_quota_id FROM mail_act WHERE owner_id = ?', [
        owner,
      ])
      const operations = await sql(
        'SELECT id, kind, state, amount, charged - refunded AS kept FROM mail_operation WHERE owner_id = ?',
        [owner],
      )
      const paid = await sql('SELECT operation_id, amount FROM mail_allocation WHERE quota_id = ?', [id])
      const sum = (rows: readonly Record<string, unknown>[]): number =>
        rows.reduce((units, { amount }) => units + Number(amount), 0)
      let [used, held] = [0, 0]
      for (const founder of acts.filter(({ kind }) => kind === 'consume' || kind === 'reserve')) {
        const [row] = operations.filter((one) => one['id'] === founder['id'])
        const own = sum(paid.filter((one) => one['operation_id'] === founder['id']))
        const later = (kind: string): number =>
          sum(acts.filter((one) => one['operation_id'] === founder['id'] && one['kind'] === kind))
        const charged = founder['kind'] === 'consume' ? Number(founder['amount']) : later('commit')
        // Whose units they were, nothing says any more: the rows of an operation take precedence over its act.
        if (row === undefined ? founder['plain_quota_id'] === null : own === 0) continue
        const byActs = Math.max(0, charged - later('refund'))
        // Two copies of what is kept: which of them is wrong, nothing says, and a repair changes neither.
        used += row === undefined ? byActs : Math.min(byActs, Number(row['kept']))
        if (row?.['state'] === 'reserved' && later('commit') === 0) held += own
      }
      return { used, held }
    }

    it('leaves no more to spend than the existing acts and operations allow', async () => {
      for (let run = 0; run < RUNS; run += 1) {
        owner = fresh()
        const life = await live()
        const planted: string[] = []
        for (let n = 0; n <= random(3); n += 1) {
          const names = Object.keys(DAMAGES)
          const name = names[random(names.length)]!
          const operation = life.operations[random(life.operations.length)]!
          await DAMAGES[name]!(life, operation)
          planted.push(`${name} (${life.operations.indexOf(operation)})`)
        }
        let over = false as boolean
        let spent = 0
        const writing = (async () => {
          while (!over) {
            const answer = await app.post(MAIL_API.consume, { account_id: owner, amount: 1 }, { key: `k${fresh()}` })
            if (answer.status === 200) spent += 1
          }
        })()
        await repair()
        over = true
        await writing
        const { used, held } = await there(life.id)
        const [row] = await sql('SELECT used, reserved FROM mail_quota WHERE id = ?', [life.id])
        const is = { used: Number(row?.['used']), reserved: Number(row?.['reserved']) }
        if (is.used < used || is.reserved < held)
          throw new Error(
            `${planted.join(', ')}: used ${is.used}, reserved ${is.reserved}; acts say ${used} and ${held}, ${spent} of it meanwhile`,
          )
        await clean()
      }
    })
  })

  describe('a page of owners', () => {
    it('ends before an owner with many acts, and after it', async () => {
      const owners = [fresh(), fresh(), fresh()]
      for (owner of owners) {
        await quota()
        await consume(1)
      }
      const sizes = async (): Promise<number[]> => {
        const counts: number[] = []
        for await (const { what, count } of mailVerifierOf(app).pages()) if (what === 'owners') counts.push(count)
        return counts
      }
      expect(await sizes()).toEqual([3])
      owner = owners[1]!
      const [one = {}] = await sql('SELECT * FROM mail_act WHERE plain_owner_id = ?', [owner])
      const names = Object.keys(one).filter((name) => !/^(id|idempotency_key|deduplication_key)$/.test(name))
      const digits = `(SELECT 0 AS n${[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ` UNION ALL SELECT ${n}`).join('')})`
      for (const thousands of [10, 20, 30, 40, 50]) {
        const number = `${100_000 + thousands} * 10000 + 1000 * a.n + 100 * b.n + 10 * c.n + d.n`
        const id =
          kind.name === 'SQLite'
            ? `UNHEX(SUBSTR(HEX(id), 1, 22) || (${number}))`
            : `UNHEX(CONCAT(SUBSTR(HEX(id), 1, 22), ${number}))`
        await sql(
          `INSERT INTO mail_act (id, ${names.join(', ')}) SELECT ${id}, ${names.join(', ')} FROM mail_act, ` +
            `${digits} a, ${digits} b, ${digits} c, ${digits} d WHERE plain_owner_id = ? AND deduplication_key IS NOT NULL`,
          [owner],
        )
      }
      expect(await sizes()).toEqual([1, 1, 1])
      await sql('DELETE FROM mail_act WHERE plain_owner_id = ? AND deduplication_key IS NULL', [owner])
      for (owner of owners) await clean()
    })
  })
})
