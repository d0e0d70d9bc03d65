import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { countContract } from './support/count.contract.js'
import { groupContract } from './support/group.contract.js'
import { START, stopSweepers, stopUpkeep } from './support/quota-api.js'
import { forSharedRules, type Store } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

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
})
