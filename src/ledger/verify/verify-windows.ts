import type { RollingWindow, WindowSlot } from '../../quota/rolling-window.js'
import type { Instant } from '../../time/instant.js'

/** The difference between a rolling cap's stored window and the sum of its ledger. */
export interface WindowDifference {
  /** The right window. In slots of which acts may have been removed, at least the stored units. */
  readonly should: RollingWindow
  /** The stored window, raised to the sum of the rows. */
  readonly raised: RollingWindow
  readonly differs: boolean
  /** Whether any slot counts too little. */
  readonly raises: boolean
  /** Whether any slot counts too much. */
  readonly lowers: boolean
  /** Whether all differences are in slots of which no acts were removed. */
  readonly certain: boolean
}

/**
 * Compares the slots of a window with the sum of the rows.
 * @param stored the cap's window
 * @param ofRows the window by its operations
 * @param removed returns whether operations in the slot of this boundary may have been removed
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
    // Open holds are never removed.
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
