import { CAP_MODES, type CapMode, MAX_AMOUNT, QUOTA_TYPES, type QuotaType } from '../quota/quota.js'
import { ResponseChoice, ResponseInstant, ResponseId, ResponseInteger, ResponseText } from './field.decorator.js'

/** One broken field of a request. */
export class FieldErrorDto {
  /** The field's name on the wire, `items[3].amount` inside a batch, `body` for the body as a whole. */
  @ResponseText({ example: 'cycle_unit' })
  field!: string

  /** What is wrong with it, or what would be right. */
  @ResponseText({ example: 'must be one of hour, day, week, month, year' })
  message!: string
}

const amount = { max: MAX_AMOUNT } as const

/** What one quota had left when a request was refused. */
export class RefusingQuotaDto {
  /** The quota. */
  @ResponseId({ example: 12 })
  id!: number

  /** Its allowance. */
  @ResponseInteger({ ...amount, example: 1000 })
  total!: number

  /** Units spent. */
  @ResponseInteger({ ...amount, example: 997 })
  used!: number

  /** Units held. */
  @ResponseInteger({ ...amount, example: 0 })
  reserved!: number

  /** What is left of it. */
  @ResponseInteger({ ...amount, example: 3 })
  remaining!: number

  /** Its next reset before its end; null where there is none. */
  @ResponseInstant({ nullable: true })
  refills_at!: string | null
}

/** A cap: what it lets pass at this moment. */
export class CapDto {
  /** The cap. */
  @ResponseId({ example: 9 })
  id!: number

  /** Does it refuse what does not fit, or tell of it alone? */
  @ResponseChoice(CAP_MODES)
  cap!: CapMode

  /** 1: total units until its end. 2: total units per cycle. 3: total units in any window. */
  @ResponseChoice(QUOTA_TYPES, { example: 3 })
  quota_type!: QuotaType

  /** Its allowance. */
  @ResponseInteger({ ...amount, example: 100 })
  total!: number

  /** Units spent, as far as they count now; of an observe cap they may pass `total`. */
  @ResponseInteger({ example: 97 })
  used!: number

  /** Units held, as far as they count now. */
  @ResponseInteger({ example: 0 })
  reserved!: number

  /** What it lets pass. */
  @ResponseInteger({ ...amount, example: 3 })
  remaining!: number

  /** When it lets more pass: its next reset, or of a rolling cap the next boundary at which something returns, before its end; null where there is none. */
  @ResponseInstant({ nullable: true })
  refills_at!: string | null
}
