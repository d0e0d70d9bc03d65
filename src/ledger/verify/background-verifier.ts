import { Logger } from '@nestjs/common'
import type { Clock } from '../../common/clock.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import type { Page } from './verify-check.js'
import { findingLine, type Verification } from './verifier.js'

/** The minimum interval between pages, in milliseconds. */
const EVERY_MS = 1_000
/** The pause after a page, as a multiple of the page's duration; limits the load on the database. */
const PAUSES = 100
/** The maximum number of findings of one pass that are logged individually. */
const MAX_TOLD = 20

/**
 * Verifies all rows in the background, page by page, again and again, so that contradictions between counters and
 * ledger become known. Only reads. Each instance runs its own.
 */
export class BackgroundVerifier {
  private readonly logger: Logger
  private pages: AsyncGenerator<Page> | undefined
  private foundSoFar = 0
  private foundBefore = 0
  /** The end of the last complete pass; undefined before the first one. */
  checkedAt: Instant | undefined

  /** @param enabled false: only `pass` verifies */
  constructor(
    private readonly verification: Pick<Verification, 'channel' | 'pages'>,
    transactions: TransactionRunner,
    private readonly clock: Clock,
    enabled: boolean,
  ) {
    const name = `${verification.channel} drift`
    this.logger = new Logger(name)
    if (enabled) new PeriodicTask(transactions, name, EVERY_MS, async (signal) => this.run(signal), 'reads')
  }

  get channel(): string {
    return this.verification.channel
  }

  /** The number of findings of the last complete pass or of the current one, whichever is higher. */
  get found(): number {
    return Math.max(this.foundBefore, this.foundSoFar)
  }

  /** Verifies the remaining rows of the pass, without pauses. */
  async pass(): Promise<void> {
    while (!(await this.step()));
  }

  /** Verifies the next page. @returns whether the pass is complete */
  private async step(signal?: AbortSignal): Promise<boolean> {
    this.pages ??= this.verification.pages(signal)
    const next = (await this.pages.next()) as IteratorResult<Page, undefined>
    if (next.done === true) {
      this.foundBefore = this.foundSoFar
      this.checkedAt = this.clock.now()
      this.begin()
      return true
    }
    for (const finding of next.value.findings) {
      if (finding.note === true) continue
      this.foundSoFar += 1
      if (this.foundSoFar <= MAX_TOLD) this.logger.error(findingLine(this.channel, finding))
      else if (this.foundSoFar === MAX_TOLD + 1)
        this.logger.error('further contradictions are not logged: node dist/src/verify.js lists all of them')
    }
    return false
  }

  private begin(): void {
    this.pages = undefined
    this.foundSoFar = 0
  }

  /** Verifies a page. @returns the pause after it, in milliseconds */
  private async run(signal: AbortSignal): Promise<number> {
    const began = performance.now()
    try {
      await this.step(signal)
    } catch (error) {
      // The findings of a failed pass are logged but not counted; the next pass finds them again.
      this.begin()
      throw error
    }
    return PAUSES * (performance.now() - began)
  }
}
