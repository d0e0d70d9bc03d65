import { Logger } from '@nestjs/common'
import type { Clock } from '../../common/clock.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import { type Page, PageFailure, type Place } from './verify-check.js'
import { findingLine, type Verification } from './verifier.js'

/** The minimum interval between pages, in milliseconds. */
const EVERY_MS = 1_000
/** The pause after a page, as a multiple of the page's duration; limits the load on the database. */
const PAUSES = 100
/** The maximum number of findings of one pass that are logged individually. */
const MAX_TOLD = 20
/** The number of failures of a page after which the rest of its kind of rows is set aside until the next pass. */
const MAX_FAILURES = 3

/**
 * Verifies all rows in the background, page by page, again and again, so that contradictions between counters and
 * ledger become known. Only reads. Each instance runs its own.
 */
export class BackgroundVerifier {
  private readonly logger: Logger
  private pages: AsyncGenerator<Page> | undefined
  private foundSoFar = 0
  private foundBefore = 0
  /** Where the pass goes on after a failure; undefined: it has not failed. */
  private place: Place | undefined
  /** Failures of one page in a row. */
  private failures = 0
  /** The rows that this pass, and the last one, set aside: their name, and why. */
  private aside = new Map<string, string>()
  private asideBefore: ReadonlyMap<string, string> = new Map()
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

  /** Verifies the remaining rows of the pass, without pauses. @throws PageFailure; the next call goes on from there */
  async pass(): Promise<void> {
    while (!(await this.step()));
  }

  /** Verifies the next page. @returns whether the pass is complete */
  private async step(signal?: AbortSignal): Promise<boolean> {
    this.pages ??= this.verification.pages(signal, this.place)
    let next: IteratorResult<Page, undefined>
    try {
      next = (await this.pages.next()) as typeof next
    } catch (error) {
      if (!(error instanceof PageFailure) || signal?.aborted === true || !this.goOnAfter(error)) throw error
      return false
    }
    this.failures = 0
    if (next.done === true) {
      this.foundBefore = this.foundSoFar
      if (this.aside.size === 0) this.checkedAt = this.clock.now()
      for (const what of this.asideBefore.keys())
        if (!this.aside.has(what)) this.logger.log(`${what} are verified again`)
      this.asideBefore = this.aside
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
    this.place = undefined
    this.aside = new Map()
    this.foundSoFar = 0
  }

  /**
   * The pass goes on at the page that failed; after the third time, behind the rows of its kind, which are set aside.
   * What was set aside in the last pass has one attempt in this one.
   * @returns is it a failure that was known before?
   */
  private goOnAfter({ place, message }: PageFailure): boolean {
    const { what } = place
    this.pages = undefined
    this.place = place
    this.failures += 1
    const before = this.asideBefore.get(what)
    if (this.failures < (before === undefined ? MAX_FAILURES : 1)) return false
    this.failures = 0
    this.place = { ...place, behind: true }
    this.aside.set(what, message)
    if (before !== message) this.logger.error(`${what} are not verified further in this pass: ${message}`)
    return before !== undefined
  }

  /** Verifies a page. @returns the pause after it, in milliseconds */
  private async run(signal: AbortSignal): Promise<number> {
    const began = performance.now()
    await this.step(signal)
    return PAUSES * (performance.now() - began)
  }
}
