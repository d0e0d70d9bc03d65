import type { Logger } from '@nestjs/common'

/** A failure that continues is logged again after this time. */
const AGAIN_MS = 3_600_000

/**
 * Failures in a row of work in the background. A failure is logged when it is the first, when its reason differs from
 * the previous one, and once an hour, and so is the end of the failures.
 */
export class RepeatedFailure {
  private reason: string | undefined
  private loggedAt = 0
  /** Failures since the last success. */
  inRow = 0

  constructor(private readonly logger: Logger) {}

  failed(reason: string): void {
    this.inRow += 1
    const now = performance.now()
    if (reason === this.reason && now - this.loggedAt < AGAIN_MS) return
    this.reason = reason
    this.loggedAt = now
    const count = this.inRow === 1 ? '' : `, ${this.inRow} times in a row`
    this.logger.warn(`failed${count}, retrying: ${reason}`)
  }

  succeeded(): void {
    if (this.inRow > 0) this.logger.log(`works again after ${this.inRow} failures in a row`)
    this.inRow = 0
    this.reason = undefined
  }
}
