import { applyDecorators, type Type } from '@nestjs/common'
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath, OmitType } from '@nestjs/swagger'
import { Allow, getMetadataStorage, ValidateBy, ValidateIf } from 'class-validator'
import { isTimeZone } from '../quota/cycle.js'
import { isLabel, MAX_LABEL_LENGTH } from '../quota/label.js'
import { MAX_AMOUNT } from '../quota/quota.js'
import { areThresholds, MAX_THRESHOLDS } from '../quota/threshold.js'
import { parseInstant } from '../time/instant.js'
import { EXAMPLE_UUID } from './example.js'
import { isOperationId, isDecimalInteger, MAX_ID } from './ids.js'

/** The default `page_size`, in rows. */
export const DEFAULT_PAGE_SIZE = 20

/** The maximum length of an idempotency key, in characters. */
export const MAX_KEY_LENGTH = 255
/** The pattern of an idempotency key, for the API document. */
export const KEY_PATTERN = '^[!-~]([ -~]*[!-~])?$'

/** The options of all field decorators. */
export interface FieldOptions {
  /** The field may be absent. Null is still refused, unless `nullable` is set. */
  optional?: true
  /** Null is accepted. */
  nullable?: true
  /** For the API document. Default: the property's docstring. */
  description?: string
  /** For the API document. */
  example?: unknown
  /** For the API document only: the value of an absent field. The handler applies it. */
  default?: unknown
}

/** Converts the text of a query parameter or the value of a body field. */
export interface FieldReader {
  /** Parses a parameter's text before validation; returns text that cannot be parsed, which the rule then refuses. */
  fromText?: (text: string) => unknown
  /** Converts a valid value to its canonical form. */
  normalize?: (value: unknown) => unknown
}

const FIELD_READER = Symbol('field reader')

/** Returns the reader of a property, as its field decorator set it on the DTO class or a base class. */
export function readerOf(dto: { prototype: object }, property: string): FieldReader | undefined {
  return Reflect.getMetadata(FIELD_READER, dto.prototype, property) as FieldReader | undefined
}

/** Returns whether a value satisfies a field's rule. The value is undefined if the field is absent. */
export type FieldTest = (value: unknown) => boolean

const FIELD_TEST = Symbol('field test')

/**
 * Returns the test of a property, as its field decorator set it on the DTO class or a base class. `class-validator`
 * finds no mistake in a value that passes the test.
 */
export function testOf(dto: { prototype: object }, property: string): FieldTest | undefined {
  return Reflect.getMetadata(FIELD_TEST, dto.prototype, property) as FieldTest | undefined
}

interface Rule {
  /** Identifies the rule among the rules of a property. */
  name: string
  /** Returns whether the rule accepts a value; never called with undefined or null. */
  accepts: (value: unknown) => boolean
  /** Describes accepted values; follows "must be". */
  expected: string
  schema: ApiPropertyOptions
  reader?: FieldReader
}

/** Precedes the other members in the document, like a docstring. */
function described({ description }: { description?: string }): { description?: string } {
  return description === undefined ? {} : { description }
}

/** Omits undefined members, which `exactOptionalPropertyTypes` distinguishes from absent ones. */
function documented(options: FieldOptions): ApiPropertyOptions {
  return {
    required: options.optional !== true,
    ...(options.nullable === undefined ? {} : { nullable: true }),
    ...(options.example === undefined ? {} : { example: options.example }),
    ...(options.default === undefined ? {} : { default: options.default }),
  }
}

/** Creates a field with one rule and one message, which describes accepted values instead of the failed check. */
function field(rule: Rule, options: FieldOptions): PropertyDecorator {
  const { optional, nullable } = options
  const isAbsent = (value: unknown): boolean =>
    (optional === true && value === undefined) || (nullable === true && value === null)
  const accepts = (value: unknown): boolean => value !== undefined && value !== null && rule.accepts(value)
  const test: FieldTest = (value) => isAbsent(value) || accepts(value)
  return applyDecorators(
    ApiProperty({ ...described(options), ...rule.schema, ...documented(options) } as ApiPropertyOptions),
    ValidateBy({
      name: rule.name,
      validator: {
        validate: accepts,
        defaultMessage: (args) => {
          if (args?.value === undefined) return `is required: must be ${rule.expected}`
          if (args.value === null) return `may not be null: must be ${rule.expected}`
          return `must be ${rule.expected}`
        },
      },
    }),
    ValidateIf((_dto, value: unknown) => !isAbsent(value)),
    Reflect.metadata(FIELD_TEST, test),
    Reflect.metadata(FIELD_READER, rule.reader),
  )
}

function textField(
  rule: Pick<Rule, 'name' | 'expected' | 'reader'> & {
    accepts: (text: string) => boolean
    schema?: ApiPropertyOptions
  },
  options: FieldOptions,
): PropertyDecorator {
  const { accepts, schema } = rule
  const isText = (value: unknown): boolean => typeof value === 'string' && accepts(value)
  return field({ ...rule, accepts: isText, schema: { type: 'string', ...schema } }, options)
}

/** Parses decimal digits. The rule refuses signs, points, exponents and leading zeros (contract, §2 and §7). */
const DIGITS: FieldReader = {
  fromText: (text) => (isDecimalInteger(text) ? Number(text) : text),
  // JSON can contain -0.
  normalize: (value) => (value === 0 ? 0 : value),
}

/** An integer from `min` to `max`, inclusive. `7.0` and `1e2` in JSON are integers. */
export function IntegerField(options: FieldOptions & { min: number; max: number }): PropertyDecorator {
  const { min, max } = options
  return field(
    {
      name: 'integer',
      accepts: (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
      expected: `an integer from ${min} to ${max}`,
      schema: { type: 'integer', minimum: min, maximum: max },
      reader: DIGITS,
    },
    options,
  )
}

/** An identifier, 1 … 2^53-1. */
export function IdField(options: FieldOptions = {}): PropertyDecorator {
  return IntegerField({ example: 7, ...options, min: 1, max: MAX_ID })
}

/** The units of a quota, 0 … 10^12. */
export function TotalField(options: FieldOptions = {}): PropertyDecorator {
  return IntegerField({ example: 1000, ...options, min: 0, max: MAX_AMOUNT })
}

/** The units of one operation, 1 … 10^12. */
export function AmountField(options: FieldOptions = {}): PropertyDecorator {
  return IntegerField({ example: 5, ...options, min: 1, max: MAX_AMOUNT })
}

/** An instant as RFC 3339 text with an offset. The DTO contains the text; parse it with `parseInstant`. */
export function InstantField(options: FieldOptions = {}): PropertyDecorator {
  const expected = 'an RFC 3339 time with an offset, like 2026-12-01T00:00:00Z'
  const accepts = (text: string): boolean => parseInstant(text) !== undefined
  return textField(
    { name: 'instant', accepts, expected, schema: { format: 'date-time' } },
    { example: '2099-12-01T00:00:00.000Z', ...options },
  )
}

/** One of the given values. In a query, numeric values are parsed from decimal digits. */
export function ChoiceField(values: readonly (string | number)[], options: FieldOptions = {}): PropertyDecorator {
  const numeric = values.every((value) => typeof value === 'number')
  return field(
    {
      name: 'choice',
      accepts: (value) => values.includes(value as string | number),
      expected: `one of ${values.join(', ')}`,
      schema: { type: numeric ? 'integer' : 'string', enum: [...values] },
      ...(numeric ? { reader: DIGITS } : {}),
    },
    options,
  )
}

/**
 * Thresholds in percent of a total: at most 10 different integers from 1 to 100. The DTO contains them in ascending
 * order.
 */
export function ThresholdsField(options: FieldOptions = {}): PropertyDecorator {
  return field(
    {
      name: 'thresholds',
      accepts: areThresholds,
      expected: `an array of at most ${MAX_THRESHOLDS} different integers from 1 to 100`,
      schema: {
        type: 'array',
        items: { type: 'integer', minimum: 1, maximum: 100 },
        maxItems: MAX_THRESHOLDS,
        uniqueItems: true,
      },
      reader: { normalize: (value) => (areThresholds(value) ? [...value].sort((a, b) => a - b) : value) },
    },
    { example: [50, 80], ...options },
  )
}

/** An IANA time zone name. */
export function TimeZoneField(options: FieldOptions = {}): PropertyDecorator {
  const expected = 'an IANA time zone name, like Europe/Berlin or UTC'
  return textField({ name: 'timeZone', accepts: isTimeZone, expected }, { example: 'Europe/Berlin', ...options })
}

/** An idempotency key in a body: 1 … 255 printable ASCII characters, including spaces. */
export function KeyField(options: FieldOptions = {}): PropertyDecorator {
  const expected = `1 to ${MAX_KEY_LENGTH} printable ASCII characters, none of them a blank at either end`
  const schema = { minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: KEY_PATTERN }
  return textField({ name: 'key', accepts: isKey, expected, schema }, { example: 'msg-8841', ...options })
}

/** An operation id: a UUIDv7 in any case. The DTO contains it in lower case. */
export function OperationIdField(options: FieldOptions = {}): PropertyDecorator {
  const reader: FieldReader = { normalize: (value) => (typeof value === 'string' ? value.toLowerCase() : value) }
  return textField(
    {
      name: 'operationId',
      accepts: isOperationId,
      expected: 'an operation id (UUIDv7)',
      schema: { format: 'uuid' },
      reader,
    },
    { example: EXAMPLE_UUID, ...options },
  )
}

/** An array of `min` … `max` items. The handler checks each item, since an item with mistakes gets its own answer. */
export function ItemsField(
  item: () => new () => object,
  options: FieldOptions & { min: number; max: number },
): PropertyDecorator {
  const { min, max } = options
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.length >= min && value.length <= max
  const schema = { type: () => [item()], minItems: min, maxItems: max }
  return field({ name: 'items', accepts, expected: `an array of ${min} to ${max} items`, schema }, options)
}

/** The label of a quota, or with `beginning` a prefix of it: 1 … 120 code points without control characters. */
export function LabelField(options: FieldOptions & { beginning?: true } = {}): PropertyDecorator {
  const expected = `1 to ${MAX_LABEL_LENGTH} Unicode characters without control characters and lone surrogates`
  // Category Cc as code points: Python does not support `\p{Cc}`, and ECMAScript requires a flag. The rule also refuses
  // lone surrogates; the pattern cannot distinguish them from halves of a pair.
  const schema = { minLength: 1, maxLength: MAX_LABEL_LENGTH, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$' }
  const example = options.beginning === true ? 'Spring' : 'Spring campaign'
  return textField({ name: 'label', accepts: isLabel, expected, schema }, { example, ...options })
}

/** Non-empty text that is compared by bytes. A value that cannot exist finds nothing. */
export function ExactTextField(options: FieldOptions = {}): PropertyDecorator {
  const accepts = (text: string): boolean => text !== ''
  return textField({ name: 'text', accepts, expected: 'a text that is not empty', schema: { minLength: 1 } }, options)
}

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
  return textField({ name: 'cursor', accepts: isCursor, expected, schema: { minLength: 1 } }, options)
}

/**
 * An object with the fields of a DTO class. The DTO that has this field checks them in `violations` (`checkDto` with
 * the field's name as prefix).
 */
export function MembersField(members: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  const accepts = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value)
  return field({ name: 'members', accepts, expected: 'a JSON object', schema: { type: () => members() } }, options)
}

/** The value `true`. */
export function TrueField(options: FieldOptions = {}): PropertyDecorator {
  const schema = { type: 'boolean', enum: [true] } as ApiPropertyOptions
  const accepts = (value: unknown): boolean => value === true
  return field({ name: 'true', accepts, expected: 'true', schema }, { example: true, ...options })
}

const INTEGER_FROM = (minimum: number, maximum: number): object => ({ type: 'integer', minimum, maximum })

/** A total, or a change of the current one by units or by percent. */
export function TotalChangeField(options: FieldOptions = {}): PropertyDecorator {
  const within = (value: unknown, min: number, max: number): boolean =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
  const one = (name: string, schema: object): object => ({
    type: 'object',
    properties: { [name]: schema },
    required: [name],
    additionalProperties: false,
  })
  return field(
    {
      name: 'totalChange',
      accepts: (value) => {
        if (typeof value !== 'object' || value === null) return within(value, 0, MAX_AMOUNT)
        const [entry, ...others] = Object.entries(value)
        if (entry === undefined || others.length > 0) return false
        if (entry[0] === 'add') return within(entry[1], -MAX_AMOUNT, MAX_AMOUNT)
        return entry[0] === 'percent' && within(entry[1], -100, 10_000)
      },
      expected: `an integer from 0 to ${MAX_AMOUNT}, {"add": n} or {"percent": n} with n from -100 to 10000`,
      schema: {
        oneOf: [
          INTEGER_FROM(0, MAX_AMOUNT),
          one('add', INTEGER_FROM(-MAX_AMOUNT, MAX_AMOUNT)),
          one('percent', INTEGER_FROM(-100, 10_000)),
        ],
      },
    },
    { example: { percent: 10 }, ...options },
  )
}

/**
 * Returns a DTO class with the fields of another one, except some, and without its rules between fields.
 * @param without the names of the omitted fields
 */
export function FieldsWithout<T extends object, K extends keyof T & string>(
  dto: abstract new () => T,
  without: readonly K[],
): Type<Omit<T, K>> {
  const Fields = OmitType(dto as unknown as Type<T>, without)
  const { prototype } = Fields as { prototype: object }
  for (const { propertyName } of getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false)) {
    if (without.includes(propertyName as K)) continue
    for (const key of [FIELD_READER, FIELD_TEST]) {
      const value: unknown = Reflect.getMetadata(key, dto.prototype as object, propertyName)
      if (value !== undefined) Reflect.defineMetadata(key, value, prototype, propertyName)
    }
  }
  return Fields
}

/** A field that accepts any value and is ignored, so that a front end may send back the record that it read. */
export function IgnoredField(options: Pick<FieldOptions, 'description'> = {}): PropertyDecorator {
  const test: FieldTest = () => true
  return applyDecorators(
    Allow(),
    (target: object, property: string | symbol | undefined) =>
      Reflect.defineMetadata(FIELD_TEST, test, target, property ?? ''),
    ApiProperty({
      type: Object,
      required: false,
      'x-any': true,
      description: options.description ?? 'Accepted and ignored.',
    } as unknown as ApiPropertyOptions),
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

/** The options of the decorators of response properties. */
export interface ResponseFieldOptions {
  nullable?: true
  /** The property may be missing from an answer. */
  optional?: true
  description?: string
  example?: unknown
}

function shown(schema: object, options: ResponseFieldOptions): PropertyDecorator {
  return ApiProperty({ ...described(options), ...schema, ...documented(options) })
}

/** An integer in a response. */
export function ResponseInteger(
  options: ResponseFieldOptions & { min?: number; max?: number } = {},
): PropertyDecorator {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options
  return shown({ type: 'integer', minimum: min, maximum: max }, options)
}

/** An identifier in a response. */
export function ResponseId(options: ResponseFieldOptions = {}): PropertyDecorator {
  return ResponseInteger({ example: 7, ...options, min: 1, max: MAX_ID })
}

/** Identifiers in a response. */
export function ResponseIds(options: ResponseFieldOptions = {}): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: MAX_ID }
  return shown({ type: 'array', items }, { example: [9, 10], ...options })
}

/** An instant in a response: UTC with milliseconds. */
export function ResponseInstant(options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown({ type: 'string', format: 'date-time' }, { example: '2026-12-01T00:00:00.000Z', ...options })
}

/** One of the given values, in a response. */
export function ResponseChoice(
  values: readonly (string | number)[],
  options: ResponseFieldOptions = {},
): PropertyDecorator {
  const type = values.every((value) => typeof value === 'number') ? 'integer' : 'string'
  return shown({ type, enum: [...values] }, { example: values[0], ...options })
}

/** Thresholds in a response, ascending. */
export function ResponseThresholds(options: ResponseFieldOptions = {}): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: 100 }
  return shown({ type: 'array', items, maxItems: MAX_THRESHOLDS }, { example: [50, 80], ...options })
}

/** Text in a response. */
export function ResponseText(options: ResponseFieldOptions & { format?: string } = {}): PropertyDecorator {
  return shown({ type: 'string', ...(options.format === undefined ? {} : { format: options.format }) }, options)
}

/** A boolean in a response. */
export function ResponseFlag(options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown({ type: 'boolean' }, { example: true, ...options })
}

/** A value in a response with its own schema. */
export function ResponseSchema(schema: object, options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown(schema, options)
}

/** An array in a response; each item has one of these classes. */
export function ResponseForms(
  forms: readonly (new () => object)[],
  options: ResponseFieldOptions = {},
): PropertyDecorator {
  const items = { oneOf: forms.map((form) => ({ $ref: getSchemaPath(form) })) }
  return (target, property) => {
    // The generator of the document reads these models from the class.
    ApiExtraModels(...forms)(target.constructor)
    shown({ type: 'array', items }, options)(target, property)
  }
}

/** An object in a response, or an array of objects. */
export function ResponseObject(
  type: () => new () => object,
  options: ResponseFieldOptions & { isArray?: true } = {},
): PropertyDecorator {
  // The generator calls a function named `type` to get the class; it takes any other function for the class itself.
  return shown(options.isArray === true ? { type: () => [type()] } : { type: () => type() }, options)
}
