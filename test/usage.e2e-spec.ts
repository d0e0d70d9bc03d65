import { describe } from '@jest/globals'
import { onEveryStore } from './support/store.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { usageContract } from './support/usage.contract.js'

onEveryStore('usage', (kind) => {
  describe('mail', () => usageContract(MAIL_API, SMS_API, kind))
  describe('SMS', () => usageContract(SMS_API, MAIL_API, kind))
})
