import { beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { capTrialContract } from './support/cap-trial.contract.js'
import { forEveryChannel } from './support/store.js'

forEveryChannel('caps on trial', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
  })

  describe.each(channels)('of $name', (api) => {
    capTrialContract(api, () => app)
  })
})
