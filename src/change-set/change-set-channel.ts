import type { DtoClass } from '../http/dto.js'
import type { NewSettingsFields, SettingsPatchFields } from '../channel-api/settings.dto.js'
import type { Channel, EntityClass } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetRow } from './change-set.entity.js'

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
