import { afterAll, beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { stopSweepers, stopUpkeep } from './support/quota-api.js'
import { spellsContract } from './support/spells.contract.js'
import { forSharedRules, type Store } from './support/store.js'

forSharedRules('spells of refusals', (kind, channels) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    await stopUpkeep(app)
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  describe.each(channels)('of $name', (api) => spellsContract(api, () => app))
})
