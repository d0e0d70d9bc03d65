import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { DataSource } from 'typeorm'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { instantToStore } from '../src/database/column.js'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { STEADY_FOR_REMOVAL_MS, STEADY_MS } from '../src/common/clock.js'
import { FOLD_LAG_MS, firstIdAt, instantOfId } from '../src/ledger/rows/act-id.js'
import { deduplicationKeyFor } from '../src/ledger/store/command.js'
import { LAZY_MS } from '../src/ledger/totals/totals-updater.js'
import { Upkeep } from '../src/ledger/upkeep/upkeep.js'
import { Verifier } from '../src/ledger/verify/verifier.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { SMS } from '../src/sms-quota/sms.channel.js'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './support/channel-api.js'
import { TestClock } from './support/clock.js'
import { stored } from './support/ids.js'
import {
  type Body,
  bodyOf,
  brokenFields,
  fresh,
  ledgerOf,
  putOffUpkeep,
  refusal,
  stopSweepers,
  sweeperOf,
} from './support/quota-api.js'
import { forEveryChannel } from './support/store.js'
import { linesOf } from './support/verify.js'
import { times } from './support/wire.js'

const HOUR = 3_600
const DAY = 24 * HOUR
/** Longer than totals lag behind. */
const LAG = (FOLD_LAG_MS + LAZY_MS) / 1000 + 1

interface Step {
  began_at: string
  charged: number
  refunded: number
  refused: number | null
  refusals: number | null
}

forEveryChannel('upkeep', (kind, channels) => {
  let app: TestApp
  let owner: number

  beforeAll(async () => {
    app = await TestApp.on(kind, { env: { RETENTION_DAYS: '30', CHANGES_RETENTION_DAYS: '60' } })
    await stopSweepers(app)
    await putOffUpkeep(app)
  })

  beforeEach(() => {
    owner = fresh()
  })

  function upkeepOf(of: TestApp, api: ChannelApi): Upkeep<never> {
    return of.app.get<Upkeep<never>>(channelToken({ name: api.channel }, Upkeep))
  }

  async function fold(api: ChannelApi = MAIL_API): Promise<void> {
    while (await upkeepOf(app, api).totals.fold());
  }

  async function create(total: number, settings: object = {}, api: ChannelApi = MAIL_API): Promise<Body> {
    const type1 = { quota_type: 1, total, expire_at: app.clock.after(400 * DAY) }
    return bodyOf(201, await app.post(api.quotas, { [api.owner]: owner, ...type1, ...settings }))
  }

  async function consume(amount: number, api: ChannelApi = MAIL_API): Promise<Body> {
    return bodyOf(200, await app.post(api.consume, { [api.owner]: owner, amount }, { key: `k${fresh()}` }))
  }

  async function refund(id: string, amount: number, api: ChannelApi = MAIL_API): Promise<void> {
    bodyOf(200, await app.post(`${api.usage}/${id}/refund`, { amount }, { key: `k${fresh()}` }))
  }

  async function series(query: string, api: ChannelApi = MAIL_API): Promise<Step[]> {
    return bodyOf(200, await app.get(`${api.usage}/series?${query}`)).items
  }

  /** What `npm run verify` says of mail. */
  async function contradictions(): Promise<string[]> {
    return linesOf(new Verifier(MAIL, app.app.get(DataSource), app.app.get(TransactionRunner), app.clock))
  }

  const used = (steps: readonly Step[]): [string, number, number][] =>
    steps
      .filter(({ charged, refunded }) => charged + refunded > 0)
      .map(({ began_at, charged, refunded }) => [began_at.slice(0, 13), charged, refunded])

  for (const api of channels) {
    it(`tells how ${api.name} usage went, the same before and after it is added up`, async () => {
      app.clock.set('2027-01-10T10:30:00.000Z')
      const first = await create(10, {}, api)
      const second = await create(100, { expire_at: app.clock.after(500 * DAY) }, api)
      const split = await consume(15, api)
      app.clock.set('2027-01-10T11:10:00.000Z')
      await consume(2, api)
      const held = bodyOf(201, await app.post(api.reserve, { [api.owner]: owner, amount: 9 }, { key: `k${fresh()}` }))
      const told = async (): Promise<unknown> => ({
        days: used(await series(`${api.owner}=${owner}`, api)),
        hours: used(await series(`${api.owner}=${owner}&step=hour&from=2027-01-10T00:00:00Z`, api)),
        first: used(await series(`quota_id=${first.id}`, api)),
        second: used(await series(`quota_id=${second.id}`, api)),
      })
      const before = await told()
      expect(before).toEqual({
        days: [['2027-01-10T00', 17, 0]],
        hours: [
          ['2027-01-10T10', 15, 0],
          ['2027-01-10T11', 2, 0],
        ],
        first: [['2027-01-10T00', 10, 0]],
        second: [['2027-01-10T00', 7, 0]],
      })
      app.clock.pass(LAG)
      const rows = async (): Promise<number> => {
        const totals = `SELECT COUNT(*) AS n FROM ${api.channel}_usage_total WHERE owner_id = ${owner}`
        const [found] = await app.app.get(DataSource).query<{ n: number | string }[]>(totals)
        return Number(found?.n)
      }
      expect(await rows()).toBeLessThan(5)
      await fold(api)
      // Of the first quota an hour and its day, of the second two hours and their day.
      expect(await rows()).toBe(5)
      expect(await told()).toEqual(before)
      // What comes later is added where its time is, also to an operation that was added up.
      app.clock.set('2027-01-11T00:00:00.000Z')
      const commit = await app.post(`${api.usage}/${held.id}/commit`)
      expect(refusal(commit)).toEqual([409, 'operation_already_settled'])
      await consume(4, api)
      await refund(split.id, 6, api)
      app.clock.pass(LAG)
      await fold(api)
      await refund(split.id, 8, api)
      const after = {
        days: [
          ['2027-01-10T00', 17, 0],
          ['2027-01-11T00', 4, 14],
        ],
        hours: [
          ['2027-01-10T10', 15, 0],
          ['2027-01-10T11', 2, 0],
          ['2027-01-11T00', 4, 14],
        ],
        // 15 were drawn as 10 and 5: 14 returned as 5 and 9.
        first: [
          ['2027-01-10T00', 10, 0],
          ['2027-01-11T00', 0, 9],
        ],
        second: [
          ['2027-01-10T00', 7, 0],
          ['2027-01-11T00', 4, 5],
        ],
      }
      expect(await told()).toEqual(after)
      app.clock.pass(LAG)
      await fold(api)
      expect(await told()).toEqual(after)
    })
  }

  it('agrees with the ledger after any mixture of acts, at any progress of the totals', async () => {
    app.clock.set('2027-02-01T00:00:00.000Z')
    const quotas = [await create(50), await create(40), await create(1_000)]
    const model = new Map<string, { charged: number; refunded: number }>()
    const note = (charged: number, refunded: number): void => {
      const hour = new Date(app.clock.now()).toISOString().slice(0, 13)
      const known = model.get(hour) ?? { charged: 0, refunded: 0 }
      model.set(hour, { charged: known.charged + charged, refunded: known.refunded + refunded })
    }
    const open: { id: string; left: number }[] = []
    let dice = 7
    const roll = (sides: number): number => (dice = (dice * 48_271) % 2_147_483_647) % sides
    for (let n = 0; n < 120; n += 1) {
      app.clock.pass(roll(3_000))
      const what = roll(4)
      if (what === 0 && open.length > 0) {
        const operation = open[roll(open.length)]!
        const back = Math.min(operation.left, 1 + roll(9))
        if (back > 0) {
          await refund(operation.id, back)
          operation.left -= back
          note(0, back)
        }
      } else if (what === 1) {
        const amount = 1 + roll(9)
        const hold = await app.post(MAIL_API.reserve, { account_id: owner, amount }, { key: `k${fresh()}` })
        const charged = 1 + roll(amount)
        bodyOf(200, await app.post(`${MAIL_API.usage}/${bodyOf(201, hold).id}/commit`, { amount: charged }))
        open.push({ id: hold.body.id, left: charged })
        note(charged, 0)
      } else {
        const amount = 1 + roll(12)
        const { id } = await consume(amount)
        open.push({ id, left: amount })
        note(amount, 0)
      }
      if (roll(5) === 0) await fold()
    }
    const hours = await series(`account_id=${owner}&step=hour&from=2027-02-01T00:00:00Z`)
    expect(used(hours)).toEqual(
      [...model]
        .map(([hour, { charged, refunded }]) => [hour, charged, refunded])
        .sort((a, b) => (a[0]! < b[0]! ? -1 : 1)),
    )
    for (const { id } of quotas) {
      const days = await series(`quota_id=${id}&from=2027-02-01T00:00:00Z`)
      const sum = days.reduce((all, { charged, refunded }) => all + charged - refunded, 0)
      expect([id, sum]).toEqual([id, bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)).used])
    }
    expect(await contradictions()).toEqual([])
    const dataSource = app.app.get(DataSource)
    const raise = async (by: number): Promise<unknown> =>
      dataSource.query(
        `UPDATE mail_usage_total SET charged = charged + ${by} WHERE quota_id = ${quotas[0]!.id} AND step = 'day' AND charged > 0`,
      )
    await raise(1)
    const told = await contradictions()
    expect(told[0]).toContain(`totals: quota ${quotas[0]!.id} of owner ${owner}`)
    expect(told.slice(1).filter((line) => !/totals: day 2027-.* of all owners/.test(line))).toEqual([])
    const mending = new Verifier(MAIL, app.app.get(DataSource), app.app.get(TransactionRunner), app.clock)
    for await (const { findings } of mending.pages()) {
      if (findings.length > 0) expect([...(await mending.repair(findings, 'repair')).values()]).toEqual(['mended'])
    }
    expect(await contradictions()).toEqual([])
  })

  it('tells how groups are used, the same before and after it is added up, and rebuilds that', async () => {
    app.clock.set('2027-02-20T10:30:00.000Z')
    const { id } = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: `group ${owner}` }))
    const others = [fresh(), fresh()]
    const members = { account_ids: [owner, ...others] }
    bodyOf(200, await app.post(`${MAIL_API.quotas}/groups/${id}/members`, members))
    const mine = await create(5)
    const ofGroup = { account_id: undefined, group_id: id }
    const payer = await create(1_000, { ...ofGroup, expire_at: app.clock.after(500 * DAY) })
    const cap = await create(2_000, { ...ofGroup, cap: 'enforce' })
    const consumed = async (account_id: number, amount: number): Promise<string> =>
      bodyOf(200, await app.post(MAIL_API.consume, { account_id, amount }, { key: `k${fresh()}` })).id
    await consumed(owner, 4)
    await refund(await consumed(owner, 3), 1)
    const last = await consumed(others[0]!, 20)
    app.clock.pass(HOUR)
    await consumed(others[1]!, 30)
    const told = async () => ({
      payer: used(await series(`quota_id=${payer.id}&step=hour`)),
      cap: used(await series(`quota_id=${cap.id}&step=hour`)),
      mine: used(await series(`quota_id=${mine.id}&step=hour`)),
      owner: used(await series(`account_id=${owner}&step=hour`)),
      other: used(await series(`account_id=${others[0]!}&step=hour`)),
    })
    const [first, second] = ['2027-02-20T10', '2027-02-20T11']
    const all = {
      payer: [
        [first, 22, 1],
        [second, 30, 0],
      ],
      cap: [
        [first, 27, 1],
        [second, 30, 0],
      ],
      mine: [[first, 5, 0]],
      owner: [[first, 7, 1]],
      other: [[first, 20, 0]],
    }
    expect(await told()).toEqual(all)
    app.clock.pass(LAG)
    await fold()
    expect(await told()).toEqual(all)
    const totals = async (set: string): Promise<unknown> =>
      app.app
        .get(DataSource)
        .query(`UPDATE mail_usage_total SET ${set} WHERE quota_id IN (${payer.id}, ${cap.id}) AND owner_id = ${-id}`)
    await totals('charged = charged + 1')
    const mending = new Verifier(MAIL, app.app.get(DataSource), app.app.get(TransactionRunner), app.clock)
    const mended: unknown[] = []
    for await (const { findings } of mending.pages())
      mended.push(...[...(await mending.repair(findings, 'repair'))].map(([{ rule }, outcome]) => [rule, outcome]))
    expect(mended).toEqual([
      ['totals', 'mended'],
      ['totals', 'mended'],
    ])
    expect(await told()).toEqual(all)
    await refund(last, 20)
    app.clock.pass(LAG)
    await fold()
    expect(await contradictions()).toEqual([])
    expect((await told()).other).toEqual([
      [first, 20, 0],
      [second, 0, 20],
    ])
  })

  it('lists every step up to the present, and no other', async () => {
    app.clock.set('2027-03-10T10:30:00.000Z')
    const steps = async (query: string): Promise<string[]> =>
      (await series(`account_id=${owner}${query}`)).map(({ began_at }) => began_at)
    expect(await steps('')).toHaveLength(30)
    expect((await steps('')).at(-1)).toBe('2027-03-10T00:00:00.000Z')
    expect(await steps('&step=hour')).toHaveLength(24)
    expect(await steps('&from=2027-03-08T00:00:01Z&to=2027-03-10T00:00:00Z')).toEqual(['2027-03-09T00:00:00.000Z'])
    expect(await steps('&from=2027-03-08T00:00:00Z&to=2027-03-08T00:00:00Z')).toEqual([])
    expect(await steps('&from=2027-03-10T00:00:00Z&to=2028-03-10T00:00:00Z')).toEqual(['2027-03-10T00:00:00.000Z'])
    expect(await steps('&from=2026-03-09T00:00:01Z')).toHaveLength(366)
    // No answer tells of what lies before the first year.
    expect((await steps('&to=0000-01-02T00:00:00Z')).length).toBe(1)
    const broken = async (query: string): Promise<string[]> => {
      const answer = await app.get(`${MAIL_API.usage}/series?${query}`)
      expect(refusal(answer)).toEqual([400, 'validation_failed'])
      return Object.keys(brokenFields(answer))
    }
    expect(await broken('')).toEqual(['account_id'])
    expect(await broken('account_id=1&quota_id=1')).toEqual(['account_id'])
    expect(await broken('account_id=1&all=true')).toEqual(['account_id'])
    expect(await broken('quota_id=1&all=true')).toEqual(['account_id'])
    expect(await broken('all=1')).toEqual(['all'])
    expect(await broken('account_id=1&step=week')).toEqual(['step'])
    expect(await broken('account_id=1&from=2027-03-02T00:00:00Z&to=2027-03-01T00:00:00Z')).toEqual(['from'])
    expect(await broken('account_id=1&step=hour&from=2027-02-07T10:29:59Z')).toEqual(['from'])
    expect(await broken('account_id=1&from=2026-03-09T00:00:00Z')).toEqual(['from'])
    expect(refusal(await app.put(`${MAIL_API.usage}/series`, {}))).toEqual([405, 'method_not_allowed'])
  })

  it('contains refusals, also after their hours are removed', async () => {
    app.clock.set('2027-04-10T10:30:00.000Z')
    const { id } = await create(5)
    for (const amount of [6, 7]) {
      expect((await app.post(MAIL_API.consume, { account_id: owner, amount }, { key: `k${fresh()}` })).status).toBe(409)
    }
    await ledgerOf(app, MAIL_API).refusals.flush()
    const told = async (): Promise<unknown> =>
      (await series(`account_id=${owner}&from=2027-04-10T00:00:00Z&to=2027-04-11T00:00:00Z`)).map(
        ({ refused, refusals }) => [refused, refusals],
      )
    expect(await told()).toEqual([[13, 2]])
    app.clock.pass(32 * DAY)
    await sweeperOf(app, MAIL_API).sweep()
    expect(await told()).toEqual([[13, 2]])
    expect(
      (await series(`quota_id=${id}`)).every(({ refused, refusals }) => refused === null && refusals === null),
    ).toBe(true)
  })

  it('writes the latest refusals, too, when a write of earlier ones is in progress', async () => {
    app.clock.set('2027-05-19T10:30:00.000Z')
    await create(1)
    const { refusals } = ledgerOf(app, MAIL_API)
    refusals.count(owner, 'quota_exceeded', 3)
    const first = refusals.flush()
    refusals.count(owner, 'quota_exceeded', 4)
    await refusals.flush()
    const { items } = bodyOf(200, await app.get(`${MAIL_API.quotas}/refusals?account_id=${owner}`))
    expect(items).toEqual([expect.objectContaining({ count: 2, requested: 7 })])
    await first
  })

  it('adds each act once, even if several instances add at the same time', async () => {
    app.clock.set('2027-05-20T10:00:00.000Z')
    await create(100_000)
    const other = await TestApp.start(app.store, { clock: app.clock })
    try {
      await Promise.all(Array.from({ length: 60 }, async () => consume(3)))
      app.clock.pass(LAG)
      await Promise.all(
        [app, other, app, other].map(async (one) => {
          while (await upkeepOf(one, MAIL_API).totals.fold());
        }),
      )
      app.clock.pass(LAG)
      await consume(3)
      expect(used(await series(`account_id=${owner}&from=2027-05-20T00:00:00Z`))).toEqual([['2027-05-20T00', 183, 0]])
    } finally {
      await other.stop()
    }
  })

  it('stops a sum before it is too large for its column', async () => {
    app.clock.set('2027-06-01T00:00:00.000Z')
    const { id } = await create(100)
    await consume(1)
    app.clock.pass(LAG)
    await fold()
    const database = app.app.get(DataSource)
    const day = `quota_id = ${id} AND step = 'day'`
    await database.query(`UPDATE mail_usage_total SET charged = ${2n ** 62n - 5n} WHERE ${day}`)
    await consume(10)
    app.clock.pass(LAG)
    await fold()
    const rows = await database.query(`SELECT CAST(charged AS CHAR) AS charged FROM mail_usage_total WHERE ${day}`)
    expect(rows).toEqual([{ charged: String(2n ** 62n) }])
    await database.query(`UPDATE mail_usage_total SET charged = 11 WHERE ${day}`)
  })

  it('shows a series beyond what SQLite adds up', async () => {
    app.clock.set('2027-06-01T04:00:00.000Z')
    const ids = [(await create(100)).id, (await create(100)).id]
    await consume(150)
    app.clock.pass(LAG)
    await fold()
    const change = async (to: bigint, from: number): Promise<unknown> =>
      app.app
        .get(DataSource)
        .query(`UPDATE mail_usage_total SET charged = ${to} WHERE quota_id = ${ids[from]} AND step = 'day'`)
    for (const n of [0, 1]) await change(2n ** 62n, n)
    expect(used(await series(`account_id=${owner}&from=2027-06-01T00:00:00Z`))).toEqual([
      ['2027-06-01T00', Number.MAX_SAFE_INTEGER, 0],
    ])
    await change(100n, 0)
    await change(50n, 1)
  })

  it('admits no act behind the watermark', async () => {
    app.clock.set('2027-06-01T10:00:00.000Z')
    const { id } = await create(1_000)
    // An instance whose clock is ten minutes behind, and which has not looked since acts were added up.
    const slow = await TestApp.start(app.store, { clock: new TestClock('2027-06-01T09:50:00.000Z') })
    try {
      await consume(5)
      app.clock.pass(LAG)
      await fold()
      const key = `k${fresh()}`
      const send = async (): Promise<Body> => slow.post(MAIL_API.consume, { account_id: owner, amount: 7 }, { key })
      const { text, body } = await send()
      expect(body.id > (await upkeepOf(app, MAIL_API).totals.state()).foldedTo).toBe(true)
      // It is the same request when it is tried again, whatever its id.
      const again = await send()
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([text, 'true'])
    } finally {
      await slow.stop()
    }
    // A request that has waited while acts were closed.
    const { engine } = ledgerOf(app, MAIL_API)
    const late = {
      id: firstIdAt(app.clock.now() - (LAG + 1) * 1_000),
      ownerId: owner,
      caller: 'admin',
      callerId: 'admin',
      requestId: 'late',
      key: `late ${owner}`,
      deduplicationKey: deduplicationKeyFor('admin', `late ${owner}`),
      command: { kind: 'consume', amount: 11 },
    } as const
    await engine.submit({ ...late })
    app.clock.pass(LAG)
    await fold()
    const steps = await series(`quota_id=${id}`)
    expect(steps.reduce((sum, { charged }) => sum + charged, 0)).toBe(23)
    expect(await contradictions()).toEqual([])
  })

  it('stays exact while instances with clocks minutes apart write, and one adds up without a pause', async () => {
    app.clock.set('2027-06-10T10:00:00.000Z')
    await create(1_000_000)
    const clocks = [-900, -70, 240].map((seconds) => new TestClock(app.clock.after(seconds)))
    const others = await Promise.all(clocks.map(async (clock) => TestApp.start(app.store, { clock })))
    let writing = true
    let charged = 0
    const write = async (one: TestApp): Promise<void> => {
      while (writing) {
        const amount = 1 + (fresh() % 5)
        const key = `k${fresh()}`
        bodyOf(200, await one.post(MAIL_API.consume, { account_id: owner, amount }, { key }))
        charged += amount
      }
    }
    try {
      const writers = [app, ...others, ...others].map(write)
      let folds = 0
      while (folds < 20) {
        for (const clock of [app.clock, ...clocks]) clock.pass(LAG)
        if (await upkeepOf(app, MAIL_API).totals.fold()) continue
        folds += 1
      }
      writing = false
      await Promise.all(writers)
    } finally {
      writing = false
      await Promise.all(others.map(async (one) => one.stop()))
    }
    app.clock.pass(LAG)
    await fold()
    const from = '2027-06-10T00:00:00Z'
    const steps = await series(`account_id=${owner}&from=${from}&to=2027-06-20T00:00:00Z`)
    expect(steps.reduce((sum, step) => sum + step.charged, 0)).toBe(charged)
    expect(await contradictions()).toEqual([])
  })

  it('adds up less at a time after steps that failed', async () => {
    app.clock.set('2027-06-20T10:00:00.000Z')
    await create(10_000)
    const { totals } = upkeepOf(app, MAIL_API)
    await fold()
    for (let batch = 0; batch < 2; batch += 1) {
      const items = times(500).map(() => ({ account_id: owner, amount: 1, idempotency_key: `part-${fresh()}` }))
      bodyOf(200, await app.post(`${MAIL_API.consume}/batch`, { items }))
    }
    app.clock.pass(LAG)
    const dataSource = app.app.get(DataSource)
    await dataSource.query('ALTER TABLE mail_usage_total RENAME TO mail_usage_total_away')
    for (let failure = 0; failure < 3; failure += 1) await expect(totals.fold()).rejects.toThrow()
    await dataSource.query('ALTER TABLE mail_usage_total_away RENAME TO mail_usage_total')
    expect(await totals.fold()).toBe(true)
    await fold()
    const [step] = await series(`account_id=${owner}&from=2027-06-20T00:00:00Z`)
    expect(step?.charged).toBe(1_000)
    expect(await contradictions()).toEqual([])
  })

  it('closes and adds up nothing in the future, whatever a clock says', async () => {
    app.clock.set('2027-06-25T10:00:00.000Z')
    await create(1_000)
    await consume(3)
    const clock = new TestClock(app.clock.after(0))
    const wrong = await TestApp.start(app.store, { clock })
    try {
      await stopSweepers(wrong)
      clock.set('2037-06-25T10:00:00.000Z')
      while (await upkeepOf(wrong, MAIL_API).totals.fold());
    } finally {
      await wrong.stop()
    }
    const { foldedTo } = await upkeepOf(app, MAIL_API).totals.state()
    expect(instantOfId(foldedTo)).toBeLessThanOrEqual(app.clock.now())
    await consume(4)
    app.clock.pass(LAG)
    await fold()
    const steps = await series(`account_id=${owner}&from=2027-06-25T00:00:00Z`)
    expect(steps.reduce((sum, step) => sum + step.charged, 0)).toBe(7)
    expect(await contradictions()).toEqual([])
  })

  it('measures how far a watermark is in the future, and removes nothing then', async () => {
    app.clock.set('2027-07-05T10:00:00.000Z')
    const upkeep = upkeepOf(app, SMS_API)
    await upkeep.look()
    expect(upkeep.foldLagMs).toBe(0)
    const { foldedTo } = await upkeep.totals.state()
    const dataSource = app.app.get(DataSource)
    const reach = async (id: string): Promise<unknown> =>
      dataSource.query('UPDATE sms_ledger_state SET folded_to = ?', stored([id]))
    await upkeep.round()
    await reach(firstIdAt(app.clock.now() + 5_000_000))
    try {
      await upkeep.look()
      expect(upkeep.foldLagMs).toBe(5_000_000)
      await create(10, {}, SMS_API)
      const { id } = await consume(3, SMS_API)
      expect(instantOfId(id)).toBeGreaterThan(app.clock.now() + 5_000_000)
    } finally {
      await reach(foldedTo)
    }
    await upkeep.look()
    const { id } = await consume(4, SMS_API)
    expect(instantOfId(id)).toBe(app.clock.now())
    app.clock.pass(LAG)
    await upkeep.look()
    expect(upkeep.foldLagMs).toBe(LAG * 1_000)
  })

  it('shows usage while the time is in doubt, also what was not added up for hours', async () => {
    app.clock.set('2027-07-09T10:00:00.000Z')
    await create(10_000)
    for (let n = 0; n < 2; n += 1) {
      const items = Array.from({ length: 1_000 }, () => ({
        account_id: owner,
        amount: 1,
        idempotency_key: `k${fresh()}`,
      }))
      bodyOf(200, await app.post(`${MAIL_API.usage}/consume/batch`, { items }))
    }
    app.clock.steadyMs = STEADY_MS - 1
    try {
      app.clock.pass(5 * 3_600)
      expect((await series(`account_id=${owner}&from=2027-07-09T00:00:00Z`))[0]?.charged).toBe(2_000)
    } finally {
      app.clock.steadyMs = Infinity
    }
  })

  it('concludes nothing permanently while the time is in doubt', async () => {
    app.clock.set('2027-07-10T10:00:00.000Z')
    const { id } = await create(100, { expire_at: app.clock.after(60) })
    await consume(5)
    const held = bodyOf(
      201,
      await app.post(MAIL_API.reserve, { account_id: owner, amount: 3, ttl_seconds: 30 }, { key: `k${fresh()}` }),
    )
    const upkeep = upkeepOf(app, MAIL_API)
    const kept = async (): Promise<unknown> => {
      const dataSource = app.app.get(DataSource)
      const [quota] = await dataSource.query<{ state: string }[]>(`SELECT state FROM mail_quota WHERE id = ${id}`)
      const holds = await dataSource.query<object[]>(
        'SELECT 1 FROM mail_hold WHERE operation_id = ?',
        stored([held.id]),
      )
      return { quota: quota?.state, holds: holds.length, foldedTo: (await upkeep.totals.state()).foldedTo }
    }
    await fold()
    const before = await kept()
    app.clock.steadyMs = STEADY_MS - 1
    try {
      app.clock.pass(40 * DAY)
      await sweeperOf(app, MAIL_API).sweep()
      await upkeep.round()
      await fold()
      expect(await kept()).toEqual(before)
      // What is asked for is answered by the time all the same.
      expect(bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`)).status).toBe('expired')
      expect((await series(`account_id=${owner}&from=2027-07-10T00:00:00Z`))[0]?.charged).toBe(5)
      // It is removed only by a time that has stayed for an hour.
      app.clock.steadyMs = STEADY_FOR_REMOVAL_MS - 1
      await sweeperOf(app, MAIL_API).sweep()
      await upkeep.round()
      expect(await kept()).toMatchObject({ quota: 'expired', holds: 0 })
      expect(bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`)).items).toHaveLength(2)
    } finally {
      app.clock.steadyMs = Infinity
    }
    await upkeep.round()
    expect(bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`)).items).toEqual([])
    expect(await contradictions()).toEqual([])
  })

  it('shows nothing of an operation that is removed while it is read', async () => {
    app.clock.set('2027-07-20T12:00:00.000Z')
    await create(1_000)
    const [left, removed] = [await consume(5), await consume(7)]
    for (const { id } of [left, removed]) await refund(id, 1)
    const nobody = '00000000-0000-7000-8000-000000000000'
    const move = async (from: string, to: string): Promise<unknown> =>
      app.app
        .get(DataSource)
        .query('UPDATE mail_allocation SET operation_id = ? WHERE operation_id = ?', stored([to, from]))
    // So a read finds it that has read the operation before the removal is committed.
    await move(removed.id, nobody)
    const { items } = bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`))
    expect(items.map(({ id }: Body) => id)).toEqual([left.id])
    expect(refusal(await app.get(`${MAIL_API.usage}/${removed.id}`))).toEqual([404, 'operation_not_found'])
    await move(nobody, removed.id)
  })

  it('removes what is older than the retention, and nothing else', async () => {
    app.clock.set('2027-08-01T12:00:00.000Z')
    const quota = await create(1_000, { used: 5 })
    const group = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: `old ${fresh()}` })).id
    bodyOf(200, await app.post(`${MAIL_API.quotas}/groups/${group}/members`, { account_ids: [fresh()] }))
    const [plain, refunded, young] = [await consume(5), await consume(7), await consume(11)]
    await refund(refunded.id, 2)
    const hold = bodyOf(201, await app.post(MAIL_API.reserve, { account_id: owner, amount: 3 }, { key: `k${fresh()}` }))
    bodyOf(200, await app.post(`${MAIL_API.usage}/${hold.id}/release`))
    app.clock.set('2027-08-20T12:00:00.000Z')
    await refund(young.id, 1)
    const state = async (): Promise<unknown> => ({
      quota: bodyOf(200, await app.get(`${MAIL_API.quotas}/${quota.id}`)),
      series: used(await series(`account_id=${owner}&from=2027-08-01T00:00:00Z`)),
      summary: bodyOf(200, await app.get(MAIL_API.summary(owner))),
    })
    const ids = async (): Promise<string[]> =>
      bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`)).items.map(({ id }: Body) => id)

    // Thirty whole days have passed at the beginning of the day after the thirtieth.
    app.clock.set('2027-08-31T23:00:00.000Z')
    const before = await state()
    await upkeepOf(app, MAIL_API).round()
    expect(await ids()).toHaveLength(4)
    app.clock.set('2027-09-01T12:00:00.000Z')
    await upkeepOf(app, MAIL_API).round()
    expect(await ids()).toEqual([young.id])
    expect(await state()).toEqual(before)
    const page = bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`))
    expect(page.begins_at).toBe('2027-08-02T00:00:00.000Z')
    for (const { id } of [plain, refunded, hold]) {
      expect(refusal(await app.get(`${MAIL_API.usage}/${id}`))).toEqual([404, 'operation_not_found'])
      const answer = await app.post(`${MAIL_API.usage}/${id}/refund`, {}, { key: `k${fresh()}` })
      expect(refusal(answer)).toEqual([404, 'operation_not_found'])
    }
    // The counters are what the totals say.
    expect(await contradictions()).toEqual([])
    const raise = async (by: number): Promise<unknown> =>
      app.app.get(DataSource).query(`UPDATE mail_quota SET used = used + ${by} WHERE id = ${quota.id}`)
    await raise(1)
    expect(await contradictions()).toEqual([expect.stringMatching(`counters: quota ${quota.id} .*used 25, .*used 26,`)])
    await raise(-1)
    // What stays is whole.
    const acts = bodyOf(200, await app.get(`${MAIL_API.usage}/${young.id}/acts`)).items
    expect(acts.map((act: Body) => act.kind)).toEqual(['consume', 'refund'])
    const actsOf = async (ownerId: number): Promise<number> => {
      const sql = `SELECT COUNT(*) AS n FROM mail_act WHERE owner_id = ${ownerId}`
      const [row] = await app.app.get(DataSource).query<{ n: number | string }[]>(sql)
      return Number(row?.n)
    }
    expect(await actsOf(owner)).toBe(2)
    expect(await actsOf(-group)).toBe(0)
    // Changes have a limit of their own.
    const changes = async (): Promise<number> =>
      bodyOf(200, await app.get(`${MAIL_API.quotas}/${quota.id}/changes`)).total
    expect(await changes()).toBe(1)
    app.clock.set('2027-10-02T12:00:00.000Z')
    await upkeepOf(app, MAIL_API).round()
    expect(await changes()).toBe(0)
    expect(await ids()).toEqual([])
    expect(await state()).toMatchObject({
      quota: { used: 25 },
      series: [
        ['2027-08-01T00', 23, 2],
        ['2027-08-20T00', 0, 1],
      ],
    })
    expect(await contradictions()).toEqual([])
  })

  it('adds up what happens while it removes, and removes what else is old, however long that takes', async () => {
    app.clock.set('2027-10-03T12:00:00.000Z')
    await create(1_000)
    await consume(5)
    app.clock.set('2027-11-03T12:00:00.000Z')
    await consume(7)
    const upkeep = upkeepOf(app, MAIL_API)
    const { observer } = upkeep
    const removed: string[] = []
    upkeep.observer = {
      removed: (what, count) => {
        removed.push(what)
        if (what === 'act' && count > 0) app.clock.pass(LAG)
      },
    }
    await upkeep.round()
    upkeep.observer = observer
    expect(removed.slice(removed.indexOf('act'))).toEqual(['act', ...removed.slice(0, removed.indexOf('act')), 'act'])
    expect(removed[0]).toBe('event')
    expect(await upkeep.totals.behindSince()).toBeUndefined()
  })

  it('removes nothing that it says is complete, when a day ends during the removal', async () => {
    app.clock.set('2027-10-10T23:59:00.000Z')
    await create(1_000)
    await consume(5)
    app.clock.set('2027-11-09T23:59:00.000Z')
    await fold()
    const { retention } = upkeepOf(app, MAIL_API)
    const before = retention.cutoff(30)
    app.clock.set('2027-11-10T00:01:00.000Z')
    expect(retention.cutoff(30)).toBeGreaterThan(before)
    for (let after: string | undefined = ''; after !== undefined;)
      after = (await retention.removeActs(after, before, 30)).last
    expect(bodyOf(200, await app.get(`${MAIL_API.usage}?account_id=${owner}`)).items).toHaveLength(1)
    expect(await contradictions()).toEqual([])
  })

  if (kind.name !== 'SQLite') {
    /** Runs `action` while a session that is not the service's keeps rows locked. */
    const besideLock = async (rows: string, action: () => Promise<unknown>): Promise<void> => {
      const other = await createConnection(app.store.url.replace(/^\w+:/, 'mysql:'))
      try {
        await other.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
        await other.query('START TRANSACTION')
        await other.query(`SELECT * FROM ${rows} FOR UPDATE`)
        await action()
      } finally {
        await other.end()
      }
    }

    it('marks ended quotas while another session keeps one of them locked, and that one afterwards', async () => {
      app.clock.set('2027-11-01T12:00:00.000Z')
      const end = { expire_at: app.clock.after(60) }
      const [locked, free] = [await create(10, end), await create(20, end)]
      const marked = async (): Promise<unknown[]> =>
        app.app
          .get(DataSource)
          .query(`SELECT total FROM mail_quota WHERE id IN (${locked.id}, ${free.id}) AND state = 'expired'`)
      app.clock.pass(61)
      await besideLock(`mail_quota WHERE id = ${locked.id}`, async () => sweeperOf(app, MAIL_API).sweep())
      expect(await marked()).toEqual([{ total: 20 }])
      await sweeperOf(app, MAIL_API).sweep()
      expect(await marked()).toHaveLength(2)
    })

    it('removes old acts of others while another session keeps an owner locked, and its own afterwards', async () => {
      app.clock.set('2027-11-02T12:00:00.000Z')
      const others = owner
      for (const id of [others, fresh()]) {
        owner = id
        await create(100, { expire_at: app.clock.after(400 * DAY) })
        await consume(5)
      }
      app.clock.set('2027-12-05T12:00:00.000Z')
      await fold()
      const upkeep = upkeepOf(app, MAIL_API)
      const left = async (): Promise<number[]> => {
        const acts = `SELECT DISTINCT owner_id AS id FROM mail_act WHERE owner_id IN (${others}, ${owner})`
        return (await app.app.get(DataSource).query<{ id: number }[]>(acts)).map(({ id }) => id)
      }
      await besideLock(`mail_owner WHERE owner_id = ${owner}`, async () => {
        const { retention } = upkeep
        for (let after: string | undefined = ''; after !== undefined;)
          after = (await retention.removeActs(after, retention.cutoff(30), 30)).last
      })
      expect(await left()).toEqual([owner])
      await upkeep.round()
      expect(await left()).toEqual([])
      expect(await contradictions()).toEqual([])
    })
  }

  it('either refunds an operation or has removed it, if both happen at the same time', async () => {
    app.clock.set('2027-11-01T12:00:00.000Z')
    const { id: quota } = await create(100_000)
    const made: Body[] = await Promise.all(Array.from({ length: 150 }, async (_, n) => consume(1 + n)))
    app.clock.set('2027-12-02T00:00:00.000Z')
    const house = upkeepOf(app, MAIL_API).round()
    const answers: Body[] = []
    for (const { id } of made.toReversed()) {
      answers.push(await app.post(`${MAIL_API.usage}/${id}/refund`, {}, { key: `k${fresh()}` }))
    }
    await house
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([])
    const refunded = answers.reduce<number>(
      (sum, { status, body }) => sum + (status === 200 ? Number(body.refunded) : 0),
      0,
    )
    const { used: left } = bodyOf(200, await app.get(`${MAIL_API.quotas}/${quota}`))
    expect(left).toBe(made.reduce<number>((sum, { amount }) => sum + Number(amount), 0) - refunded)
    const kept = statuses.filter((status) => status === 200).length
    const dataSource = app.app.get(DataSource)
    for (const [rows, of] of [
      [2 * kept, `act WHERE owner_id = ${owner} AND kind <> 'create'`],
      [kept, `operation WHERE owner_id = ${owner}`],
      [kept, `allocation WHERE quota_id = ${quota}`],
    ] as const) {
      const [found] = await dataSource.query<{ n: number | string }[]>(`SELECT COUNT(*) AS n FROM mail_${of}`)
      expect([of, Number(found?.n)]).toEqual([of, rows])
    }
    await fold()
    const steps = await series(`quota_id=${quota}&from=2027-11-01T00:00:00Z`)
    expect(steps.reduce((sum, step) => sum + step.charged - step.refunded, 0)).toBe(left)
  })

  it('replays every key for thirty days', async () => {
    app.clock.set('2028-01-01T12:00:00.000Z')
    await create(1_000)
    const send = (): Promise<Body> => app.post(MAIL_API.consume, { account_id: owner, amount: 5 }, { key: `r${owner}` })
    const { text } = await send()
    app.clock.set('2028-01-31T12:00:00.000Z')
    await upkeepOf(app, MAIL_API).round()
    const again = await send()
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([text, 'true'])
  })

  it('runs on one instance at a time', async () => {
    const theirs = await TestApp.start(app.store, { clock: app.clock })
    const [mine, other] = [upkeepOf(app, SMS_API), upkeepOf(theirs, SMS_API)]
    const holder = async (): Promise<string | null> => (await mine.totals.state()).holder
    await mine.round()
    const until = instantToStore(app.clock.now() + 30_000)
    await app.app
      .get(DataSource)
      .query(`UPDATE sms_ledger_state SET holder = 'somebody', held_until = '${until}' WHERE id = 1`)
    await mine.round()
    await other.round()
    expect(await holder()).toBe('somebody')
    // Somebody has said nothing for too long; whoever looks first takes over.
    app.clock.pass(31)
    await mine.round()
    expect([mine.id, other.id]).toContain(await holder())
    // Who stops leaves it to the next one, before the time is over.
    await theirs.stop()
    await mine.round()
    expect(await holder()).toBe(mine.id)
  })

  it.each(channels)('tells how $name is used by all owners: the sum of their series', async (api) => {
    const year = 2028 + channels.indexOf(api)
    app.clock.set(`${year}-02-10T10:30:00.000Z`)
    const owners = [owner, fresh(), fresh()]
    const { id } = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `group ${owner}` }))
    const members = { [`${api.owner}s`]: owners.slice(1) }
    bodyOf(200, await app.post(`${api.quotas}/groups/${id}/members`, members))
    const ofGroup = { [api.owner]: undefined, group_id: id }
    await create(1_000, { ...ofGroup, expire_at: app.clock.after(500 * DAY) }, api)
    await create(1_000, { ...ofGroup, cap: 'enforce' }, api)
    await create(10, {}, api)
    await create(1_000, { expire_at: app.clock.after(500 * DAY) }, api)
    await create(1_000, { cap: 'observe' }, api)
    const consumed = async (of: number, amount: number): Promise<string> =>
      bodyOf(200, await app.post(api.consume, { [api.owner]: of, amount }, { key: `k${fresh()}` })).id
    const period = `from=${year}-02-10T00:00:00Z`
    const told = async (): Promise<unknown[]> =>
      Promise.all(['day', 'hour'].map(async (step) => used(await series(`all=true&step=${step}&${period}`, api))))
    const summed = async (): Promise<unknown[]> =>
      Promise.all(
        ['day', 'hour'].map(async (step) => {
          const sums = new Map<string, [number, number]>()
          for (const one of owners)
            for (const [at, charged, refunded] of used(
              await series(`${api.owner}=${one}&step=${step}&${period}`, api),
            )) {
              const [more, less] = sums.get(at) ?? [0, 0]
              sums.set(at, [more + charged, less + refunded])
            }
          return [...sums].map(([at, sum]) => [at, ...sum]).sort()
        }),
      )
    // Of two quotas, of a group's, and one that is settled by halves.
    const split = await consumed(owner, 15)
    await consumed(owners[1]!, 20)
    const path = `${api.usage}/${bodyOf(201, await app.post(api.reserve, { [api.owner]: owners[2], amount: 9 }, { key: `k${fresh()}` })).id}`
    bodyOf(200, await app.post(`${path}/commit`, { amount: 4 }))
    app.clock.pass(HOUR)
    await consumed(owners[2]!, 30)
    await refund(split, 7, api)
    const first = [
      [[`${year}-02-10T00`, 69, 7]],
      [
        [`${year}-02-10T10`, 39, 0],
        [`${year}-02-10T11`, 30, 7],
      ],
    ]
    expect(await told()).toEqual(first)
    expect(await summed()).toEqual(first)
    app.clock.pass(LAG)
    await fold(api)
    expect(await told()).toEqual(first)
    // Some are added up, and others are not.
    await consumed(owner, 2)
    await refund(split, 8, api)
    const both = await told()
    expect(both[0]).toEqual([[`${year}-02-10T00`, 71, 15]])
    expect(await summed()).toEqual(both)
    app.clock.pass(LAG)
    await fold(api)
    expect(await told()).toEqual(both)
    const steps = await series('all=true&step=hour', api)
    expect(steps.every(({ refused, refusals }) => refused === null && refusals === null)).toBe(true)

    const verifier = new Verifier(
      (api.name === 'mail' ? MAIL : SMS) as unknown as typeof MAIL,
      app.app.get(DataSource),
      app.app.get(TransactionRunner),
      app.clock,
    )
    expect(await linesOf(verifier)).toEqual([])
    await app.app
      .get(DataSource)
      .query(
        `UPDATE ${api.channel}_usage_total SET charged = charged + 1 WHERE owner_id = 0 AND began_at >= '${year}-02-10'`,
      )
    const [wrong] = await linesOf(verifier)
    expect(wrong).toContain(`totals: day ${year}-02-10T00:00:00.000Z of all owners`)
    for await (const { findings } of verifier.pages())
      expect([...(await verifier.repair(findings, 'repair')).values()]).toEqual(findings.map(() => 'mended'))
    expect(await linesOf(verifier)).toEqual([])
    expect(await told()).toEqual(both)

    // Operations and hours are removed; what was used on that day remains.
    app.clock.set(`${year}-03-20T12:00:00.000Z`)
    await upkeepOf(app, api).round()
    await sweeperOf(app, api).sweep()
    expect(refusal(await app.get(`${api.usage}/${split}`))).toEqual([404, 'operation_not_found'])
    const hours = `SELECT COUNT(*) AS n FROM ${api.channel}_usage_total WHERE step = 'hour' AND began_at < '${year}-02-11'`
    const [left] = await app.app.get(DataSource).query<{ n: number | string }[]>(hours)
    expect(Number(left?.n)).toBe(0)
    expect(used(await series(`all=true&${period}&to=${year}-02-11T00:00:00Z`, api))).toEqual(both[0])
    expect(await linesOf(verifier)).toEqual([])
  })
})
