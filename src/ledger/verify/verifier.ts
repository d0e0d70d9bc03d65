import type { DataSource } from 'typeorm'
import type { Clock } from '../../clock/clock.js'
import { StoreUnavailable, type Transaction, type UnitOfWork } from '../../database/unit-of-work.js'
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

/** What a page showed. */
export interface Page {
  /** What was looked at, as the check calls it: `operations`. */
  readonly what: string
  /** How many of them. */
  readonly count: number
  readonly findings: readonly Finding[]
}

/**
 * What became of a finding: mended; gone before anything was done; or left, since nothing says what would be right or
 * its owner stays locked.
 */
export type Repaired = 'mended' | 'gone' | 'left'

/** Looks at all rows of a channel, and repairs. */
export interface Verification {
  readonly channel: string
  /**
   * Everything there is, page by page; each sees one moment and locks nothing. Whoever asks for the next one sets the
   * pace.
   * @param signal ends it before its next statement, with an error
   */
  pages(signal?: AbortSignal): AsyncGenerator<Page>
  /** The same in parts that may be read at the same time, where nothing is repaired. */
  parts(signal?: AbortSignal): readonly AsyncGenerator<Page>[]
  /** About how many rows there are, by what a page calls them. */
  sizes(): Promise<Record<string, number>>
  /** Mends the findings of a page where that can be derived. @returns what became of each */
  repair(findings: readonly Finding[], requestId: string): Promise<Map<Finding, Repaired>>
}

/** What adding up an owner's ledger says. */
const OF_SUMS: readonly Rule[] = ['counters', 'totals']

/** What leaves nothing to count by, where it cannot be mended: no counter is lowered then. */
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

/** An owner has no row to be locked. */
class LockRowMissing extends Error {}

/**
 * Holds the rows of a channel against the invariants of the ledger (src/ledger/README.md), on a store that is in use.
 * Whatever it sees it sees within one snapshot, so what others write meanwhile is never taken for a contradiction.
 *
 * A repair takes the owner's lock first, as every write does, and looks again under it. Operations come before quotas:
 * counters are mended by a ledger that is mended already, and not at all by one that could not be.
 */
export class Verifier<Q extends QuotaRow> implements Verification {
  readonly channel: string
  private readonly store: LedgerStore<Q>
  /** Marks come first: they say which acts the totals must hold. */
  private readonly marks: WatermarkCheck<Q>
  private readonly checks: readonly Check[]
  /** Owners whose ledger a repair had to leave wrong. */
  private readonly doubtful = new Set<number>()

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
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
    // Operations come before owners: see above. About half of the work is in each part.
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
      const [row] = await this.work.read(async (transaction) =>
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
          const stretch = await check.next(transaction, from)
          const found: Finding[] = []
          for (let start = 0; start < stretch.suspects.length; start += check.size)
            found.push(...(await check.examine(transaction, stretch.suspects.slice(start, start + check.size))))
          return { ...stretch, findings: found }
        })
        if (count > 0) yield { what: check.what, count, findings }
        if (last === undefined) break
        after = last
      }
    }
  }

  /** A page may take many statements; none of them is long. */
  private async look<T>(signal: AbortSignal | undefined, unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.work.snapshot(async (transaction) => {
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
      if (outcome === 'left' && ownerId !== null && OF_THE_LEDGER.includes(rule)) this.doubtful.add(ownerId)
    }
    return repaired
  }

  /** @returns what became of what was found under the lock, by its name */
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
        const done = await this.work.write(async (transaction) =>
          this.mend(transaction, check, subject, ownerId, requestId),
        )
        return new Map([...made, ...done])
      } catch (error) {
        if (error instanceof LockRowMissing && ownerId !== null) {
          await this.work.write(async (transaction) => this.store.ensureOwners(transaction, [ownerId]))
          for (const finding of findings) if (finding.rule === 'owner_row') made.set(nameOf(finding), 'mended')
        } else if (error instanceof StoreUnavailable && error.fault === 'conflict') {
          // Somebody keeps the owner's row locked.
          return new Map(findings.map((finding) => [nameOf(finding), 'left']))
        } else throw error
      }
    }
  }

  private checkOf(findings: readonly Finding[]): Check {
    const [first] = findings
    const check = [this.marks, ...this.checks].find((one) => one.rules.some((rule) => rule === first?.rule))
    if (check === undefined) throw new Error(`nobody looks for ${String(first?.rule)}`)
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
      const sure = finding.mend !== undefined && !(OF_SUMS.includes(finding.rule) && this.doubtful.has(ownerId ?? 0))
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
    // So that a batch on another node of a cluster collides with this.
    if (ownerId !== null && done.size > 0) await this.store.touchOwners(transaction, [ownerId])
    return done
  }
}

/** A finding as a person reads it, in one line. */
export function findingLine(channel: string, { rule, where, expected, found, note }: Finding): string {
  return `${note === true ? 'note: ' : ''}${channel} ${rule}: ${where}: expected ${expected}; found ${found}`
}

/** The same wrong in the same place, whatever the numbers have become. */
function nameOf({ rule, where, expected }: Finding): string {
  return rule === 'counters' ? `${rule} ${where}` : `${rule} ${where} ${expected}`
}
