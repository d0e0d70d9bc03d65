import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { filterContract } from './support/change-set/filter.contract.js'
import { importContract } from './support/change-set/import.contract.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { START, stopSweepers } from './support/quota-api.js'
import { forSharedRules } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

forSharedRules('change sets', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  describe.each(channels)('of $name', (api) => {
    const suite = changeSetSuite(api, () => app)
    filterContract(suite)
    importContract(suite)
  })

  it('leave acts whose keys verify accepts', async () => {
    // Of the clock, which the suite moves, totals may tell something else.
    const lines = await contradictionsOf(app)
    expect(lines.filter((line) => line.includes(' key: '))).toEqual([])
  })
})
