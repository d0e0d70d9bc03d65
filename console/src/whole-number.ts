/*
 * Whole numbers as people type them. Amounts are whole, so a separator can only stand between groups of digits,
 * whatever the language takes it for: what has a fraction is refused and never rounded. What was understood is to be
 * shown before it is saved, since `1.000` is one thousand in German and one in English.
 */

/** A number, with what to show of it where the text can be taken for another one; or what is wrong with the text. */
export type Reading =
  | { readonly value: number; readonly shown: string | undefined; readonly mistake?: undefined }
  | { readonly mistake: string; readonly value?: undefined }

/** From where to where a number may be, both included. */
export interface Bounds {
  readonly min: number
  readonly max: number
}

/** What languages put between groups of digits; all spaces are plain ones by then. */
const SEPARATOR = /[.,'’٬ ]/u
/** Groups of three, or, as in India, of two before the last three; one kind of separator throughout. */
const GROUPED = /^[1-9]\d{0,2}(?:([.,'’٬ ])\d{3})(?:\1\d{3})*$|^[1-9]\d?(?:([.,'’٬ ])\d{2})(?:\2\d{2})*\2\d{3}$/u
const FRACTION = /^\d[\d.,'’٬ ]*[.,٫]\d*$/u
/** A digit of a script; those of mathematics (bold, double-struck …) are letters. */
const DIGIT = /(?![\u{1d7ce}-\u{1d7ff}])\p{Nd}/gu
const IS_DIGIT = new RegExp(DIGIT, 'u')
/** No number that is taken has so many characters, separators included. */
const LONGEST = 40

/**
 * @param text as it stands in the field
 * @param locale whose digits and separators are shown; absent: the browser's
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

/** An identifier, as the console prints it: `12` or `#12`. */
export function readId(text: string): Reading {
  const digits = withAsciiDigits(text.trim()).replace(/^# ?/, '')
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : 0
  return value > 0 && Number.isSafeInteger(value)
    ? { value, shown: undefined }
    : { mistake: 'a number from 1, in digits alone' }
}

/** Digits of any script as ASCII's, spaces of any width as plain ones, marks of direction gone. */
function withAsciiDigits(text: string): string {
  return text
    .replace(/\p{Zs}/gu, ' ')
    .replace(/\p{Cf}/gu, '')
    .replace(DIGIT, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)))
}

/** Each script's digits stand side by side, 0 first. */
function digitValue(codePoint: number): number {
  let value = 0
  while (value < 9 && IS_DIGIT.test(String.fromCodePoint(codePoint - value - 1))) value += 1
  return value
}
