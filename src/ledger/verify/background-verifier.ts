import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../../clock/clock.js'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import type { Instant } from '../../time/instant.js'
import { findingLine, type Page, type Verification } from './verifier.js'

/** Between two pages at least. */
const EVERY_MS = 1_000
/** A page is followed by a pause of so many times as long: the share of the database that this takes is bounded. */
const PAUSES = 100
/** Contradictions of one pass that are told one by one. */
const MAX_TOLD = 20

/**
 * Looks at all rows in the background, over and over, a page at a time: whether counters and ledger still agree is then
 * known without anybody asking. Only reads. Each instance does so by itself.
 */
export class BackgroundVerifier implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger: Logger
  private timer: NodeJS.Timeout | undefined
  private running: Promise<unknown> | undefined
  private readonly stopping = new AbortController()
  private pages: AsyncGenerator<Page> | undefined
  private foundSoFar = 0
  private foundBefore = 0
  /** When the last whole pass ended; undefined before the first has. */
  checkedAt: Instant | undefined

  /** @param enabled else only `pass` looks */
  constructor(
    private readonly verification: Pick<Verification, 'channel' | 'pages'>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    private readonly enabled: boolean,
  ) {
    this.logger = new Logger(`${verification.channel} drift`)
  }

  /** The channel's name. */
  get channel(): string {
    return this.verification.channel
  }

  /** Contradictions that the last whole pass found, or this one already has, whichever are more. */
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

  /** Goes through the rest of the rows, without a pause. */
  async pass(): Promise<void> {
    while (!(await this.step()));
  }

  /** Looks at the next page. @returns was it the last? */
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
        this.logger.error('there are more contradictions: npm run verify lists all of them')
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
    // Known, told once and watched by others.
    if (this.work.reach === 'none') return
    try {
      await this.step()
    } catch (error) {
      if (this.stopping.signal.aborted) return
      // The pass that failed counts for nothing: what it found is told, and the next one finds it again.
      this.logger.warn(`the background verification failed, starting again: ${String(error)}`)
      this.begin()
    }
  }
}
