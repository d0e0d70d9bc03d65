import { applyDecorators } from '@nestjs/common'
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger'
import { Transform } from 'class-transformer'
import { Allow, ValidateBy } from 'class-validator'
import { isTimeZone } from '../domain/cycle.js'
import { isLabel, MAX_LABEL_LENGTH } from '../domain/label.js'
import { MAX_AMOUNT } from '../domain/quota.js'
import { areThresholds, MAX_THRESHOLDS } from '../domain/threshold.js'
import { parseInstant } from '../common/instant.js'
import { EXAMPLE_UUID } from './example.js'
import { isOperationId, isDecimalInteger, MAX_ID } from './ids.js'

/** The default `page_size`, in rows. */
export const DEFAULT_PAGE_SIZE = 20

/** The maximum length of an idempotency key, in characters. */
export const MAX_KEY_LENGTH = 255
/** The schema of an idempotency key in the API document. */
export const KEY_SCHEMA = { minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: '^[!-~]([ -~]*[!-~])?$' }

/** The options of all field decorators, of requests and of responses. */
export interface FieldOptions {
  /** The field may be absent. In a request, null is still refused, unless `nullable` is set. */
  optional?: true
  /** The field may be null. */
  nullable?: true
  /** For the API document. Default: the property's docstring. */
  description?: string
  /** For the API document. */
  example?: unknown
  /** For the API document only: the value of an absent field. The handler applies it. */
  default?: unknown
}

/** What a conversion gets. */
interface Sent {
  readonly value: unknown
}

/** A kind of field. */
interface Kind {
  /** Returns whether the kind accepts a value; never called with undefined or null. */
  accepts: (value: unknown) => boolean
  /** Describes accepted values; follows "must be". */
  expected: string
  schema: object
  /** The example of the API document, unless the field has its own. */
  example?: unknown
  /** Converts the sent value before the rule, which sees what cannot be converted unchanged. */
  convert?: readonly PropertyDecorator[] | undefined
}

/** Creates the decorator of a kind of field: one rule, and one message that describes accepted values. */
function field({ accepts, expected, schema, example, convert = [] }: Kind) {
  return (options: FieldOptions = {}): PropertyDecorator => {
    const test = (value: unknown): boolean => {
      if (value === undefined) return options.optional === true
      return value === null ? options.nullable === true : accepts(value)
    }
    const defaultMessage = (args?: { value: unknown }): string => {
      if (args?.value === undefined) return `is required: must be ${expected}`
      return `${args.value === null ? 'may not be null: ' : ''}must be ${expected}`
    }
    return applyDecorators(
      ResponseSchema(schema, { example, ...options }),
      ValidateBy({ name: 'field', validator: { validate: test, defaultMessage } }),
      ...convert,
    )
  }
}

/** Creates the decorator of a kind of text. */
function textField({
  accepts,
  schema,
  ...kind
}: Omit<Kind, 'accepts' | 'schema'> & { accepts: (text: string) => boolean; schema?: object }) {
  const isText = (value: unknown): boolean => typeof value === 'string' && accepts(value)
  return field({ ...kind, accepts: isText, schema: { type: 'string', ...schema } })
}

/** Returns the schema of an integer in the API document. */
export function integerSchema(minimum: number, maximum: number): { type: 'integer'; minimum: number; maximum: number } {
  return { type: 'integer', minimum, maximum }
}

function isIntegerFrom(min: number, max: number, value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
}

/** Parses decimal digits. The rule refuses signs, points, exponents and leading zeros (contract, §2 and §7). */
const DIGITS = [
  Transform(({ value }: Sent) => (typeof value === 'string' && isDecimalInteger(value) ? Number(value) : value), {
    groups: ['query'],
  }),
  // JSON can contain -0.
  Transform(({ value }: Sent) => (value === 0 ? 0 : value)),
]

/** An integer from `min` to `max`, inclusive. `7.0` and `1e2` in JSON are integers. */
export function IntegerField({ min, max, ...options }: FieldOptions & { min: number; max: number }): PropertyDecorator {
  return field({
    accepts: (value) => isIntegerFrom(min, max, value),
    expected: `an integer from ${min} to ${max}`,
    schema: integerSchema(min, max),
    convert: DIGITS,
  })(options)
}

/** Creates the decorator of integers in one range. */
function integerField(range: { min: number; max: number }, example: number) {
  return (options: FieldOptions = {}): PropertyDecorator => IntegerField({ example, ...options, ...range })
}

/** An identifier, 1 … 2^53-1. */
export const IdField = integerField({ min: 1, max: MAX_ID }, 7)

/** An array of `min` … `max` different identifiers. */
export function IdsField({ min, max, ...options }: FieldOptions & { min: number; max: number }): PropertyDecorator {
  const accepts = (value: unknown): boolean =>
    Array.isArray(value) &&
    value.length >= min &&
    value.length <= max &&
    value.every((one) => isIntegerFrom(1, MAX_ID, one)) &&
    new Set(value).size === value.length
  const schema = { type: 'array', items: integerSchema(1, MAX_ID), minItems: min, maxItems: max, uniqueItems: true }
  const expected = `an array of ${min} to ${max} different integers from 1 to ${MAX_ID}`
  return field({ accepts, expected, schema, example: [7, 8] })(options)
}

/** The units of a quota, 0 … 10^12. */
export const TotalField = integerField({ min: 0, max: MAX_AMOUNT }, 1000)

/** The units of one operation, 1 … 10^12. */
export const AmountField = integerField({ min: 1, max: MAX_AMOUNT }, 5)

/** An instant as RFC 3339 text with an offset. The DTO contains the text; parse it with `parseInstant`. */
export const InstantField = textField({
  accepts: (text) => parseInstant(text) !== undefined,
  expected: 'an RFC 3339 time with an offset, like 2026-12-01T00:00:00Z',
  schema: { format: 'date-time' },
  example: '2099-12-01T00:00:00.000Z',
})

/**
 * One of the given values. In a query, numeric values are parsed from decimal digits.
 * @param options.words what the values mean, in the message
 */
export function ChoiceField(
  values: readonly (string | number)[],
  { words = {}, ...options }: FieldOptions & { words?: Readonly<Record<string | number, string>> } = {},
): PropertyDecorator {
  const named = values.map((value) => (Object.hasOwn(words, value) ? `${value} (${words[value]})` : value))
  const schema = choiceSchema(values)
  return field({
    accepts: (value) => values.includes(value as string | number),
    expected: `one of ${named.join(', ')}`,
    schema,
    convert: schema.type === 'integer' ? DIGITS : undefined,
  })(options)
}

/** A switch of a query, off if absent: its only value is the text `true`. */
export function OnlyTrueField(): PropertyDecorator {
  return ChoiceField(['true'], { optional: true, example: 'true' })
}

function choiceSchema(values: readonly (string | number)[]): { type: 'integer' | 'string'; enum: (string | number)[] } {
  return { type: values.every((value) => typeof value === 'number') ? 'integer' : 'string', enum: [...values] }
}

/**
 * Thresholds in percent of a total: at most 10 different integers from 1 to 100. The DTO contains them in ascending
 * order.
 */
export const ThresholdsField = field({
  accepts: areThresholds,
  expected: `an array of at most ${MAX_THRESHOLDS} different integers from 1 to 100`,
  schema: { type: 'array', items: integerSchema(1, 100), maxItems: MAX_THRESHOLDS, uniqueItems: true },
  example: [50, 80],
  convert: [Transform(({ value }: Sent) => (areThresholds(value) ? [...value].sort((a, b) => a - b) : value))],
})

/** An array of different ones of these names. */
export function NamesField(names: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  return field({
    accepts: (value) =>
      Array.isArray(value) &&
      value.every((one) => names.includes(one as string)) &&
      new Set(value).size === value.length,
    expected: `an array of different ones of ${names.join(', ')}`,
    schema: { type: 'array', items: choiceSchema(names), maxItems: names.length, uniqueItems: true },
  })(options)
}

/** An IANA time zone name. */
export const TimeZoneField = textField({
  accepts: isTimeZone,
  expected: 'an IANA time zone name, like Europe/Berlin or UTC',
  example: 'Europe/Berlin',
})

/** An idempotency key in a body: 1 … 255 printable ASCII characters, including spaces. */
export const KeyField = textField({
  accepts: isKey,
  expected: `1 to ${MAX_KEY_LENGTH} printable ASCII characters, none of them a blank at either end`,
  schema: KEY_SCHEMA,
  example: 'msg-8841',
})

/** An operation id: a UUIDv7 in any case. The DTO contains it in lower case. */
export const OperationIdField = textField({
  accepts: isOperationId,
  expected: 'an operation id (UUIDv7)',
  schema: { format: 'uuid' },
  example: EXAMPLE_UUID,
  convert: [Transform(({ value }: Sent) => (typeof value === 'string' ? value.toLowerCase() : value))],
})

/** An array of `min` … `max` items. The handler checks each item, since an item with mistakes gets its own answer. */
export function ItemsField(
  item: () => new () => object,
  { min, max, ...options }: FieldOptions & { min: number; max: number },
): PropertyDecorator {
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.length >= min && value.length <= max
  const schema = { type: () => [item()], minItems: min, maxItems: max }
  return field({ accepts, expected: `an array of ${min} to ${max} items`, schema })(options)
}

const LABEL = {
  accepts: isLabel,
  expected: `1 to ${MAX_LABEL_LENGTH} Unicode characters without control characters and lone surrogates`,
  // Category Cc as code points: Python does not support `\p{Cc}`, and ECMAScript requires a flag. The rule also refuses
  // lone surrogates; the pattern cannot distinguish them from halves of a pair.
  schema: { minLength: 1, maxLength: MAX_LABEL_LENGTH, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$' },
}

/** The label of a quota, or with `beginning` a prefix of it: 1 … 120 code points without control characters. */
export function LabelField({ beginning, ...options }: FieldOptions & { beginning?: true } = {}): PropertyDecorator {
  return textField({ ...LABEL, example: beginning === true ? 'Spring' : 'Spring campaign' })(options)
}

/** Non-empty text that is compared by bytes. A value that cannot exist finds nothing. */
export const ExactTextField = textField({
  accepts: (text) => text !== '',
  expected: 'a text that is not empty',
  schema: { minLength: 1 },
})

/** The number of items on a page, 1 … 100. */
export function PageSizeField(): PropertyDecorator {
  return IntegerField({ optional: true, min: 1, max: 100, default: DEFAULT_PAGE_SIZE, example: DEFAULT_PAGE_SIZE })
}

/**
 * The cursor at which a page begins, from an earlier answer.
 * @param isCursor returns whether an answer could have contained the text
 */
export function CursorField(isCursor: (text: string) => boolean, options: FieldOptions = {}): PropertyDecorator {
  const expected = 'the cursor that an earlier page ended with'
  return textField({ accepts: isCursor, expected, schema: { minLength: 1 } })(options)
}

/**
 * An object with the fields of a DTO class. The DTO that has this field checks them in `violations` (`checkDto` with
 * the field's name as prefix).
 */
export function MembersField(members: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  const accepts = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value)
  return field({ accepts, expected: 'a JSON object', schema: { type: () => members() } })(options)
}

/** `true` or `false`. */
export const FlagField = field({
  accepts: (value) => typeof value === 'boolean',
  expected: 'true or false',
  schema: { type: 'boolean' },
})

/** The value `true`. */
export const TrueField = field({
  accepts: (value) => value === true,
  expected: 'true',
  schema: { type: 'boolean', enum: [true] },
  example: true,
})

function objectWith(name: string, schema: object): object {
  return { type: 'object', properties: { [name]: schema }, required: [name], additionalProperties: false }
}

/** A total, or a change of the current one by units or by percent. */
export const TotalChangeField = field({
  accepts: (value) => {
    if (typeof value !== 'object' || value === null) return isIntegerFrom(0, MAX_AMOUNT, value)
    const [entry, ...others] = Object.entries(value)
    if (entry === undefined || others.length > 0) return false
    if (entry[0] === 'add') return isIntegerFrom(-MAX_AMOUNT, MAX_AMOUNT, entry[1])
    return entry[0] === 'percent' && isIntegerFrom(-100, 10_000, entry[1])
  },
  expected: `an integer from 0 to ${MAX_AMOUNT}, {"add": n} or {"percent": n} with n from -100 to 10000`,
  schema: {
    oneOf: [
      integerSchema(0, MAX_AMOUNT),
      objectWith('add', integerSchema(-MAX_AMOUNT, MAX_AMOUNT)),
      objectWith('percent', integerSchema(-100, 10_000)),
    ],
  },
  example: { percent: 10 },
})

/** A field that accepts any value and is ignored, so that a front end may send back the record that it read. */
export function IgnoredField(): PropertyDecorator {
  const description = 'Accepted and ignored.'
  return applyDecorators(
    Allow(),
    ApiProperty({ type: Object, required: false, 'x-any': true, description } as ApiPropertyOptions),
  )
}

/**
 * Returns whether this is an idempotency key: 1 … 255 printable ASCII characters, no blank at either end. HTTP strips
 * such blanks from a header (RFC 9110, section 5.5), so a key with them could be sent in a body but not in a header.
 */
export function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_KEY_LENGTH && KEY.test(value)
}

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** Creates the decorator of response properties with one schema. */
function responseField(schema: object, example?: unknown) {
  return (options: FieldOptions = {}): PropertyDecorator => ResponseSchema(schema, { example, ...options })
}

/** An integer in a response. */
export function ResponseInteger({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
  ...options
}: FieldOptions & { min?: number; max?: number } = {}): PropertyDecorator {
  return ResponseSchema(integerSchema(min, max), options)
}

/** An identifier in a response. */
export const ResponseId = responseField(integerSchema(1, MAX_ID), 7)

/** Identifiers in a response. */
export const ResponseIds = responseField({ type: 'array', items: integerSchema(1, MAX_ID) }, [9, 10])

/** An instant in a response: UTC with milliseconds. */
export const ResponseInstant = responseField({ type: 'string', format: 'date-time' }, '2026-12-01T00:00:00.000Z')

/** One of the given values, in a response. */
export function ResponseChoice(values: readonly (string | number)[], options: FieldOptions = {}): PropertyDecorator {
  return ResponseSchema(choiceSchema(values), { example: values[0], ...options })
}

/** Thresholds in a response, ascending. */
export const ResponseThresholds = responseField(
  { type: 'array', items: integerSchema(1, 100), maxItems: MAX_THRESHOLDS },
  [50, 80],
)

/** Text in a response. */
export function ResponseText({ format, ...options }: FieldOptions & { format?: string } = {}): PropertyDecorator {
  return ResponseSchema({ type: 'string', format }, options)
}

/** A boolean in a response. */
export const ResponseFlag = responseField({ type: 'boolean' }, true)

/**
 * A value in a response with its own schema. The members of the schema keep this order in the API document; undefined
 * ones are omitted.
 */
export function ResponseSchema(schema: object, options: FieldOptions = {}): PropertyDecorator {
  const { description, optional, nullable, example, default: absent } = options
  const required = optional !== true
  return ApiProperty({ description, ...schema, required, nullable, example, default: absent } as ApiPropertyOptions)
}

/** An array in a response; each item has one of these classes. */
export function ResponseForms(forms: readonly (new () => object)[], options: FieldOptions = {}): PropertyDecorator {
  const items = { oneOf: forms.map((form) => ({ $ref: getSchemaPath(form) })) }
  return applyDecorators(
    // The generator of the document reads these models from the class.
    (target: object): void => {
      ApiExtraModels(...forms)(target.constructor)
    },
    ResponseSchema({ type: 'array', items }, options),
  )
}

/** An object in a response, or an array of objects. */
export function ResponseObject(
  type: () => new () => object,
  { isArray, ...options }: FieldOptions & { isArray?: true } = {},
): PropertyDecorator {
  // The generator calls a function named `type` to get the class; it takes any other function for the class itself.
  return ResponseSchema(isArray === true ? { type: () => [type()] } : { type: () => type() }, options)
}
