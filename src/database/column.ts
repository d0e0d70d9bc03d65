import type { ColumnOptions, ValueTransformer } from 'typeorm'
import { formatWindow, parseWindow, type RollingWindow } from '../domain/rolling-window.js'
import type { Instant } from '../common/instant.js'
import { bytesToStore, hexFromStore, idFromStore } from './bytes.js'

/**
 * Reads a time in the form that both drivers return: the text `2026-12-01 00:00:00.000`, in UTC. All years from 0000 to
 * 9999 are read back unchanged; mysql2's own conversion changes years before 100, and is switched off (`dateStrings`).
 */
export function instantFromStore(text: string): Instant {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  // Date.UTC takes years before 100 for those of the twentieth century. Sums by the hour have no milliseconds.
  if (year < 100 || text.length !== COMPLETE) return Date.parse(`${text.replace(' ', 'T')}Z`)
  const milliseconds = twoDigits(text, 20) * 10 + text.charCodeAt(22) - ZERO
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)]
  return Date.UTC(year, twoDigits(text, 5) - 1, twoDigits(text, 8), hour, minute, second, milliseconds)
}

/** The length of a time with its milliseconds, and the code of the digit 0. */
const COMPLETE = 23
const ZERO = 48

/** Half the time of `Date.parse`, of which a list of quotas needs three a row. */
function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}

/** Writes a time in the form that both stores compare: `2026-12-01 00:00:00.000`, in UTC. */
export function instantToStore(instant: Instant): string {
  if (instant !== lastInstant) {
    lastText = new Date(instant).toISOString().slice(0, 23).replace('T', ' ')
    lastInstant = instant
  }
  return lastText
}

// All rows of a batch have one time.
let lastInstant: Instant | undefined
let lastText = ''

function refuseTime(): never {
  throw new Error('Times are read and written by RowCodec: TypeORM takes their text for local time.')
}

// RowCodec converts rows. A repository would work for everything except times, which would be wrong silently.
const instant: ValueTransformer = {
  from: (value: unknown) => (value === null ? null : refuseTime()),
  to: (value: unknown) => (value == null ? value : refuseTime()),
}

// TypeORM returns BIGINT as text, because it may exceed 2^53; the service's values never do (contract, §2).
const integer: ValueTransformer = {
  from: (value: string | number | null) => (value === null ? null : Number(value)),
  to: (value: number | null | undefined) => value,
}

/** A time in UTC with milliseconds; `Instant` in the entity. Only `RowCodec` reads and writes it. */
export const INSTANT = { type: 'datetime', precision: 3, transformer: instant } as const satisfies ColumnOptions

/** The window of a rolling cap, as text; a `RollingWindow` in the entity. */
export const WINDOW = {
  from: (text: string | null): RollingWindow | null => (text === null ? null : parseWindow(text)),
  to: (window: RollingWindow | null | undefined): string | null => (window == null ? null : formatWindow(window)),
} as const satisfies ValueTransformer

/** An integer within ±(2^53-1); `number` in the entity. */
export const INTEGER = { type: 'bigint', transformer: integer } as const satisfies ColumnOptions

function bytes(fromStore: (bytes: unknown) => string): { type: 'blob'; transformer: ValueTransformer } {
  return {
    // BINARY(16) on servers; this is the only type that TypeORM knows on every store.
    type: 'blob',
    transformer: {
      from: (value: unknown) => (value === null ? null : fromStore(value)),
      to: (value: string | null | undefined) => (value == null ? value : bytesToStore(value)),
    },
  }
}

/**
 * The number of one of a quota's counts, in four bytes: 0 … 2^31-1. Each count begins with a write to the quota: a
 * thousand a second would last for 24 days.
 */
export const COUNT_NUMBER = { type: 'int' } as const satisfies ColumnOptions

/** An id in 16 bytes; a UUID in lower case in the entity. Null is null. */
export const ID = bytes(idFromStore)

/** A hash in 16 bytes; hexadecimal digits in the entity. */
export const HASH = bytes(hexFromStore)

const ASCII = { charset: 'ascii', collation: 'ascii_bin' } as const
const UNICODE = { charset: 'utf8mb4', collation: 'utf8mb4_bin' } as const

/** Text of any language with a maximum length, in code points, compared code point by code point. */
export function unicode(length: number): { type: 'varchar'; length: number } & typeof UNICODE {
  return { type: 'varchar', length, ...UNICODE }
}

/** ASCII text with a maximum length, compared by bytes. */
export function ascii(length: number): { type: 'varchar'; length: number } & typeof ASCII {
  return { type: 'varchar', length, ...ASCII }
}

/**
 * One of a few texts, in one byte on servers. A migration that adds one appends it: rows contain its place. The
 * collation is that of the table, since TypeORM writes that of such a column in the wrong place.
 */
export function oneOf(texts: readonly string[]): { type: 'simple-enum'; enum: string[]; collation: string } {
  return { type: 'simple-enum', enum: [...texts], collation: UNICODE.collation }
}

/** ASCII text with at most 65,535 bytes. */
export const ASCII_TEXT = { type: 'text', ...ASCII } as const satisfies ColumnOptions

/** Text of any language with at most 65,535 bytes; JSON. */
export const UNICODE_TEXT = { type: 'text', ...UNICODE } as const satisfies ColumnOptions
