import type { FieldError } from '../common/service-error.js'
import type { Period } from '../ledger/rows/period.js'
import { parseInstant } from '../common/instant.js'

/** The ends of a period in a query. */
interface SentPeriod {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Parses a period; an absent or invalid end is open. */
export function periodOf({ from, to }: SentPeriod): Period {
  return { from: instantOf(from), to: instantOf(to) }
}

/** Checks the order of the ends: an empty period is valid, a reversed one is not. */
export function periodViolations(sent: SentPeriod): FieldError[] {
  const { from, to } = periodOf(sent)
  return from !== undefined && to !== undefined && from > to
    ? [{ field: 'from', message: 'must not be later than to' }]
    : []
}

function instantOf(text: unknown): number | undefined {
  return typeof text === 'string' ? parseInstant(text) : undefined
}
