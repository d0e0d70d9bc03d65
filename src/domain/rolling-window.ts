import { type Instant, MAX_INSTANT } from '../common/instant.js'

/**
 * The minimum and maximum window of a rolling cap, in seconds: one minute and 31 days (contract, §9 Type 3).
 */
export const MIN_WINDOW_SECONDS = 60
export const MAX_WINDOW_SECONDS = 2_678_400

/** The number of slots in a window: a unit returns at most one slot late. */
const SLOTS_PER_WINDOW = 24

/**
 * Units that are counted at about the same time and leave the window together, at `until` (half-open: at `until` itself
 * they no longer count).
 */
export interface WindowSlot {
  /** A slot boundary; milliseconds since the epoch. */
  readonly until: Instant
  readonly used: number
  readonly reserved: number
}

/**
 * The counts of a rolling cap: its slots in order of time, none of them empty. It is immutable: changes return a new
 * value. If the clock does not run backwards, it has at most 25 slots.
 */
export type RollingWindow = readonly WindowSlot[]

export const EMPTY_WINDOW: RollingWindow = []

/** The length of a slot in milliseconds. Slots are counted from the epoch. */
export function slotMilliseconds(windowSeconds: number): number {
  return Math.ceil((windowSeconds * 1000) / SLOTS_PER_WINDOW)
}

/** The time until which units counted at `at` count: the first slot boundary at least one window later. */
export function countsUntil(windowSeconds: number, at: Instant): Instant {
  const length = slotMilliseconds(windowSeconds)
  return Math.min(MAX_INSTANT, Math.ceil((at + windowSeconds * 1000) / length) * length)
}

/** Removes the slots that have left the window by `now`; returns the same value if there are none. */
export function withoutPast(window: RollingWindow, now: Instant): RollingWindow {
  const [first] = window
  return first === undefined || first.until > now ? window : window.filter(({ until }) => until > now)
}

/** Units to add to a slot; negative ones are subtracted. */
export interface Move {
  readonly used?: number
  readonly reserved?: number
}

/**
 * Adds units to the window.
 * @param until the slot's boundary, `countsUntil` of now
 */
export function addUnits(window: RollingWindow, until: Instant, { used = 0, reserved = 0 }: Move): RollingWindow {
  const place = window.findIndex((slot) => slot.until >= until)
  const at = place === -1 ? window.length : place
  const found = window[at]?.until === until ? window[at] : undefined
  const slot = { until, used: counter(found?.used, used), reserved: counter(found?.reserved, reserved) }
  return [...window.slice(0, at), slot, ...window.slice(found === undefined ? at : at + 1)]
}

/**
 * The window of a new cap: its opening balance counts from the creation on.
 * @param used 0 for none
 */
export function openingWindow(windowSeconds: number, createdAt: Instant, used: number): RollingWindow {
  return used === 0 ? EMPTY_WINDOW : addUnits(EMPTY_WINDOW, countsUntil(windowSeconds, createdAt), { used })
}

/**
 * Changes the counters of a slot, if the slot still contains the units to subtract: a slot that has left the window
 * does not return, whatever a clock says later. An empty slot is removed; each settlement of a hold is one move.
 * @param until the slot's boundary, `countsUntil` of the time when the units were counted
 * @returns undefined if the window no longer contains the units
 */
export function settleUnits(
  window: RollingWindow,
  until: Instant,
  { used = 0, reserved = 0 }: Move,
): RollingWindow | undefined {
  const place = window.findIndex((slot) => slot.until === until)
  const slot = window[place]
  if (slot === undefined || slot.used + used < 0 || slot.reserved + reserved < 0) return undefined
  const after = { until, used: counter(slot.used, used), reserved: counter(slot.reserved, reserved) }
  const left = after.used > 0 || after.reserved > 0 ? [after] : []
  return [...window.slice(0, place), ...left, ...window.slice(place + 1)]
}

/** Changes a counter, up to the largest exact JSON number, which the counters of an `observe` cap may reach. */
export function counter(before = 0, by = 0): number {
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, before + by))
}

/** The sums over all slots. */
export function sumOf(window: RollingWindow): { used: number; reserved: number } {
  let used = 0
  let reserved = 0
  for (const slot of window) {
    used = counter(used, slot.used)
    reserved = counter(reserved, slot.reserved)
  }
  return { used, reserved }
}

/**
 * Formats a window for a text column, about 900 characters at most: `1795000002500:40 2500:3/5 10000:0/1`. For each
 * slot: its boundary (the first in milliseconds since the epoch, later ones relative to the previous one), the used
 * units, and after a slash the reserved units, if any.
 */
export function formatWindow(window: RollingWindow): string {
  let before = 0
  return window
    .map(({ until, used, reserved }) => {
      const step = until - before
      before = until
      return `${step}:${used}${reserved > 0 ? `/${reserved}` : ''}`
    })
    .join(' ')
}

const SLOT = /^(\d{1,16}):(\d{1,16})(?:\/(\d{1,16}))?$/

/**
 * Parses the format of `formatWindow`.
 * @throws Error if the text is not in this format
 */
export function parseWindow(text: string): RollingWindow {
  if (text === '') return EMPTY_WINDOW
  let until = 0
  return text.split(' ').map((slot) => {
    const match = SLOT.exec(slot)
    if (match === null) throw new Error(`no slot of a rolling window: ${slot}`)
    const [, step, used, reserved = '0'] = match
    until += Number(step)
    return { until, used: Number(used), reserved: Number(reserved) }
  })
}
