import type { ColumnOptions, ValueTransformer } from 'typeorm'
import type { Instant } from '../quota/instant.js'

/**
 * Reads a time as either driver hands it over: mysql2 gives a Date, SQLite the text `2026-12-01 00:00:00.000`, both in UTC.
 */
export function instantFromStore(value: Date | string | null): Instant | null {
  if (value === null) return null
  return typeof value === 'string' ? Date.parse(`${value.replace(' ', 'T')}Z`) : value.getTime()
}

/** Writes a time as both stores compare it: `2026-12-01 00:00:00.000`, in UTC. */
export function instantToStore(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, 23).replace('T', ' ')
}

const instant: ValueTransformer = {
  from: (value: Date | string | null) => instantFromStore(value),
  to: (value: Instant | null | undefined) => (value == null ? value : new Date(value)),
}

// TypeORM hands BIGINT out as text, because it may exceed 2^53; ours never do (contract, §2).
const integer: ValueTransformer = {
  from: (value: string | number | null) => (value === null ? null : Number(value)),
  to: (value: number | null | undefined) => value,
}

/** A time in UTC with milliseconds; `Instant` in the entity. */
export const INSTANT = { type: 'datetime', precision: 3, transformer: instant } as const satisfies ColumnOptions

/** An integer within ±(2^53-1); `number` in the entity. */
export const INTEGER = { type: 'bigint', transformer: integer } as const satisfies ColumnOptions

/** ASCII text of bounded length. */
export function ascii(length: number): { type: 'varchar'; length: number } {
  return { type: 'varchar', length }
}
