import { describe } from '@jest/globals'
import { otherThan } from './support/channel-api.js'
import { forEveryChannel } from './support/store.js'
import { usageSuite } from './support/usage/suite.js'
import { capContract } from './support/usage/cap.contract.js'

forEveryChannel('caps', (kind, channels) => {
  describe.each(channels)('of $name', (api) => capContract(usageSuite(api, otherThan(api), kind)))
})
