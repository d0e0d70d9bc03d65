/** Names are `snake_case` on the wire and `camelCase` in programs. The types and the two functions must agree. */

/** `account_id` → `accountId`. */
export type CamelName<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : Name

/** A type of the service with all field names in camelCase, at every depth. Values do not change. */
export type Camel<Value> = Value extends readonly (infer Item)[]
  ? Camel<Item>[]
  : Value extends object
    ? { [Name in keyof Value as CamelName<Name>]: Camel<Value[Name]> }
    : Value

/** `account_id` → `accountId`. */
export function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** `accountId` → `account_id`. */
export function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Renames the fields of a JSON value at every depth. */
export function renamed(value: unknown, name: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), renamed(inner, name)]))
}
