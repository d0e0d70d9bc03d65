import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { bodyOf, fresh, START, stopSweepers } from './support/quota-api.js'
import { quotaContract } from './support/quota.contract.js'
import { forEveryChannel } from './support/store.js'

forEveryChannel('quotas', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  describe.each(channels)('of $name', (api) => {
    quotaContract(api, () => app)
  })

  describe('of two channels', () => {
    it('are independent of each other: owners, keys and ids', async () => {
      const owner = fresh()
      const key = `both-${owner}`
      const settings = { quota_type: 1, total: 5, expire_at: '2027-01-01T00:00:00Z' }
      const mail = await app.post(MAIL_API.quotas, { account_id: owner, ...settings }, { key })
      const sms = await app.post(SMS_API.quotas, { user_id: owner, ...settings, total: 8 }, { key })
      expect([bodyOf(201, mail).total, bodyOf(201, sms).total]).toEqual([5, 8])
      expect(sms.headers['idempotency-replayed']).toBeUndefined()
      expect(bodyOf(200, await app.get(MAIL_API.summary(owner))).total).toBe(5)
      expect(bodyOf(200, await app.get(SMS_API.summary(owner))).total).toBe(8)
      bodyOf(204, await app.delete(`${MAIL_API.quotas}/${mail.body.id}`))
      expect(bodyOf(200, await app.get(SMS_API.summary(owner))).quota_count).toBe(1)
    })
  })
})
