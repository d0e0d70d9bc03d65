import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { countContract } from './support/count.contract.js'
import { groupContract } from './support/group.contract.js'
import { type Body, bodyOf, fresh, ledgerOf, START, stopSweepers, stopUpkeep, sweeperOf } from './support/quota-api.js'
import { rowsRead } from './support/rows-read.js'
import { forSharedRules } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

/** One more than a statement of SQLite has placeholders. */
const CHILDREN = 32_767

forSharedRules('groups', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    await stopUpkeep(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  afterAll(async () => {
    // Whatever the tests did, the rows agree.
    expect(await contradictionsOf(app)).toEqual([])
  })

  describe.each(channels)('of $name', (api) => {
    groupContract(api, () => app)
    countContract(api, () => app)
  })

  it('let batches remember the groups of owners from the first one on', async () => {
    const empty = await kind.open()
    const first = await TestApp.start(empty)
    const versions = async () =>
      first.app
        .get(DataSource)
        .query('SELECT m.chains_version AS mail, s.chains_version AS sms FROM mail_ledger_gate m, sms_ledger_gate s')
    const create = async ({ quotas }: typeof MAIL_API, group: object) => {
      expect((await first.post(`${quotas}/groups`, group)).status).toBe(201)
    }
    try {
      await create(MAIL_API, { name: 'one' })
      await create(SMS_API, { name: 'all', default: true })
      const [begun] = await versions()
      expect([Number(begun.mail), Number(begun.sms)]).toEqual([1, 1])
      await create(MAIL_API, { name: 'two' })
      await create(MAIL_API, { name: 'all', default: true })
      const [later] = await versions()
      expect([Number(later.mail), Number(later.sms)]).toEqual([1, 1])
    } finally {
      await first.stop()
      await empty.drop()
    }
  })

  it.each(channels)(
    'of $name show their own history, and read neither that of their members nor that of others',
    async (api) => {
      const { id: group } = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `history ${fresh()}` }))
      const owners = Array.from({ length: 60 }, () => fresh())
      for (const owner of owners) bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `other ${owner}` }))
      bodyOf(200, await app.post(`${api.quotas}/groups/${group}/members`, { [`${api.owner}s`]: owners }))
      const each = { group_id: group, per: 'member', quota_type: 1, total: 9, expire_at: app.clock.after(9_000) }
      const { id } = bodyOf(201, await app.post(api.quotas, each))
      for (const owner of owners)
        bodyOf(200, await app.post(api.consume, { [api.owner]: owner, amount: 1 }, { key: `h${owner}` }))
      for (const count of bodyOf(200, await app.get(`${api.list}?follows=${id}&page_size=100`)).items)
        bodyOf(200, await app.put(`${api.quotas}/${count.id}`, { total: 8 }))
      const read = async () => rowsRead(kind, app.app.get(DataSource), `${api.channel}_change`)
      const before = await read()
      const { items, total } = bodyOf(200, await app.get(`${api.quotas}/groups/${group}/changes`))
      expect((await read()) - before).toBeLessThan(30)
      expect([total, items.map(({ action }: Body) => action)]).toEqual([2, ['members', 'create']])
    },
  )

  it.each(channels)(
    'of $name read no count of a quota that is over, and go on counting if it is revived',
    async (api) => {
      const owner = fresh()
      const group: number = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `tickets of ${owner}` })).id
      bodyOf(200, await app.post(`${api.quotas}/groups/${group}/members`, { [`${api.owner}s`]: [owner] }))
      const ticket = async (total: number, seconds: number): Promise<Body> => {
        const expire_at = app.clock.after(seconds)
        const body = { group_id: group, per: 'member', quota_type: 1, total, expire_at }
        return bodyOf(201, await app.post(api.quotas, body))
      }
      const spend = async () =>
        bodyOf(200, await app.post(api.consume, { [api.owner]: owner, amount: 1 }, { key: `k${fresh()}` }))
      const readBy = async (act: () => Promise<unknown>): Promise<number> => {
        const read = async () => rowsRead(kind, app.app.get(DataSource), `${api.channel}_quota`)
        const before = await read()
        await act()
        return (await read()) - before
      }
      let first: Body
      for (let day = 1; day <= 20; day++) {
        const made = await ticket(100, 60)
        first ??= made
        await spend()
        app.clock.pass(90)
        await sweeperOf(app, api).sweep()
      }
      await ticket(50, 3_600)
      await spend()
      expect(await readBy(spend)).toBeLessThan(10)
      expect(await readBy(async () => app.get(`${api.quotas}/owners/${owner}`))).toBeLessThan(10)

      const { id, version } = bodyOf(200, await app.get(`${api.quotas}/${first!.id}`))
      bodyOf(200, await app.put(`${api.quotas}/${id}`, { version, expire_at: app.clock.after(600) }))
      const { allocations } = await spend()
      const [count] = bodyOf(200, await app.get(`${api.list}?follows=${id}`)).items
      expect([allocations[0].quota_id, count.used]).toEqual([count.id, 2])
    },
  )

  it('have more children than a statement of SQLite names', async () => {
    const large = await kind.open()
    const first = await TestApp.start(large)
    const [api = MAIL_API] = channels
    const groups = `${api.quotas}/groups`
    const create = async (group: object): Promise<number> => bodyOf(201, await first.post(groups, group)).id
    const join = async (id: number, owner: number) =>
      bodyOf(200, await first.post(`${groups}/${id}/members`, { [`${api.owner}s`]: [owner] }))
    const refuse = async (owner: number) =>
      expect((await first.post(api.consume, { [api.owner]: owner, amount: 1 }, { key: `k${owner}` })).status).toBe(409)
    try {
      const [top, parent] = [await create({ name: 'top' }), await create({ name: 'parent' })]
      const { store } = ledgerOf(first, api)
      await first.app.get(TransactionRunner).write(async (transaction) => {
        const at = first.clock.now()
        const settings = { parentId: parent, isDefault: 0, version: 1, edits: 0, createdAt: at, updatedAt: at } as const
        const names = Array.from({ length: CHILDREN }, (_, n) => `child ${n}`)
        const children = names.map((name) => ({ ...settings, name, liveName: name }))
        for (const { sql, values } of store.group.inserts(children, transaction)) await transaction.execute(sql, values)
      })
      const newest = (await first.get(`${groups}?page_size=1`)).body.items[0].id
      await join(parent, 1)
      await join(newest, 2)
      for (const owner of [1, 2, 2]) await refuse(owner)
      await ledgerOf(first, api).refusals.flush()
      const refused = async (most: number): Promise<number[][]> =>
        bodyOf(200, await first.get(`${api.quotas}/refusals/top?group_id=${parent}&page_size=${most}`)).items.map(
          (item: Body) => [item[api.owner], item.count],
        )
      const all = [
        [2, 2],
        [1, 1],
      ]
      expect([await refused(1), await refused(2)]).toEqual([all.slice(0, 1), all])
      bodyOf(200, await first.put(`${groups}/${parent}`, { parent_id: top }))
    } finally {
      await first.stop()
      await large.drop()
    }
  })
})
