import type { DataSource } from 'typeorm'
import type { Clock } from '../../clock/clock.js'
import type { Scalar } from '../../database/row-codec.js'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import { roll } from '../../quota/quota.js'
import { type Instant, MAX_INSTANT } from '../../time/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { quotaView, type QuotaView } from '../store/answers.js'
import { LedgerStore } from '../store/ledger-store.js'
import { readQuotas } from './quota-statements.js'

/** A page of quotas that are about to end, as it is answered. */
export interface ExpiringPage {
  items: QuotaView[]
  /** Where the next page starts, or null at the end. */
  next_cursor: string | null
}

/** The last quota of a page: where the next one begins. */
export interface ExpiringCursor {
  readonly expireAt: Instant
  readonly id: number
}

const CURSOR = /^(0|[1-9][0-9]{0,14})\.([1-9][0-9]{0,15})$/

/** Reads a cursor; undefined where the text is none that was ever answered. */
export function parseCursor(text: string): ExpiringCursor | undefined {
  const [, expireAt, id] = CURSOR.exec(text) ?? []
  const cursor = { expireAt: Number(expireAt), id: Number(id) }
  return cursor.expireAt <= MAX_INSTANT && Number.isSafeInteger(cursor.id) ? cursor : undefined
}

/** Milliseconds and id: nothing in it has to be encoded in a query. */
function formatCursor({ expireAt, id }: ExpiringCursor): string {
  return `${expireAt}.${id}`
}

const DAY_MS = 86_400_000

/** Reads the quotas that end soon, past the engine. */
export class ExpiringReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * Active quotas that end within `days` days from now, soonest first, then by id.
   * @param asking the principal whose turn it takes
   * @param days 1 … 90, of 24 hours
   * @param cursor only what comes after it
   * @param size 1 … 100
   */
  async page(asking: string, days: number, cursor: ExpiringCursor | undefined, size: number): Promise<ExpiringPage> {
    const now = this.clock.now()
    const { quota } = this.store
    const [id, expireAt] = [quota.column('id'), quota.column('expireAt')]
    const bind = (instant: Instant): Scalar => quota.bind('expireAt', instant)
    const after =
      cursor === undefined
        ? { sql: '', values: [] }
        : {
            sql: `AND ${expireAt} >= ? AND (${expireAt} > ? OR ${id} > ?) `,
            values: [bind(cursor.expireAt), bind(cursor.expireAt), cursor.id],
          }
    const found = await readQuotas(this.work.readsOf(asking), this.store, now, {
      sql:
        `SELECT ${quota.columns} FROM ${quota.readBy(this.work.dialect, ['deletedAt', 'state', 'expireAt'])} ` +
        `WHERE ${quota.column('deletedAt')} IS NULL AND ${quota.column('state')} = 'active' AND ${expireAt} > ? AND ${expireAt} <= ? ` +
        `${after.sql}ORDER BY ${expireAt}, ${id} LIMIT ${size + 1}`,
      values: [bind(now), bind(Math.min(now + days * DAY_MS, MAX_INSTANT)), ...after.values],
      order: `page.${expireAt}, page.${id}`,
    })
    const quotas = found.slice(0, size)
    const last = quotas.at(-1)
    return {
      items: quotas.map((one) => {
        roll(one, now)
        return quotaView(this.channel, one, now)
      }),
      next_cursor:
        found.length > size && last !== undefined && last.expireAt !== null
          ? formatCursor({ expireAt: last.expireAt, id: last.id })
          : null,
    }
  }
}
