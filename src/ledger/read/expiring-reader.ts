import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import type { Scalar } from '../../database/row-codec.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import { roll } from '../../domain/quota.js'
import { type Instant, MAX_INSTANT } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { STEP_MS } from '../rows/utc-step.js'
import { quotaView, type QuotaView } from '../store/answers.js'
import { LedgerStore } from '../store/ledger-store.js'
import { readQuotas, type Statement } from './quota-statements.js'

/** A page of quotas that expire soon, in the form of answers. */
export interface ExpiringPage {
  items: QuotaView[]
  /** The start of the next page, or null at the end. */
  next_cursor: string | null
}

/** The last quota of a page, after which the next page begins. */
export interface ExpiringCursor {
  readonly expireAt: Instant
  readonly id: number
}

/** Milliseconds and id; it needs no encoding in a query. */
const CURSOR = /^(0|[1-9][0-9]{0,14})\.([1-9][0-9]{0,15})$/

/** Parses a cursor; undefined if it has another format. */
export function parseCursor(text: string): ExpiringCursor | undefined {
  const [, expireAt, id] = CURSOR.exec(text) ?? []
  const cursor = { expireAt: Number(expireAt), id: Number(id) }
  return cursor.expireAt <= MAX_INSTANT && Number.isSafeInteger(cursor.id) ? cursor : undefined
}

/** Reads the quotas that expire soon, without the engine. */
export class ExpiringReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * Active quotas that expire within `days` days from now, ordered by expiry, then by id.
   * @param days 1 … 90, of 24 hours
   * @param cursor only quotas after it
   * @param size 1 … 100
   */
  async page(
    principalId: string,
    days: number,
    cursor: ExpiringCursor | undefined,
    size: number,
  ): Promise<ExpiringPage> {
    const now = this.clock.now()
    const { quota } = this.store
    const [id, expireAt] = [quota.column('id'), quota.column('expireAt')]
    const bind = (instant: Instant): Scalar => quota.bind('expireAt', instant)
    const until = Math.min(now + days * STEP_MS.day, MAX_INSTANT)
    const limit = `ORDER BY ${expireAt}, ${id} LIMIT ${size + 1}`
    const rows = (condition = '', ...values: Scalar[]): Statement => ({
      sql:
        `SELECT ${quota.columns} FROM ${quota.readBy(this.transactions.dialect, ['deletedAt', 'state', 'expireAt'])} ` +
        `WHERE ${quota.column('deletedAt')} IS NULL AND ${quota.column('state')} = 'active' AND ${expireAt} > ? AND ${expireAt} <= ? ` +
        `${condition}${limit}`,
      values: [bind(now), bind(until), ...values],
    })
    const page =
      cursor === undefined
        ? rows()
        : // Both are ranges of the index, however many quotas expire at the instant of the cursor.
          together(
            [
              rows(`AND ${expireAt} = ? AND ${id} > ? `, bind(cursor.expireAt), cursor.id),
              rows(`AND ${expireAt} > ? `, bind(cursor.expireAt)),
            ],
            limit,
          )
    const found = await readQuotas(this.transactions.readsOf(principalId), this.store, now, {
      ...page,
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
        found.length > size && last !== undefined && last.expireAt !== null ? `${last.expireAt}.${last.id}` : null,
    }
  }
}

/** The rows of several statements in one. @param limit their order and number */
function together(parts: readonly Statement[], limit: string): Statement {
  const selects = parts.map(({ sql }, place) => `SELECT * FROM (${sql}) part_${place}`)
  return {
    sql: `SELECT * FROM (${selects.join(' UNION ALL ')}) parts ${limit}`,
    values: parts.flatMap(({ values }) => values),
  }
}
