/**
 * Shifts the time of day of a process: `node --import` this file, with CLOCK_SHIFT_MS in the environment. The monotonic
 * clock, `performance.now()` and timers, does not change, as on a real machine whose clock is wrong.
 */
const SHIFT_MS = Number(process.env.CLOCK_SHIFT_MS ?? '0')
const RealDate = globalThis.Date

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + SHIFT_MS)
    else super(...given)
  }

  static now() {
    return RealDate.now() + SHIFT_MS
  }
}
