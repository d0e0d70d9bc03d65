import type { Clock } from '../../common/clock.js'
import { instantToStore } from '../../database/column.js'
import type { Dialect } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import { firstIdAt, FOLD_LAG_MS, instantOfId } from '../rows/act-id.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'
import { bare, type Check, type Finding, literal, type Page } from './verify-check.js'

/** Upkeep's marks are in the past. A mark further in the future than this comes from a wrong clock. */
const MAX_AHEAD_MS = 60_000

/**
 * Checks what exists once: the unique index over keys, which guarantees that each key takes effect once; and that
 * upkeep's marks are not in the future. If `folded_to` is, acts with lower ids are never added to the totals; if
 * `removed_to` is, nothing is removed; if `begins_at` is, callers are told that existing rows may have been removed.
 */
export class TableCheck<Q extends QuotaRow> implements Check {
  readonly what = 'tables'

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {}

  async page(transaction: Transaction): Promise<Page> {
    const findings = [...(await this.keyIndex(transaction)), ...(await this.marks(transaction))]
    return { what: this.what, count: findings.length === 0 ? 0 : 1, findings }
  }

  private async keyIndex(transaction: Transaction): Promise<Finding[]> {
    const { act } = this.store
    const [table, column] = [bare(act.table), bare(act.column('deduplicationKey'))]
    if ((await transaction.rows(UNIQUE_INDEX[transaction.dialect], [table, column])).length > 0) return []
    const doubles = `SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL GROUP BY ${column} HAVING COUNT(*) > 1`
    const [counted] = await transaction.rows(`SELECT COUNT(*) AS n FROM (${doubles}) doubles`)
    const count = Number(counted?.['n'])
    return [
      {
        rule: 'key_index',
        ownerId: null,
        where: `table ${table}`,
        expected: `a unique index over ${column}`,
        found: `none, and ${count === 1 ? 'one key occurs' : `${count} keys occur`} in several acts`,
        show: `${doubles};`,
      },
    ]
  }

  private async marks(transaction: Transaction): Promise<Finding[]> {
    const totals = new TotalsStore(this.store)
    const { state, gate } = this.store
    const { foldedTo, beginsAt, removedTo } = await totals.state(transaction)
    const present = this.clock.now()
    const mark = literal(state.bind('foldedTo', firstIdAt(present - FOLD_LAG_MS)))
    const marks: readonly [table: string, column: string, at: Instant | null, right: string][] = [
      [state.table, state.column('foldedTo'), instantOfId(foldedTo), mark],
      [state.table, state.column('beginsAt'), beginsAt, `'${instantToStore(present)}'`],
      [state.table, state.column('removedTo'), removedTo, 'NULL'],
      [gate.table, gate.column('closedTo'), instantOfId(await totals.closedTo(transaction)), mark],
    ]
    return marks
      .filter(([, , at]) => at !== null && at > present + MAX_AHEAD_MS)
      .map(([table, column, at, right]) => ({
        rule: 'watermark',
        ownerId: null,
        where: bare(`${column} of ${table}`),
        expected: 'not after the present',
        found: formatInstant(at ?? 0),
        show: bare(`UPDATE ${table} SET ${column} = ${right};`),
      }))
  }
}

const UNIQUE_INDEX: Readonly<Record<Dialect, string>> = {
  mysql:
    'SELECT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? ' +
    'AND non_unique = 0 GROUP BY index_name HAVING COUNT(*) = 1 AND MAX(column_name) = ?',
  sqlite:
    'SELECT l.name AS name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i WHERE l."unique" = 1 ' +
    'GROUP BY l.name HAVING COUNT(*) = 1 AND MAX(i.name) = ?',
}
