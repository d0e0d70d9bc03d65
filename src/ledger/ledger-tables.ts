import { tableOf } from '../database/table.js'
import { ActRow } from './rows/act.entity.js'
import { AllocationRow } from './rows/allocation.entity.js'
import { CallerRow } from './rows/caller.entity.js'
import { ChangeRow } from './rows/change.entity.js'
import type { Channel } from './rows/channel.js'
import { EventFeedRow } from './rows/event-feed.entity.js'
import { EventRow } from './rows/event.entity.js'
import { HoldRow } from './rows/hold.entity.js'
import { LedgerGateRow } from './rows/ledger-gate.entity.js'
import { LedgerStateRow } from './rows/ledger-state.entity.js'
import { OperationRow } from './rows/operation.entity.js'
import { OwnerRow } from './rows/owner.entity.js'
import { RefusalRow } from './rows/refusal.entity.js'
import { UsageTotalRow } from './rows/usage-total.entity.js'

/**
 * The tables of a channel's ledger, which differ by their names alone. That of its quotas is the channel's own.
 * @param channel the channel's name, with which the tables' names begin
 */
export function ledgerTables(channel: string): Omit<Channel, 'name' | 'people' | 'quota'> {
  return {
    owner: tableOf(`${channel}_owner`, OwnerRow),
    act: tableOf(`${channel}_act`, ActRow),
    operation: tableOf(`${channel}_operation`, OperationRow),
    allocation: tableOf(`${channel}_allocation`, AllocationRow),
    hold: tableOf(`${channel}_hold`, HoldRow),
    change: tableOf(`${channel}_change`, ChangeRow),
    refusal: tableOf(`${channel}_refusal`, RefusalRow),
    usageTotal: tableOf(`${channel}_usage_total`, UsageTotalRow),
    ledgerState: tableOf(`${channel}_ledger_state`, LedgerStateRow),
    caller: tableOf(`${channel}_caller`, CallerRow),
    ledgerGate: tableOf(`${channel}_ledger_gate`, LedgerGateRow),
    event: tableOf(`${channel}_event`, EventRow),
    eventFeed: tableOf(`${channel}_event_feed`, EventFeedRow),
  }
}
