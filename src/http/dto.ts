import { getMetadataStorage, validateSync } from 'class-validator'
import type { FieldError } from '../error/service-error.js'
import type { Instant } from '../time/instant.js'
import { type FieldReader, type FieldTest, readerOf, testOf } from './field.decorator.js'

/** A DTO class: its properties carry field decorators. */
export type DtoClass<T extends object = object> = new () => T

/** What a DTO may say about its fields together, beside each field's own rule. */
export interface FieldsTogether {
  /** What is wrong between the fields. Broken fields hold what was sent. */
  violations?(): FieldError[]
  /**
   * What else is wrong at this time; asked only where something is wrong already, so that everything is told at once.
   */
  violationsAt?(now: Instant): FieldError[]
  /**
   * Where a DTO declares it, a broken body reaches the handler: with what is wrong with it here, and without its broken
   * fields. The handler adds what only the record tells, and refuses.
   */
  errors?: readonly FieldError[] | undefined
}

/** Where a value came from: parameters of a query are text, members of a body are not. */
export type Source = 'body' | 'query'

/** A DTO with every field valid, or what is wrong, and the DTO without its broken fields where there is one. */
export type Checked<T> =
  { readonly value: T; readonly errors?: never } | { readonly value?: T; readonly errors: FieldError[] }

/** Unknown names that one answer lists; more would make the answer larger than the request. */
const MAX_UNKNOWN = 50
const MAX_SHOWN_NAME_LENGTH = 64

interface Form {
  readonly fields: ReadonlyMap<string, FieldReader | undefined>
  /** Every field's test; undefined where one has none, so that its rule alone can tell. */
  readonly tests: readonly (readonly [name: string, test: FieldTest])[] | undefined
  /** Known names by what is left of them without case, underscores and hyphens. */
  readonly similar: ReadonlyMap<string, string>
}

const forms = new WeakMap<object, Form>()

function namesOf(dto: DtoClass): Set<string> {
  return new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(dto, '', false, false)
      .map(({ propertyName }) => propertyName),
  )
}

/** The names of a DTO class's fields. */
export function fieldsOf(dto: DtoClass): string[] {
  return [...namesOf(dto)]
}

/** Is this a class with field decorators? */
export function hasRules(dto: unknown): dto is DtoClass {
  return typeof dto === 'function' && namesOf(dto as DtoClass).size > 0
}

const bare = (name: string): string => name.replace(/[_-]/g, '').toLowerCase()

function formOf(dto: DtoClass): Form {
  let form = forms.get(dto)
  if (form === undefined) {
    const names = [...namesOf(dto)]
    const tests = names.map((name) => [name, testOf(dto, name)] as const)
    form = {
      tests: tests.every((one): one is readonly [string, FieldTest] => one[1] !== undefined) ? tests : undefined,
      fields: new Map(names.map((name) => [name, readerOf(dto, name)])),
      similar: new Map(names.map((name) => [bare(name), name])),
    }
    forms.set(dto, form)
  }
  return form
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads a value as a DTO: known names only, each by its rule, then the fields together. Every mistake is found, not the
 * first alone.
 * @param prefix comes before each field's name: `items[3].`
 * @param now the present, for rules that depend on it
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
    const reader = form.fields.get(name)
    if (reader === undefined && !form.fields.has(name)) {
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
    ;(value as Record<string, unknown>)[name] = from === 'query' ? (reader?.fromText?.(sent as string) ?? sent) : sent
  }
  // Nearly every request is right, and that is known in a fraction of the time that it takes to say what is wrong.
  const right = form.tests?.every(([name, test]) => test(value[name])) ?? false
  for (const { property, constraints } of right ? [] : validateSync(value, RULES)) {
    const message = Object.values(constraints ?? {})[0]
    if (message !== undefined && !repeated.has(property)) errors.push({ field: prefix + property, message })
  }
  errors.push(...(value.violations?.() ?? []).map((error) => prefixed(error, prefix)))
  if (errors.length > 0) {
    errors.push(...(value.violationsAt?.(now()) ?? []).map((error) => prefixed(error, prefix)))
    for (const { field } of errors) Reflect.deleteProperty(value, field.slice(prefix.length))
    return { value, errors: firstOfEach(errors) }
  }
  for (const [name, reader] of form.fields) {
    if (reader?.normalize !== undefined && value[name] !== undefined) {
      ;(value as Record<string, unknown>)[name] = reader.normalize(value[name])
    }
  }
  return { value }
}

const RULES = {
  stopAtFirstError: true,
  forbidUnknownValues: false,
  validationError: { target: false, value: false },
} as const

const prefixed = ({ field, message }: FieldError, prefix: string): FieldError => ({ field: prefix + field, message })

/** One mistake is enough to say about a field; the rule of the field itself comes first. */
function firstOfEach(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ field }) => !seen.has(field) && seen.add(field))
}

function unknownName(form: Form, name: string, prefix: string, from: Source): FieldError {
  const meant = form.similar.get(bare(name))
  const shown = name.length > MAX_SHOWN_NAME_LENGTH ? `${name.slice(0, MAX_SHOWN_NAME_LENGTH)}…` : name
  const what = from === 'query' ? 'is no parameter of this route' : 'is no field of this request'
  return { field: prefix + shown, message: meant === undefined ? what : `did you mean ${meant}?` }
}
