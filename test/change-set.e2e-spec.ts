import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { filterContract } from './support/change-set/filter.contract.js'
import { importContract } from './support/change-set/import.contract.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { START, stopSweepers } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

onEveryStore('change sets', (kind) => {
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

  describe.each([MAIL_API, SMS_API])('of $name', (api) => {
    const suite = changeSetSuite(api, () => app)
    // The channels differ in names alone. A server, which waits for its disk at each commit, sees each contract once.
    const both = kind.name === 'SQLite'
    if (both || api === MAIL_API) filterContract(suite)
    if (both || api === SMS_API) importContract(suite)
  })

  it('leave acts whose keys verify knows', async () => {
    // Of the clock, which the suite moves, totals may tell something else.
    const lines = await contradictionsOf(app)
    expect(lines.filter((line) => line.includes(' key: '))).toEqual([])
  })
})
