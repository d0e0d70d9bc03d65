import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../../clock/clock.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../time/instant.js'
import { findingLine, type Page, type Verification } from './verifier.js'

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
export class BackgroundVerifier implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger: Logger
  private timer: NodeJS.Timeout | undefined
  private running: Promise<unknown> | undefined
  private readonly stopping = new AbortController()
  private pages: AsyncGenerator<Page> | undefined
  private foundSoFar = 0
  private foundBefore = 0
  /** The end of the last complete pass; undefined before the first one. */
  checkedAt: Instant | undefined

  /** @param enabled false: only `pass` verifies */
  constructor(
    private readonly verification: Pick<Verification, 'channel' | 'pages'>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly enabled: boolean,
  ) {
    this.logger = new Logger(`${verification.channel} drift`)
  }

  get channel(): string {
    return this.verification.channel
  }

  /** The number of findings of the last complete pass or of the current one, whichever is higher. */
  get found(): number {
    return Math.max(this.foundBefore, this.foundSoFar)
  }

  onApplicationBootstrap(): void {
    if (this.enabled) this.later(EVERY_MS)
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort()
    clearTimeout(this.timer)
    await this.running
  }

  /** Verifies the remaining rows of the pass, without pauses. */
  async pass(): Promise<void> {
    while (!(await this.step()));
  }

  /** Verifies the next page. @returns whether the pass is complete */
  private async step(): Promise<boolean> {
    this.pages ??= this.verification.pages(this.stopping.signal)
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
        this.logger.error('further contradictions are not logged: npm run verify lists all of them')
    }
    return false
  }

  private begin(): void {
    this.pages = undefined
    this.foundSoFar = 0
  }

  private later(pauseMs: number): void {
    if (this.stopping.signal.aborted) return
    this.timer = setTimeout(() => {
      const began = performance.now()
      this.running = this.attempt().finally(() => {
        this.later(Math.max(EVERY_MS, PAUSES * (performance.now() - began)))
      })
    }, pauseMs)
    this.timer.unref()
  }

  private async attempt(): Promise<void> {
    // Another part has logged the outage and watches it.
    if (this.transactions.reach === 'none') return
    try {
      await this.step()
    } catch (error) {
      if (this.stopping.signal.aborted) return
      // The findings of a failed pass are logged but not counted; the next pass finds them again.
      this.logger.warn(`the background verification failed, starting again: ${String(error)}`)
      this.begin()
    }
  }
}
