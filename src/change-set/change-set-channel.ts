import type { NewSettingsFields, SettingsPatchFields } from '../channel-api/settings.dto.js'
import { type EntityClass, tableOf } from '../database/table.js'
import type { DtoClass } from '../http/dto.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { ChangeSetItemRow } from './change-set-item.entity.js'
import { ChangeSetRow } from './change-set.entity.js'

/** The properties of one channel's change sets. */
export interface ChangeSetChannel<Q extends QuotaRow = QuotaRow> {
  readonly channel: Channel<Q>
  readonly set: EntityClass<ChangeSetRow>
  readonly item: EntityClass<ChangeSetItemRow>
  /** The body of a create, which validates a row without an id. */
  readonly create: DtoClass<NewSettingsFields>
  /** The body of an update, which validates a row with an id. */
  readonly update: DtoClass<SettingsPatchFields>
}

/** Returns the properties of a channel's change sets; each channel has two tables. */
export function changeSetsOf<Q extends QuotaRow>(
  channel: Channel<Q>,
  dto: Pick<ChangeSetChannel, 'create' | 'update'>,
): ChangeSetChannel<Q> {
  return {
    channel,
    set: tableOf(`${channel.name}_change_set`, ChangeSetRow),
    item: tableOf(`${channel.name}_change_set_item`, ChangeSetItemRow),
    ...dto,
  }
}
