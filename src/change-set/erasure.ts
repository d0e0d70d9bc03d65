import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSource } from 'typeorm'
import type { Clock } from '../common/clock.js'
import { TEXT_SETTINGS } from '../domain/settings.js'
import { placeholders } from '../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import { ERASED, withoutTexts } from '../ledger/rows/erased.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import {
  differing,
  ERASED_AT_ONCE,
  type ErasureStep,
  OwnerErasure,
  type Rewritten,
  rewriteRows,
} from '../ledger/write/owner-erasure.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import { ChangeSetStore } from './change-set-store.js'
import { type ChangeSetRow, rowsIn } from './change-set.entity.js'
import { LEASE_MS } from './leased-change-set.js'

/** The number of change sets that one step reads. */
const SETS = 50

/** Where the owner occurs in a change set. */
interface Concerned {
  readonly id: number
  /** Does it concern nobody else? Then its own texts are the owner's. */
  readonly alone: boolean
  /** Are its rows removed? Then nothing tells whom it concerned, and its texts may be the owner's. */
  readonly cleared: boolean
}

/** Erases one owner: the labels of its quotas, the change sets of its channel, then the ledger (`OwnerErasure`). */
export class Erasure<Q extends QuotaRow> {
  private readonly store: ChangeSetStore
  private readonly ledger: OwnerErasure<Q>
  /** Is a change set that concerns the owner in work? */
  private interrupted = false

  constructor(
    private readonly kind: ChangeSetChannel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    clock: Clock,
    private readonly ownerId: number,
    private readonly pause: (milliseconds: number) => Promise<unknown> = sleep,
  ) {
    this.store = new ChangeSetStore(dataSource, kind)
    this.ledger = new OwnerErasure(kind.channel, dataSource, transactions, clock, ownerId)
  }

  /** Has the database rows of the owner? */
  async isKnown(): Promise<boolean> {
    if (await this.ledger.isKnown()) return true
    for await (const { sets } of this.pages()) if (sets.some(({ cleared }) => !cleared)) return true
    return false
  }

  /** Yields after each step. An erasure that was interrupted is begun again. */
  async *run(): AsyncGenerator<ErasureStep> {
    // First: a change set that is prepared later copies no label of a quota.
    yield* this.ledger.labels()
    // Rows of a change set that are applied later bring back what they contain.
    yield* this.changeSets()
    // Rows that were on their way to the engine have been applied by then, so that what follows finds them, labels too.
    if (this.interrupted) await this.pause(LEASE_MS)
    yield* this.ledger.run()
    // Whoever has worked on one meanwhile has copied changes that were not erased yet.
    yield* this.changeSets()
  }

  private async *changeSets(): AsyncGenerator<ErasureStep> {
    for await (const { read, sets } of this.pages()) {
      yield { what: 'change sets', read, erased: 0 }
      for (const set of sets) yield* this.rows(set)
    }
  }

  /** The change sets that concern the owner. */
  private async *pages(): AsyncGenerator<{ read: number; sets: Concerned[] }> {
    const { set, item } = this.store
    for (let [after, read] = [0, Infinity]; read >= SETS;) {
      // A rerun begins where the first attempt did.
      const from = after
      const sets = await this.transactions.read(async (transaction) => {
        const rows = await transaction.rows(
          `SELECT ${set.columns} FROM ${set.readByKey(transaction.dialect)} WHERE ${set.column('id')} > ? ORDER BY ${set.column('id')} LIMIT ${SETS}`,
          [from],
        )
        const found = rows.map((row) => set.decode(row))
        ;[after, read] = [found.at(-1)?.id ?? 0, rows.length]
        if (read === 0) return []
        const ids = found.map(({ id }) => id)
        const items = item.readBy(transaction.dialect, ['setId', 'ownerId', 'row'])
        const [setId, ownerId] = [item.column('setId'), item.column('ownerId')]
        const own = await transaction.rows(
          `SELECT DISTINCT ${setId} AS id FROM ${items} WHERE ${setId} IN (${placeholders(ids)}) AND ${ownerId} = ?`,
          [...ids, this.ownerId],
        )
        const alone = new Map<number, boolean>()
        for (const id of own.map((row) => Number(row['id']))) {
          const others = await transaction.rows(
            `SELECT 1 AS one FROM ${items} WHERE ${setId} = ? AND (${ownerId} IS NULL OR ${ownerId} < ? OR ${ownerId} > ?) LIMIT 1`,
            [id, this.ownerId, this.ownerId],
          )
          alone.set(id, others.length === 0)
        }
        return found.flatMap((one): Concerned[] => {
          const isAlone = alone.get(one.id) === true || this.isNamedBy(one)
          const principals = [one.actor, one.creatorId, one.actingName, one.actingId]
          const isMade = principals.some((name) => name !== null && this.ledger.names.has(name))
          if (isAlone || isMade || alone.has(one.id)) return [{ id: one.id, alone: isAlone, cleared: false }]
          return isCleared(one) && namesText(one) ? [{ id: one.id, alone: true, cleared: true }] : []
        })
      })
      yield { read, sets }
    }
  }

  /** Does the filter select the owner's quotas alone? */
  private isNamedBy({ filter }: ChangeSetRow): boolean {
    const named = JSON.parse(filter ?? '{}') as Record<string, unknown>
    return named[this.kind.channel.subjects[0].field] === this.ownerId
  }

  /** Erases a change set and the owner's rows. */
  private async *rows({ id, alone }: Concerned): AsyncGenerator<ErasureStep> {
    for (let [after, read] = [0, Infinity]; read >= ERASED_AT_ONCE;) {
      const from = after
      const erased = await this.transactions.write(async (transaction) => {
        const set = await this.store.lock(transaction, id)
        const items = set === undefined ? [] : await this.itemsAfter(transaction, id, from)
        ;[after, read] = [items.at(-1)?.row ?? 0, items.length]
        if (set === undefined) return { rows: 0, sets: 0 }
        // Also if an erasure that was interrupted has rewritten its rows: others may be on their way to the engine.
        this.interrupted ||= set.work !== null
        const changed = items.map((one) => this.itemWithout(set, one)).filter(([, values]) => !isEmpty(values))
        const values = this.setWithout(set, alone)
        await rewriteRows(transaction, this.store.item, changed)
        // Whoever works on it writes nothing more of what it has read, and begins its step again.
        const lease = set.work === null ? {} : { holder: null, heldUntil: null, attempts: 0 }
        if (!isEmpty({ ...values, ...lease })) await this.store.update(transaction, id, { ...values, ...lease })
        return { rows: changed.length, sets: isEmpty(values) ? 0 : 1 }
      })
      yield { what: 'change sets', read: 0, erased: erased.sets }
      yield { what: 'rows of change sets', read, erased: erased.rows }
    }
  }

  private async itemsAfter(transaction: Transaction, setId: number, after: number): Promise<ChangeSetItemRow[]> {
    const { item } = this.store
    const row = item.column('row')
    const rows = await transaction.rows(
      `SELECT ${item.columns} FROM ${item.readBy(transaction.dialect, ['setId', 'ownerId', 'row'])} ` +
        `WHERE ${item.column('setId')} = ? AND ${item.column('ownerId')} = ? AND ${row} > ? ORDER BY ${row} LIMIT ${ERASED_AT_ONCE}`,
      [setId, this.ownerId, after],
    )
    return rows.map((one) => item.decode(one))
  }

  private itemWithout({ columns }: ChangeSetRow, row: ChangeSetItemRow): Rewritten<ChangeSetItemRow> {
    const { setId, given } = row
    const without = (json: string | null): string | null => (json === null ? null : this.without(json))
    return [
      { setId, row: row.row },
      differing(row, {
        command: without(row.command),
        before: without(row.before),
        after: without(row.after),
        given: given === null ? null : storedJson(this.cellsWithout(columns, JSON.parse(given) as string[])),
      }),
    ]
  }

  /** Any cell may be a text, or a part of it, in a record that has another number of cells than the header. */
  private cellsWithout(columns: string | null, cells: readonly string[]): readonly string[] {
    const names = JSON.parse(columns ?? '[]') as string[]
    const owner = names.indexOf(this.kind.channel.subjects[0].field)
    const isWhole = cells.length === names.length
    return cells.map((cell, place) =>
      TEXT_SETTINGS.has(names[place] ?? '') || (!isWhole && place !== owner) ? '' : cell,
    )
  }

  private setWithout(set: ChangeSetRow, alone: boolean): Partial<ChangeSetRow> {
    const { names } = this.ledger
    const name = <T extends string | null>(one: T): T | typeof ERASED => (one !== null && names.has(one) ? ERASED : one)
    const { filter, change, actor, creatorId, actingName, actingId } = set
    const principals = {
      actor: name(actor),
      creatorId: name(creatorId),
      actingName: name(actingName),
      actingId: name(actingId),
    }
    const texts = alone
      ? {
          // A filter without its label would select everything.
          filter: filter === null ? null : labelErased(filter),
          change: change === null ? null : this.without(change),
          actingRequestId: set.actingRequestId === null ? null : ERASED,
        }
      : {}
    const replay = { deduplicationKey: randomUUID().replaceAll('-', ''), requestHash: null, answer: null }
    const ends = set.answer !== null && (alone || principals.creatorId === ERASED)
    return { ...differing(set, { ...principals, ...texts }), ...(ends ? replay : {}) }
  }

  private without(json: string): string {
    return withoutTexts(json, this.ledger.names)
  }
}

function labelErased(filter: string): string {
  const parsed = JSON.parse(filter) as Record<string, unknown>
  return 'label' in parsed ? storedJson({ ...parsed, label: ERASED }) : filter
}

/** Was it dropped, or did its preparation fail? */
function isCleared(set: ChangeSetRow): boolean {
  return set.state === 'dropped' || (set.state === 'failed' && rowsIn(set) === 0)
}

function namesText({ filter, change }: ChangeSetRow): boolean {
  return [filter, change].some((json) => [...TEXT_SETTINGS].some((name) => json?.includes(`"${name}"`)))
}

function isEmpty(values: object): boolean {
  return Object.keys(values).length === 0
}
