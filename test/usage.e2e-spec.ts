import { describe } from '@jest/globals'
import { onEveryStore } from './support/store.js'
import { MAIL_UNDER_TEST, SMS_UNDER_TEST, usageContract } from './support/usage.contract.js'

onEveryStore('usage', (kind) => {
  describe('mail', () => usageContract(MAIL_UNDER_TEST, SMS_UNDER_TEST, kind))
  describe('SMS', () => usageContract(SMS_UNDER_TEST, MAIL_UNDER_TEST, kind))
})
