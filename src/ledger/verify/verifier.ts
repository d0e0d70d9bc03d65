import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { approximateRows } from '../../database/stored-table.js'
import { StoreUnavailable, type Transaction, type TransactionRunner } from '../../database/transaction-runner.js'
import type { Channel } from '../rows/channel.js'
import { groupBy } from '../../common/group-by.js'
import { groupOf } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { LedgerStore } from '../store/ledger-store.js'
import { ActCheck } from './verify-acts.js'
import { ChangeCheck } from './verify-changes.js'
import {
  bare,
  type Check,
  type Finding,
  type Mended,
  type Page,
  PageFailure,
  type Place,
  type Subject,
} from './verify-check.js'
import { EventCheck } from './verify-events.js'
import { OperationCheck } from './verify-operations.js'
import { QuotaCheck } from './verify-quotas.js'
import { VERIFY } from './verify-settings.js'
import { TableCheck } from './verify-tables.js'
import { TotalsCheck } from './verify-totals.js'

/** The outcome of a repair: mended; gone before the repair; or left to a person, or since the owner stays locked. */
export type Repaired = 'mended' | 'gone' | 'left'

/** Verifies and repairs all rows of a channel. */
export type Verification = Pick<Verifier<never>, keyof Verifier<never>>

/**
 * Compares the rows of a channel with the ledger's invariants (src/ledger/README.md), on a store in use. Each page
 * reads one snapshot, so concurrent writes cause no findings.
 *
 * A repair takes the owner's lock, as every write does, and examines the owner again under it. It raises counters,
 * never lowers them, and writes only what other rows determine.
 */
export class Verifier<Q extends QuotaRow> {
  readonly channel: string
  private readonly store: LedgerStore<Q>
  private readonly rows: readonly Check[]
  private readonly owners: QuotaCheck<Q>
  private readonly sums: TotalsCheck<Q>

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.channel = channel.name
    const store = new LedgerStore(dataSource, channel)
    this.store = store
    this.owners = new QuotaCheck(store, clock)
    this.sums = new TotalsCheck(store, clock)
    this.rows = [
      new TableCheck(store, clock),
      new ActCheck(store),
      new OperationCheck(store),
      new ChangeCheck(store),
      new EventCheck(store),
    ]
  }

  /**
   * Verifies all rows, page by page. Each page reads one snapshot and locks nothing. The consumer sets the pace.
   * @param signal aborts before the next statement, with an error
   * @param from where to begin; undefined: with the first row
   * @throws PageFailure
   */
  async *pages(signal?: AbortSignal, from?: Place): AsyncGenerator<Page> {
    const checks = [...this.rows, this.owners, this.sums]
    const first = from === undefined ? 0 : checks.findIndex(({ what }) => what === from.what)
    for (const [place, check] of checks.entries()) {
      if (place < first || (place === first && from?.behind === true)) continue
      let after = place === first ? from?.after : undefined
      try {
        for await (const page of this.pagesOf([check], signal, after)) {
          after = page.last
          yield page
        }
      } catch (error) {
        throw new PageFailure({ what: check.what, after }, error)
      }
    }
  }

  /** The same in two parts of about equal work, which may run concurrently. */
  parts(signal?: AbortSignal): readonly AsyncGenerator<Page>[] {
    return [this.pagesOf(this.rows, signal), this.pagesOf([this.owners, this.sums], signal)]
  }

  /** Returns the approximate numbers of rows, by their name. */
  async sizes(): Promise<Record<string, number>> {
    const { act, operation, change, event, owner } = this.store
    const tables = { acts: act, operations: operation, changes: change, events: event, owners: owner }
    const sizes: Record<string, number> = {}
    for (const [what, { table }] of Object.entries(tables))
      sizes[what] = await this.transactions.read(async (transaction) => approximateRows(transaction, bare(table)))
    return sizes
  }

  private async *pagesOf(checks: readonly Check[], signal?: AbortSignal, first?: Subject): AsyncGenerator<Page> {
    for (const check of checks) {
      for (let after = first; ;) {
        const from = after
        const page = await this.look(signal, async (transaction) => check.page(transaction, from))
        if (page.count > 0 || page.findings.length > 0) yield page
        if (page.last === undefined) break
        after = page.last
      }
    }
  }

  /** Runs a page in a snapshot. A page may take many statements, so an abort takes effect before each. */
  private async look<T>(signal: AbortSignal | undefined, unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transactions.snapshot(async (transaction) => {
      if (signal === undefined) return unit(transaction)
      const rows: Transaction['rows'] = async (sql, values) => {
        signal.throwIfAborted()
        return transaction.rows(sql, values)
      }
      return unit(Object.create(transaction, { rows: { value: rows } }) as Transaction)
    })
  }

  /** Repairs the findings of a page whose right values can be derived. @returns the outcome of each */
  async repair(findings: readonly Finding[], requestId: string): Promise<Map<Finding, Repaired>> {
    const repaired = new Map<Finding, Repaired>(findings.map((finding) => [finding, 'left']))
    const mendable = findings.filter(({ mend }) => mend !== undefined)
    for (const [ownerId, own] of groupBy(mendable, (finding) => finding.ownerId)) {
      if (ownerId === null) {
        // Of no owner, and so without an owner's lock.
        for (const { mend } of own) if (mend !== undefined) await this.transactions.write(mend)
        for (const finding of own) repaired.set(finding, 'mended')
        continue
      }
      const done = await this.repairOwner(ownerId, own, requestId)
      for (const finding of own)
        repaired.set(finding, done === undefined ? 'left' : (done.get(nameOf(finding)) ?? 'gone'))
    }
    return repaired
  }

  /** @returns the outcome of each finding under the lock, by its name; undefined if the owner stays locked */
  private async repairOwner(
    ownerId: number,
    findings: readonly Finding[],
    requestId: string,
  ): Promise<Map<string, Repaired> | undefined> {
    const lockRow = findings.find(({ rule }) => rule === 'owner_row')
    try {
      if (lockRow !== undefined)
        await this.transactions.write(async (transaction) => this.store.ensureOwners(transaction, [ownerId]))
      const done = await this.transactions.write(async (transaction) => this.mend(transaction, ownerId, requestId))
      return lockRow === undefined ? done : done.set(nameOf(lockRow), lockRow.remains === true ? 'left' : 'mended')
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error.fault !== 'conflict') throw error
      return undefined
    }
  }

  private async mend(transaction: Transaction, ownerId: number, requestId: string): Promise<Map<string, Repaired>> {
    const done = new Map<string, Repaired>()
    const locked = await this.store.lockOwners(transaction, [ownerId])
    const mended: Mended[] = []
    for (const finding of await this.owners.examine(transaction, [ownerId])) {
      const mend = locked.length === 0 ? undefined : finding.mend
      if (mend !== undefined) mended.push(...(await mend(transaction)))
      done.set(nameOf(finding), mend === undefined || finding.remains === true ? 'left' : 'mended')
    }
    const changes = mended.map(({ quotaId, before, after }) => ({
      quotaId,
      ownerId,
      groupId: groupOf(ownerId) ?? null,
      action: 'reset' as const,
      actor: VERIFY,
      requestId,
      at: this.clock.now(),
      before: storedJson(before),
      after: storedJson(after),
    }))
    for (const { sql, values } of this.store.change.inserts(changes, transaction))
      await transaction.execute(sql, values)
    // A concurrent batch on another node of a cluster then fails.
    if (mended.length > 0) await this.store.touchOwners(transaction, [ownerId])
    return done
  }
}

/** Formats a finding as one line. */
export function findingLine(channel: string, { rule, where, expected, found, note }: Finding): string {
  return `${note === true ? 'note: ' : ''}${channel} ${rule}: ${where}: expected ${expected}; found ${found}`
}

/** Identifies a finding independently of its current numbers. */
function nameOf({ rule, where, expected }: Finding): string {
  return rule === 'counters' || rule === 'totals' ? `${rule} ${where}` : `${rule} ${where} ${expected}`
}
