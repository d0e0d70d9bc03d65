import type { EntityClass } from '../../database/table.js'
import type { ledgerTables } from './ledger-tables.js'
import type { QuotaRow } from './quota.entity.js'

/**
 * Everything that distinguishes the channels, as data: the name, the entities, and the subjects that a quota names in
 * the API. Channels share everything else.
 */
export interface Channel<Q extends QuotaRow = QuotaRow> extends Readonly<ReturnType<typeof ledgerTables>> {
  /**
   * The identity of the channel. It begins the names of its tables (except that of the quota entity, which names its
   * own), is the label of metrics and log lines, names the channel's event feed, and is part of the tokens by which
   * Nest injects the channel's parts (`channelToken`). Never change it: stored data refers to it.
   */
  readonly name: string
  /** The accounts and users that a quota names: API name and property. The first is the owner, whom it limits. */
  readonly subjects: readonly [Subject<Q>, ...Subject<Q>[]]
  readonly quota: EntityClass<Q>
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
