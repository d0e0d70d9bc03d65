import type { Clock } from '../../common/clock.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import { TimeSlice } from '../../common/time-slice.js'
import { instantFromStore } from '../../database/column.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { ALL_OWNERS, type SeriesStep, TOTALS_OF_TIME } from '../rows/usage-total.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { wholeFrom } from '../totals/totals-rebuild.js'
import { NO_QUOTA, TotalsStore } from '../totals/totals-store.js'
import { type Check, type Finding, type Mend, type Page, showing, type Subject } from './verify-check.js'

/**
 * Compares the totals of the whole channel with the sums of those of its owners, which are checked before; and what
 * groups paid, which is checked before, with what was paid for their members. A page is a day or an hour; hours that
 * may be removed meanwhile are left out.
 */
export class TotalsCheck<Q extends QuotaRow> implements Check {
  readonly what = 'totals'
  private readonly totals: TotalsStore<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {
    this.totals = new TotalsStore(store)
  }

  async page(transaction: Transaction, after: Subject = 'day 0'): Promise<Page> {
    const { usageTotal } = this.store
    const beganAt = usageTotal.column('beganAt')
    const [step, last] = String(after).split(' ') as [SeriesStep, string]
    const [row] = await transaction.rows(
      `SELECT ${beganAt} AS began_at FROM ${usageTotal.readBy(transaction.dialect, TOTALS_OF_TIME)} ` +
        `WHERE ${usageTotal.column('step')} = ? AND ${beganAt} > ? ORDER BY ${beganAt} LIMIT 1`,
      [step, usageTotal.bind('beganAt', Number(last))],
    )
    if (row === undefined) {
      const oldest = beginningOf('day', oldestKept(this.clock.now())) + STEP_MS.day
      return { what: this.what, count: 0, last: step === 'day' ? `hour ${oldest - 1}` : undefined, findings: [] }
    }
    const began = instantFromStore(row['began_at'] as string)
    return {
      what: this.what,
      count: 1,
      last: `${step} ${began}`,
      findings: await this.examine(transaction, step, began),
    }
  }

  private async examine(transaction: Transaction, step: SeriesStep, beganAt: Instant): Promise<Finding[]> {
    const { owners, whole, members, groups } = await this.sums(transaction, step, beganAt)
    const ofMembers = isEqual(members, groups)
    if (ofMembers && isEqual(owners, whole)) return []
    const { usageTotal } = this.store
    const { table } = usageTotal
    const those = ['ownerId', 'step', 'beganAt'] as const
    const key = those.map((property) => `${usageTotal.column(property)} = ?`).join(' AND ')
    const values = [ALL_OWNERS, step, usageTotal.bind('beganAt', beganAt)]
    const mend: Mend = async (writing) => {
      await this.totals.lockState(writing)
      const {
        owners: { charged, refunded },
      } = await this.sums(writing, step, beganAt)
      await writing.execute(`DELETE FROM ${table} WHERE ${key}`, values)
      const sums = { charged, refunded, refusals: 0, refused: 0 }
      await this.totals.add(writing, [{ ownerId: ALL_OWNERS, step, beganAt, ...NO_QUOTA, ...sums }])
      return []
    }
    const text = ({ charged, refunded }: Sums): string => `charged ${charged}, refunded ${refunded}`
    const about = { rule: 'totals', ownerId: null, show: showing(usageTotal, 'beganAt', beganAt) } as const
    const time = `${step} ${formatInstant(beganAt)}`
    // The owners' sum is then wrong, too.
    if (!ofMembers) {
      const expected = `the sum that groups paid: ${text(groups)}`
      return [{ ...about, where: `${time} of members`, expected, found: text(members) }]
    }
    const expected = `the sum of the owners: ${text(owners)}`
    const finding: Finding = { ...about, where: `${time} of all owners`, expected, found: text(whole) }
    // Before, they may be the only record of lost totals of owners.
    return [beganAt < wholeFrom(await this.totals.state(transaction)) ? finding : { ...finding, mend }]
  }

  /**
   * What owners' quotas were charged according to their totals, and what all were according to the channel's; what of
   * it groups' quotas paid, according to the members' totals and the groups'. The rows are read in pages of owners: on
   * SQLite, a statement blocks the event loop.
   */
  private async sums(
    transaction: Transaction,
    step: SeriesStep,
    beganAt: Instant,
  ): Promise<Record<'owners' | 'whole' | 'members' | 'groups', Sums>> {
    const { usageTotal, quota } = this.store
    const { dialect } = transaction
    const t = (property: 'ownerId' | 'step' | 'beganAt' | 'quotaId' | keyof Sums): string =>
      `t.${usageTotal.column(property)}`
    const totals = usageTotal.readBy(dialect, TOTALS_OF_TIME, 't')
    const owner = t('ownerId')
    const of = `${t('step')} = ? AND ${t('beganAt')} = ? AND ${owner} > ?`
    const lastOwner = `SELECT MAX(id) AS id FROM (SELECT ${owner} AS id FROM ${totals} WHERE ${of} ORDER BY ${owner} LIMIT ${ROWS}) page`
    const ofGroup = `q.${quota.column('ownerId')} < 0`
    const part =
      `CASE WHEN ${owner} = ${ALL_OWNERS} THEN 'whole' WHEN ${owner} < 0 AND ${ofGroup} THEN 'groups' ` +
      `WHEN ${ofGroup} THEN 'members' WHEN ${owner} > 0 THEN 'owners' END`
    // Without what caps counted.
    const sumsOfOwners =
      `SELECT ${part} AS part, SUM(${t('charged')}) AS charged, SUM(${t('refunded')}) AS refunded FROM ${totals} ` +
      `LEFT JOIN ${quota.readByKey(dialect, 'q')} ON q.${quota.column('id')} = ${t('quotaId')} ` +
      `WHERE ${of} AND ${owner} <= ? AND q.${quota.column('cap')} IS NULL GROUP BY part`
    const values = [step, usageTotal.bind('beganAt', beganAt)]
    const none = (): Sums => ({ charged: 0, refunded: 0 })
    const found = { owners: none(), whole: none(), members: none(), groups: none() }
    const slice = new TimeSlice()
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      const [page] = await transaction.rows(lastOwner, [...values, after])
      if (page?.['id'] == null) return found
      const last = Number(page['id'])
      for (const row of await transaction.rows(sumsOfOwners, [...values, after, last])) {
        const name = row['part'] as keyof typeof found | null
        for (const sums of name === null ? [] : name === 'members' ? [found.members, found.owners] : [found[name]]) {
          sums.charged += Number(row['charged'])
          sums.refunded += Number(row['refunded'])
        }
      }
      after = last
      if (slice.spent) await slice.next()
    }
  }
}

/** The maximum number of rows of a page, but for further ones of its last owner. */
const ROWS = 2_000

/** The sums of an hour or day. */
interface Sums {
  charged: number
  refunded: number
}

function isEqual(one: Sums, other: Sums): boolean {
  return one.charged === other.charged && one.refunded === other.refunded
}
