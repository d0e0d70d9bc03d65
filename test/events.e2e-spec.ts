import { afterEach, beforeAll, describe } from '@jest/globals'
import { TestApp } from './support/app.js'
import { eventsContract } from './support/events.contract.js'
import { putOffUpkeep, START, stopSweepers } from './support/quota-api.js'
import { forSharedRules } from './support/store.js'

forSharedRules('events', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    await putOffUpkeep(app)
  })

  afterEach(() => {
    app.clock.set(START)
    app.clock.steadyMs = Infinity
  })

  describe.each(channels)('of $name', (api) => eventsContract(api, () => app))
})
