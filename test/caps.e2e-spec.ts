import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { migrate } from '../src/database/migrate.js'
import { MIGRATIONS } from '../src/database/migrations/index.js'
import { WriteCaps1795830000001 } from '../src/database/migrations/1795830000001-write-caps.js'
import { ENTITIES } from '../src/entities.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { bodyOf } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'
import { DAY, usageSuite } from './support/usage/suite.js'
import { capContract } from './support/usage/cap.contract.js'

onEveryStore('caps', (kind) => {
  describe('mail', () => capContract(usageSuite(MAIL_API, SMS_API, kind)))
  describe('SMS', () => capContract(usageSuite(SMS_API, MAIL_API, kind)))
})

onEveryStore('caps while an upgrade is not finished', (kind) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    // Those that came later have to go before it; the application's start runs them again.
    await takeBack(MIGRATIONS.length - MIGRATIONS.indexOf(WriteCaps1795830000001))
    app = await TestApp.start(store)
  }, 60_000)

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  /** As a database is beside an instance of the version before. @param count so many migrations, the last one first */
  async function takeBack(count: number): Promise<void> {
    const source = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'migration')).initialize()
    try {
      for (let left = count; left > 0; left -= 1) await source.undoLastMigration({ transaction: 'none' })
    } finally {
      await source.destroy()
    }
  }

  it('cannot be created, since an older instance would pay from them, and are removed with their migration', async () => {
    const make = async (more: object) =>
      app.post(MAIL_API.quotas, { account_id: 1, quota_type: 1, total: 10, expire_at: app.clock.after(DAY), ...more })
    const consume = async (amount: number, key: string) =>
      app.post(MAIL_API.consume, { account_id: 1, amount }, { key })
    const summary = async () => bodyOf(200, await app.get(MAIL_API.summary(1)))
    bodyOf(201, await make({}))
    const refused = await make({ cap: 'enforce', total: 5 })
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([503, 'unavailable', '60'])
    expect(refused.body.detail).toContain('--finish')

    // The running instance needs no restart.
    expect(await migrate(store.config, ENTITIES, { finish: true })).toEqual([WriteCaps1795830000001.name])
    const { id } = bodyOf(201, await make({ cap: 'enforce', total: 5 }))
    const first = await consume(2, 'one')
    expect(first.body.caps).toEqual([id])
    const { id: split } = (await app.post(MAIL_API.reserve, { account_id: 1, amount: 1 }, { key: 'two' })).body
    expect((await consume(3, 'three')).status).toBe(409)

    await takeBack(1)
    expect(await summary()).toMatchObject({ used: 2, reserved: 1, available: 7, caps: [] })
    expect((await app.get(`${MAIL_API.quotas}/${id}`)).status).toBe(404)
    expect((await app.get(`${MAIL_API.usage}/${split}`)).body.caps).toBeUndefined()
    expect(bodyOf(200, await app.post(`${MAIL_API.usage}/${split}/commit`, {}))).toMatchObject({ charged: 1 })
    expect(bodyOf(200, await consume(7, 'four'))).toMatchObject({ owner_remaining: 0 })
  })
})
