import type { EntityClass } from '../../database/table.js'
import type { ActRow } from './act.entity.js'
import type { AllocationRow } from './allocation.entity.js'
import type { CallerRow } from './caller.entity.js'
import type { ChangeRow } from './change.entity.js'
import type { EventFeedRow } from './event-feed.entity.js'
import type { EventRow } from './event.entity.js'
import type { GroupRow } from './group.entity.js'
import type { HoldRow } from './hold.entity.js'
import type { LedgerGateRow } from './ledger-gate.entity.js'
import type { LedgerStateRow } from './ledger-state.entity.js'
import type { OperationRow } from './operation.entity.js'
import type { OwnerRow } from './owner.entity.js'
import type { QuotaRow } from './quota.entity.js'
import type { RefusalRow } from './refusal.entity.js'
import type { SpellRow } from './spell.entity.js'
import type { UsageTotalRow } from './usage-total.entity.js'

/**
 * Everything that distinguishes the channels, as data: the name, the entities, and the subjects that a quota names in
 * the API. Channels share everything else.
 */
export interface Channel<Q extends QuotaRow = QuotaRow> {
  /**
   * The identity of the channel. It begins the names of its tables (except that of the quota entity, which names its
   * own), is the label of metrics and log lines, names the channel's event feed, and is part of the tokens by which
   * Nest injects the channel's parts (`channelToken`). Never change it: stored data refers to it.
   */
  readonly name: string
  /** The accounts and users that a quota names: API name and property. The first is the owner, whom it limits. */
  readonly subjects: readonly [Subject<Q>, ...Subject<Q>[]]
  readonly quota: EntityClass<Q>
  readonly owner: EntityClass<OwnerRow>
  readonly group: EntityClass<GroupRow>
  readonly act: EntityClass<ActRow>
  readonly operation: EntityClass<OperationRow>
  readonly allocation: EntityClass<AllocationRow>
  readonly hold: EntityClass<HoldRow>
  readonly change: EntityClass<ChangeRow>
  readonly refusal: EntityClass<RefusalRow>
  readonly spell: EntityClass<SpellRow>
  readonly usageTotal: EntityClass<UsageTotalRow>
  readonly ledgerState: EntityClass<LedgerStateRow>
  readonly caller: EntityClass<CallerRow>
  readonly ledgerGate: EntityClass<LedgerGateRow>
  readonly event: EntityClass<EventRow>
  readonly eventFeed: EntityClass<EventFeedRow>
}

/** An account or a user that a quota names. */
export interface Subject<Q extends QuotaRow = QuotaRow> {
  /** The API name, for example `account_id`. */
  readonly field: string
  readonly property: keyof Q & string
}

/** Any channel. */
export type AnyChannel = Omit<Channel, 'subjects' | 'quota'> & {
  readonly subjects: readonly [Pick<Subject, 'field'>, ...Pick<Subject, 'field'>[]]
  readonly quota: EntityClass<object>
}

/** Every entity of a channel, for the data source. */
export function entitiesOf({ name: _name, subjects: _subjects, ...entities }: AnyChannel): EntityClass<object>[] {
  return Object.values(entities)
}
