/** The longest label, in Unicode code points (contract, §8). */
export const MAX_LABEL_LENGTH = 120

/**
 * One to MAX_LABEL_LENGTH code points, no control characters (category Cc) and no lone surrogates, as a regular
 * expression's source.
 */
export const LABEL_PATTERN = `^[^\\p{Cc}\\p{Cs}]{1,${MAX_LABEL_LENGTH}}$`

const LABEL = new RegExp(LABEL_PATTERN, 'u')

/** Is this text a label, or the beginning of one? Neither is trimmed or normalised. */
export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/**
 * A label as it is compared: NFC, then each code point in lower case by itself, so that a final sigma is a sigma. The
 * service does this and not the store, whose collations differ; stores compare the result code point by code point.
 */
export function comparedLabel(label: string): string {
  return Array.from(label.normalize('NFC'), (point) => point.toLowerCase()).join('')
}

/**
 * Follows each stored label. Larger than a space, so that a store which pads with spaces before it compares (MySQL's
 * and MariaDB's `_bin`) tells trailing ones apart all the same; a control character, so that it is no part of any
 * label.
 */
const END = '\u007f'

/** A label as it is stored for the filter; null for none. The longest has three code points for one, and the end. */
export function storedForSearch(label: string | null): string | null {
  return label === null ? null : comparedLabel(label) + END
}

/**
 * The longest text that `storedForSearch` makes, in code points: one may become three (NFC of U+1D160, for example).
 */
export const MAX_STORED_LENGTH = 3 * MAX_LABEL_LENGTH + 1

/**
 * The texts that begin with a prefix: `from` ≤ text < `to`, by code points; `to` is undefined where nothing is larger.
 */
export interface TextRange {
  readonly from: string
  readonly to: string | undefined
}

const LAST_POINT = 0x10ffff
const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff

/** Where the labels stand that begin so, among those stored for the filter. */
export function rangeOf(prefix: string): TextRange {
  const from = comparedLabel(prefix)
  const points = Array.from(from, (point) => point.codePointAt(0) ?? 0)
  // The first text after all that begin so: the last code point that has a successor, followed by nothing.
  while (points.at(-1) === LAST_POINT) points.pop()
  const last = points.pop()
  if (last === undefined) return { from, to: undefined }
  const next = last + 1 === FIRST_SURROGATE ? LAST_SURROGATE + 1 : last + 1
  return { from, to: String.fromCodePoint(...points, next) }
}
