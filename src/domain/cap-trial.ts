import type { Instant } from '../common/instant.js'
import { countIn, settleIn, wouldRefuse } from './cap.js'
import { type QuotaState, roll } from './quota.js'
import type { Move } from './rolling-window.js'
import { DEFAULTS, newQuota, type NewSettings } from './settings.js'

/** The settings of a cap on trial. */
export type TrialSettings = Pick<
  NewSettings,
  'quotaType' | 'total' | 'cycleUnit' | 'cycleResetAt' | 'cycleTimeZone' | 'windowSeconds'
>

/**
 * An `observe` cap that does not exist: what it would have counted and refused since an instant in the past (contract,
 * §15). It is decided as for a real one. Acts are given in their order.
 */
export class CapTrial {
  private readonly cap: QuotaState
  /** The time of the first act in the present count. */
  private countBegan: Instant

  /** @param start as if the cap had been created then */
  constructor(settings: TrialSettings, start: Instant) {
    this.cap = { id: 1, ...newQuota({ ...DEFAULTS, ...settings, cap: 'observe' }, start) }
    this.countBegan = start
  }

  /**
   * A consume or a reserve was made.
   * @param move its whole amount, as used or as reserved
   * @returns whether the cap would have refused it
   */
  take(at: Instant, { used = 0, reserved = 0 }: Move): boolean {
    this.advance(at)
    const refused = wouldRefuse([this.cap], used + reserved).length > 0
    countIn(this.cap, at, { used, reserved })
    return refused
  }

  /**
   * A hold was committed, released or over, or an operation was refunded.
   * @param countedAt the time of the operation
   */
  settle(at: Instant, countedAt: Instant, move: Move): void {
    this.advance(at)
    const { id: quotaId, cycleSeq } = this.cap
    if (countedAt >= this.countBegan) settleIn(this.cap, { quotaId, cycleSeq }, countedAt, move)
  }

  private advance(now: Instant): void {
    const { cycleSeq } = this.cap
    roll(this.cap, now)
    if (this.cap.cycleSeq !== cycleSeq) this.countBegan = now
  }
}
