import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../clock/clock.js'
import { placeholders } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import type { Ledger } from './ledger.js'
import type { QuotaReader } from './quota-reader.js'
import type { QuotaRow } from './quota.entity.js'

const EVERY_MS = 2_000
/** Rows or owners that one step takes, so that a step never holds locks for long. */
const STEP = 500

/**
 * Tidies up in the background: writes down that quotas and holds have expired, and keeps shared counts young. Nothing depends on it for being right, only for
 * staying fast. Safe on any number of instances: each step states its condition in the statement or runs under the owner's lock.
 */
export class Sweeper<Q extends QuotaRow> implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger: Logger
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined

  constructor(
    private readonly ledger: Ledger<Q>,
    private readonly reader: QuotaReader<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.logger = new Logger(`${ledger.channel.name} sweeper`)
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.running ??= this.sweep()
        .catch((error: unknown) => {
          this.logger.warn(`sweep failed, trying again later: ${String(error)}`)
        })
        .finally(() => {
          this.running = undefined
        })
    }, EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer)
    await this.running
  }

  /** One round: everything that is due now, step by step. */
  async sweep(): Promise<void> {
    while ((await this.markExpired()) === STEP);
    while ((await this.sweepHolds()) === STEP);
    await this.reader.refreshCounts()
  }

  /** Stores `expired` on quotas that are over. The statement asks again, so that an edit in between wins. */
  private async markExpired(): Promise<number> {
    const { quota } = this.ledger.store
    const due = `${quota.column('state')} = 'active' AND ${quota.column('expireAt')} <= ?`
    const now = quota.bind('expireAt', this.clock.now())
    return this.work.write(async (transaction) => {
      // Deleted quotas are left alone: a restore judges them anew.
      const rows = await transaction.rows(
        `SELECT ${quota.column('id')} AS id FROM ${quota.table} WHERE ${quota.column('deletedAt')} IS NULL AND ${due} ` +
          `ORDER BY ${quota.column('expireAt')} LIMIT ${STEP}`,
        [now],
      )
      if (rows.length === 0) return 0
      const ids = rows.map((row) => Number(row['id'])).sort((a, b) => a - b)
      await transaction.execute(
        `UPDATE ${quota.table} SET ${quota.column('state')} = 'expired' WHERE ${quota.column('id')} IN (${placeholders(ids)}) AND ${due}`,
        [...ids, now],
      )
      return rows.length
    })
  }

  private async sweepHolds(): Promise<number> {
    const { hold } = this.ledger.store
    const rows = await this.work.read((transaction) =>
      transaction.rows(
        `SELECT DISTINCT ${hold.column('ownerId')} AS owner_id FROM ` +
          `(SELECT ${hold.column('ownerId')} FROM ${hold.table} WHERE ${hold.column('expiresAt')} <= ? ORDER BY ${hold.column('expiresAt')} LIMIT ${STEP}) due`,
        [hold.bind('expiresAt', this.clock.now())],
      ),
    )
    await Promise.all(rows.map((row) => this.ledger.sweep(Number(row['owner_id']))))
    return rows.length
  }
}
