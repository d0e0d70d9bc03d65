import { hash, randomUUID } from 'node:crypto'
import type { Caller } from '../auth/caller.decorator.js'
import { subjectFilter } from '../channel-api/subjects.js'
import { filterOf, type QuotaListFields } from '../channel-api/quota.dto.js'
import { TimeSlice } from '../common/time-slice.js'
import type { Transaction } from '../database/transaction-runner.js'
import { ServiceError, validationFailed } from '../common/service-error.js'
import type { BodyStream } from '../http/body-stream.js'
import { DEFAULT_PAGE_SIZE } from '../http/field.decorator.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import { HOUR_MS, STEP_MS } from '../ledger/rows/utc-step.js'
import { deduplicationKeyFor, type Outcome as Answer } from '../ledger/store/command.js'
import { keyReused } from '../ledger/store/errors.js'
import { unicodeName, storedName } from '../common/principal-name.js'
import { ArrivingRows } from './arriving-rows.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetRunner } from './change-set-runner.js'
import type { ItemsWanted } from './change-set-store.js'
import {
  type ApplyDto,
  type ChangeSetsQuery,
  type NewChangeSetFields,
  requestedChangeOf,
  type RevertDto,
  type RowsCsvQuery,
  type RowsQuery,
} from './change-set.dto.js'
import { type ChangeSetRow, type Counts, NO_WORK, nextWork, noCounts, type Outcome } from './change-set.entity.js'
import { changeSetView, type ChangeSetView, itemView, type ItemView, type RowProblem } from './change-set.view.js'
import { checkColumns, recordColumns, rowColumns } from './csv-cells.js'
import { CsvMalformed, type CsvRecord, readCsv } from './csv-reader.js'
import { csvLines, exportedRecord, rowRecord } from './csv-rows.js'
import { type Dependencies, roomBeside, tooManyRows } from './preparer.js'

/** The number of rows per read of an export. */
const STEP = 200

/** How long a change set is kept after its creation: to be applied, or not; and an incomplete file. */
const KEPT_MS = { applied: 90 * STEP_MS.day, unapplied: 7 * STEP_MS.day, arriving: HOUR_MS }

/** A page of change sets, as answered. */
export interface ChangeSetsPage {
  readonly items: readonly ChangeSetView[]
  readonly next_before: number | null
}

/** A page of rows, as answered. */
export interface RowsPage {
  readonly items: readonly ItemView[]
  readonly next_after: number | null
}

/** The operations of callers on one channel's change sets. Every error is a ServiceError. */
export class ChangeSetService<Q extends QuotaRow> {
  constructor(
    private readonly dependencies: Dependencies<Q>,
    private readonly runner: ChangeSetRunner<Q>,
  ) {}

  /** Creates a change set from a filter; it is prepared in the background. */
  async create(caller: Caller, dto: NewChangeSetFields, key: string | undefined): Promise<Answer> {
    const { filter, change } = dto
    const requestHash = hash('sha256', canonical([filter, change]))
    const deduplicationKey = deduplicationKeyOf(caller, key)
    this.dependencies.keys.note(caller.id)
    const texts = { filter: storedJson(filter), change: storedJson(change) }
    let created: number | undefined
    const outcome = await this.dependencies.transactions.write(async (transaction) => {
      const meansTheSame = (set: ChangeSetRow): boolean =>
        set.source === 'filter' && meaningOf(set) === meaningOf(texts)
      const earlier = await this.earlier(transaction, deduplicationKey, requestHash, meansTheSame)
      // Created by an earlier attempt of this request, whose COMMIT lost its answer; or by another request.
      if (earlier !== undefined) return { ...earlier, replayed: earlier.subject !== created }
      await this.roomFor(transaction, caller)
      const row = this.newSet(caller, {
        source: 'filter',
        state: 'preparing',
        ...nextWork('prepare', this.dependencies.clock.now()),
        deduplicationKey,
        requestHash,
        ...texts,
      })
      created = await this.dependencies.store.insert(transaction, row)
      return this.answered(transaction, { ...row, id: created })
    })
    this.runner.wake()
    return outcome
  }

  /**
   * Creates a change set from a file. Stores the records as they arrive; after the last one, the change set is prepared
   * in the background.
   */
  async import(caller: Caller, body: BodyStream, key: string | undefined): Promise<Answer> {
    const { store, transactions, clock } = this.dependencies
    const deduplicationKey = deduplicationKeyOf(caller, key)
    this.dependencies.keys.note(caller.id)
    const room = await transactions.readsOf(caller.id).read(async (transaction) =>
      // An earlier answer is repeated after the whole file is compared.
      (await store.byKey(transaction, deduplicationKey)) === undefined ? this.roomFor(transaction, caller) : 0,
    )
    const records = readCsv(body.pieces())
    const columns = await headerOf(records)
    if (!(columns instanceof CsvMalformed)) checkColumns(this.dependencies.kind, columns)
    const row = this.newSet(caller, {
      source: 'import',
      state: 'arriving',
      hidden: 1,
      expiresAt: clock.now() + KEPT_MS.arriving,
      columns: columns instanceof CsvMalformed ? null : storedJson(columns),
    })
    const id = await transactions.write((transaction) => store.insert(transaction, row))
    try {
      const { problem, counts } =
        columns instanceof CsvMalformed
          ? { problem: malformed(columns), counts: noCounts() }
          : await this.receive(new ArrivingRows(this.dependencies, id, columns), records, room)
      await body.drain()
      const requestHash = body.digest()
      const outcome = await transactions.write(async (transaction) => {
        const earlier = await this.earlier(transaction, deduplicationKey, requestHash)
        if (earlier !== undefined) {
          // Created by an earlier attempt of this request, whose COMMIT lost its answer; or by another request, whose
          // rows these would repeat.
          if (earlier.subject === id) return { ...earlier, replayed: false }
          await store.update(transaction, id, { state: 'dropped', ...nextWork('clear', clock.now()) })
          return { ...earlier, replayed: true }
        }
        const { waitingRows } = await store.lockArriving(transaction, id)
        // Those of files that arrived at the same time are stored by now.
        const others = (await store.waitingRows(transaction, caller.id)) - waitingRows
        const late = tooManyRows(waitingRows, roomBeside(others))
        const arrived = {
          ...nextWork('prepare', clock.now()),
          state: 'preparing',
          hidden: 0,
          expiresAt: row.createdAt + KEPT_MS.unapplied,
          deduplicationKey,
          requestHash,
          problem: problem ?? (late === undefined ? null : storedJson(late)),
          ...counts,
        } as const
        await store.update(transaction, id, arrived)
        return this.answered(transaction, { ...row, ...arrived, id })
      })
      this.runner.wake()
      return outcome
    } catch (error) {
      await transactions.write(async (transaction) => {
        // After a COMMIT without an answer, it may have been created: then its key finds it.
        if ((await store.lock(transaction, id))?.state !== 'arriving') return
        await store.update(transaction, id, { state: 'dropped', ...nextWork('clear', clock.now()) })
      })
      throw error
    }
  }

  /** Returns a page of change sets, newest first. */
  async list({ id: principalId }: Caller, query: ChangeSetsQuery): Promise<ChangeSetsPage> {
    const { state, before, page_size: size = DEFAULT_PAGE_SIZE } = query
    const { store, transactions } = this.dependencies
    const sets = await transactions
      .readsOf(principalId)
      .read((transaction) => store.page(transaction, state, before, size + 1))
    const items = sets.slice(0, size).map(changeSetView)
    return { items, next_before: sets.length > size ? (items.at(-1)?.id ?? null) : null }
  }

  /** Returns one change set. */
  async get({ id: principalId }: Caller, id: number): Promise<ChangeSetView> {
    return changeSetView(await this.found(principalId, id))
  }

  /** Returns a page of a change set's rows, in order. */
  async rows({ id: principalId }: Caller, id: number, query: RowsQuery): Promise<RowsPage> {
    const set = await this.decided(principalId, id)
    const { outcome, after, labels, page_size: size = DEFAULT_PAGE_SIZE } = query
    const items = await this.items(principalId, set, { outcome, after, limit: size + 1 })
    const page = items.slice(0, size)
    const labelOf = labels === undefined ? undefined : await this.labels(principalId, page)
    const shown = page.map((item) => itemView(this.dependencies.kind.channel, item, labelOf?.(item.quotaId)))
    return { items: shown, next_after: items.length > size ? (shown.at(-1)?.row ?? null) : null }
  }

  /** The present labels of the quotas of rows, deleted ones included. */
  private async labels(
    principalId: string,
    items: readonly ChangeSetItemRow[],
  ): Promise<(quotaId: number | null) => string | null> {
    const { ledger, transactions } = this.dependencies
    const ids = items.flatMap(({ quotaId }) => quotaId ?? [])
    const quotas = await transactions
      .readsOf(principalId)
      .read((transaction) => ledger.store.quotasById(transaction, ids))
    const labels = new Map(quotas.map(({ id, label }) => [id, label]))
    return (quotaId) => labels.get(quotaId ?? 0) ?? null
  }

  /** Returns a change set's rows as CSV. */
  async rowsCsv({ id: principalId }: Caller, id: number, { outcome }: RowsCsvQuery): Promise<AsyncIterable<string>> {
    const set = await this.decided(principalId, id)
    return this.rowLines(principalId, set, outcome)
  }

  /** Returns the quotas of a list as CSV, newest first. */
  async *export({ id: principalId }: Caller, query: object): AsyncGenerator<string> {
    const { kind, reader } = this.dependencies
    const filter = filterOf<Q>(query as QuotaListFields, subjectFilter(kind.channel, query))
    const columns = [...recordColumns(kind.channel), ...(filter.deleted === true ? ['deleted_at'] : [])]
    let beforeId: number | undefined
    for (;;) {
      const quotas = await reader.stepShown(principalId, filter, beforeId, STEP)
      const header = beforeId === undefined ? [columns] : []
      yield csvLines([...header, ...quotas.map((quota) => exportedRecord(columns, quota))])
      if (quotas.length < STEP) return
      beforeId = quotas.at(-1)?.id
    }
  }

  /** Applies the planned rows, in the background. */
  async apply(caller: Caller, id: number, { version, rows }: ApplyDto): Promise<ChangeSetView> {
    return this.move(caller, id, version, 'apply', ({ planned }) => {
      if (planned !== rows)
        throw new ServiceError('change_set_differs', `The change set has ${planned} planned rows, not ${rows}.`)
    })
  }

  /** Reverts the applied rows, in the background. */
  async revert(caller: Caller, id: number, { version }: RevertDto): Promise<ChangeSetView> {
    return this.move(caller, id, version, 'revert')
  }

  /** Drops a change set that was not applied. */
  async remove(id: number): Promise<void> {
    const { store, transactions, clock } = this.dependencies
    let written = false
    await transactions.write(async (transaction) => {
      const set = await store.lock(transaction, id)
      // By an earlier attempt of this request, whose COMMIT lost its answer.
      if (written && (set === undefined || set.state === 'dropped')) return
      if (set === undefined || set.hidden === 1) throw notFound(id)
      if (!DROPPABLE.includes(set.state) || wasToBeApplied(set)) throw wrongState(set, 'be dropped')
      // Its answer is kept for repetitions of its key.
      await store.update(transaction, id, { state: 'dropped', hidden: 1, ...nextWork('clear', clock.now()) })
      written = true
    })
    this.runner.wake()
  }

  private async *rowLines(
    principalId: string,
    set: ChangeSetRow,
    outcome: Outcome | undefined,
  ): AsyncGenerator<string> {
    const { channel } = this.dependencies.kind
    const columns = rowColumns(channel)
    let after: number | undefined
    for (;;) {
      const items = await this.items(principalId, set, { outcome, after, limit: STEP })
      // If it is dropped meanwhile, the file must not end as if it were whole.
      if (items.length < STEP) await this.found(principalId, set.id)
      const header = after === undefined ? [columns] : []
      yield csvLines([...header, ...items.map((item) => rowRecord(channel, columns, set, item))])
      if (items.length < STEP) return
      after = items.at(-1)?.row
    }
  }

  /**
   * Returns how many rows a further change set of the caller may have.
   * @throws ServiceError too_many_rows if it may have none
   */
  private async roomFor(transaction: Transaction, { id }: Caller): Promise<number> {
    const { store } = this.dependencies
    const waiting = await store.waitingRows(transaction, id)
    const room = roomBeside(waiting)
    if (room > 0) return room
    const largest = await store.largestWaiting(transaction, id, 3)
    const named = largest.map((set) => `${set.id} (${set.waitingRows} rows)`).join(', ')
    const advice =
      named === '' ? 'Rows of dropped ones are being removed: try again later.' : `Drop or apply some: ${named}.`
    throw new ServiceError('too_many_rows', `Your change sets that are not applied have ${waiting} rows. ${advice}`)
  }

  private async receive(
    rows: ArrivingRows<Q>,
    records: AsyncGenerator<CsvRecord>,
    room: number,
  ): Promise<{ problem: string | null; counts: Counts }> {
    const slice = new TimeSlice()
    try {
      for await (const record of records) {
        const problem = tooManyRows(rows.count + 1, room)
        if (problem !== undefined) return { problem: storedJson(problem), counts: noCounts() }
        await rows.add(record)
        if (slice.spent) await slice.next()
      }
    } catch (error) {
      if (!(error instanceof CsvMalformed)) throw error
      return { problem: malformed(error), counts: noCounts() }
    }
    await rows.flush()
    return { problem: null, counts: rows.counts }
  }

  private newSet(caller: Caller, known: Partial<ChangeSetRow>): Omit<ChangeSetRow, 'id'> {
    const now = this.dependencies.clock.now()
    return {
      state: 'preparing',
      hidden: 0,
      ...NO_WORK,
      source: 'filter',
      filter: null,
      change: null,
      columns: null,
      actor: storedName(caller.name),
      actorName: unicodeName(caller.name),
      creatorId: caller.id,
      waitingRows: 0,
      actingName: null,
      actingUnicodeName: null,
      actingId: null,
      actingRequestId: null,
      version: 1,
      createdAt: now,
      expiresAt: now + KEPT_MS.unapplied,
      appliedAt: null,
      revertedAt: null,
      problem: null,
      deduplicationKey: null,
      requestHash: null,
      answer: null,
      ...noCounts(),
      ...known,
    }
  }

  /** Returns the answer to a new change set, and stores it. */
  private async answered(transaction: Transaction, set: ChangeSetRow): Promise<Answer> {
    const answer = storedJson(changeSetView(set))
    await this.dependencies.store.update(transaction, set.id, { answer })
    return { body: answer, replayed: false, subject: set.id }
  }

  /**
   * Returns the answer to an earlier request with this key. @throws ServiceError idempotency_key_reused if that was a
   * different request
   */
  private async earlier(
    transaction: Transaction,
    deduplicationKey: string,
    requestHash: string,
    meansTheSame: (set: ChangeSetRow) => boolean = () => false,
  ): Promise<Pick<Answer, 'body' | 'subject'> | undefined> {
    const { store, ledger } = this.dependencies
    const set = await store.byKey(transaction, deduplicationKey)
    if (set === undefined) {
      // Acts and change sets share a caller's keys.
      const acts = await ledger.store.actsByDeduplicationKey(transaction, [deduplicationKey])
      if (acts.length > 0) throw keyReused()
      return undefined
    }
    if (set.requestHash !== requestHash && !meansTheSame(set)) throw keyReused()
    return { body: set.answer ?? '', subject: set.id }
  }

  private async move(
    caller: Caller,
    id: number,
    version: number,
    work: 'apply' | 'revert',
    check?: (set: ChangeSetRow) => void,
  ): Promise<ChangeSetView> {
    const { store, clock } = this.dependencies
    const acting = {
      actingName: storedName(caller.name),
      actingUnicodeName: unicodeName(caller.name),
      actingId: caller.id,
      actingRequestId: caller.requestId,
    }
    let written = false
    const moved = await this.dependencies.transactions.write(async (transaction) => {
      const set = await store.lock(transaction, id)
      if (set === undefined || set.hidden === 1) throw notFound(id)
      // An earlier attempt of this request, whose COMMIT lost its answer.
      if (written && set.version > version && set.actingRequestId === caller.requestId) return set
      if (set.version !== version) throw staleVersion(set, version)
      if (!(work === 'apply' ? set.state === 'ready' : isRevertible(set)))
        throw wrongState(set, work === 'apply' ? 'be applied' : 'be reverted')
      check?.(set)
      const values: Partial<ChangeSetRow> = {
        ...nextWork(work, clock.now()),
        state: work === 'apply' ? 'applying' : 'reverting',
        version: version + 1,
        expiresAt: set.createdAt + KEPT_MS.applied,
        waitingRows: 0,
        ...acting,
      }
      await store.update(transaction, id, values)
      written = true
      return Object.assign(set, values)
    })
    this.runner.wake()
    return changeSetView(moved)
  }

  private async found(principalId: string, id: number): Promise<ChangeSetRow> {
    const { store, transactions } = this.dependencies
    const set = await transactions.readsOf(principalId).read((transaction) => store.find(transaction, id))
    if (set === undefined || set.hidden === 1) throw notFound(id)
    return set
  }

  private async decided(principalId: string, id: number): Promise<ChangeSetRow> {
    const set = await this.found(principalId, id)
    if (set.state === 'preparing') throw wrongState(set, 'show its rows')
    return set
  }

  private async items(principalId: string, set: ChangeSetRow, wanted: ItemsWanted): Promise<ChangeSetItemRow[]> {
    // Its rows are being removed.
    if (set.state === 'failed' && !wasToBeApplied(set)) return []
    const { store, transactions } = this.dependencies
    return transactions.readsOf(principalId).read((transaction) => store.items(transaction, set.id, wanted))
  }
}

function malformed({ message }: CsvMalformed): string {
  return storedJson({ code: 'csv_malformed', detail: message } satisfies RowProblem)
}

/** Was it applied, or set aside while it was? Then it tells what was changed. */
function wasToBeApplied({ actingId }: ChangeSetRow): boolean {
  return actingId !== null
}

function isRevertible(set: ChangeSetRow): boolean {
  return set.state === 'applied' || (set.state === 'failed' && wasToBeApplied(set))
}

const DROPPABLE: readonly ChangeSetRow['state'][] = ['preparing', 'ready', 'failed']

async function headerOf(records: AsyncGenerator<CsvRecord>): Promise<readonly string[] | CsvMalformed> {
  try {
    const first = await records.next()
    if (first.done !== true) return first.value.cells
  } catch (error) {
    if (error instanceof CsvMalformed) return error
    throw error
  }
  throw validationFailed([{ field: 'body', message: 'must begin with a header that names the columns' }])
}

/** Returns the deduplication key of a request; without a caller's key, a random one. */
function deduplicationKeyOf(caller: Caller, key: string | undefined): string {
  return key === undefined ? randomUUID().replaceAll('-', '') : deduplicationKeyFor(caller.id, key)
}

/** Returns a filter and its change, such that equal requests give equal texts: times as instants, sets in order. */
function meaningOf(set: Pick<ChangeSetRow, 'filter' | 'change'>): string {
  return canonical([JSON.parse(set.filter ?? '{}'), requestedChangeOf(set)])
}

/** Returns a value as JSON with sorted members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

function notFound(id: number): ServiceError {
  return new ServiceError('change_set_not_found', `There is no change set ${id}.`)
}

function wrongState({ state }: ChangeSetRow, wanted: string): ServiceError {
  return new ServiceError('change_set_state', `A change set that is ${state} cannot ${wanted}.`)
}

function staleVersion(set: ChangeSetRow, version: number): ServiceError {
  return new ServiceError('version_mismatch', `The change set is at version ${set.version}, not ${version}.`, {
    extra: { version: set.version },
  })
}
