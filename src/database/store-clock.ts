import { Logger, type OnApplicationBootstrap } from '@nestjs/common'
import { type Clock, STEADY_MS, SystemClock } from '../common/clock.js'
import { type Followed, FollowedClock, STEP_MS, type TimeSample } from '../common/followed-clock.js'
import type { Instant } from '../common/instant.js'
import { instantFromStore } from './column.js'
import { PeriodicTask } from '../common/periodic-task.js'
import type { Transaction, TransactionRunner } from './transaction-runner.js'

/** The interval between samples, in milliseconds: each is one statement that reads no row. */
const EVERY_MS = 2_000
/** The number of samples at start; the one with the shortest round trip decides. */
const FIRST_SAMPLES = 3
/** The minimum interval between log lines about steps. */
const TOLD_AGAIN_MS = 60_000

/** The present time of the store: the server's clock, or with SQLite the host's. */
export async function presentOf(transaction: Transaction): Promise<Instant> {
  const [row] = await transaction.rows(
    transaction.dialect === 'mysql'
      ? 'SELECT UTC_TIMESTAMP(3) AS present'
      : "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS present",
  )
  return instantFromStore(String(row?.['present']))
}

/**
 * The service's only clock: that of the database server, which all instances share. It is read in the background;
 * requests never wait for it. With SQLite it is the host's.
 */
export class StoreClock extends FollowedClock implements OnApplicationBootstrap {
  private readonly logger = new Logger('Clock')
  private toldAt = -Infinity
  private stepTold = false
  private hostTold = false
  /** Called when the store's time has stepped; at most one listener. */
  onStep: (() => void) | undefined

  private constructor(
    private readonly transactions: TransactionRunner,
    private readonly host: Clock,
  ) {
    super()
    new PeriodicTask(transactions, 'clock', EVERY_MS, async () => this.ask(), 'reads')
  }

  /** Creates a clock that has already read the store's time. @throws if the store cannot be read */
  static async of(transactions: TransactionRunner, host: Clock = new SystemClock()): Promise<StoreClock> {
    const clock = new StoreClock(transactions, host)
    for (let n = 0; n < FIRST_SAMPLES; n += 1) clock.follow(await clock.sample())
    return clock
  }

  /** How far this machine's clock is ahead of this one, in milliseconds. */
  get hostOffsetMs(): number {
    return this.host.now() - this.now()
  }

  onApplicationBootstrap(): void {
    this.compareHost()
  }

  /** If it fails, the clock extrapolates, and is not steady. */
  private async ask(): Promise<void> {
    const followed = this.follow(await this.sample())
    if (followed.what === 'stepped') this.onStep?.()
    this.tell(followed)
    this.compareHost()
  }

  private async sample(): Promise<TimeSample> {
    // The wait for a connection does not count.
    return this.transactions.read(async (transaction) => {
      const sent = performance.now()
      const at = await presentOf(transaction)
      return { sent, received: performance.now(), at }
    })
  }

  private tell(followed: Followed): void {
    switch (followed.what) {
      case 'agrees':
        return
      case 'returned':
        if (this.stepTold) this.logger.warn("the database's time has returned to its previous course")
        this.stepTold = false
        return
      case 'adopted':
        this.stepTold = false
        this.logger.error(
          `the database's time has been ${apart(followed.apartMs)} than expected for ${STEADY_MS / 1000} s; the service adopts it`,
        )
        return
      case 'stepped': {
        const now = performance.now()
        // Two nodes of a cluster, read alternately, would be logged every time.
        if (now - this.toldAt < TOLD_AGAIN_MS) return
        this.toldAt = now
        this.stepTold = true
        this.logger.error(
          `the database's time has stepped: it is ${apart(followed.apartMs)} than expected. The service adopts it after ${STEADY_MS / 1000} s; until then ` +
            'it continues with the previous time, and sweeps, adds up and removes nothing. Check the clock of the database server, or of its nodes',
        )
      }
    }
  }

  private compareHost(): void {
    const offset = this.hostOffsetMs
    const far = Math.abs(offset) > STEP_MS
    if (far && !this.hostTold) {
      this.logger.warn(
        `this machine's clock is ${apart(offset)} than the database's. The service uses the database's time; only log times are this machine's`,
      )
    }
    this.hostTold = far
  }
}

function apart(milliseconds: number): string {
  const seconds = (Math.abs(milliseconds) / 1000).toFixed(1)
  return `${seconds} s ${milliseconds > 0 ? 'later' : 'earlier'}`
}
