import { afterAll, afterEach, beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { eventsContract } from './support/events.contract.js'
import { START, stopSweepers } from './support/quota-api.js'
import { forSharedRules, type Store } from './support/store.js'

forSharedRules('events', (kind, channels) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  describe.each(channels)('of $name', (api) => eventsContract(api, () => app))
})
