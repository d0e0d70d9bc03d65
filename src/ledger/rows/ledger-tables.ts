import { tableOf } from '../../database/table.js'
import { ActRow } from './act.entity.js'
import { AllocationRow } from './allocation.entity.js'
import { CallerRow } from './caller.entity.js'
import { ChangeRow } from './change.entity.js'
import { EventFeedRow } from './event-feed.entity.js'
import { EventRow } from './event.entity.js'
import { GroupRow } from './group.entity.js'
import { HoldRow } from './hold.entity.js'
import { LedgerGateRow } from './ledger-gate.entity.js'
import { LedgerStateRow } from './ledger-state.entity.js'
import { OperationRow } from './operation.entity.js'
import { OwnerRow } from './owner.entity.js'
import { RefusalRow } from './refusal.entity.js'
import { SpellRow } from './spell.entity.js'
import { UsageTotalRow } from './usage-total.entity.js'

/**
 * The tables of a channel's ledger, which differ only in their names. The table of its quotas is the channel's own.
 * @param channel the channel's name, the prefix of the tables' names
 */
export function ledgerTables(channel: string) {
  return {
    owner: tableOf(`${channel}_owner`, OwnerRow),
    group: tableOf(`${channel}_group`, GroupRow),
    act: tableOf(`${channel}_act`, ActRow),
    operation: tableOf(`${channel}_operation`, OperationRow),
    allocation: tableOf(`${channel}_allocation`, AllocationRow),
    hold: tableOf(`${channel}_hold`, HoldRow),
    change: tableOf(`${channel}_change`, ChangeRow),
    refusal: tableOf(`${channel}_refusal`, RefusalRow),
    spell: tableOf(`${channel}_spell`, SpellRow),
    usageTotal: tableOf(`${channel}_usage_total`, UsageTotalRow),
    ledgerState: tableOf(`${channel}_ledger_state`, LedgerStateRow),
    caller: tableOf(`${channel}_caller`, CallerRow),
    ledgerGate: tableOf(`${channel}_ledger_gate`, LedgerGateRow),
    event: tableOf(`${channel}_event`, EventRow),
    eventFeed: tableOf(`${channel}_event_feed`, EventFeedRow),
  }
}
