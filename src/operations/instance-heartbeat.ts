import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { removeHeartbeat, recordHeartbeat } from '../database/instances.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { VERSION } from '../version/version.js'

const EVERY_MS = 15_000

/**
 * Records in the store that this instance runs, and its version, so that `npm run migrate -- --finish` knows which
 * instances could not read what it enables.
 */
@Injectable()
export class InstanceHeartbeat implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Presence')
  private readonly id = randomUUID()
  private readonly name = `${hostname().slice(0, 100)} (pid ${process.pid})`
  private timer: NodeJS.Timeout | undefined
  private recording: Promise<void> | undefined
  private lastAttemptSucceeded = true

  constructor(private readonly transactions: TransactionRunner) {}

  /** Recorded before the first request. */
  async onApplicationBootstrap(): Promise<void> {
    await this.record()
    this.timer = setInterval(() => {
      this.recording ??= this.record().finally(() => {
        this.recording = undefined
      })
    }, EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer)
    await this.recording
    // Otherwise the record expires after a minute.
    if (this.transactions.reach === 'all')
      await this.transactions.write(async (transaction) => removeHeartbeat(transaction, this.id)).catch(() => undefined)
  }

  /** Never rejects. */
  private async record(): Promise<void> {
    // Another part has logged the outage.
    if (this.transactions.reach !== 'all') return
    try {
      await this.transactions.write(async (transaction) => recordHeartbeat(transaction, this.id, this.name, VERSION))
      this.lastAttemptSucceeded = true
    } catch (error) {
      if (this.lastAttemptSucceeded)
        this.logger.warn(`cannot record this instance in service_instance, retrying: ${String(error)}`)
      this.lastAttemptSucceeded = false
    }
  }
}
