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

/** The body that creates a quota of an account or of a group. */
export class CreateMailQuota extends NewSettingsFields {
  /** The mail account that the quota limits. Exactly one of it and `group_id` is required. */
  @IdField({ optional: true })
  account_id?: number

  /** The user who owns the account. */
  @IdField({ optional: true, nullable: true, example: 3 })
  user_id?: number | null

  /** Checks the rules between the fields. */
  override violations(): FieldError[] {
    return [...placeViolations(this, 'account_id', ['user_id']), ...super.violations()]
  }
}

/** The body that updates a quota. */
@IgnoredRecord('account_id', 'user_id')
export class UpdateMailQuota extends SettingsPatchFields {}

/** Selects a page of quotas. */
export class MailQuotaListQuery extends QuotaListFields {
  /** Returns only quotas of this account. */
  @IdField({ optional: true })
  account_id?: number

  /** Only those that name this user. */
  @IdField({ optional: true, example: 3 })
  user_id?: number
}

/** A quota as answers show it. */
@ApiSchema({ name: 'MailQuota' })
export class MailQuotaDto extends QuotaFields {
  /** The mail account that the quota limits. Null for a quota of a group. */
  @ResponseId({ nullable: true })
  account_id!: number | null

  /** The user who owns the account; null where the create named none. */
  @ResponseId({ nullable: true, example: 3 })
  user_id!: number | null
}

/** A quota in a list. */
export class MailListedQuota extends MailQuotaDto {
  /** Time of the deletion. Present only with `deleted=true`. */
  @ResponseInstant({ optional: true })
  deleted_at?: string
}

/** A page of quotas. */
export class MailQuotaPage extends PageFields {
  /** The quotas. */
  @ResponseObject(() => MailListedQuota, { isArray: true })
  items!: MailListedQuota[]
}

/** The sums of an account's active quotas. */
export class MailSummary extends OwnSummaryFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}
