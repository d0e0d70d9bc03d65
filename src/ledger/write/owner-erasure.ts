import type { DataSource, ObjectLiteral } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { BEFORE_EVERY_ID, bytesFromStore, bytesToStore } from '../../database/bytes.js'
import { chunks, type Condition, placeholders, type RowCodec, type Scalar } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { OIDC_PREFIX } from '../../common/principal-name.js'
import type { Instant } from '../../common/instant.js'
import { firstIdAt, instantOfId } from '../rows/act-id.js'
import { type ActRow, requestColumns } from '../rows/act.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { ERASED, withoutTexts } from '../rows/erased.js'
import type { EventRow } from '../rows/event.entity.js'
import { groupOf } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { hashRequest } from '../store/command.js'
import { LedgerStore } from '../store/ledger-store.js'
import { eventOfChange } from '../store/new-event.js'
import { WorkingSet } from '../store/working-set.js'
import type { MembersChanged } from './group-acts.js'
import { IdSource } from './id-source.js'

/** The actor of erasures in acts and changes. */
export const ERASER = 'erase'

/** The maximum number of rows that one step rewrites: the owner stays locked meanwhile. */
export const ERASED_AT_ONCE = 200
/** The number of acts that one step reads. On SQLite, a statement blocks the event loop. */
const ACTS_READ = { mysql: 5_000, sqlite: 500 } as const
/** Ids of acts may be later than the times of the acts by this, in milliseconds. */
const MAX_SKEW_MS = 10 * 60_000

/** What one step did. */
export interface ErasureStep {
  /** The name of the rows: `acts`. */
  readonly what: string
  readonly read: number
  readonly erased: number
}

/** A row's key, and the values to write. */
export type Rewritten<T> = readonly [key: Partial<T>, values: Partial<T>]

/**
 * Makes the texts of one owner in a channel's ledger unreadable (contract, §15): labels, keys, request ids, and names
 * of actors that are the owner's id. Amounts and times stay. It erases what was committed before it began; its records
 * are an act and a change of their own.
 *
 * Every step is correct on its own and may be repeated, so that an interrupted erasure is begun again. Rows of the
 * owner are written under its lock.
 */
export class OwnerErasure<Q extends QuotaRow> {
  /** The names of principals that are the owner: its id, as the name of a token or of the identity provider. */
  readonly names: ReadonlySet<string>
  readonly store: LedgerStore<Q>
  private readonly ids: IdSource
  private isRecorded = false

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    readonly ownerId: number,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.ids = new IdSource(clock)
    this.names = new Set([String(ownerId), `${OIDC_PREFIX}${ownerId}`])
  }

  /** Has the ledger rows of the owner? */
  async isKnown(): Promise<boolean> {
    const [ownerIds, { store }] = [[this.ownerId], this]
    return this.transactions.read(
      async (transaction) =>
        (await store.existingOwnerIds(transaction, ownerIds)).length > 0 ||
        (await store.ownersWithQuotas(transaction, ownerIds)).length > 0,
    )
  }

  /** Yields after each step. */
  async *run(): AsyncGenerator<ErasureStep> {
    const until = yield* this.labels()
    yield* this.acts(until)
    for (const by of ['ownerId', 'action', 'actor'] as const) yield* this.changes(by, until)
    yield* this.events(until)
    yield* this.callers()
  }

  /** Erases labels of quotas. @returns its time, under the lock: acts of the owner that are not later are committed */
  async *labels(): AsyncGenerator<ErasureStep, Instant> {
    await this.transactions.write((transaction) => this.store.ensureOwners(transaction, [this.ownerId]))
    let step = await this.begin(!this.isRecorded)
    const { at } = step
    this.isRecorded = true
    yield step
    while (step.erased === ERASED_AT_ONCE) yield (step = await this.begin(false))
    return at
  }

  /**
   * Erases labels of some quotas, deleted ones included; each is an edit of the quota. The first time, it records the
   * erasure and ends the owner's links.
   */
  private async begin(isFirst: boolean): Promise<ErasureStep & { at: Instant }> {
    const { store, ownerId } = this
    const { quota } = store
    let id = this.ids.next()
    let attempt: (ErasureStep & { at: Instant }) | undefined
    return this.transactions.write(async (transaction) => {
      const { dialect } = transaction
      await store.lockOwners(transaction, [ownerId])
      // Committed by an earlier attempt, whose COMMIT lost its answer.
      if (attempt !== undefined && (await store.actsById(transaction, [id])).length > 0) return attempt
      const gate = store.keptGate(dialect)
      const [row] = await transaction.rows(gate.sql, gate.values)
      const closedTo = row === undefined ? '' : store.gate.decode(row).closedTo
      if (id <= closedTo) {
        this.ids.keepAfter(instantOfId(closedTo))
        id = this.ids.next()
      }
      const at = this.clock.now()
      // The label of a member's count is that of the group's quota, unless it is overridden.
      const part = quota.part(['id', 'groupId', 'cycleEndsAt', 'expireAt'])
      const rows = await transaction.rows(
        `SELECT ${part.columns} FROM ${quota.readBy(dialect, ['ownerId', 'deletedAt', 'id'])} ` +
          `WHERE ${quota.column('ownerId')} = ? AND ${quota.column('label')} IS NOT NULL ` +
          `AND (${quota.column('follows')} IS NULL OR ${quota.column('overrides')} LIKE '%label%') ORDER BY ${quota.column('id')} LIMIT ${ERASED_AT_ONCE}`,
        [ownerId],
      )
      const labelled = rows.map((one) => part.decode(one))
      const workingSet = new WorkingSet<Q>(at)
      const record = { ownerId, action: 'erase', actor: ERASER, actorName: null, requestId: `erase-${id}`, at } as const
      const none = { before: storedJson({}), changeSetId: null }
      if (isFirst) workingSet.changes.push({ ...record, ...none, quotaId: null, groupId: null, after: storedJson({}) })
      for (const { id: quotaId, groupId, ...quota } of labelled) {
        const change = { ...record, ...none, quotaId, groupId, after: storedJson({ label: null }) }
        workingSet.changes.push(change)
        workingSet.events.push(eventOfChange(this.channel, id, change, { ...quota, label: null }))
      }
      if (workingSet.changes.length > 0) this.recordAct(workingSet, id)
      await store.write(transaction, workingSet, () => this.ids.next())
      const ids = labelled.map((one) => one.id)
      if (ids.length > 0) {
        const version = quota.column('version')
        await transaction.later(
          `UPDATE ${quota.table} SET ${quota.column('label')} = NULL, ${quota.column('labelSearch')} = NULL, ${version} = ${version} + 1, ` +
            `${quota.column('updatedAt')} = ? WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
          [quota.bind('updatedAt', at), ...ids],
        )
      }
      if (isFirst) await store.revokeLinks(transaction, ownerId)
      await store.touchOwners(transaction, [ownerId])
      return (attempt = { what: 'labels', read: ids.length, erased: ids.length, at })
    })
  }

  private recordAct(workingSet: WorkingSet<Q>, id: string): void {
    workingSet.record({
      id,
      kind: 'erase',
      ownerId: this.ownerId,
      quotaId: null,
      operationId: null,
      caller: ERASER,
      callerName: null,
      callerId: null,
      idempotencyKey: null,
      deduplicationKey: null,
      requestHash: null,
      amount: null,
      defaultAmount: null,
      answer: '',
      requestId: `erase-${id}`,
      at: workingSet.now,
    })
  }

  /** No index leads from an owner to all of its acts, nor from a caller to any: all acts are read. */
  private async *acts(until: Instant): AsyncGenerator<ErasureStep> {
    const { act } = this.store
    const { dialect } = this.transactions
    const [id, from] = [act.column('id'), act.readByKey(dialect)]
    const before = bytesToStore(firstIdAt(until + MAX_SKEW_MS))
    const theirs = [...this.names]
    for (let [after, read] = [bytesToStore(BEFORE_EVERY_ID), Infinity]; read >= ACTS_READ[dialect];) {
      const rewritten = await this.transactions.read(async (transaction) => {
        const [end] = await transaction.rows(
          `SELECT COUNT(*) AS n, MAX(id) AS last FROM (SELECT ${id} AS id FROM ${from} WHERE ${id} > ? AND ${id} < ? ORDER BY ${id} LIMIT ${ACTS_READ[dialect]}) page`,
          [after, before],
        )
        read = Number(end?.['n'])
        if (read === 0) return []
        const last = bytesFromStore(end?.['last'])
        const rows = await transaction.rows(
          `SELECT ${act.columns} FROM ${from} WHERE ${id} > ? AND ${id} <= ? AND ${act.column('at')} <= ? AND ${act.column('kind')} <> 'erase' ` +
            `AND (${act.column('ownerId')} = ? OR ${act.column('kind')} = 'members' OR ${act.column('caller')} IN (${placeholders(theirs)}))`,
          [after, last, act.bind('at', until), this.ownerId, ...theirs],
        )
        after = last
        return rows.map((row): Rewritten<ActRow> => this.actWithout(act.decode(row)))
      })
      yield* this.rewrite('acts', act, rewritten, read)
    }
  }

  private actWithout(row: ActRow): Rewritten<ActRow> {
    const { id, kind, caller, idempotencyKey, answer } = row
    const ofOwner = row.ownerId === this.ownerId || this.isMembershipAct(row)
    return [
      { id },
      differing(row, {
        ...(this.names.has(caller) ? { caller: ERASED } : {}),
        ...(ofOwner ? { ...requestColumns(ERASED), answer: withoutTexts(answer, this.names) } : {}),
        ...(ofOwner && idempotencyKey !== null
          ? { idempotencyKey: null, deduplicationKey: null, requestHash: null }
          : {}),
        // It contains the label.
        ...(ofOwner && kind === 'create' ? { requestHash: null } : {}),
      }),
    ]
  }

  /** Is it an act on the members of a group that named this owner alone? It is an act of the group. */
  private isMembershipAct({ kind, ownerId, requestHash }: ActRow): boolean {
    const groupId = kind === 'members' ? groupOf(ownerId) : undefined
    if (groupId === undefined) return false
    const named = { kind: 'members', groupId, ownerIds: [this.ownerId] } as const
    return (['add', 'remove'] as const).some((action) => requestHash === hashRequest({ ...named, action }, ownerId))
  }

  /** Changes of the owner, those of groups' members, then those that it made of others, with their events. */
  private async *changes(by: 'ownerId' | 'action' | 'actor', until: Instant): AsyncGenerator<ErasureStep> {
    const { change } = this.store
    const [id, column] = [change.column('id'), change.column(by)]
    for (const value of { ownerId: [this.ownerId], action: ['members'], actor: this.names }[by]) {
      for (let [after, read] = [0, Infinity]; read >= ERASED_AT_ONCE;) {
        const rows = await this.transactions.read(async (transaction) =>
          transaction.rows(
            `SELECT ${change.columns} FROM ${change.readBy(transaction.dialect, [by, 'id'])} WHERE ${column} = ? AND ${id} > ? ORDER BY ${id} LIMIT ${ERASED_AT_ONCE}`,
            [value, after],
          ),
        )
        const found = rows.map((row) => change.decode(row))
        ;[after, read] = [found.at(-1)?.id ?? 0, found.length]
        const old = found.filter(({ at, action }) => at <= until && action !== 'erase')
        yield* this.rewrite(
          'changes',
          change,
          old.map((row) => this.changeWithout(row)),
          read,
        )
        if (by === 'actor') yield* this.eventsOf(old)
      }
    }
  }

  private changeWithout(row: ChangeRow): Rewritten<ChangeRow> {
    const { id, actor, before, after } = row
    const texts = {
      requestId: ERASED,
      before: withoutTexts(before, this.names),
      after: withoutTexts(after, this.names),
    }
    return [
      { id },
      differing(row, {
        ...(this.names.has(actor) ? { actor: ERASED } : {}),
        ...(row.ownerId === this.ownerId || isMembershipChange(row, this.ownerId) ? texts : {}),
      }),
    ]
  }

  /** Events of changes that the owner made of others' quotas. */
  private async *eventsOf(changes: readonly ChangeRow[]): AsyncGenerator<ErasureStep> {
    const quotaIds = [...new Set(changes.flatMap(({ quotaId }) => quotaId ?? []))]
    if (quotaIds.length === 0) return
    const { event } = this.store
    const changeIds = changes.map(({ id }) => id)
    const rows = await this.transactions.read(async (transaction) =>
      transaction.rows(
        `SELECT ${event.columns} FROM ${event.readBy(transaction.dialect, ['quotaId', 'position'])} WHERE ${event.column('quotaId')} IN (${placeholders(quotaIds)}) ` +
          `AND ${event.column('changeId')} IN (${placeholders(changeIds)})`,
        [...quotaIds, ...changeIds],
      ),
    )
    yield* this.rewrite(
      'events',
      event,
      rows.map((row): Rewritten<EventRow> => {
        const { seq, data } = event.decode(row)
        const parsed = JSON.parse(data) as { actor?: string }
        return [{ seq }, this.names.has(parsed.actor ?? '') ? { data: storedJson({ ...parsed, actor: ERASED }) } : {}]
      }),
      rows.length,
    )
  }

  /** Those without a position first: they get one at any time, greater than those that are read later. */
  private async *events(until: Instant): AsyncGenerator<ErasureStep> {
    const { event } = this.store
    const [ownerId, position, seq] = [event.column('ownerId'), event.column('position'), event.column('seq')]
    for (const [place, order] of [
      [`${position} IS NULL AND ${seq} > ?`, seq],
      [`${position} > ?`, position],
    ] as const) {
      for (let [after, read] = [0, Infinity]; read >= ERASED_AT_ONCE;) {
        const rows = await this.transactions.read(async (transaction) =>
          transaction.rows(
            `SELECT ${event.columns} FROM ${event.readBy(transaction.dialect, ['ownerId', 'position'])} WHERE ${ownerId} = ? AND ${place} ORDER BY ${order} LIMIT ${ERASED_AT_ONCE}`,
            [this.ownerId, after],
          ),
        )
        const found = rows.map((row) => event.decode(row))
        const last = found.at(-1)
        ;[after, read] = [(order === seq ? last?.seq : last?.position) ?? 0, found.length]
        const rewritten = found
          .filter(({ at }) => at <= until)
          .map((row): Rewritten<EventRow> => [
            { seq: row.seq },
            differing(row, { data: withoutTexts(row.data, this.names), label: null }),
          ])
        yield* this.rewrite('events', event, rewritten, read)
      }
    }
  }

  /** The owner as a principal: that it has spent, and whom it brought in through the default group. */
  private async *callers(): AsyncGenerator<ErasureStep> {
    const { caller, owner } = this.store
    const [id, by, ownerId] = [caller.column('id'), owner.column('broughtBy'), owner.column('ownerId')]
    const [isIt, hasItsName] = [this.isNamed(caller, 'c', 'id'), this.isNamed(caller, 'c', 'name')]
    const known = await this.transactions.read(async (transaction) =>
      transaction.rows(`SELECT c.${id} AS id FROM ${caller.table} c WHERE ${isIt.sql} OR ${hasItsName.sql}`, [
        ...isIt.values,
        ...hasItsName.values,
      ]),
    )
    const ids = known.map((row) => String(row['id']))
    if (ids.length > 0)
      await this.transactions.write((transaction) =>
        transaction.execute(`DELETE FROM ${caller.table} WHERE ${id} IN (${placeholders(ids)})`, ids),
      )
    yield { what: 'callers', read: ids.length, erased: ids.length }
    const isBrought = this.isNamed(owner, 'o', 'broughtBy')
    for (let read = Infinity; read >= ERASED_AT_ONCE;) {
      const rows = await this.transactions.read(async (transaction) =>
        transaction.rows(
          `SELECT o.${ownerId} AS id FROM ${owner.readBy(transaction.dialect, ['broughtBy', 'broughtAt'], 'o')} WHERE ${isBrought.sql} LIMIT ${ERASED_AT_ONCE}`,
          isBrought.values,
        ),
      )
      const ownerIds = rows.map((row) => Number(row['id']))
      read = ownerIds.length
      if (read > 0)
        await this.transactions.write(async (transaction) => {
          await this.store.lockOwners(transaction, ownerIds)
          await transaction.execute(
            `UPDATE ${owner.table} SET ${by} = NULL WHERE ${ownerId} IN (${placeholders(ownerIds)})`,
            ownerIds,
          )
        })
      yield { what: 'owners', read, erased: read }
    }
  }

  /** The condition that a column is one of the owner's names, compared by bytes. */
  private isNamed<T extends ObjectLiteral>(codec: RowCodec<T>, alias: string, property: keyof T & string): Condition {
    const { dialect } = this.transactions
    const conditions = [...this.names].map((name) => codec.equals(dialect, alias, property, name))
    return {
      sql: `(${conditions.map(({ sql }) => sql).join(' OR ')})`,
      values: conditions.flatMap(({ values }) => values),
    }
  }

  /** Writes rows under the owner's lock, in steps. */
  private async *rewrite<T extends ObjectLiteral>(
    what: string,
    codec: RowCodec<T>,
    rows: readonly Rewritten<T>[],
    read: number,
  ): AsyncGenerator<ErasureStep> {
    const changed = rows.filter(([, values]) => Object.keys(values).length > 0)
    for (const part of chunks(changed, ERASED_AT_ONCE)) {
      await this.transactions.write(async (transaction) => {
        await this.store.lockOwners(transaction, [this.ownerId])
        await rewriteRows(transaction, codec, part)
        // A batch of the owner on another node of a cluster then fails, and reads again.
        if (transaction.clustered) await this.store.touchOwners(transaction, [this.ownerId])
      })
      yield { what, read: 0, erased: part.length }
    }
    yield { what, read, erased: 0 }
  }
}

/** Is it a change of the membership of this owner alone? It is a change of the group. */
function isMembershipChange({ action, after }: ChangeRow, ownerId: number): boolean {
  if (action !== 'members') return false
  const { added = [], moved = [], removed = [] } = JSON.parse(after) as MembersChanged
  return [...added, ...moved.map(([member]) => member), ...removed].every((member) => member === ownerId)
}

/** The values that differ from those of a row. */
export function differing<T extends object>(row: T, values: Partial<T>): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== row[name as keyof T]),
  ) as Partial<T>
}

/** Writes values of rows, each by its key. */
export async function rewriteRows<T extends ObjectLiteral>(
  transaction: Transaction,
  codec: RowCodec<T>,
  rows: readonly Rewritten<T>[],
): Promise<void> {
  for (const [key, values] of rows) {
    const assigned = (part: Partial<T>, separator: string): string =>
      Object.keys(part)
        .map((name) => `${codec.column(name)} = ?`)
        .join(separator)
    const bound = (part: Partial<T>): Scalar[] => Object.entries(part).map(([name, value]) => codec.bind(name, value))
    await transaction.later(`UPDATE ${codec.table} SET ${assigned(values, ', ')} WHERE ${assigned(key, ' AND ')}`, [
      ...bound(values),
      ...bound(key),
    ])
  }
}
