import { OwnSummaryFields, PageFields, QuotaFields, QuotaListFields } from '../channel-api/quota.dto.js'
import { IgnoredRecord, NewSettingsFields, SettingsPatchFields } from '../channel-api/settings.dto.js'
import { IdField, ResponseId, ResponseInstant, ResponseObject } from '../http/field.decorator.js'

/** A new SMS quota of a user. */
export class CreateSmsQuotaDto extends NewSettingsFields {
  /** The user whom the quota limits. */
  @IdField()
  user_id!: number
}

/** Changed settings of a user's SMS quota; the record as it was read may be sent back whole. */
@IgnoredRecord('user_id')
export class UpdateSmsQuotaDto extends SettingsPatchFields {}

/** Which SMS quotas to list. */
export class SmsQuotaListQuery extends QuotaListFields {
  /** Only this user's. */
  @IdField({ optional: true })
  user_id?: number
}

/** Whose SMS quotas to add up. */
export class SmsSummaryQuery {
  /** The user. */
  @IdField()
  user_id!: number
}

/** An SMS quota of a user. */
export class SmsQuotaDto extends QuotaFields {
  /** The user whom the quota limits. */
  @ResponseId()
  user_id!: number
}

/** An SMS quota of a user in a list. */
export class SmsListedQuotaDto extends SmsQuotaDto {
  /** When it was deleted; there with `deleted=true` alone. */
  @ResponseInstant({ optional: true })
  deleted_at?: string
}

/** A page of SMS quotas, newest first. */
export class SmsQuotaPageDto extends PageFields {
  /** The quotas. */
  @ResponseObject(() => SmsListedQuotaDto, { isArray: true })
  items!: SmsListedQuotaDto[]
}

/** What a user has in all. */
export class SmsSummaryDto extends OwnSummaryFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}
