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
import { SmsQuotaDto } from './sms-quota.dto.js'

/** What a user has in all. */
export class SmsOwnerDto extends SummaryFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}

/** A page of users, ids ascending. */
export class SmsOwnersPageDto extends OwnersPageFields {
  /** Each with what its active quotas add up to. */
  @ResponseObject(() => SmsOwnerDto, { isArray: true })
  items!: SmsOwnerDto[]
}

/** Which changes to show. */
export class SmsChangesQuery extends ChangesFields {
  /** Only of this user's quotas. */
  @IdField({ optional: true })
  user_id?: number
}

/** One change of an SMS quota: who did what, and when. */
export class SmsChangeDto extends ChangeFields {
  /** Whose quota it is. */
  @ResponseId()
  user_id!: number
}

/** A page of one quota's changes, newest first. */
export class SmsChangePageDto extends PageFields {
  /** The changes. */
  @ResponseObject(() => SmsChangeDto, { isArray: true })
  items!: SmsChangeDto[]
}

/** A page of the changes of all quotas, newest first. */
export class SmsChangesPageDto extends ChangesPageFields {
  /** The changes. */
  @ResponseObject(() => SmsChangeDto, { isArray: true })
  items!: SmsChangeDto[]
}

/** A page of quotas that end soon, soonest first. */
export class SmsExpiringPageDto extends ExpiringPageFields {
  /** The quotas. */
  @ResponseObject(() => SmsQuotaDto, { isArray: true })
  items!: SmsQuotaDto[]
}

/** How often a user was refused so. */
export class SmsTopRefusalDto extends TopRefusalFields {
  /** Who was refused. */
  @ResponseId()
  user_id!: number
}

/** Who was refused most. */
export class SmsTopRefusalsDto {
  /** One for each user and reason. */
  @ResponseObject(() => SmsTopRefusalDto, { isArray: true })
  items!: SmsTopRefusalDto[]
}

/** Whose refusals to show. */
export class SmsRefusalsQuery extends RefusalsFields {
  /** The user. */
  @IdField()
  user_id!: number
}
