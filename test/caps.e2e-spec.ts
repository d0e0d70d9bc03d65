import { describe } from '@jest/globals'
import { onEveryStore } from './support/store.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { usageSuite } from './support/usage/suite.js'
import { capContract } from './support/usage/cap.contract.js'

onEveryStore('caps', (kind) => {
  describe('mail', () => capContract(usageSuite(MAIL_API, SMS_API, kind)))
  describe('SMS', () => capContract(usageSuite(SMS_API, MAIL_API, kind)))
})
