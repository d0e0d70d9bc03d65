/** The longest label, in Unicode code points (contract, §8). */
export const MAX_LABEL_LENGTH = 120

/** One to MAX_LABEL_LENGTH code points, no control characters (category Cc) and no lone surrogates. */
const LABEL = new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${MAX_LABEL_LENGTH}}$`, 'u')

/** Is this text a valid label, or the beginning of one? It is neither trimmed nor normalised. */
export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/**
 * Converts a label to the form that is compared: NFC, then each code point in lower case separately, so that a final
 * sigma equals a sigma. The service does this because the stores' collations differ; stores compare the result code
 * point by code point.
 */
export function comparedLabel(label: string): string {
  return Array.from(label.normalize('NFC'), (point) => point.toLowerCase()).join('')
}

/**
 * Ends each stored label. It is larger than a space, so that stores that pad with spaces before they compare (MySQL's
 * and MariaDB's `_bin`) distinguish trailing spaces; it is a control character, so that no label contains it.
 */
const END = '\u007f'

/**
 * A label as it is stored for the filter; null for none. The longest has three code points for each one, and the end.
 */
export function storedForSearch(label: string | null): string | null {
  return label === null ? null : comparedLabel(label) + END
}

/**
 * The maximum length of a result of `storedForSearch`, in code points: one may become three (NFC of U+1D160, for
 * example).
 */
export const MAX_STORED_LENGTH = 3 * MAX_LABEL_LENGTH + 1

/**
 * The texts that begin with a prefix: `from` ≤ text < `to`, by code points; `to` is undefined if no text is larger.
 */
export interface TextRange {
  readonly from: string
  readonly to: string | undefined
}

const LAST_POINT = 0x10ffff
const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff

/** The range of stored labels that begin with the prefix. */
export function rangeOf(prefix: string): TextRange {
  const from = comparedLabel(prefix)
  const points = Array.from(from, (point) => point.codePointAt(0) ?? 0)
  // The first text after the range ends in the successor of the last code point that has one.
  while (points.at(-1) === LAST_POINT) points.pop()
  const last = points.pop()
  if (last === undefined) return { from, to: undefined }
  const next = last + 1 === FIRST_SURROGATE ? LAST_SURROGATE + 1 : last + 1
  return { from, to: String.fromCodePoint(...points, next) }
}
