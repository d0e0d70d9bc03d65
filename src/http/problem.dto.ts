import { ShownChoice, ShownInteger, ShownObject, ShownText } from './field.decorator.js'
import { ERROR_CODES } from './problem.js'

/** One broken field of a request. */
export class FieldErrorDto {
  /** The field's name on the wire, `items[3].amount` inside a batch, `body` for the body as a whole. */
  @ShownText({ example: 'cycle_unit' })
  field!: string

  /** What is wrong with it, or what would be right. */
  @ShownText({ example: 'must be one of hour, day, week, month, year' })
  message!: string
}

/** An error (RFC 9457). Some codes add members of their own. */
export class ProblemDto {
  /** What kind of problem this is; `about:blank` where `code` says it all. */
  @ShownText({ format: 'uri', example: 'about:blank' })
  type!: string

  /** The kind in words; the same for every problem of that code. */
  @ShownText({ example: 'The request is not valid' })
  title!: string

  /** The HTTP status. */
  @ShownInteger({ min: 400, max: 599, example: 400 })
  status!: number

  /** What went wrong this time. */
  @ShownText({ example: 'amount: must be an integer from 1 to 1000000000000' })
  detail!: string

  /** The kind, for machines; stable. */
  @ShownChoice(ERROR_CODES, { example: 'validation_failed' })
  code!: string

  /** The request's id, as in X-Request-Id; absent in an item of a batch. */
  @ShownText({ optional: true, example: '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d' })
  request_id?: string

  /** Every broken field, for `validation_failed`. */
  @ShownObject(() => FieldErrorDto, { optional: true, isArray: true })
  errors?: FieldErrorDto[]
}
