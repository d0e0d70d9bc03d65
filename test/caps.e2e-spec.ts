import { describe } from '@jest/globals'
import { otherThan } from './support/channel-api.js'
import { forSharedRules } from './support/store.js'
import { usageSuite } from './support/usage/suite.js'
import { capContract } from './support/usage/cap.contract.js'

forSharedRules('caps', (kind, channels) => {
  describe.each(channels)('of $name', (api) => capContract(usageSuite(api, otherThan(api), kind)))
})
