import { MAX_AMOUNT } from '../quota/quota.js'
import { ResponseInstant, ResponseId, ResponseInteger, ResponseText } from './field.decorator.js'

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
