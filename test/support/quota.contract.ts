import type { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { capSettingsContract } from './quota/cap-settings.contract.js'
import { createContract } from './quota/create.contract.js'
import { createKeyContract } from './quota/create-key.contract.js'
import { cycleContract } from './quota/cycle.contract.js'
import { lifeContract } from './quota/life.contract.js'
import { listContract } from './quota/list.contract.js'
import { openingContract } from './quota/opening.contract.js'
import { updateContract } from './quota/update.contract.js'
import { quotaSuite } from './quota/suite.js'

/**
 * The guarantees of quotas in both channels (contract, §3 and §7). The clock stands at START before each test.
 */
export function quotaContract(api: ChannelApi, app: () => TestApp): void {
  const suite = quotaSuite(api, app)
  createContract(suite)
  createKeyContract(suite)
  updateContract(suite)
  lifeContract(suite)
  cycleContract(suite)
  capSettingsContract(suite)
  // Before lists, whose ten thousand quotas it would verify after each test.
  openingContract(suite)
  listContract(suite)
}
