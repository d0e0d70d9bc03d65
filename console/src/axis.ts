/*
 * The axes of charts.
 */

export const HOUR_MS = 3_600_000
const MOST_TICKS = 5

/** Evenly spaced round numbers from 0 to the first that is at least `most`: 1, 2 or 5 times a power of ten apart. */
export function ticksTo(most: number): readonly number[] {
  let step = 1
  for (let n = 0; Math.ceil(most / step) >= MOST_TICKS; n += 1) step *= n % 3 === 1 ? 2.5 : 2
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, index) => index * step)
}

/** The length of a bar. */
export type Step = 'hour' | 'day'

/** How far apart times may be named, in steps: whole parts of a day, then weeks. */
const APART: Readonly<Record<Step, readonly number[]>> = {
  hour: [1, 2, 3, 6, 12, 24, 48, 72, 168],
  day: [1, 2, 5, 7, 14, 28],
}

/**
 * The indices of the bars that are named.
 * @param starts the beginnings of all bars
 * @param most how many names there is room for
 * @param offsetOf the offset of the local time at an instant, in milliseconds east of UTC
 */
export function namedTimes(
  starts: readonly number[],
  step: Step,
  most: number,
  offsetOf: (at: number) => number,
): readonly number[] {
  const apart = APART[step].find((one) => starts.length / one <= most) ?? starts.length
  return starts.flatMap((at, index) => {
    // Hours by the clock on the wall: 00:00, 06:00 …; days from the first on.
    const position = step === 'day' ? index : Math.floor((at + offsetOf(at)) / HOUR_MS)
    return position % apart === 0 ? [index] : []
  })
}

/** Bars that are more than this many times as high as their lowest parts get are cut. */
const MOST_HIGH = 4

/**
 * How high an axis must reach. A day of refused attempts, which repeat, would make all others invisible: it is cut.
 * @param bars of each bar, the lowest part and the whole
 */
export function highestOf(bars: readonly { readonly low: number; readonly high: number }[]): number {
  const [low, high] = (['low', 'high'] as const).map((name) => Math.max(0, ...bars.map((bar) => bar[name])))
  const most = (low ?? 0) * MOST_HIGH
  return most > 0 ? Math.min(most, high ?? 0) : (high ?? 0)
}

/** A limit that is further above the bars than this many times is told beside the chart, not drawn in it. */
const MOST_ABOVE = 8

/** Is there room for the line of a limit, so that the bars below it can still be read? */
export function fitsAbove(limit: number, most: number): boolean {
  return limit <= most * MOST_ABOVE
}

/** What a quota allows in any UTC day; undefined if it sets no such limit. */
export function limitOfDay({
  quotaType,
  total,
  windowSeconds,
  cycleUnit,
  cycleResetAt,
}: {
  readonly quotaType: number
  readonly total: number
  readonly windowSeconds: number | null
  readonly cycleUnit: string | null
  readonly cycleResetAt: string | null
}): number | undefined {
  const fits =
    quotaType === 3
      ? windowSeconds === 24 * 3600
      : cycleUnit === 'day' && cycleResetAt !== null && Date.parse(cycleResetAt) % (24 * HOUR_MS) === 0
  return fits ? total : undefined
}
