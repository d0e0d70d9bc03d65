import { afterAll, afterEach, beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { eventsContract } from './support/events.contract.js'
import { START, stopSweepers } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'

onEveryStore('events', (kind) => {
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

  for (const api of [MAIL_API, SMS_API]) describe(api.name, () => eventsContract(api, () => app))
})
