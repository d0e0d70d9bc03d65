import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { sayGone, sayHere } from '../database/instances.js'
import { UnitOfWork } from '../database/unit-of-work.js'
import { VERSION } from '../version/version.js'

const EVERY_MS = 15_000

/**
 * Records in the store that this instance runs, and its version, so that `npm run migrate -- --finish` knows which
 * instances could not read what it enables.
 */
@Injectable()
export class Presence implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Presence')
  private readonly id = randomUUID()
  private readonly name = `${hostname().slice(0, 100)} (pid ${process.pid})`
  private timer: NodeJS.Timeout | undefined
  private telling: Promise<void> | undefined
  private told = true

  constructor(private readonly work: UnitOfWork) {}

  /** Recorded before the first request. */
  async onApplicationBootstrap(): Promise<void> {
    await this.tell()
    this.timer = setInterval(() => {
      this.telling ??= this.tell().finally(() => {
        this.telling = undefined
      })
    }, EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer)
    await this.telling
    // Otherwise the record expires after a minute.
    if (this.work.reach === 'all')
      await this.work.write(async (transaction) => sayGone(transaction, this.id)).catch(() => undefined)
  }

  /** Never rejects. */
  private async tell(): Promise<void> {
    // Another part has logged the outage.
    if (this.work.reach !== 'all') return
    try {
      await this.work.write(async (transaction) => sayHere(transaction, this.id, this.name, VERSION))
      this.told = true
    } catch (error) {
      if (this.told) this.logger.warn(`cannot record this instance in service_instance, retrying: ${String(error)}`)
      this.told = false
    }
  }
}
