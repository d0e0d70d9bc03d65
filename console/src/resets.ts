import type { Temporal } from 'temporal-polyfill'
import type { Quota } from './channel-client.ts'

/** Instants, as the service writes them. */
export type Resets = readonly string[]

const DURATION = { hour: 'hours', day: 'days', week: 'weeks', month: 'months', year: 'years' } as const

/**
 * The next resets of a cycle quota, as the contract counts them (§3): reset n falls at the anchor and n units, by the
 * calendar of the quota's zone, never at the reset before and one unit.
 */
export async function nextResets(quota: Quota, count: number): Promise<Resets> {
  const { cycleUnit, cycleAnchorAt, cycleResetAt, cycleTimeZone } = quota
  if (cycleUnit === null || cycleAnchorAt === null || cycleResetAt === null) return []
  const { Temporal } = await temporal()
  const unit = DURATION[cycleUnit]
  const anchor = Temporal.Instant.from(cycleAnchorAt).toZonedDateTimeISO(cycleTimeZone ?? 'UTC')
  const next = Temporal.Instant.from(cycleResetAt)
  const at = (n: number): Temporal.Instant =>
    // Hours are elapsed ones; all else keeps the time of day that the anchor has.
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

/** The browser's own, where it has one. */
async function temporal(): Promise<{ Temporal: typeof Temporal }> {
  const own = globalThis as unknown as { Temporal?: typeof Temporal }
  return own.Temporal === undefined ? import('temporal-polyfill') : { Temporal: own.Temporal }
}
