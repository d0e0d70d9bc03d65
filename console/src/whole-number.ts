/*
 * Typed integers. Amounts are integers, so a separator can only be between groups of digits, in any language. A number
 * with a fraction is refused, never rounded. Forms show the parsed number before they send it, since `1.000` is one
 * thousand in German and one in English.
 */

/** A number, with the text to show if it may be misread; or the mistake in the text. */
export type Reading =
  | { readonly value: number; readonly shown: string | undefined; readonly mistake?: undefined }
  | { readonly mistake: string; readonly value?: undefined }

/** The largest amount that the service accepts. */
export const MAX_AMOUNT = 1_000_000_000_000

/** The range of a number, inclusive. */
export interface Bounds {
  readonly min: number
  readonly max: number
}

/** The separators between groups of digits in any language; all spaces have been replaced with plain ones. */
const SEPARATOR = /[.,'’٬ ]/u
/** Groups of three, or, as in India, of two before the last three; all separators are equal. */
const GROUPED = /^[1-9]\d{0,2}(?:([.,'’٬ ])\d{3})(?:\1\d{3})*$|^[1-9]\d?(?:([.,'’٬ ])\d{2})(?:\2\d{2})*\2\d{3}$/u
const FRACTION = /^\d[\d.,'’٬ ]*[.,٫]\d*$/u
/** A digit of a script; mathematical digits (bold, double-struck …) are letters. */
const DIGIT = /(?![\u{1d7ce}-\u{1d7ff}])\p{Nd}/gu
const IS_DIGIT = new RegExp(DIGIT, 'u')
/** The maximum length of a number, including separators. */
const LONGEST = 40

/**
 * @param text of the field
 * @param locale for the digits and separators in `shown`; absent: the browser's
 */
export function readWhole(text: string, { min, max }: Bounds, locale?: string): Reading {
  const format = new Intl.NumberFormat(locale)
  const bounds = `a whole number from ${format.format(min)} to ${format.format(max)}`
  const typed = text.trim()
  if (typed === '') return { mistake: bounds }
  if (typed.length > LONGEST) return { mistake: bounds }
  const plain = withAsciiDigits(typed)
  const digits = GROUPED.test(plain) ? plain.replace(new RegExp(SEPARATOR, 'gu'), '') : plain
  if (!/^\d+$/.test(digits)) {
    return FRACTION.test(plain)
      ? { mistake: `${bounds}, without a fraction` }
      : { mistake: `${bounds}, in digits: ${format.format(1234)}` }
  }
  const value = Number(digits)
  if (value < min || value > max) return { mistake: bounds }
  return { value, shown: typed === String(value) && value < 1000 ? undefined : format.format(value) }
}

/** Reads an id in the console's format: `12` or `#12`. */
export function readId(text: string): Reading {
  const digits = withAsciiDigits(text.trim()).replace(/^# ?/, '')
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : 0
  return value > 0 && Number.isSafeInteger(value)
    ? { value, shown: undefined }
    : { mistake: 'a number from 1, in digits alone' }
}

/** One number with separated groups of digits, or several numbers. */
const UNCLEAR = /^,*#?[1-9]\d{0,2}(?:[,\u00a0\u2009\u202f]\d{3})+,*$/u

/**
 * Reads a pasted list of ids, each once; they stand on lines, or between commas, semicolons or spaces.
 * @returns `wrong`: what is no id, or may be one or several, such as `1,234`
 */
export function readIds(text: string): { readonly ids: readonly number[]; readonly wrong: readonly string[] } {
  const ids = new Set<number>()
  const wrong: string[] = []
  for (const word of text.split(/[ \t\r\n;]+/u)) {
    for (const part of UNCLEAR.test(word) ? [word] : word.split(/[\s,]+/u)) {
      const { value } = readId(part)
      if (value !== undefined) ids.add(value)
      else if (part !== '') wrong.push(part)
    }
  }
  return { ids: [...ids], wrong }
}

/** Replaces digits of any script with ASCII digits and spaces with plain ones; removes direction marks. */
function withAsciiDigits(text: string): string {
  return text
    .replace(/\p{Zs}/gu, ' ')
    .replace(/\p{Cf}/gu, '')
    .replace(DIGIT, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)))
}

/** The digits of each script are adjacent, 0 first. */
function digitValue(codePoint: number): number {
  let value = 0
  while (value < 9 && IS_DIGIT.test(String.fromCodePoint(codePoint - value - 1))) value += 1
  return value
}
