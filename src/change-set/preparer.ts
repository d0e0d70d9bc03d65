import { subjectFilter } from '../channel-api/subjects.js'
import { filterOf, type QuotaListFields } from '../channel-api/quota.dto.js'
import type { Clock } from '../common/clock.js'
import type { TransactionRunner } from '../database/transaction-runner.js'
import type { ServiceError } from '../common/service-error.js'
import type { QuotaFilter } from '../ledger/read/list-statements.js'
import type { QuotaReader } from '../ledger/read/quota-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import type { Ledger } from '../ledger/write/ledger.js'
import { Preview, type Previewed, type Proposal } from '../ledger/write/preview.js'
import { type RequestedChange, commandOf, RecordReader } from './requested-change.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { LeasedChangeSet } from './leased-change-set.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetKeys } from './change-set-keys.js'
import { type ChangeSetStore, ITEMS_AT_ONCE } from './change-set-store.js'
import { requestedChangeOf } from './change-set.dto.js'
import { type ChangeSetRow, type Counts, nextWork, noCounts, type Outcome } from './change-set.entity.js'
import { rowProblem, type RowProblem } from './change-set.view.js'

/** The maximum number of rows of a change set. */
export const MAX_ROWS = 100_000

/** The number of quotas that one read takes. */
const STEP = 1_000

/** The dependencies of work on a change set. */
export interface Dependencies<Q extends QuotaRow> {
  readonly kind: ChangeSetChannel<Q>
  readonly ledger: Ledger<Q>
  readonly reader: QuotaReader<Q>
  readonly store: ChangeSetStore
  readonly keys: ChangeSetKeys
  readonly transactions: TransactionRunner
  readonly clock: Clock
}

/** Maps a row's refusal to its outcome. */
export function outcomeOf({ code }: ServiceError): Extract<Outcome, 'conflict' | 'invalid'> {
  return code === 'version_mismatch' || code === 'quota_not_found' ? 'conflict' : 'invalid'
}

/** The maximum number of rows in all change sets of a principal that were never to be applied. */
export const MAX_WAITING_ROWS = 1_000_000

/** Returns how many rows a change set may have beside others of its creator that wait with so many. */
export function roomBeside(waitingRows: number): number {
  return Math.max(0, Math.min(MAX_ROWS, MAX_WAITING_ROWS - waitingRows))
}

/** Returns the problem of a change set with too many rows. */
export function tooManyRows(rows: number, room: number): RowProblem | undefined {
  if (rows <= room) return undefined
  const detail =
    rows > MAX_ROWS
      ? `A change set has at most ${MAX_ROWS} rows.`
      : `The change sets of a caller that are not applied have at most ${MAX_WAITING_ROWS} rows: drop or apply others first.`
  return { code: 'too_many_rows', detail }
}

/**
 * Stores the quotas that match a filter as rows, and decides each row, without any change to quotas. After an
 * interruption it starts again.
 */
export class Preparer<Q extends QuotaRow> {
  constructor(
    private readonly dependencies: Dependencies<Q>,
    private readonly leased: LeasedChangeSet,
  ) {}

  /** Yields after each step. */
  async *run(): AsyncGenerator<void> {
    const { set } = this.leased
    const problem = set.source === 'filter' ? yield* this.pin() : set.problem
    if (problem !== null) {
      await this.leased.become('failed', {
        ...noCounts(),
        problem,
        ...nextWork('clear', this.dependencies.clock.now()),
      })
      return
    }
    // Those of rows that were decided when the file arrived; they are kept until all are decided.
    const { counts } = this.leased
    yield* this.decide(counts)
    await this.leased.become('ready', counts)
  }

  /** Stores the quotas that match the filter as rows. @returns the problem if there are too many */
  private async *pin(): AsyncGenerator<void, string | null> {
    const { store, transactions } = this.dependencies
    const { set } = this.leased
    while (await this.leased.clearStep()) yield
    const found = yield* this.walk()
    // Its own first: of two that are counted at the same time, one sees both.
    await this.leased.writeRows([], { waitingRows: found.length })
    const waiting = await transactions.read((transaction) => store.waitingRows(transaction, set.creatorId))
    const problem = tooManyRows(found.length, roomBeside(waiting - found.length))
    if (problem !== undefined) {
      await this.leased.writeRows([], { waitingRows: 0 })
      return storedJson(problem)
    }
    found.reverse()
    const action = requestedChangeOf(set).kind
    for (let start = 0; start < found.length; start += ITEMS_AT_ONCE) {
      const items = found
        .slice(start, start + ITEMS_AT_ONCE)
        .map(([quotaId, ownerId], place) =>
          newItem({ setId: set.id, row: start + place + 1, quotaId, ownerId, action, line: null, given: null }),
        )
      await this.leased.writeRows(items)
      yield
    }
    return null
  }

  /** Finds every quota that matches the filter, with its owner, newest first; at most one more than the limit. */
  private async *walk(): AsyncGenerator<void, [quotaId: number, ownerId: number][]> {
    const { kind, reader } = this.dependencies
    const filter = filterOfSet(kind, JSON.parse(this.leased.set.filter ?? '{}') as FilterSent)
    const found: [number, number][] = []
    for (;;) {
      const quotas = await reader.step(`(${kind.channel.name} change sets)`, filter, found.at(-1)?.[0], STEP)
      for (const { id, ownerId } of quotas) found.push([id, ownerId])
      if (quotas.length < STEP || found.length > MAX_ROWS) return found
      await this.leased.keep()
      yield
    }
  }

  /** Decides the rows owner by owner: earlier rows of an owner affect only its later ones. */
  private async *decide(counts: Counts): AsyncGenerator<void> {
    const { store, transactions, kind, ledger, clock } = this.dependencies
    const { set } = this.leased
    const preview = new Preview(kind.channel, ledger.store, transactions, clock)
    const requestOf = set.source === 'filter' ? requestOfAll(set) : requestOfRecords(this.dependencies, set)
    let after: { ownerId: number; row: number } | undefined
    for (;;) {
      const page = await transactions.read((transaction) =>
        store.itemsByOwner(transaction, set.id, after, ITEMS_AT_ONCE),
      )
      const items = wholeOwners(page)
      const last = items.at(-1)
      if (last?.ownerId == null) return
      after = { ownerId: last.ownerId, row: last.row }
      // Records that are invalid by themselves have no command; an interrupted preparation may have decided others.
      const undecided = items.filter(({ outcome, command }) => outcome === 'pending' || command !== null)
      const proposals = undecided.map((item): Proposal<Q> => ({
        ownerId: item.ownerId ?? 0,
        quotaId: item.quotaId ?? undefined,
        command: (quota) => commandOf(requestOf(item), item.quotaId, quota, clock.now()),
      }))
      const decided = await preview.decide(proposals)
      for (const [place, item] of undecided.entries()) {
        const previewed = decided[place]
        if (previewed !== undefined) settle(item, previewed, counts)
      }
      await this.leased.writeRows(undecided)
      yield
    }
  }
}

function requestOfAll(set: ChangeSetRow): () => RequestedChange {
  const common = requestedChangeOf(set)
  return () => common
}

/**
 * Returns a function that reads the records of a file again: deciding a row replaces what it requested. A row with
 * mistakes keeps it: its first reading also knew the rows before it that are not stored whole.
 */
function requestOfRecords<Q extends QuotaRow>(
  { kind, clock }: Dependencies<Q>,
  { columns }: ChangeSetRow,
): (item: ChangeSetItemRow) => RequestedChange {
  const records = new RecordReader(kind, JSON.parse(columns ?? '[]') as string[], clock)
  return ({ row, given, command }) => {
    const first = JSON.parse(command ?? 'null') as RequestedChange | null
    if (first?.kind === 'update' && (first.errors ?? []).length > 0) return first
    const { requested } = records.read(JSON.parse(given ?? '[]') as string[])
    if (requested === undefined) throw new Error(`the record of row ${row} is unreadable`)
    return requested
  }
}

/** A filter as sent, already validated. */
type FilterSent = Readonly<Record<string, unknown>> & Pick<QuotaFilter<QuotaRow>, 'ids'>

/** Returns the conditions for the query of the list. */
function filterOfSet<Q extends QuotaRow>({ channel }: ChangeSetChannel<Q>, filter: FilterSent): QuotaFilter<Q> {
  const { ids } = filter
  const { deleted: _live, ...listed } = filterOf<Q>(
    filter as unknown as QuotaListFields,
    subjectFilter(channel, filter),
  )
  const wanted = { ...listed, ...(ids === undefined ? {} : { ids }) }
  // Members' counts follow: a set reaches them only by their ids, by what they follow, or by their owner.
  const named = (ids ?? wanted.follows) !== undefined || Object.values(wanted.subjects).some((id) => id !== undefined)
  return named ? wanted : { ...wanted, withoutCounts: true }
}

/**
 * Returns the rows of all owners except the last, which may have more rows; all rows if they have one owner. Groups,
 * which come first, are decided apart: a member's count follows what its quota is, not what the set makes of it.
 */
function wholeOwners(page: readonly ChangeSetItemRow[]): readonly ChangeSetItemRow[] {
  const ofGroups = page.filter(({ ownerId }) => ownerId !== null && ownerId < 0)
  if (ofGroups.length > 0 && ofGroups.length < page.length) return ofGroups
  if (page.length < ITEMS_AT_ONCE) return page
  const last = page.at(-1)?.ownerId
  const whole = page.filter(({ ownerId }) => ownerId !== last)
  return whole.length === 0 ? page : whole
}

/** Decides that a row is not to be applied. */
export function refuse(item: ChangeSetItemRow, refusal: ServiceError, counts: Counts): void {
  item.outcome = outcomeOf(refusal)
  item.problem = storedJson(rowProblem(refusal))
  counts[item.outcome] += 1
}

function settle(item: ChangeSetItemRow, previewed: Previewed, counts: Counts): void {
  const { version, anchorAt, command, change, refusal } = previewed
  item.version = version ?? null
  item.anchorAt = anchorAt
  item.command = command === undefined ? item.command : storedJson(command)
  item.before = change?.before ?? null
  item.after = change?.after ?? null
  item.problem = null
  if (refusal !== undefined) {
    refuse(item, refusal, counts)
    return
  }
  item.outcome = change === undefined ? 'unchanged' : 'planned'
  counts[item.outcome] += 1
}

/** Returns an undecided row. */
export function newItem(
  known: Pick<ChangeSetItemRow, 'setId' | 'row' | 'line' | 'quotaId' | 'ownerId' | 'action' | 'given'>,
): ChangeSetItemRow {
  return {
    ...known,
    outcome: 'pending',
    version: null,
    anchorAt: null,
    appliedVersion: null,
    revertedVersion: null,
    command: null,
    before: null,
    after: null,
    problem: null,
  }
}
