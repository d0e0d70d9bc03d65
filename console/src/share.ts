/*
 * How much of a quota is used: the percentage in the text, and the level that colours its bar.
 */

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

/** From this share on, percentages have a decimal, so that 99.9 % differs from all. */
const FINE_FROM = 900n

/**
 * The used share of a total, rounded down, so that `100 %` means all and `0 %` nothing; empty if the total is 0.
 * @param used an integer from 0
 */
export function shareText(used: number, total: number): string {
  if (total === 0) return ''
  const thousandths = (BigInt(used) * 1000n) / BigInt(total)
  if (thousandths < 10n && used > 0) return `<${percent.format(0.01)}`
  return percent.format(Number(thousandths < FINE_FROM ? thousandths - (thousandths % 10n) : thousandths) / 1000)
}

/** Nothing is left; a threshold is reached; neither. */
export type Level = 'out' | 'near' | 'fine'

/** A quota without thresholds is near its limit from this percentage on, with what is held. */
const NEAR_PERCENT = 90

/** The level of a quota or of a sum of quotas. Its first threshold counts as its events do: without what is held. */
export function levelOf({
  total,
  used,
  reserved,
  remaining,
  thresholds,
}: {
  readonly total: number
  readonly used: number
  readonly reserved: number
  readonly remaining: number
  readonly thresholds?: readonly number[] | null
}): Level {
  if (remaining <= 0) return 'out'
  const first = thresholds?.[0]
  const taken = first === undefined ? used + reserved : used
  return BigInt(taken) * 100n >= BigInt(first ?? NEAR_PERCENT) * BigInt(total) ? 'near' : 'fine'
}
