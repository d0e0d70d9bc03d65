import type { Instant } from '../time/instant.js'
import { Clock, SEEN_TO_STAY_MS } from './clock.js'

/** What the source said when it was asked, between two moments of a clock that never goes back, in milliseconds. */
export interface TimeSample {
  readonly sent: number
  readonly received: number
  /** Cut off to whole milliseconds. */
  readonly at: Instant
}

/**
 * What a sample made of the clock: the time agrees; it is apart by more than a step for the first time; it has been
 * apart and agrees again; it has stayed apart, and is the time from now on. `apartMs` is the source's time less this
 * clock's.
 */
export type Followed =
  { readonly what: 'agrees' | 'returned' } | { readonly what: 'stepped' | 'adopted'; readonly apartMs: number }

/** A time that is further away than this, whatever the sample's uncertainty, has stepped; in milliseconds. */
export const STEP_MS = 2_000
/** What was not confirmed for so long must be seen to stay anew, in milliseconds. */
export const MAX_SILENCE_MS = 30_000

/** A time that samples agree on. */
interface Track {
  /** The source's time less the monotonic clock's. */
  offset: number
  /** Since when samples agree, and when the last one did, by the monotonic clock. */
  since: number
  last: number
}

/**
 * Follows the clock of somewhere else, which is asked now and then, and goes on by itself in between, by a clock that
 * never goes back. The machine's own time of day plays no part.
 *
 * A sample says that the source's time lies between two bounds, as far apart as its answer was away. The clock is moved
 * as little as it takes to lie between them: so the samples with the least uncertainty decide. Where it is moved back,
 * it stands still for as long, up to STEP_MS.
 *
 * What is further away is not believed at once. The clock goes on as before, and is not steady, until samples have
 * agreed on the other time for SEEN_TO_STAY_MS; then it is taken over. The first sample of all is believed, having
 * nothing to be compared with, but is not steady either until it was seen to stay.
 */
export class FollowedClock extends Clock {
  private track: Track | undefined
  private other: Track | undefined
  private latest = -Infinity

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

  /** Takes a sample into account; later ones come later. */
  follow(sample: TimeSample): Followed {
    const { track } = this
    if (track === undefined) {
      this.track = begun(sample)
      return { what: 'agrees' }
    }
    // It says too little, for or against.
    if (sample.received - sample.sent > STEP_MS) return { what: 'agrees' }
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
    if (this.other.last - this.other.since < SEEN_TO_STAY_MS) return { what: 'agrees' }
    this.track = this.other
    this.other = undefined
    this.latest = -Infinity
    return { what: 'adopted', apartMs: this.track.offset - track.offset }
  }
}

function begun({ sent, received, at }: TimeSample): Track {
  return { offset: at - (sent + received) / 2, since: received, last: received }
}

/** Is a sample within a step of what others agreed on? Then the track is moved into the sample's bounds. */
function agrees(track: Track, { sent, received, at }: TimeSample): boolean {
  const [least, most] = [at - received, at + 1 - sent]
  if (track.offset < least - STEP_MS || track.offset > most + STEP_MS) return false
  track.offset = Math.min(Math.max(track.offset, least), most)
  if (received - track.last > MAX_SILENCE_MS) track.since = received
  track.last = received
  return true
}
