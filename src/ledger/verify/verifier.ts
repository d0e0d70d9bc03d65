import type { DataSource } from 'typeorm'
import type { Clock } from '../../clock/clock.js'
import { StoreUnavailable, type Transaction, type TransactionRunner } from '../../database/transaction-runner.js'
import type { Channel } from '../rows/channel.js'
import { groupBy } from '../rows/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { LedgerStore } from '../store/ledger-store.js'
import { ActCheck, missingKeyIndex } from './verify-acts.js'
import { ChangeCheck } from './verify-changes.js'
import { type Check, type Finding, insert, type Mended, type Rule, type Subject } from './verify-check.js'
import { OperationCheck } from './verify-operations.js'
import { QuotaCheck, VERIFY } from './verify-quotas.js'
import { WatermarkCheck } from './verify-watermark.js'

/** The result of one page. */
export interface Page {
  /** The name of the subjects: `operations`. */
  readonly what: string
  /** The number of subjects. */
  readonly count: number
  readonly findings: readonly Finding[]
}

/**
 * The outcome of a repair: mended; gone before the repair; or left, since the right value is unknown or the owner stays
 * locked.
 */
export type Repaired = 'mended' | 'gone' | 'left'

/** Verifies and repairs all rows of a channel. */
export interface Verification {
  readonly channel: string
  /**
   * Verifies all rows, page by page. Each page reads one snapshot and locks nothing. The consumer sets the pace.
   * @param signal aborts before the next statement, with an error
   */
  pages(signal?: AbortSignal): AsyncGenerator<Page>
  /** The same in parts that may run concurrently, if nothing is repaired. */
  parts(signal?: AbortSignal): readonly AsyncGenerator<Page>[]
  /** Returns the approximate numbers of rows, by the name of the subjects. */
  sizes(): Promise<Record<string, number>>
  /** Repairs the findings of a page whose right values can be derived. @returns the outcome of each */
  repair(findings: readonly Finding[], requestId: string): Promise<Map<Finding, Repaired>>
}

/** Rules about the sums of an owner's ledger. */
const OF_SUMS: readonly Rule[] = ['counters', 'totals']

/** Rules about the ledger itself. If such a finding remains, the owner's counters are not lowered. */
const OF_THE_LEDGER: readonly Rule[] = [
  'operation_act',
  'operation_missing',
  'operation_state',
  'settled_once',
  'allocations',
  'act',
  'plain_consume',
  'key',
]

/** The owner has no row to lock. */
class LockRowMissing extends Error {}

/**
 * Compares the rows of a channel with the ledger's invariants (src/ledger/README.md), on a store in use. Each page
 * reads one snapshot, so concurrent writes cause no findings.
 *
 * A repair takes the owner's lock, as every write does, and examines the rows again under it. Operations are repaired
 * before quotas: counters are derived from the repaired ledger, and not lowered if the ledger could not be repaired.
 */
export class Verifier<Q extends QuotaRow> implements Verification {
  readonly channel: string
  private readonly store: LedgerStore<Q>
  /** Checked first: the marks determine which acts the totals contain. */
  private readonly marks: WatermarkCheck<Q>
  private readonly checks: readonly Check[]
  /** Owners whose ledger could not be repaired. */
  private readonly unrepaired = new Set<number>()

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.channel = channel.name
    this.store = new LedgerStore(dataSource, channel)
    this.marks = new WatermarkCheck(this.store, clock)
    this.checks = [
      new ActCheck(this.store),
      new OperationCheck(this.store),
      new ChangeCheck(this.store),
      new QuotaCheck(this.store, clock),
    ]
  }

  async *pages(signal?: AbortSignal): AsyncGenerator<Page> {
    for (const part of this.parts(signal)) yield* part
  }

  parts(signal?: AbortSignal): readonly AsyncGenerator<Page>[] {
    // Operations precede owners (see the class). Each part has about half of the work.
    const { checks } = this
    return [
      this.pagesOf(checks.slice(0, -1), signal, async () => this.ofTables(signal)),
      this.pagesOf(checks.slice(-1), signal),
    ]
  }

  async sizes(): Promise<Record<string, number>> {
    const { act, operation, change, owner } = this.store
    const tables = { acts: act.table, operations: operation.table, changes: change.table, owners: owner.table }
    const sizes: Record<string, number> = {}
    for (const [what, table] of Object.entries(tables)) {
      const [row] = await this.transactions.read(async (transaction) =>
        transaction.dialect === 'mysql'
          ? transaction.rows(
              'SELECT table_rows AS n FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?',
              [table.replaceAll('`', '')],
            )
          : transaction.rows(`SELECT COUNT(*) AS n FROM ${table}`),
      )
      sizes[what] = Number(row?.['n'] ?? 0)
    }
    return sizes
  }

  private async ofTables(signal?: AbortSignal): Promise<Page[]> {
    const findings = [
      ...(await this.look(signal, async (transaction) => missingKeyIndex(transaction, this.store))),
      ...(await this.look(signal, async (transaction) => this.marks.examine(transaction))),
    ]
    return findings.length === 0 ? [] : [{ what: this.marks.what, count: 1, findings }]
  }

  private async *pagesOf(
    checks: readonly Check[],
    signal?: AbortSignal,
    first: () => Promise<Page[]> = async () => Promise.resolve([]),
  ): AsyncGenerator<Page> {
    yield* await first()
    for (const check of checks) {
      for (let after: Subject | undefined; ;) {
        const from = after
        const { count, last, findings } = await this.look(signal, async (transaction) => {
          const page = await check.next(transaction, from)
          const found: Finding[] = []
          for (let start = 0; start < page.suspects.length; start += check.size)
            found.push(...(await check.examine(transaction, page.suspects.slice(start, start + check.size))))
          return { ...page, findings: found }
        })
        if (count > 0) yield { what: check.what, count, findings }
        if (last === undefined) break
        after = last
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

  async repair(findings: readonly Finding[], requestId: string): Promise<Map<Finding, Repaired>> {
    const repaired = new Map<Finding, Repaired>()
    const mendable = findings.filter(({ mend, raise }) => (mend ?? raise) !== undefined)
    for (const finding of findings) if (!mendable.includes(finding)) repaired.set(finding, 'left')
    for (const [subject, own] of groupBy(mendable, (finding) => finding.subject)) {
      const after = await this.repairSubject(subject, own, requestId)
      for (const finding of own) repaired.set(finding, after.get(nameOf(finding)) ?? 'gone')
    }
    for (const [{ rule, ownerId }, outcome] of repaired) {
      if (outcome === 'left' && ownerId !== null && OF_THE_LEDGER.includes(rule)) this.unrepaired.add(ownerId)
    }
    return repaired
  }

  /** @returns the outcome of each finding under the lock, by its name */
  private async repairSubject(
    subject: Subject,
    findings: readonly Finding[],
    requestId: string,
  ): Promise<Map<string, Repaired>> {
    const ownerId = findings[0]?.ownerId ?? null
    const check = this.checkOf(findings)
    const made = new Map<string, Repaired>()
    for (;;) {
      try {
        const done = await this.transactions.write(async (transaction) =>
          this.mend(transaction, check, subject, ownerId, requestId),
        )
        return new Map([...made, ...done])
      } catch (error) {
        if (error instanceof LockRowMissing && ownerId !== null) {
          await this.transactions.write(async (transaction) => this.store.ensureOwners(transaction, [ownerId]))
          for (const finding of findings) if (finding.rule === 'owner_row') made.set(nameOf(finding), 'mended')
        } else if (error instanceof StoreUnavailable && error.fault === 'conflict') {
          // Another transaction keeps the owner's row locked.
          return new Map(findings.map((finding) => [nameOf(finding), 'left']))
        } else throw error
      }
    }
  }

  private checkOf(findings: readonly Finding[]): Check {
    const [first] = findings
    const check = [this.marks, ...this.checks].find((one) => one.rules.some((rule) => rule === first?.rule))
    if (check === undefined) throw new Error(`no check for rule ${String(first?.rule)}`)
    return check
  }

  private async mend(
    transaction: Transaction,
    check: Check,
    subject: Subject,
    ownerId: number | null,
    requestId: string,
  ): Promise<Map<string, Repaired>> {
    if (ownerId !== null) {
      const locked = await this.store.lockOwners(transaction, [ownerId])
      if (locked.length === 0) throw new LockRowMissing()
    }
    const done = new Map<string, Repaired>()
    const mended: Mended[] = []
    for (const finding of await check.examine(transaction, [subject])) {
      const sure = finding.mend !== undefined && !(OF_SUMS.includes(finding.rule) && this.unrepaired.has(ownerId ?? 0))
      const mend = sure ? finding.mend : finding.raise
      if (mend !== undefined) mended.push(...(await mend(transaction)))
      done.set(nameOf(finding), sure ? 'mended' : 'left')
    }
    const at = this.clock.now()
    await insert(
      transaction,
      this.store.change,
      mended.map(({ quotaId, ownerId: owner, before, after }) => ({
        quotaId,
        ownerId: owner,
        action: 'reset' as const,
        actor: VERIFY,
        requestId,
        at,
        before: storedJson(before),
        after: storedJson(after),
      })),
    )
    // A concurrent batch on another node of a cluster then fails.
    if (ownerId !== null && done.size > 0) await this.store.touchOwners(transaction, [ownerId])
    return done
  }
}

/** Formats a finding as one line. */
export function findingLine(channel: string, { rule, where, expected, found, note }: Finding): string {
  return `${note === true ? 'note: ' : ''}${channel} ${rule}: ${where}: expected ${expected}; found ${found}`
}

/** Identifies a finding independently of its current numbers. */
function nameOf({ rule, where, expected }: Finding): string {
  return rule === 'counters' ? `${rule} ${where}` : `${rule} ${where} ${expected}`
}
