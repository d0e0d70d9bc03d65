import { Clock } from '../../src/common/clock.js'
import { type Instant, parseInstant } from '../../src/common/instant.js'
import { stopIfOver } from './scoped.js'

/** A clock that stands still until a test moves it. */
export class TestClock extends Clock {
  private instant: Instant
  /** How long the time has been steady, in milliseconds; see `Clock`. */
  steadyMs = Infinity

  constructor(start = '2026-11-21T12:00:00.000Z') {
    super()
    this.instant = parse(start)
  }

  override now(): Instant {
    return this.instant
  }

  override get steadyForMs(): number {
    return this.steadyMs
  }

  /** Sets the time, from an RFC 3339 text or epoch milliseconds. */
  set(to: string | Instant): void {
    stopIfOver()
    this.instant = typeof to === 'string' ? parse(to) : to
  }

  /** Advances by seconds. */
  pass(seconds: number): void {
    stopIfOver()
    this.instant += seconds * 1000
  }

  /** The current time plus `seconds`, as RFC 3339 text. */
  after(seconds: number): string {
    return new Date(this.instant + seconds * 1000).toISOString()
  }
}

function parse(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new Error(`no time: ${text}`)
  return instant
}
