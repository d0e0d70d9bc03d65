import {
  IntegerField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseText,
} from '../http/field.decorator.js'
import { REFUSAL_CODES, type RefusalCode } from '../ledger/rows/refusal.entity.js'
import { CAP_MODES, type CapMode, QUOTA_TYPES, type QuotaType } from '../domain/quota.js'

/** The default and the range of a link's lifetime, in seconds: 30 days; a minute to a year of 365 days. */
export const DEFAULT_LINK_SECONDS = 2_592_000
const MIN_LINK_SECONDS = 60
const MAX_LINK_SECONDS = 31_536_000

/** Makes a link. */
export class CreateLinkDto {
  /** Lifetime of the link, in seconds. */
  @IntegerField({
    optional: true,
    min: MIN_LINK_SECONDS,
    max: MAX_LINK_SECONDS,
    default: DEFAULT_LINK_SECONDS,
    example: DEFAULT_LINK_SECONDS,
  })
  ttl_seconds?: number
}

/** A link to the page of one owner. */
export class LinkDto {
  /** Address of the page. What follows `#` is the link's token: whoever has it sees the owner's view. The service does not store it. */
  @ResponseText({ format: 'uri', example: 'https://quota.example.com/view/#ql.mail.7.1798761600000.0.c2lnbmF0dXJl' })
  url!: string

  /** The time from which the link opens nothing. */
  @ResponseInstant()
  expires_at!: string
}

/** A quota that pays for the owner, or limits it, now. */
export class OwnerLimitDto {
  /** The quota; null if several owners share it, and for a member's count that its first consume will create. */
  @ResponseId({ nullable: true, example: 12 })
  id!: number | null

  /** Its name for people. */
  @ResponseText({ nullable: true, example: 'Newsletter' })
  label!: string | null

  /** 1: total, 2: cycle, 3: rolling. */
  @ResponseChoice(QUOTA_TYPES)
  quota_type!: QuotaType

  /** Null if it pays; otherwise it is a cap. */
  @ResponseChoice(CAP_MODES, { nullable: true })
  cap!: CapMode | null

  /** Units that it allows; null if several owners share it. */
  @ResponseInteger({ nullable: true, example: 1000 })
  total!: number | null

  /** Units spent; null if several owners share it. */
  @ResponseInteger({ nullable: true, example: 20 })
  used!: number | null

  /** Units left; if several owners share it, those of them that this owner may still take. */
  @ResponseInteger({ example: 975 })
  remaining!: number

  /** The next time before its end at which it has more units; null if there is none. */
  @ResponseInstant({ nullable: true })
  refills_at!: string | null

  /** The time at which it ends; null: never. */
  @ResponseInstant({ nullable: true })
  expire_at!: string | null
}

/** The refusals of the owner for one reason within an hour. */
export class OwnerRefusalDto {
  /** The beginning of the UTC hour. */
  @ResponseInstant()
  hour!: string

  /** The reason. */
  @ResponseChoice(REFUSAL_CODES)
  code!: RefusalCode

  /** Number of refused attempts, including repeated ones. */
  @ResponseInteger({ min: 1, example: 41 })
  count!: number
}

/** The usage of the owner within one day. */
export class OwnerDayDto {
  /** The beginning of the UTC day. */
  @ResponseInstant()
  day!: string

  /** Units charged on this day, gross. */
  @ResponseInteger({ example: 120 })
  charged!: number
}

/** What the owner of a link sees. */
export class OwnerViewDto {
  /** The mail account; absent for a user of SMS. */
  @ResponseId({ optional: true })
  account_id?: number

  /** The user of SMS; absent for a mail account. */
  @ResponseId({ optional: true })
  user_id?: number

  /** The largest amount that one consume can take now. */
  @ResponseInteger({ example: 975 })
  available!: number

  /** The time from which the link opens nothing. */
  @ResponseInstant()
  expires_at!: string

  /** The active quotas that pay for the owner, in paying order, then its active caps. */
  @ResponseObject(() => OwnerLimitDto, { isArray: true })
  limits!: OwnerLimitDto[]

  /** The last refusals, at most 20, newest hour first. */
  @ResponseObject(() => OwnerRefusalDto, { isArray: true })
  refusals!: OwnerRefusalDto[]

  /** The usage of the last 31 UTC days up to now, oldest first. */
  @ResponseObject(() => OwnerDayDto, { isArray: true })
  days!: OwnerDayDto[]
}
