import type { RollingWindow, WindowSlot } from '../../domain/rolling-window.js'
import type { Instant } from '../../common/instant.js'

/**
 * Compares the slots of a rolling cap's window with the sum of the rows.
 * @param stored the cap's window
 * @param ofRows the window by its operations
 * @param removed returns whether operations in the slot of this boundary may have been removed
 * @returns the right window, in slots of which operations may have been removed at least the stored units; the stored
 *   one, raised to the sum of the rows; and whether all differences are in slots of which none were removed
 */
export function windowDifference(
  stored: RollingWindow,
  ofRows: RollingWindow,
  removed: (until: Instant) => boolean,
): { should: RollingWindow; raised: RollingWindow; certain: boolean } {
  const boundaries = new Set([...stored, ...ofRows].map(({ until }) => until))
  const slots = [...boundaries]
    .sort((a, b) => a - b)
    .map((until) => {
      const [is, rows] = [slotOf(stored, until), slotOf(ofRows, until)]
      const raised = { until, used: Math.max(is.used, rows.used), reserved: Math.max(is.reserved, rows.reserved) }
      // Open holds are never removed.
      const should = removed(until) ? { ...raised, reserved: rows.reserved } : rows
      const certain = !removed(until) || (is.used === should.used && is.reserved === should.reserved)
      return { should, raised, certain }
    })
  const counting = (which: 'should' | 'raised'): RollingWindow =>
    slots.map((slot) => slot[which]).filter(({ used, reserved }) => used + reserved > 0)
  return { should: counting('should'), raised: counting('raised'), certain: slots.every(({ certain }) => certain) }
}

function slotOf(window: RollingWindow, until: Instant): WindowSlot {
  return window.find((slot) => slot.until === until) ?? { until, used: 0, reserved: 0 }
}
