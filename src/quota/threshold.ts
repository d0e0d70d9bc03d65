/** A quota has at most this many thresholds (contract, §10). */
export const MAX_THRESHOLDS = 10

/** Are these at most 10 different integers from 1 to 100, in any order? */
export function areThresholds(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS || new Set(value).size !== value.length) return false
  return value.every((one) => Number.isSafeInteger(one) && one >= 1 && one <= 100)
}

/** Thresholds as they are stored: ascending, with blanks between them; null for none. */
export function thresholdsText(thresholds: readonly number[]): string | null {
  return thresholds.length === 0 ? null : [...thresholds].sort((a, b) => a - b).join(' ')
}

/** Stored thresholds as they are shown: ascending. */
export function thresholdsOf(text: string | null): number[] {
  return text === null ? [] : text.split(' ').map(Number)
}
