import { randomUUID } from 'node:crypto'
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { PROCESS_NAME, removeHeartbeat, recordHeartbeat } from '../database/instances.js'
import { PeriodicTask } from '../common/periodic-task.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { VERSION } from '../common/version.js'

const EVERY_MS = 15_000

/**
 * Records in the store that this instance runs, and its version, so that `npm run migrate -- --finish` knows which
 * instances could not read what it enables.
 */
@Injectable()
export class InstanceHeartbeat implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly id = randomUUID()
  private readonly task: PeriodicTask

  constructor(private readonly transactions: TransactionRunner) {
    this.task = new PeriodicTask(transactions, 'heartbeat', EVERY_MS, async () =>
      transactions.write(async (transaction) => recordHeartbeat(transaction, this.id, PROCESS_NAME, VERSION)),
    )
  }

  /** Recorded before the first request. */
  async onApplicationBootstrap(): Promise<void> {
    await this.task.run()
  }

  async onModuleDestroy(): Promise<void> {
    await this.task.stop()
    // Otherwise the record expires after a minute.
    if (this.transactions.reach === 'all')
      await this.transactions.write(async (transaction) => removeHeartbeat(transaction, this.id)).catch(() => undefined)
  }
}
