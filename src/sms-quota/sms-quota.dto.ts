import { ApiSchema } from '@nestjs/swagger'
import { OwnSummaryFields, PageFields, QuotaListFields } from '../channel-api/quota.dto.js'
import {
  IgnoredRecord,
  NewSettingsFields,
  placeViolations,
  QuotaFields,
  SettingsPatchFields,
} from '../channel-api/settings.dto.js'
import type { FieldError } from '../common/service-error.js'
import { IdField, ResponseId, ResponseInstant, ResponseObject } from '../http/field.decorator.js'

/** The body that creates a quota of a user or of a group. */
export class CreateSmsQuota extends NewSettingsFields {
  /** The user whom the quota limits. Exactly one of it and `group_id` is required. */
  @IdField({ optional: true })
  user_id?: number

  /** Checks the rules between the fields. */
  override violations(): FieldError[] {
    return [...placeViolations(this, 'user_id', []), ...super.violations()]
  }
}

/** The body that updates a quota. */
@IgnoredRecord('user_id')
export class UpdateSmsQuota extends SettingsPatchFields {}

/** Selects a page of quotas. */
export class SmsQuotaListQuery extends QuotaListFields {
  /** Returns only quotas of this user. */
  @IdField({ optional: true })
  user_id?: number
}

/** A quota as answers show it. */
@ApiSchema({ name: 'SmsQuota' })
export class SmsQuotaDto extends QuotaFields {
  /** The user whom the quota limits. Null for a quota of a group. */
  @ResponseId({ nullable: true })
  user_id!: number | null
}

/** A quota in a list. */
export class SmsListedQuota extends SmsQuotaDto {
  /** Time of the deletion. Present only with `deleted=true`. */
  @ResponseInstant({ optional: true })
  deleted_at?: string
}

/** A page of quotas. */
export class SmsQuotaPage extends PageFields {
  /** The quotas. */
  @ResponseObject(() => SmsListedQuota, { isArray: true })
  items!: SmsListedQuota[]
}

/** The sums of a user's active quotas. */
export class SmsSummary extends OwnSummaryFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}

/** Selects the owner of a summary. */
export class SmsSummaryQuery {
  /** Id of the user. */
  @IdField()
  user_id!: number
}
