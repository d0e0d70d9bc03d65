import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import { StoreUnavailable, type Transaction, type UnitOfWork } from '../database/unit-of-work.js'
import type { Channel } from './channel.js'
import { grouped } from './grouped.js'
import type { QuotaRow } from './quota.entity.js'
import { LedgerStore } from './store.js'
import { storedJson } from './stored-json.js'
import { ActCheck, missingKeyIndex } from './verify-acts.js'
import { ChangeCheck } from './verify-changes.js'
import { type Check, type Finding, insert, type Mended, type Rule, type Subject } from './verify-check.js'
import { OperationCheck } from './verify-operations.js'
import { QuotaCheck, VERIFY } from './verify-quotas.js'

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
  /** Mends the findings of a page where that can be derived. @returns what became of each */
  repair(findings: readonly Finding[], requestId: string): Promise<Map<Finding, Repaired>>
}

/** What leaves nothing to count by, where it cannot be mended: counters are then the better witness. */
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
    this.checks = [
      new ActCheck(this.store),
      new OperationCheck(this.store),
      new ChangeCheck(this.store),
      new QuotaCheck(this.store),
    ]
  }

  async *pages(signal?: AbortSignal): AsyncGenerator<Page> {
    const index = await this.look(signal, async (transaction) => missingKeyIndex(transaction, this.store))
    if (index.length > 0) yield { what: 'tables', count: 1, findings: index }
    for (const check of this.checks) {
      for (let after: Subject | undefined; ;) {
        const from = after
        const { subjects, findings } = await this.look(signal, async (transaction) => {
          const next = await check.next(transaction, from)
          return { subjects: next, findings: next.length === 0 ? [] : await check.examine(transaction, next) }
        })
        if (subjects.length > 0) yield { what: check.what, count: subjects.length, findings }
        if (subjects.length < check.size) break
        after = subjects.at(-1)
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
    for (const finding of findings) if (finding.mend === undefined) repaired.set(finding, 'left')
    const mendable = findings.filter(({ mend }) => mend !== undefined)
    for (const [subject, own] of grouped(mendable, (finding) => finding.subject)) {
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
    const check = this.checks.find((one) => one.rules.some((rule) => rule === first?.rule))
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
      const mend = finding.rule === 'counters' && this.doubtful.has(ownerId ?? 0) ? undefined : finding.mend
      if (mend !== undefined) mended.push(...(await mend(transaction)))
      done.set(nameOf(finding), mend === undefined ? 'left' : 'mended')
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
