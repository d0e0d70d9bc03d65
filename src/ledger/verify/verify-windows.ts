import type { RollingWindow, WindowSlot } from '../../quota/rolling-window.js'
import type { Instant } from '../../time/instant.js'

/** How what a rolling cap has stored differs from what its ledger says. */
export interface WindowDifference {
  /** What it must be: where acts may have been removed, no less than what is stored. */
  readonly should: RollingWindow
  /** What is stored, raised to what the rows add up to. */
  readonly raised: RollingWindow
  readonly differs: boolean
  /** Does any slot count less than it must? */
  readonly raises: boolean
  /** Does any slot count more than it must? */
  readonly lowers: boolean
  /** Is nothing of what differs older than what is certain to be there? */
  readonly certain: boolean
}

/**
 * Holds the slots of a window against what the rows add up to.
 * @param stored as the cap has it
 * @param ofRows as its operations say
 * @param removed may operations have been removed that were counted in the slot of this boundary?
 */
export function windowDifference(
  stored: RollingWindow,
  ofRows: RollingWindow,
  removed: (until: Instant) => boolean,
): WindowDifference {
  const difference = {
    should: [] as WindowSlot[],
    raised: [] as WindowSlot[],
    differs: false,
    raises: false,
    lowers: false,
    certain: true,
  }
  const boundaries = new Set([...stored, ...ofRows].map(({ until }) => until))
  for (const until of [...boundaries].sort((a, b) => a - b)) {
    const is = slotOf(stored, until)
    const rows = slotOf(ofRows, until)
    const raised = { until, used: Math.max(is.used, rows.used), reserved: Math.max(is.reserved, rows.reserved) }
    // Holds are never removed while they are open.
    const should = removed(until) ? { ...raised, reserved: rows.reserved } : rows
    if (raised.used + raised.reserved > 0) difference.raised.push(raised)
    if (should.used + should.reserved > 0) difference.should.push(should)
    difference.raises ||= is.used < rows.used || is.reserved < rows.reserved
    difference.lowers ||= is.used > should.used || is.reserved > should.reserved
    if (is.used === should.used && is.reserved === should.reserved) continue
    difference.differs = true
    difference.certain &&= !removed(until)
  }
  return difference
}

function slotOf(window: RollingWindow, until: Instant): WindowSlot {
  return window.find((slot) => slot.until === until) ?? { until, used: 0, reserved: 0 }
}
