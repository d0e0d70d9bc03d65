import { describe } from '@jest/globals'
import { forEveryChannel } from './support/store.js'
import { otherThan } from './support/channel-api.js'
import { usageContract } from './support/usage.contract.js'

forEveryChannel('usage', (kind, channels) => {
  describe.each(channels)('of $name', (api) => usageContract(api, otherThan(api), kind))
})
