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

/** Rows on a page where the request names no `page_size`. */
export const DEFAULT_PAGE_SIZE = 20

/** The longest idempotency key, in characters. */
export const MAX_KEY_LENGTH = 255
/** The form of an idempotency key, as the API document says it. */
export const KEY_PATTERN = '^[!-~]([ -~]*[!-~])?$'

/** What every field decorator takes. */
export interface FieldOptions {
  /** The field may be absent. Null is refused all the same, unless `nullable` says otherwise. */
  optional?: true
  /** Null is let through. */
  nullable?: true
  /** For the API document; without it, the property's docstring describes the field. */
  description?: string
  /** For the API document. */
  example?: unknown
  /** For the API document alone: what an absent field stands for. The handler fills it in. */
  default?: unknown
}

/** How the text of a query parameter, or the value of a body field, becomes the value that is validated. */
export interface FieldReader {
  /** A parameter's text as a value; what cannot be read stays text, which the rule then refuses. */
  fromText?: (text: string) => unknown
  /** Brings a valid value to its one form. */
  normalize?: (value: unknown) => unknown
}

const FIELD_READER = Symbol('field reader')

/** The reader that a field decorator left on `property` of a DTO class, or of one it extends. */
export function readerOf(dto: { prototype: object }, property: string): FieldReader | undefined {
  return Reflect.getMetadata(FIELD_READER, dto.prototype, property) as FieldReader | undefined
}

/** Does a value keep a field's rule? Undefined where the field is absent. */
export type FieldTest = (value: unknown) => boolean

const FIELD_TEST = Symbol('field test')

/**
 * The test that a field decorator left on `property` of a DTO class, or of one it extends: what it lets through,
 * `class-validator` finds nothing wrong with.
 */
export function testOf(dto: { prototype: object }, property: string): FieldTest | undefined {
  return Reflect.getMetadata(FIELD_TEST, dto.prototype, property) as FieldTest | undefined
}

interface Rule {
  /** Names the rule among a property's rules. */
  name: string
  /** Is this a value of the kind? Never called with undefined or null. */
  accepts: (value: unknown) => boolean
  /** What would be right, to follow "must be". */
  expected: string
  schema: ApiPropertyOptions
  reader?: FieldReader
}

/** Comes first in the document, as a docstring does. */
function described({ description }: { description?: string }): { description?: string } {
  return description === undefined ? {} : { description }
}

/** Leaves out what is undefined, which `exactOptionalPropertyTypes` distinguishes from absent. */
function documented(options: FieldOptions): ApiPropertyOptions {
  return {
    required: options.optional !== true,
    ...(options.nullable === undefined ? {} : { nullable: true }),
    ...(options.example === undefined ? {} : { example: options.example }),
    ...(options.default === undefined ? {} : { default: options.default }),
  }
}

/**
 * One rule with one sentence per field: the caller sees what would be right, not the first of five checks that failed.
 */
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

/** A field of text. */
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

/**
 * Digits become their number. A number's sign, point, exponent and leading zeros are left to be refused (contract, §2
 * and §7).
 */
const DIGITS: FieldReader = {
  fromText: (text) => (isDecimalInteger(text) ? Number(text) : text),
  // JSON can write -0, which is 0.
  normalize: (value) => (value === 0 ? 0 : value),
}

/** An integer from `min` to `max`, both included; `7.0` and `1e2` in JSON are the integers they are. */
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

/** The units of one use, 1 … 10^12. */
export function AmountField(options: FieldOptions = {}): PropertyDecorator {
  return IntegerField({ example: 5, ...options, min: 1, max: MAX_AMOUNT })
}

/** An instant as RFC 3339 text with an offset; the DTO keeps the text, `parseInstant` reads it. */
export function InstantField(options: FieldOptions = {}): PropertyDecorator {
  const expected = 'an RFC 3339 time with an offset, like 2026-12-01T00:00:00Z'
  const accepts = (text: string): boolean => parseInstant(text) !== undefined
  return textField(
    { name: 'instant', accepts, expected, schema: { format: 'date-time' } },
    { example: '2099-12-01T00:00:00.000Z', ...options },
  )
}

/** One of the given values; in a query, numbers are read from their digits. */
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

/** Thresholds in per cent of a total: at most 10 different integers from 1 to 100; handed on ascending. */
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

/** An idempotency key in a body: 1 … 255 printable ASCII characters, the space among them. */
export function KeyField(options: FieldOptions = {}): PropertyDecorator {
  const expected = `1 to ${MAX_KEY_LENGTH} printable ASCII characters, none of them a blank at either end`
  const schema = { minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: KEY_PATTERN }
  return textField({ name: 'key', accepts: isKey, expected, schema }, { example: 'msg-8841', ...options })
}

/** An operation's id: a UUIDv7 in any case, handed on in lower case. */
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

/**
 * An array of `min` … `max` items. What the items are is not looked at here: the handler checks each by itself, since a
 * broken item has an answer of its own.
 */
export function ItemsField(
  item: () => new () => object,
  options: FieldOptions & { min: number; max: number },
): PropertyDecorator {
  const { min, max } = options
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.length >= min && value.length <= max
  const schema = { type: () => [item()], minItems: min, maxItems: max }
  return field({ name: 'items', accepts, expected: `an array of ${min} to ${max} items`, schema }, options)
}

/**
 * What people call a quota, or with `beginning` the beginning of it: 1 … 120 code points without control characters.
 */
export function LabelField(options: FieldOptions & { beginning?: true } = {}): PropertyDecorator {
  const expected = `1 to ${MAX_LABEL_LENGTH} Unicode characters without control characters and lone surrogates`
  // Category Cc by its code points: `\p{Cc}` is unknown to Python, and to ECMA without flags. Lone surrogates are
  // refused too, but cannot be told there from halves of a pair.
  const schema = { minLength: 1, maxLength: MAX_LABEL_LENGTH, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$' }
  const example = options.beginning === true ? 'Spring' : 'Spring campaign'
  return textField({ name: 'label', accepts: isLabel, expected, schema }, { example, ...options })
}

/** Text that is compared by bytes and may be anything but empty: what could never be there is not found. */
export function ExactTextField(options: FieldOptions = {}): PropertyDecorator {
  const accepts = (text: string): boolean => text !== ''
  return textField({ name: 'text', accepts, expected: 'a text that is not empty', schema: { minLength: 1 } }, options)
}

/** Items on a page, 1 … 100. */
export function PageSizeField(): PropertyDecorator {
  return IntegerField({ optional: true, min: 1, max: 100, default: DEFAULT_PAGE_SIZE, example: DEFAULT_PAGE_SIZE })
}

/**
 * Where a page begins, as an answer said.
 * @param isCursor knows those that could have been answered
 */
export function CursorField(isCursor: (text: string) => boolean, options: FieldOptions = {}): PropertyDecorator {
  const expected = 'the cursor that an earlier page ended with'
  return textField({ name: 'cursor', accepts: isCursor, expected, schema: { minLength: 1 } }, options)
}

/**
 * An object whose members are a DTO class's. They are not looked at here: the DTO that has the field checks them with
 * what it says of its fields together (`checkDto` with the field's name as prefix).
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

/** A total, or how it follows from the one that a quota has: so many units more, or so many per cent. */
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
 * A DTO class with the fields of another but some, and nothing of what that says of its fields together.
 * @param without their names
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

/** A field that is accepted with any value and ignored, so that a front end may send back the record it read. */
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
 * Is this an idempotency key: 1 … 255 printable ASCII characters, no blank at either end? HTTP takes such blanks off a
 * header (RFC 9110, section 5.5), so a key that had them could be sent in one place and not in the other.
 */
export function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_KEY_LENGTH && KEY.test(value)
}

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** What the decorators of answered properties take. */
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

/** An integer in an answer. */
export function ResponseInteger(
  options: ResponseFieldOptions & { min?: number; max?: number } = {},
): PropertyDecorator {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options
  return shown({ type: 'integer', minimum: min, maximum: max }, options)
}

/** An identifier in an answer. */
export function ResponseId(options: ResponseFieldOptions = {}): PropertyDecorator {
  return ResponseInteger({ example: 7, ...options, min: 1, max: MAX_ID })
}

/** Identifiers in an answer. */
export function ResponseIds(options: ResponseFieldOptions = {}): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: MAX_ID }
  return shown({ type: 'array', items }, { example: [9, 10], ...options })
}

/** An instant in an answer: UTC with milliseconds. */
export function ResponseInstant(options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown({ type: 'string', format: 'date-time' }, { example: '2026-12-01T00:00:00.000Z', ...options })
}

/** One of the given values, in an answer. */
export function ResponseChoice(
  values: readonly (string | number)[],
  options: ResponseFieldOptions = {},
): PropertyDecorator {
  const type = values.every((value) => typeof value === 'number') ? 'integer' : 'string'
  return shown({ type, enum: [...values] }, { example: values[0], ...options })
}

/** Thresholds in an answer, ascending. */
export function ResponseThresholds(options: ResponseFieldOptions = {}): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: 100 }
  return shown({ type: 'array', items, maxItems: MAX_THRESHOLDS }, { example: [50, 80], ...options })
}

/** Text in an answer. */
export function ResponseText(options: ResponseFieldOptions & { format?: string } = {}): PropertyDecorator {
  return shown({ type: 'string', ...(options.format === undefined ? {} : { format: options.format }) }, options)
}

/** True or false in an answer. */
export function ResponseFlag(options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown({ type: 'boolean' }, { example: true, ...options })
}

/** What a schema of its own describes, in an answer. */
export function ResponseSchema(schema: object, options: ResponseFieldOptions = {}): PropertyDecorator {
  return shown(schema, options)
}

/** An array in an answer, each of whose items has one of these forms. */
export function ResponseForms(
  forms: readonly (new () => object)[],
  options: ResponseFieldOptions = {},
): PropertyDecorator {
  const items = { oneOf: forms.map((form) => ({ $ref: getSchemaPath(form) })) }
  return (target, property) => {
    // The document looks for them at the class.
    ApiExtraModels(...forms)(target.constructor)
    shown({ type: 'array', items }, options)(target, property)
  }
}

/** Another answered object, or an array of them. */
export function ResponseObject(
  type: () => new () => object,
  options: ResponseFieldOptions & { isArray?: true } = {},
): PropertyDecorator {
  // The document calls a function named `type` for the class, and takes any other for the class itself.
  return shown(options.isArray === true ? { type: () => [type()] } : { type: () => type() }, options)
}
