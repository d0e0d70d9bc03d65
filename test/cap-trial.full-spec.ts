import { afterAll, beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { capTrialContract } from './support/cap-trial.contract.js'
import { forEveryChannel, type Store } from './support/store.js'

forEveryChannel('caps on trial', (kind, channels) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  describe.each(channels)('of $name', (api) => {
    capTrialContract(api, () => app)
  })
})
