import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals'
import { TestApp } from './support/app.js'
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
})
