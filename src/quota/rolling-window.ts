import { type Instant, MAX_INSTANT } from '../time/instant.js'

/**
 * The shortest and the longest window of a rolling cap, in seconds: a minute and 31 days (contract, §9 Type 3).
 */
export const MIN_WINDOW_SECONDS = 60
export const MAX_WINDOW_SECONDS = 2_678_400

/** A window is cut into this many slots: a unit returns at most one of them late. */
export const SLOTS_PER_WINDOW = 24

/**
 * What is counted at one instant or close to it and leaves the window together, at `until` (half-open: at `until`
 * itself it counts no more).
 */
export interface WindowSlot {
  /** A boundary between slots; milliseconds since the epoch. */
  readonly until: Instant
  readonly used: number
  readonly reserved: number
}

/**
 * What a rolling cap counts: its slots in order of time, none of them empty. It is a value: what changes it returns
 * another one. Counted by a clock that does not run backwards it has at most 25 slots.
 */
export type RollingWindow = readonly WindowSlot[]

export const EMPTY_WINDOW: RollingWindow = []

/** The length of a slot in milliseconds. Slots are counted from the epoch. */
export function slotMilliseconds(windowSeconds: number): number {
  return Math.ceil((windowSeconds * 1000) / SLOTS_PER_WINDOW)
}

/** The first boundary between slots at or after an instant. */
export function boundaryFrom(windowSeconds: number, at: Instant): Instant {
  const length = slotMilliseconds(windowSeconds)
  return Math.min(MAX_INSTANT, Math.ceil(at / length) * length)
}

/** Until when something counts that is counted at `at`: the first boundary that is a whole window later. */
export function countsUntil(windowSeconds: number, at: Instant): Instant {
  return boundaryFrom(windowSeconds, at + windowSeconds * 1000)
}

/** The window without what has left it by `now`; the same value where nothing has. */
export function withoutPast(window: RollingWindow, now: Instant): RollingWindow {
  const [first] = window
  return first === undefined || first.until > now ? window : window.filter(({ until }) => until > now)
}

/** Units that are added to a slot, or taken off it where negative. */
export interface Move {
  readonly used?: number
  readonly reserved?: number
}

/**
 * The window with something counted in it.
 * @param until the slot's boundary, `countsUntil` of now
 */
export function added(window: RollingWindow, until: Instant, { used = 0, reserved = 0 }: Move): RollingWindow {
  const place = window.findIndex((slot) => slot.until >= until)
  const at = place === -1 ? window.length : place
  const found = window[at]?.until === until ? window[at] : undefined
  const slot = { until, used: counter(found?.used, used), reserved: counter(found?.reserved, reserved) }
  return [...window.slice(0, at), slot, ...window.slice(found === undefined ? at : at + 1)]
}

/**
 * The window with the counters of a slot moved, as long as that still holds what is taken off it: a slot that has left
 * stays gone, whatever a clock says later. One that counts nothing any more goes: what becomes of a hold is one move.
 * @param until the slot's boundary, `countsUntil` of when it was counted
 * @returns undefined where the window does not hold it
 */
export function settled(
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

/** A counter moved, within what a JSON number says exactly: a cap that refuses nothing may count beyond it. */
export function counter(before = 0, by = 0): number {
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, before + by))
}

/** All that the window counts. */
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
 * Writes a window for a text column, at most some 900 characters: `1795000002500:40 2500:3/5 10000:0/1`, for each slot
 * its boundary (the first one in milliseconds since the epoch, each later one from the one before), what is used, and
 * after a slash what is reserved where anything is.
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
 * Reads what `formatWindow` wrote.
 * @throws Error where the text is none of it
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
