import { TransformationType } from 'class-transformer'
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js'
import { getMetadataStorage, validateSync, ValidationTypes } from 'class-validator'
import type { FieldError } from '../common/service-error.js'
import type { Instant } from '../common/instant.js'

/** A DTO class: its properties have field decorators. */
export type DtoClass<T extends object = object> = new () => T

/** Rules of a DTO that concern several fields, in addition to each field's own rule. */
export interface FieldsTogether {
  /** The mistakes between fields. Fields with mistakes contain the value that was sent. */
  violations?(): FieldError[]
  /** Those of `violations` that count before a field's own rule. */
  foreign?(): FieldError[]
  /**
   * The mistakes that depend on the current time. Called only if there are other mistakes, so that one answer lists
   * all.
   */
  violationsAt?(now: Instant): FieldError[]
  /**
   * If a DTO declares this member, the handler gets a body with mistakes: the mistakes here, and the fields with
   * mistakes omitted. The handler adds the mistakes that only the stored record shows, and refuses the request.
   */
  errors?: readonly FieldError[] | undefined
}

/** The origin of a value: query parameters are text, members of a body have JSON types. */
export type Source = 'body' | 'query'

/**
 * A DTO whose fields are all valid; or the mistakes, and the DTO without the fields that have mistakes, if there is
 * one.
 */
export type Checked<T> =
  { readonly value: T; readonly errors?: never } | { readonly value?: T; readonly errors: FieldError[] }

/** The maximum number of unknown names in one answer; more would make the answer larger than the request. */
export const MAX_UNKNOWN = 50
/** The maximum length of an unknown name in an answer. */
export const MAX_SHOWN_NAME_LENGTH = 64

/** A field of a DTO class, from its decorators of `class-validator` and `class-transformer`. */
interface Field {
  /** Returns whether the value satisfies all rules; `class-validator` then finds no mistake in it. */
  readonly test: (value: unknown, dto: object) => boolean
  /** Converts a value by the field's `@Transform`; those of the group `query` are for text alone. */
  readonly convert: Readonly<Record<Source, (value: unknown, sent: object) => unknown>>
}

interface Form {
  readonly fields: ReadonlyMap<string, Field>
  /** The same as a list, which is faster to go through. */
  readonly entries: readonly (readonly [name: string, field: Field])[]
  /** Known names by their lower-case letters and digits, without underscores and hyphens. */
  readonly similar: ReadonlyMap<string, string>
}

const forms = new WeakMap<object, Form>()

/** Returns whether this is a class with field decorators. */
export function hasRules(dto: unknown): dto is DtoClass {
  return typeof dto === 'function' && fieldsOf(dto as DtoClass).size > 0
}

/** Returns the fields of a DTO class by name. */
export function fieldsOf(dto: DtoClass): ReadonlyMap<string, Field> {
  return formOf(dto).fields
}

const bare = (name: string): string => name.replace(/[_-]/g, '').toLowerCase()

function formOf(dto: DtoClass): Form {
  let form = forms.get(dto)
  if (form === undefined) {
    const storage = getMetadataStorage()
    const rules = storage.groupByPropertyName(storage.getTargetValidationMetadatas(dto, '', false, false))
    const entries = Object.entries(rules).map(([name, of]) => {
      const tests = of.map(testOf)
      const convert = { body: conversionOf(dto, name, 'body'), query: conversionOf(dto, name, 'query') }
      const test: Field['test'] = (value, object) => tests.every((passes) => passes(value, object))
      return [name, { test, convert }] as const
    })
    form = { fields: new Map(entries), entries, similar: new Map(entries.map(([name]) => [bare(name), name])) }
    forms.set(dto, form)
  }
  return form
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number]

/** Returns the test of a rule. No value passes that of a rule which only `class-validator` can decide. */
function testOf(rule: Rule): Field['test'] {
  const { type, each, validateIf, constraints, propertyName: property } = rule
  if (type === ValidationTypes.WHITELIST) return () => true
  const [validator, other] = getMetadataStorage().getTargetValidatorConstraints(rule.constraintCls)
  if (type !== ValidationTypes.CUSTOM_VALIDATION || each || validateIf || !validator || other || validator.async)
    return () => false
  const { instance } = validator
  return (value, object) =>
    instance.validate(value, { value, object, property, constraints, targetName: object.constructor.name }) === true
}

/** Returns what `plainToInstance` does to a field, without its walk through whole bodies, which takes microseconds. */
function conversionOf(dto: DtoClass, key: string, from: Source): Field['convert'][Source] {
  const type = TransformationType.PLAIN_TO_CLASS
  const transforms = defaultMetadataStorage
    .findTransformMetadatas(dto, key, type)
    .filter(({ options }) => options.groups?.includes(from) ?? true)
  if (transforms.length === 0) return (value) => value
  const options = { groups: [from] }
  return (sent, obj) =>
    transforms.reduce((value, { transformFn }) => transformFn({ value, key, obj, type, options }) as unknown, sent)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Converts a value to a DTO: known names only, each by its rule, then the rules between fields. Finds all mistakes, not
 * only the first.
 * @param prefix precedes each field's name: `items[3].`
 * @param now the current time, for rules that depend on it
 */
export function checkDto<T extends object>(
  dto: DtoClass<T>,
  source: unknown,
  options: { from: Source; prefix?: string; now: () => Instant },
): Checked<T> {
  const { from, prefix = '', now } = options
  if (!isObject(source)) {
    const field = prefix === '' ? 'body' : prefix.replace(/\.$/, '')
    return { errors: [{ field, message: 'must be a JSON object' }] }
  }
  const form = formOf(dto)
  const value = new dto() as T & FieldsTogether & Record<string, unknown>
  const errors: FieldError[] = []
  const repeated = new Set<string>()
  let unknown = 0
  for (const name of Object.keys(source)) {
    const field = form.fields.get(name)
    if (field === undefined) {
      unknown += 1
      if (unknown <= MAX_UNKNOWN) errors.push(unknownName(form, name, prefix, from))
      continue
    }
    const sent = source[name]
    if (from === 'query' && typeof sent !== 'string') {
      repeated.add(name)
      errors.push({ field: prefix + name, message: 'may be given only once' })
      continue
    }
    ;(value as Record<string, unknown>)[name] = field.convert[from](sent, source)
  }
  errors.push(...(value.foreign?.() ?? []).map((error) => prefixed(error, prefix)))
  // Nearly every request is valid, and these tests take a fraction of the time that class-validator takes.
  const isRight = form.entries.every(([name, { test }]) => test(value[name], value))
  for (const { property, constraints } of isRight ? [] : validateSync(value, RULES)) {
    const message = Object.values(constraints ?? {})[0]
    if (message !== undefined && !repeated.has(property)) errors.push({ field: prefix + property, message })
  }
  errors.push(...(value.violations?.() ?? []).map((error) => prefixed(error, prefix)))
  if (errors.length > 0) {
    errors.push(...(value.violationsAt?.(now()) ?? []).map((error) => prefixed(error, prefix)))
    for (const { field } of errors) Reflect.deleteProperty(value, field.slice(prefix.length))
    return { value, errors: firstOfEach(errors) }
  }
  return { value }
}

const RULES = {
  stopAtFirstError: true,
  forbidUnknownValues: false,
  validationError: { target: false, value: false },
} as const

const prefixed = ({ field, message }: FieldError, prefix: string): FieldError => ({ field: prefix + field, message })

/** Keeps one mistake per field: the first one. */
export function firstOfEach(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ field }) => !seen.has(field) && seen.add(field))
}

function unknownName(form: Form, name: string, prefix: string, from: Source): FieldError {
  const meant = form.similar.get(bare(name))
  const shown = name.length > MAX_SHOWN_NAME_LENGTH ? `${name.slice(0, MAX_SHOWN_NAME_LENGTH)}…` : name
  const what = from === 'query' ? 'is not a parameter of this route' : 'is not a field of this request'
  return { field: prefix + shown, message: meant === undefined ? what : `did you mean ${meant}?` }
}
