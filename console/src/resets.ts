import type { Temporal } from 'temporal-polyfill'
import type { Quota } from './channel-client.ts'

/** Instants in the format of the service. */
export type Resets = readonly string[]

type Unit = NonNullable<Quota['cycleUnit']>
const DURATION = {
  hour: 'hours',
  day: 'days',
  week: 'weeks',
  month: 'months',
  year: 'years',
} as const satisfies Record<Unit, string>
/** The units of cycles. */
export const UNITS = Object.keys(DURATION) as readonly Unit[]

/**
 * The next resets of a cycle quota, as the contract defines them (§3): reset n is n units after the anchor, by the
 * calendar of the quota's time zone, not one unit after the previous reset.
 */
export async function nextResets(quota: Quota, count: number): Promise<Resets> {
  const { cycleUnit, cycleAnchorAt, cycleResetAt, cycleTimeZone } = quota
  if (cycleUnit === null || cycleAnchorAt === null || cycleResetAt === null) return []
  const { Temporal } = await temporal()
  const unit = DURATION[cycleUnit]
  const anchor = Temporal.Instant.from(cycleAnchorAt).toZonedDateTimeISO(cycleTimeZone ?? 'UTC')
  const next = Temporal.Instant.from(cycleResetAt)
  const at = (n: number): Temporal.Instant =>
    // Hours are elapsed time; the other units keep the anchor's time of day.
    unit === 'hours'
      ? anchor.toInstant().add({ hours: n })
      : anchor
          .toPlainDateTime()
          .add({ [unit]: n })
          .toZonedDateTime(anchor.timeZoneId)
          .toInstant()
  let n = Math.max(
    0,
    Math.trunc(anchor.until(next.toZonedDateTimeISO(anchor.timeZoneId), { largestUnit: unit })[unit]) - 1,
  )
  while (Temporal.Instant.compare(at(n), next) < 0) n += 1
  return Array.from({ length: count }, (_, more) => new Date(at(n + more).epochMilliseconds).toISOString())
}

/** So long before the present, all cycles of a trial are whole. */
const LONG_AGO_MS = 32 * 86_400_000
const LEAP_MS = 1_461 * 86_400_000
/** After so many units, a reset has the same day and time of day. */
const STEPS = {
  hour: [{ hours: 24 }, 86_400_000],
  day: [{ days: 28 }, 28 * 86_400_000],
  week: [{ weeks: 4 }, 28 * 86_400_000],
  month: [{ years: 4 }, LEAP_MS],
  year: [{ years: 4 }, LEAP_MS],
} as const

/** So many steps further back, for which a clock that is set forward may leave out the time of day. */
const GAPS = 8

/** An earlier reset of the same cycles, from which those of the last month are counted. */
export async function wholeCycles(
  resetAt: string,
  unit: keyof typeof STEPS,
  timeZone: string,
  now: number,
): Promise<string> {
  const { Temporal } = await temporal()
  const reset = Temporal.Instant.from(resetAt)
  const [step, length] = STEPS[unit]
  const steps = Math.max(0, Math.ceil((reset.epochMilliseconds - now + LONG_AGO_MS) / length) + 1)
  const back = (count: number) => Object.fromEntries(Object.entries(step).map(([name, each]) => [name, count * each]))
  if (unit === 'hour') return new Date(reset.subtract(back(steps)).epochMilliseconds).toISOString()

  const local = reset.toZonedDateTimeISO(timeZone).toPlainDateTime()
  const candidates = Array.from({ length: GAPS }, (_, more) => local.subtract(back(steps + more)))
  // An anchor that its day leaves out would become another time of day, and with it every reset that follows.
  const exists = (time: Temporal.PlainDateTime) => time.toZonedDateTime(timeZone).toPlainDateTime().equals(time)
  const earlier = candidates.find(exists) ?? local.subtract(back(steps))
  return new Date(earlier.toZonedDateTime(timeZone).epochMilliseconds).toISOString()
}

/** The browser's own implementation, if there is one. */
async function temporal(): Promise<{ Temporal: typeof Temporal }> {
  const own = globalThis as unknown as { Temporal?: typeof Temporal }
  return own.Temporal === undefined ? import('temporal-polyfill') : { Temporal: own.Temporal }
}
