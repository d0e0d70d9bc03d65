import type { RollingWindow, WindowSlot } from '../../domain/rolling-window.js'
import type { Instant } from '../../common/instant.js'

/** The difference between a rolling cap's stored window and the sum of its ledger. */
export interface WindowDifference {
  /** The right window. In slots of which acts may have been removed, at least the stored units. */
  readonly should: RollingWindow
  /** The stored window, raised to the sum of the rows. */
  readonly raised: RollingWindow
  /** Are all differences in slots of which no operations were removed? */
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
  const [all, right]: [WindowSlot[], WindowSlot[]] = [[], []]
  let certain = true
  const boundaries = new Set([...stored, ...ofRows].map(({ until }) => until))
  for (const until of [...boundaries].sort((a, b) => a - b)) {
    const is = slotOf(stored, until)
    const rows = slotOf(ofRows, until)
    const raised = { until, used: Math.max(is.used, rows.used), reserved: Math.max(is.reserved, rows.reserved) }
    all.push(raised)
    // Open holds are never removed.
    const should = removed(until) ? { ...raised, reserved: rows.reserved } : rows
    right.push(should)
    certain &&= !removed(until) || (is.used === should.used && is.reserved === should.reserved)
  }
  const counting = ({ used, reserved }: WindowSlot): boolean => used + reserved > 0
  return { should: right.filter(counting), raised: all.filter(counting), certain }
}

function slotOf(window: RollingWindow, until: Instant): WindowSlot {
  return window.find((slot) => slot.until === until) ?? { until, used: 0, reserved: 0 }
}
