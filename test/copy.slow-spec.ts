import { describe, expect, it } from '@jest/globals'
import { fillLedger } from '../bench/verifying.mjs'
import { connect } from '../bench/store.mjs'
import { migrate } from '../src/database/migrate.js'
import { ENTITIES } from '../src/entities.js'
import { copying, sumsOf } from './support/copied.js'
import { SCALE } from './support/figures.js'
import { STORES } from './support/store.js'

/** RELIABILITY_SCALE=5: 100,000 quotas, and a million consumes. */
const [QUOTAS, CONSUMES] = [20_000 * SCALE, 10_000 * Math.max(1, Math.round(4 * SCALE ** 2))]
const server = STORES.find(({ name }) => name === 'MariaDB')

;(server === undefined ? describe.skip : describe)('a copy of a large store, from MariaDB to SQLite and back', () => {
  it('is equal in every value', async () => {
    const [first, file, last] = [await server!.openEmpty(), await STORES[0]!.openEmpty(), await server!.openEmpty()]
    await migrate(first.config, ENTITIES)
    const admin = await connect(first.url)
    await fillLedger(admin, CONSUMES, QUOTAS)
    await admin.end()
    const there = await copying(first.url, file.url)
    expect(there.stdout).toMatch(/ 0 contradictions\nThe copy is complete/)
    const back = await copying(file.url, last.url)
    expect([back.code, sumsOf(back)]).toEqual([0, sumsOf(there)])
    for (const store of [first, file, last]) await store.drop()
  }, 3_600_000)
})
