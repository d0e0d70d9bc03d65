import { beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { stopSweepers, stopUpkeep } from './support/quota-api.js'
import { spellsContract } from './support/spells.contract.js'
import { forSharedRules } from './support/store.js'

forSharedRules('spells of refusals', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    await stopUpkeep(app)
  })

  describe.each(channels)('of $name', (api) => spellsContract(api, () => app))
})
