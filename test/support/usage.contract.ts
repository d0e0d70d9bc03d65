import type { ChannelApi } from './channel-api.js'
import type { StoreKind } from './store.js'
import { batchContract } from './usage/batch.contract.js'
import { consumeContract } from './usage/consume.contract.js'
import { drawDownContract } from './usage/draw-down.contract.js'
import { exactlyOnceContract } from './usage/exactly-once.contract.js'
import { holdContract } from './usage/hold.contract.js'
import { readContract } from './usage/read.contract.js'
import { refusalContract } from './usage/refusal.contract.js'
import { resetContract } from './usage/reset.contract.js'
import { settledOnceContract } from './usage/settled-once.contract.js'
import { usageSuite } from './usage/suite.js'

/** The guarantees of usage in every channel (contract, §4 and §7 "Of usage"), as a caller sees them. */
export function usageContract(channel: ChannelApi, other: ChannelApi, kind: StoreKind): void {
  const suite = usageSuite(channel, other, kind)
  consumeContract(suite)
  drawDownContract(suite)
  refusalContract(suite)
  holdContract(suite)
  settledOnceContract(suite)
  readContract(suite)
  batchContract(suite)
  exactlyOnceContract(suite)
  resetContract(suite)
}
