import {
  ChangesFields,
  ChangesPageFields,
  ExpiringPageFields,
  OwnersPageFields,
  RefusalsFields,
  TopRefusalFields,
} from '../channel-api/office.dto.js'
import { ChangeFields, PageFields, SummaryFields } from '../channel-api/quota.dto.js'
import { IdField, ResponseId, ResponseObject } from '../http/field.decorator.js'
import { MailQuotaDto } from './mail-quota.dto.js'

/** What a mail account has in all. */
export class MailOwnerDto extends SummaryFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}

/** A page of mail accounts, ids ascending. */
export class MailOwnersPageDto extends OwnersPageFields {
  /** Each with what its active quotas add up to. */
  @ResponseObject(() => MailOwnerDto, { isArray: true })
  items!: MailOwnerDto[]
}

/** Which changes to show. */
export class MailChangesQuery extends ChangesFields {
  /** Only of this account's quotas. */
  @IdField({ optional: true })
  account_id?: number
}

/** One change of a mail quota: who did what, and when. */
export class MailChangeDto extends ChangeFields {
  /** Whose quota it is. */
  @ResponseId()
  account_id!: number
}

/** A page of one quota's changes, newest first. */
export class MailChangePageDto extends PageFields {
  /** The changes. */
  @ResponseObject(() => MailChangeDto, { isArray: true })
  items!: MailChangeDto[]
}

/** A page of the changes of all quotas, newest first. */
export class MailChangesPageDto extends ChangesPageFields {
  /** The changes. */
  @ResponseObject(() => MailChangeDto, { isArray: true })
  items!: MailChangeDto[]
}

/** A page of quotas that end soon, soonest first. */
export class MailExpiringPageDto extends ExpiringPageFields {
  /** The quotas. */
  @ResponseObject(() => MailQuotaDto, { isArray: true })
  items!: MailQuotaDto[]
}

/** How often a mail account was refused so. */
export class MailTopRefusalDto extends TopRefusalFields {
  /** Who was refused. */
  @ResponseId()
  account_id!: number
}

/** Who was refused most. */
export class MailTopRefusalsDto {
  /** One for each account and reason. */
  @ResponseObject(() => MailTopRefusalDto, { isArray: true })
  items!: MailTopRefusalDto[]
}

/** Whose refusals to show. */
export class MailRefusalsQuery extends RefusalsFields {
  /** The account. */
  @IdField()
  account_id!: number
}
