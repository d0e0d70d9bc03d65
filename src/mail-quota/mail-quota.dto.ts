import { OwnSummaryFields, PageFields, QuotaFields, QuotaListFields } from '../channel-api/quota.dto.js'
import { IgnoredRecord, NewSettingsFields, SettingsPatchFields } from '../channel-api/settings.dto.js'
import { IdField, ResponseId, ResponseInstant, ResponseObject } from '../http/field.decorator.js'

/** A new quota of a mail account. */
export class CreateMailQuotaDto extends NewSettingsFields {
  /** The mail account that the quota limits. */
  @IdField()
  account_id!: number

  /** The user who owns the account. */
  @IdField({ optional: true, nullable: true, example: 3 })
  user_id?: number | null
}

/** Changed settings of a mail account's quota; the record as it was read may be sent back whole. */
@IgnoredRecord('account_id', 'user_id')
export class UpdateMailQuotaDto extends SettingsPatchFields {}

/** Which mail quotas to list. */
export class MailQuotaListQuery extends QuotaListFields {
  /** Only this account's. */
  @IdField({ optional: true })
  account_id?: number

  /** Only those that name this user. */
  @IdField({ optional: true, example: 3 })
  user_id?: number
}

/** A quota of a mail account. */
export class MailQuotaDto extends QuotaFields {
  /** The mail account that the quota limits. */
  @ResponseId()
  account_id!: number

  /** The user who owns the account; null where the create named none. */
  @ResponseId({ nullable: true, example: 3 })
  user_id!: number | null
}

/** A quota of a mail account in a list. */
export class MailListedQuotaDto extends MailQuotaDto {
  /** When it was deleted; there with `deleted=true` alone. */
  @ResponseInstant({ optional: true })
  deleted_at?: string
}

/** A page of mail quotas, newest first. */
export class MailQuotaPageDto extends PageFields {
  /** The quotas. */
  @ResponseObject(() => MailListedQuotaDto, { isArray: true })
  items!: MailListedQuotaDto[]
}

/** What a mail account has in all. */
export class MailSummaryDto extends OwnSummaryFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}
