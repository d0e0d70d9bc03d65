import { subjectFilter } from '../channel-api/subjects.js'
import { filterOf, type QuotaListFields } from '../channel-api/quota.dto.js'
import type { Clock } from '../clock/clock.js'
import type { TransactionRunner } from '../database/transaction-runner.js'
import { type FieldError, type ServiceError, validationFailed } from '../error/service-error.js'
import type { QuotaFilter } from '../ledger/read/list-statements.js'
import type { QuotaReader } from '../ledger/read/quota-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import { quotaNotFound } from '../ledger/store/errors.js'
import type { Ledger } from '../ledger/write/ledger.js'
import { Preview, type Previewed, type Proposal } from '../ledger/write/preview.js'
import { type RequestedChange, commandOf, RecordReader } from './requested-change.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { LeasedChangeSet } from './leased-change-set.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import { type ChangeSetStore, ITEMS_AT_ONCE } from './change-set-store.js'
import { requestedChangeOf } from './change-set.dto.js'
import { type Counts, OUTCOMES, type Outcome } from './change-set.entity.js'
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
  readonly transactions: TransactionRunner
  readonly clock: Clock
  /** Called between two steps: pauses while requests use the engine. @throws Stopped */
  readonly rest: (tookMs: number) => Promise<void>
}

/** Maps a row's refusal to its outcome. */
export function outcomeOf({ code }: ServiceError): Extract<Outcome, 'conflict' | 'invalid'> {
  return code === 'version_mismatch' || code === 'quota_not_found' ? 'conflict' : 'invalid'
}

/** Zero for each outcome. */
export function noCounts(): Counts {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Counts
}

/** The problem of a set with too many rows. */
export const TOO_MANY_ROWS: RowProblem = {
  code: 'too_many_rows',
  detail: `A change set has at most ${MAX_ROWS} rows.`,
}

/**
 * Stores the rows of a change set and decides each of them, without any change to quotas. After an interruption it
 * starts again.
 */
export class Preparer<Q extends QuotaRow> {
  constructor(
    private readonly dependencies: Dependencies<Q>,
    private readonly leased: LeasedChangeSet,
  ) {}

  async run(): Promise<void> {
    const { set } = this.leased
    const tooMany = set.source === 'filter' ? !(await this.pin()) : false
    const problem = tooMany ? storedJson(TOO_MANY_ROWS) : set.problem
    if (problem !== null) {
      await this.leased.become('failed', { ...noCounts(), problem, work: 'clear' })
      return
    }
    const counts = noCounts()
    if (set.source === 'import') await this.resolve(counts)
    await this.decide(counts)
    await this.leased.become('ready', counts)
  }

  /** Stores the quotas that match the filter as rows. @returns whether their number is within the limit */
  private async pin(): Promise<boolean> {
    const { set } = this.leased
    await this.leased.clear()
    const found = await this.walk()
    if (found.length > MAX_ROWS) return false
    found.reverse()
    const action = requestedChangeOf(set).kind
    for (let start = 0; start < found.length; start += ITEMS_AT_ONCE) {
      const began = performance.now()
      const items = found
        .slice(start, start + ITEMS_AT_ONCE)
        .map(([quotaId, ownerId], place) =>
          newItem({ setId: set.id, row: start + place + 1, quotaId, ownerId, action, line: null, given: null }),
        )
      await this.leased.insertRows(items)
      await this.dependencies.rest(performance.now() - began)
    }
    return true
  }

  /** Finds every quota that matches the filter, with its owner, newest first; at most one more than the limit. */
  private async walk(): Promise<[quotaId: number, ownerId: number][]> {
    const { kind, reader } = this.dependencies
    const filter = filterOfSet(kind, JSON.parse(this.leased.set.filter ?? '{}') as FilterSent)
    const found: [number, number][] = []
    for (;;) {
      const began = performance.now()
      const quotas = await reader.step(`(${kind.channel.name} change sets)`, filter, found.at(-1)?.[0], STEP)
      for (const { id, ownerId } of quotas) found.push([id, ownerId])
      if (quotas.length < STEP || found.length > MAX_ROWS) return found
      await this.leased.keep()
      await this.dependencies.rest(performance.now() - began)
    }
  }

  /** Reads the records of a file: the requested change and the owner of each. Decides invalid records. */
  private async resolve(counts: Counts): Promise<void> {
    const { store, transactions, ledger } = this.dependencies
    const columns = JSON.parse(this.leased.set.columns ?? '[]') as string[]
    const records = new RecordReader(this.dependencies.kind, columns, this.dependencies.clock)
    for (let after = 0; ;) {
      const began = performance.now()
      const items = await transactions.read((transaction) =>
        store.items(transaction, this.leased.set.id, { after, limit: ITEMS_AT_ONCE }),
      )
      if (items.length === 0) return
      after = items.at(-1)?.row ?? after
      const ids: number[] = []
      for (const item of items) {
        const { action, quotaId, ownerId, requested, refusal } = records.read(
          JSON.parse(item.given ?? '[]') as string[],
        )
        const { setId, row, line, given } = item
        Object.assign(item, newItem({ setId, row, line, given, action, quotaId, ownerId }))
        if (quotaId !== null) ids.push(quotaId)
        if (refusal !== undefined) refuse(item, refusal, counts)
        item.command = requested === undefined ? null : storedJson(requested)
      }
      const owners =
        ids.length === 0
          ? new Map<number, number>()
          : await transactions.read((transaction) => ledger.store.ownersOfQuotas(transaction, ids))
      for (const item of items) {
        if (item.quotaId === null) continue
        item.ownerId = owners.get(item.quotaId) ?? null
        if (item.ownerId === null) refuse(item, refusalOf(item), counts)
      }
      await this.leased.writeRows(items, counts)
      await this.dependencies.rest(performance.now() - began)
    }
  }

  /** Decides the rows owner by owner: earlier rows of an owner affect only its later ones. */
  private async decide(counts: Counts): Promise<void> {
    const { store, transactions, kind, ledger, clock } = this.dependencies
    const preview = new Preview(kind.channel, ledger.store, transactions, clock)
    const common = this.leased.set.source === 'filter' ? requestedChangeOf(this.leased.set) : undefined
    let after: { ownerId: number; row: number } | undefined
    for (;;) {
      const began = performance.now()
      const page = await transactions.read((transaction) =>
        store.itemsByOwner(transaction, this.leased.set.id, after, ITEMS_AT_ONCE),
      )
      const items = wholeOwners(page)
      const last = items.at(-1)
      if (last?.ownerId == null) return
      after = { ownerId: last.ownerId, row: last.row }
      const undecided = items.filter(({ outcome }) => outcome === 'pending')
      const proposals = undecided.map((item): Proposal<Q> => {
        const requested = common ?? (JSON.parse(item.command ?? '') as RequestedChange)
        return {
          ownerId: item.ownerId ?? 0,
          quotaId: item.quotaId ?? undefined,
          command: (quota) => commandOf(requested, item.quotaId, quota, clock.now()),
        }
      })
      const decided = await preview.decide(proposals)
      for (const [place, item] of undecided.entries()) {
        const previewed = decided[place]
        if (previewed !== undefined) settle(item, previewed, counts)
      }
      await this.leased.writeRows(undecided, counts)
      await this.dependencies.rest(performance.now() - began)
    }
  }
}

/** A filter as sent, already validated. */
type FilterSent = Readonly<Record<string, unknown>>

/** Returns the conditions for the query of the list. */
function filterOfSet<Q extends QuotaRow>({ channel }: ChangeSetChannel<Q>, filter: FilterSent): QuotaFilter<Q> {
  const { deleted: _live, ...wanted } = filterOf<Q>(
    filter as unknown as QuotaListFields,
    subjectFilter(channel, filter),
  )
  return wanted
}

/** Returns the rows of all owners except the last, which may have more rows; all rows if they have one owner. */
function wholeOwners(page: readonly ChangeSetItemRow[]): readonly ChangeSetItemRow[] {
  if (page.length < ITEMS_AT_ONCE) return page
  const last = page.at(-1)?.ownerId
  const whole = page.filter(({ ownerId }) => ownerId !== last)
  return whole.length === 0 ? page : whole
}

/** Returns the refusal of a record whose quota does not exist. */
function refusalOf({ quotaId, command }: ChangeSetItemRow): ServiceError {
  const { errors = [] } = JSON.parse(command ?? '{}') as { errors?: readonly FieldError[] }
  return errors.length > 0 ? validationFailed(errors) : quotaNotFound(quotaId ?? 0)
}

function refuse(item: ChangeSetItemRow, refusal: ServiceError, counts: Counts): void {
  item.outcome = outcomeOf(refusal)
  item.problem = storedJson(rowProblem(refusal))
  counts[item.outcome] += 1
}

function settle(item: ChangeSetItemRow, previewed: Previewed, counts: Counts): void {
  const { version, anchorAt, command, change, refusal } = previewed
  item.version = version ?? null
  item.anchorAt = anchorAt
  item.command = command === undefined ? item.command : storedJson(command)
  if (refusal !== undefined) {
    refuse(item, refusal, counts)
    return
  }
  item.outcome = change === undefined ? 'unchanged' : 'planned'
  item.before = change?.before ?? null
  item.after = change?.after ?? null
  counts[item.outcome] += 1
}

/** Returns an undecided row. */
export function newItem(
  known: Pick<ChangeSetItemRow, 'setId' | 'row' | 'line' | 'quotaId' | 'ownerId' | 'action' | 'given'>,
): ChangeSetItemRow {
  const { setId, row, line, quotaId, ownerId, action, given } = known
  return {
    ...{ setId, row, line, quotaId, ownerId, action, given },
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
