import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type As, TestApp } from './support/app.js'
import { backOfficeContract } from './support/back-office.contract.js'
import { START, stopSweepers } from './support/quota-api.js'
import { forEveryChannel } from './support/store.js'

forEveryChannel('the back office', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  describe('the principal of the token', () => {
    it.each<[As, string]>([
      ['usage', 'usage'],
      ['other', 'service'],
      ['admin', 'admin'],
    ])('is told to %s', async (name, role) => {
      const answer = await app.get('/api/v1/me', { as: name })
      expect([answer.status, answer.body]).toEqual([200, { name, role, scopes: [], expires_at: null, source: 'token' }])
    })

    it('is shown only by GET, without parameters', async () => {
      const posted = await app.post('/api/v1/me', {})
      expect([posted.status, posted.headers['allow'], posted.body.allow]).toEqual([405, 'GET, HEAD', ['GET', 'HEAD']])
      expect((await app.get('/api/v1/me?name=boss')).status).toBe(400)
    })
  })

  describe.each(channels)('of $name', (api) => {
    backOfficeContract(api, () => app)
  })
})
