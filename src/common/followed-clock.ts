import type { Instant } from './instant.js'
import { Clock, STEADY_MS } from './clock.js'

/** A reading of the source between two readings of a monotonic clock, in milliseconds. */
export interface TimeSample {
  readonly sent: number
  readonly received: number
  /** Truncated to whole milliseconds. */
  readonly at: Instant
}

/**
 * The result of a sample: the time agrees; it differs by more than a step for the first time; it agrees again after a
 * difference; or the difference has lasted, and the clock follows it from now on. `apartMs` is the source's time minus
 * this clock's.
 */
export type Followed =
  { readonly what: 'agrees' | 'returned' } | { readonly what: 'stepped' | 'adopted'; readonly apartMs: number }

/** A larger difference, after the sample's uncertainty, is a step; in milliseconds. */
export const STEP_MS = 2_000
/** After this time without a sample, the time must be confirmed anew, in milliseconds. */
export const MAX_SILENCE_MS = 30_000

/** A time on which samples agree. */
interface Track {
  /** The source's time minus the monotonic clock's. */
  offset: number
  /** The times of the first and the last sample that agree, by the monotonic clock. */
  since: number
  last: number
}

/**
 * Follows another clock, which is read from time to time, and extrapolates in between by a monotonic clock. The
 * machine's own time of day is not used.
 *
 * A sample limits the source's time to an interval, as long as its answer took. The clock is adjusted by the least
 * amount that puts it into this interval, so the samples with the least uncertainty determine it. If it is set back, it
 * stands still for that time, up to STEP_MS.
 *
 * A larger difference is not accepted at once. The clock continues as before, and is not steady, until samples have
 * agreed on the other time for STEADY_MS; then it takes that time. The very first sample is accepted, since there
 * is nothing to compare it with, but the clock is not steady until its time is confirmed. If it took too long, the next
 * one replaces it.
 */
export class FollowedClock extends Clock {
  private track: Track | undefined
  private other: Track | undefined
  private latest = -Infinity
  /** Does all that is known come from a sample that took too long? */
  private isVague = false

  /** @param monotonic milliseconds of a clock that never goes back */
  constructor(private readonly monotonic: () => number = () => performance.now()) {
    super()
  }

  /** @throws before the first sample */
  override now(): Instant {
    if (this.track === undefined) throw new Error('the time was never asked for')
    this.latest = Math.max(this.latest, Math.floor(this.monotonic() + this.track.offset))
    return this.latest
  }

  override get steadyForMs(): number {
    const { track } = this
    const known = track !== undefined && this.other === undefined && this.monotonic() - track.last <= MAX_SILENCE_MS
    return known ? track.last - track.since : 0
  }

  override async confirmed(ask: () => Promise<Instant>): Promise<Instant> {
    const said = await ask()
    return Math.min(this.now(), said)
  }

  /** Processes a sample; samples come in order of time. */
  follow(sample: TimeSample): Followed {
    const { track } = this
    const isUncertain = sample.received - sample.sent > STEP_MS
    if (track === undefined || this.isVague) {
      this.track = begun(sample)
      this.isVague = isUncertain
      return { what: 'agrees' }
    }
    if (isUncertain) return { what: 'agrees' }
    if (agrees(track, sample)) {
      const returned = this.other !== undefined
      this.other = undefined
      if (returned) track.since = sample.received
      return { what: returned ? 'returned' : 'agrees' }
    }
    if (this.other === undefined || !agrees(this.other, sample)) {
      this.other = begun(sample)
      return { what: 'stepped', apartMs: this.other.offset - track.offset }
    }
    if (this.other.last - this.other.since < STEADY_MS) return { what: 'agrees' }
    this.track = this.other
    this.other = undefined
    this.latest = -Infinity
    return { what: 'adopted', apartMs: this.track.offset - track.offset }
  }
}

function begun({ sent, received, at }: TimeSample): Track {
  return { offset: at - (sent + received) / 2, since: received, last: received }
}

/** Is a sample within a step of the previous ones? Then the clock is adjusted to the sample's interval. */
function agrees(track: Track, { sent, received, at }: TimeSample): boolean {
  const [least, most] = [at - received, at + 1 - sent]
  if (track.offset < least - STEP_MS || track.offset > most + STEP_MS) return false
  track.offset = Math.min(Math.max(track.offset, least), most)
  if (received - track.last > MAX_SILENCE_MS) track.since = received
  track.last = received
  return true
}
