import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { countContract } from './support/count.contract.js'
import { groupContract } from './support/group.contract.js'
import { START, stopSweepers, stopUpkeep } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

onEveryStore('groups', (kind) => {
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

  describe('of mail', () => {
    groupContract(MAIL_API, () => app)
    countContract(MAIL_API, () => app)
  })

  describe('of SMS', () => {
    groupContract(SMS_API, () => app)
    countContract(SMS_API, () => app)
  })
})
