import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { countContract } from './support/count.contract.js'
import { groupContract } from './support/group.contract.js'
import { type Body, bodyOf, ledgerOf, START, stopSweepers, stopUpkeep } from './support/quota-api.js'
import { forSharedRules, type Store } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

/** One more than a statement of SQLite has placeholders. */
const CHILDREN = 32_767

forSharedRules('groups', (kind, channels) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    await stopUpkeep(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  afterAll(async () => {
    // Whatever the tests did, the rows agree.
    expect(await contradictionsOf(app)).toEqual([])
    await app.stop()
    await store.drop()
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
