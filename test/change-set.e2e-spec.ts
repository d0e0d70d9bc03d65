import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { firstIdAt } from '../src/ledger/rows/act-id.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { filterContract } from './support/change-set/filter.contract.js'
import { importContract } from './support/change-set/import.contract.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { fresh, ledgerOf, START, stopSweepers } from './support/quota-api.js'
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

  it('slow down for callers, not for the sweeper', async () => {
    const other = await TestApp.start(store)
    try {
      await stopSweepers(other)
      const ledger = ledgerOf(other, MAIL_API)
      const owner = fresh()
      await ledger.sweep(owner)
      expect(ledger.engine.inUse).toBe(false)
      const answer = ledger.engine.submit({
        id: firstIdAt(other.clock.now()),
        ownerId: owner,
        caller: 'admin',
        callerId: 'admin',
        requestId: 'in use',
        key: null,
        deduplicationKey: null,
        command: { kind: 'consume', amount: 1 },
      })
      expect(ledger.engine.inUse).toBe(true)
      await expect(answer).rejects.toMatchObject({ code: 'no_active_quota' })
    } finally {
      await other.stop()
    }
  })

  it('leave acts whose keys verify accepts', async () => {
    // Of the clock, which the suite moves, totals may tell something else.
    const lines = await contradictionsOf(app)
    expect(lines.filter((line) => line.includes(' key: '))).toEqual([])
  })
})
