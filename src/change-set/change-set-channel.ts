import type { ChannelApi } from '../channel-api/channel-api.js'
import type { NewSettingsFields, SettingsPatchFields } from '../channel-api/settings.dto.js'
import { type EntityClass, tableOf } from '../database/table.js'
import type { DtoClass } from '../http/dto.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { ChangeSetItemRow } from './change-set-item.entity.js'
import { ChangeSetRow } from './change-set.entity.js'

/** What tells one channel's change sets from the other's, as data. */
export interface ChangeSetChannel<Q extends QuotaRow = QuotaRow> {
  readonly channel: Channel<Q>
  readonly set: EntityClass<ChangeSetRow>
  readonly item: EntityClass<ChangeSetItemRow>
  /** What a single create takes: a row of a file without an id is held to it. */
  readonly create: DtoClass<NewSettingsFields>
  /** What a single update takes: a row with an id is held to it. */
  readonly update: DtoClass<SettingsPatchFields>
}

/** A channel's change sets, in two tables of their own. */
export function changeSetsOf<Q extends QuotaRow>(channel: Channel<Q>, api: ChannelApi): ChangeSetChannel<Q> {
  return {
    channel,
    set: tableOf(`${channel.name}_change_set`, ChangeSetRow),
    item: tableOf(`${channel.name}_change_set_item`, ChangeSetItemRow),
    create: api.dto.Create,
    update: api.dto.Update,
  }
}
