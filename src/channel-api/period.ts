import type { FieldError } from '../error/service-error.js'
import type { Period } from '../ledger/rows/period.js'
import { parseInstant } from '../time/instant.js'

/** The two ends of a period as a query sends them. */
interface SentPeriod {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Reads a period; an end that is absent, or no time, is open. */
export function periodOf({ from, to }: SentPeriod): Period {
  return { from: instantOf(from), to: instantOf(to) }
}

/** What is wrong between the two ends: an empty period is fine, one that runs backwards is a mistake. */
export function periodViolations(sent: SentPeriod): FieldError[] {
  const { from, to } = periodOf(sent)
  return from !== undefined && to !== undefined && from > to ? [{ field: 'from', message: 'may not lie after to' }] : []
}

function instantOf(text: unknown): number | undefined {
  return typeof text === 'string' ? parseInstant(text) : undefined
}
