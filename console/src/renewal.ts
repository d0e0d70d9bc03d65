import { isProblem } from '@quota-service/client'

/** The maximum age of data on the screen while the tab is visible, in milliseconds. */
export const FRESH_MS = 30_000

/** After which time a query is repeated: with data on the screen; not without, nor if it is refused. */
export function renewal({ state: { data, error } }: { state: { data: unknown; error: unknown } }): number | false {
  return data === undefined || (isProblem(error) && error.status < 500) ? false : FRESH_MS
}
