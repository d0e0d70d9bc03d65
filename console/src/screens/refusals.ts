import { useQuery } from '@tanstack/react-query'
import type { ChannelClient, Refusal } from '../channel-client.ts'
import { HOUR_MS } from '../axis.ts'
import { now } from '../format.tsx'

/* Refusals, as several screens read them. */

/** The period of the refusals that the overview shows. */
export const DAY_HOURS = 24
/** The period of an owner's refusals, including those of caps that only observe. */
export const WEEK_HOURS = 7 * 24
/** The owners with most refusals that are read. */
export const TOP_ROWS = 100

/** The code of refusals that did not happen: a cap that only observes would have refused. */
const OBSERVED = 'quota_observed'

/** The reasons of refusals, in words. */
export const REASONS: Readonly<Record<Refusal['code'], string>> = {
  quota_exceeded: 'quota exceeded',
  no_active_quota: 'no active quota',
  quota_observed: 'let through: a cap that only watches would have refused',
}

type Coded = Pick<Refusal, 'code'>

/** The refusals that did happen. */
export function really<Row extends Coded>(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ code }) => code !== OBSERVED)
}

/** The refusals by caps that only observe. */
export function observed<Row extends Coded>(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ code }) => code === OBSERVED)
}

/** The number of refusals. */
export function countOf(rows: readonly Pick<Refusal, 'count'>[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** The beginnings of the last hours, the running one last, at each reading of a screen that stays open. */
export function hoursBack(count: number): readonly string[] {
  const last = Math.floor(now() / HOUR_MS) * HOUR_MS
  return Array.from({ length: count }, (_, index) => new Date(last - (count - 1 - index) * HOUR_MS).toISOString())
}

/** The rows from the first of these hours on. */
export function since<Row extends { readonly hour: string }>(
  rows: readonly Row[],
  [first = '']: readonly string[],
): Row[] {
  return rows.filter(({ hour }) => hour >= first)
}

/** The refusals of an owner in hours that `hoursBack` tells. */
export function useRefusals(client: ChannelClient, owner: number, hours: readonly string[]) {
  // The key does not name the hours: another hour must not empty the screen.
  return useQuery({
    queryKey: [client.name, 'owner', owner, 'refusals', hours.length],
    queryFn: ({ signal }) => client.refusals(owner, hoursBack(hours.length)[0] ?? '', signal),
    select: (rows) => since(rows, hours),
  })
}

/** The owners with most refusals in the last day. */
export function useTopRefusals(client: ChannelClient) {
  return useQuery({
    queryKey: [client.name, 'refused', DAY_HOURS],
    queryFn: ({ signal }) => client.topRefusals({ hours: DAY_HOURS, pageSize: TOP_ROWS }, signal),
  })
}
