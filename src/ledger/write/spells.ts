import type { Clock } from '../../common/clock.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import { placeholders } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import {
  dueAt,
  latestDue,
  type Refusals,
  type Spell,
  type SpellStage,
  toldBy,
  type Told,
  withRefusals,
} from '../../domain/spell.js'
import type { Instant } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { SpellRow } from '../rows/spell.entity.js'
import { GroupStore } from '../store/group-store.js'
import { type LedgerStore, LIVE_OF_OWNER, lockOf } from '../store/ledger-store.js'
import { eventOfSpell } from '../store/new-event.js'
import type { IdSource } from './id-source.js'

/** The interval between looks for what is due: an event is seen within 15 seconds (contract, §14). */
const EVERY_MS = 2_000
/** The maximum number of spells that one transaction tells. */
const STEP = 500

type Key = Pick<SpellRow, 'ownerId' | 'code'>

/** A stored spell. */
type Found = Spell & Pick<SpellRow, 'ownerId' | 'code' | 'dueAt'>

const nameOf = ({ ownerId, code }: Key): string => `${ownerId} ${code}`

/**
 * Tells when refusals of an owner begin, go on, and have ended (contract, §14). Each instance adds its counts to the
 * spells as it writes them, and looks for what is due by time. Any number of instances may do both: a spell has one
 * row, which is read under its lock and written with its events, so that one of them tells.
 */
export class Spells<Q extends QuotaRow> {
  private readonly groups: GroupStore<Q>

  constructor(
    channel: string,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly ids: IdSource,
  ) {
    this.groups = new GroupStore(store)
    new PeriodicTask(transactions, `${channel} spells`, EVERY_MS, async (signal) => this.tell(signal))
  }

  /** Adds counts, in the transaction that writes them: those of one owner and code in the order of their times. */
  async add(transaction: Transaction, counts: readonly (Key & Refusals)[]): Promise<void> {
    const { steady } = this.clock
    const now = this.clock.now()
    const found = await this.locked(transaction, counts)
    const told = new Map<string, Key & Told>()
    for (const { ownerId, code, ...refusals } of counts) {
      const name = nameOf({ ownerId, code })
      const before = told.get(name)
      const { spell, events } = withRefusals(before?.spell ?? found.get(name), refusals, now, steady)
      told.set(name, { ownerId, code, spell, events: [...(before?.events ?? []), ...events] })
    }
    await this.write(transaction, [...told.values()], found)
  }

  /** Tells everything that is due, step by step: in each, beginnings come before ends. */
  async tell(signal?: AbortSignal): Promise<void> {
    for (let more = true; more && signal?.aborted !== true;) {
      more = false
      // Whether a spell is over only time tells.
      for (const stage of this.clock.steady ? (['pending', 'told'] as const) : (['pending'] as const)) {
        const due = await this.due(stage)
        if (due.length > 0) await this.transactions.write(async (transaction) => this.step(transaction, due))
        more ||= due.length === STEP
      }
    }
  }

  private async due(stage: SpellStage): Promise<Key[]> {
    const { spell } = this.store
    const [key, due] = [spell.part(['ownerId', 'code']), spell.column('dueAt')]
    const now = this.clock.now()
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${key.columns} FROM ${spell.readBy(transaction.dialect, ['stage', 'dueAt'])} ` +
          `WHERE ${spell.column('stage')} = ? AND (${due} <= ? OR ${due} > ?) ORDER BY ${due} LIMIT ${STEP}`,
        [stage, spell.bind('dueAt', now), spell.bind('dueAt', latestDue(now))],
      ),
    )
    return rows.map((row) => key.decode(row))
  }

  private async step(transaction: Transaction, due: readonly Key[]): Promise<void> {
    const found = await this.locked(transaction, due)
    const { steady } = this.clock
    const now = this.clock.now()
    const told = due.flatMap((key) => {
      const row = found.get(nameOf(key))
      if (row === undefined) return []
      const { spell, events } = toldBy(row, now, steady)
      // Another instance may have told it; a time from a clock that was wrong is corrected.
      return events.length === 0 && dueAt(spell) === row.dueAt ? [] : [{ ...key, spell, events }]
    })
    await this.write(transaction, told, found)
  }

  /** The spells of these owners, locked in the order of their key. */
  private async locked(transaction: Transaction, keys: readonly Key[]): Promise<Map<string, Found>> {
    const { spell } = this.store
    const ids = ownersOf(keys)
    if (ids.length === 0) return new Map()
    const rows = await transaction.rows(
      `SELECT ${spell.columns} FROM ${spell.readByKey(transaction.dialect)} WHERE ${spell.column('ownerId')} IN (${placeholders(ids)}) ` +
        `ORDER BY ${spell.column('ownerId')}, ${spell.column('code')} ${lockOf(transaction.dialect, false)}`,
      ids,
    )
    return new Map(
      rows.map((found) => {
        const { next, ...row } = spell.decode(found)
        return [nameOf(row), { ...row, next: next === null ? null : (JSON.parse(next) as Refusals) }]
      }),
    )
  }

  private async write(
    transaction: Transaction,
    told: readonly (Key & Told)[],
    found: ReadonlyMap<string, Found>,
  ): Promise<void> {
    const { spell, event } = this.store
    const rows = told.map(({ ownerId, code, spell: one }) => ({
      ownerId,
      code,
      ...one,
      dueAt: dueAt(one),
      next: one.next === null ? null : JSON.stringify(one.next),
    }))
    const telling = told.filter(({ events }) => events.length > 0)
    if (telling.length > 0) {
      const ids = ownersOf(telling)
      const groupOf = await this.groups.groupsOf(transaction, ids)
      const now = this.clock.now()
      const labelOf = await this.labels(transaction, ids, now)
      await this.store.insert(
        transaction,
        event,
        telling.flatMap(({ ownerId, code, events }) =>
          events.map(({ type, spell: one }) => ({
            ...eventOfSpell(
              type,
              { ...one, ownerId, code },
              groupOf.get(ownerId) ?? null,
              labelOf.get(ownerId) ?? null,
              now,
            ),
            id: this.ids.next(),
          })),
        ),
      )
    }
    // Another instance may have made the row meanwhile: then the key fails, and all of this runs again.
    const isNew = (row: Key): boolean => !found.has(nameOf(row))
    await this.store.insert(transaction, spell, rows.filter(isNew))
    const known = rows.filter((row) => !isNew(row))
    const overwriting = spell.overwriting(transaction.dialect, ['ownerId', 'code'], spell.updated)
    for (const { sql, values } of spell.inserts(known, transaction)) await transaction.later(sql + overwriting, values)
  }

  /** The label of each owner's first live quota that has one. */
  private async labels(transaction: Transaction, ids: readonly number[], now: Instant): Promise<Map<number, string>> {
    const { quota } = this.store
    const [id, ownerId, label] = [quota.column('id'), quota.column('ownerId'), quota.column('label')]
    const live = this.store.live(now)
    const rows = await transaction.rows(
      `SELECT ${ownerId} AS owner_id, ${label} AS label FROM ${quota.table} WHERE ${id} IN (` +
        `SELECT MIN(${id}) FROM ${quota.readBy(transaction.dialect, LIVE_OF_OWNER)} WHERE ${ownerId} IN (${placeholders(ids)}) ` +
        `AND ${live.sql} AND ${label} IS NOT NULL GROUP BY ${ownerId})`,
      [...ids, ...live.values],
    )
    return new Map(rows.map((row) => [Number(row['owner_id']), String(row['label'])]))
  }
}

/** Different ones, ascending. */
function ownersOf(keys: readonly Key[]): number[] {
  return [...new Set(keys.map(({ ownerId }) => ownerId))].sort((a, b) => a - b)
}
