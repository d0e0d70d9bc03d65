import { patchOf, type SettingsPatchFields } from '../channel-api/settings.dto.js'
import { ServiceError } from '../common/service-error.js'
import { checkDto } from '../http/dto.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import { type Caller, type Command, deduplicationKeyForRow, type Outcome as Answer } from '../ledger/store/command.js'
import { nameOf } from '../common/principal-name.js'
import type { LeasedChangeSet } from './leased-change-set.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ItemsWanted } from './change-set-store.js'
import type { Outcome } from './change-set.entity.js'
import { rowProblem } from './change-set.view.js'
import { outcomeOf, type Dependencies } from './preparer.js'

/** The number of rows that are processed at the same time. */
const STEP = 200

/** Is this a temporary failure? Then the row does not change, and is tried again. */
function isTemporary(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable'
}

/**
 * Applies the rows of a change set, or reverts them. Each row has its own key, so that an instance that continues after
 * a crash finds the effects of the previous one.
 */
export class Applier<Q extends QuotaRow> {
  private readonly actor: Pick<Caller, 'name' | 'id' | 'requestId'>

  constructor(
    private readonly dependencies: Dependencies<Q>,
    private readonly leased: LeasedChangeSet,
  ) {
    const { actingName, actingUnicodeName, actingId, actingRequestId } = leased.set
    this.actor = {
      name: nameOf(actingName ?? '', actingUnicodeName),
      id: actingId ?? '',
      requestId: actingRequestId ?? '',
    }
  }

  /** Applies planned rows, in order. Yields after each step. */
  async *apply(): AsyncGenerator<void> {
    yield* this.walk('planned', false, async (items) => this.applyRows(items))
    await this.leased.become('applied', { appliedAt: this.dependencies.clock.now() })
  }

  /**
   * Reverts applied rows, the last row first: when a row restores a quota, the quotas that later rows created no longer
   * count towards the limit of live quotas. Yields after each step.
   */
  async *revert(): AsyncGenerator<void> {
    await this.recover('apply')
    yield* this.walk('applied', true, async (items) => this.revertRows(items))
    await this.leased.become('reverted', { revertedAt: this.dependencies.clock.now() })
  }

  /** @param step sets the outcomes of rows, and does not change those that must be tried again */
  private async *walk(
    outcome: Outcome,
    newestFirst: boolean,
    step: (items: ChangeSetItemRow[]) => Promise<void>,
  ): AsyncGenerator<void> {
    const { store, transactions } = this.dependencies
    for (;;) {
      const wanted: ItemsWanted = { outcome, newestFirst, limit: STEP }
      const items = await transactions.read((transaction) => store.items(transaction, this.leased.set.id, wanted))
      if (items.length === 0) return
      await step(items)
      await this.write(items, outcome)
      yield
    }
  }

  /** Writes the new outcomes of rows that had this one. */
  private async write(items: readonly ChangeSetItemRow[], outcome: Outcome): Promise<void> {
    const { counts } = this.leased
    const done = items.filter((item) => item.outcome !== outcome)
    counts[outcome] -= done.length
    for (const item of done) counts[item.outcome as Outcome] += 1
    await this.leased.writeRows(done, counts)
  }

  /**
   * Finds the rows that took effect in a step that failed before it wrote that: their acts say so, and answer again.
   * Otherwise they would be shown as before, and a revert would leave them.
   */
  async recover(work: 'apply' | 'revert'): Promise<void> {
    const { store, ledger, transactions } = this.dependencies
    const { id } = this.leased.set
    const [outcome, newestFirst] = work === 'apply' ? (['planned', false] as const) : (['applied', true] as const)
    const keyOf = ({ row }: ChangeSetItemRow): string => deduplicationKeyForRow(work, id, row)
    const [items, acts] = await transactions.read(async (transaction) => {
      const found = await store.items(transaction, id, { outcome, newestFirst, limit: STEP })
      const keys = found.map(keyOf)
      return [found, keys.length === 0 ? [] : await ledger.store.actsByDeduplicationKey(transaction, keys)]
    })
    const found = new Set(acts.map(({ deduplicationKey }) => deduplicationKey))
    const done = items.filter((item) => found.has(keyOf(item)))
    if (done.length === 0) return
    await (work === 'apply' ? this.applyRows(done) : this.revertRows(done))
    await this.write(done, outcome)
  }

  private async applyRows(items: readonly ChangeSetItemRow[]): Promise<void> {
    const results = await this.submit('apply', items, (item) => {
      const command = JSON.parse(item.command ?? '') as Command
      return command.kind === 'create' ? command : ({ ...command, version: item.version ?? undefined } as Command)
    })
    const quotaIds: number[] = []
    for (const [item, result] of results) {
      if (result instanceof ServiceError) {
        item.outcome = outcomeOf(result)
        item.problem = storedJson(rowProblem(result))
        continue
      }
      item.outcome = 'applied'
      item.quotaId = Number(result.subject)
      item.appliedVersion = versionIn(result)
      quotaIds.push(item.quotaId)
    }
    await this.copyChanges(items, quotaIds)
  }

  /**
   * Copies the recorded change to each row: a cycle may have ended since the preview. A row whose application changed
   * nothing has none, as a reset of a count that somebody else has reset meanwhile: it is unchanged, and its quota has
   * the version that it had.
   */
  private async copyChanges(items: readonly ChangeSetItemRow[], quotaIds: readonly number[]): Promise<void> {
    const { ledger, transactions } = this.dependencies
    const changes = await transactions.read((transaction) =>
      ledger.store.changesOfSet(transaction, this.leased.set.id, quotaIds),
    )
    for (const item of items) {
      if (item.outcome !== 'applied') continue
      const change = changes.get(item.quotaId ?? 0)
      item.before = change?.before ?? null
      item.after = change?.after ?? null
      if (change === undefined) Object.assign(item, { outcome: 'unchanged', appliedVersion: null })
    }
  }

  private async revertRows(items: readonly ChangeSetItemRow[]): Promise<void> {
    const { store, transactions } = this.dependencies
    const undone = await transactions.read((transaction) =>
      store.undone(
        transaction,
        items.flatMap(({ quotaId }) => quotaId ?? []),
      ),
    )
    const keep = (item: ChangeSetItemRow, refusal: ServiceError): void => {
      item.outcome = 'kept'
      item.problem = storedJson(rowProblem(refusal))
    }
    for (const item of items) if (item.action === 'reset') keep(item, RESET_STAYS)
    const others = items.filter(({ action }) => action !== 'reset')
    const results = await this.submit('revert', others, (item) => this.undoing(item, undone))
    for (const [item, result] of results) {
      if (result instanceof ServiceError) keep(item, result)
      else {
        item.outcome = 'reverted'
        item.revertedVersion = versionIn(result)
      }
    }
  }

  /**
   * Returns the command that reverts a row. Its expected version is the one that the row left, or the one after later
   * change sets that have been reverted.
   */
  private undoing(item: ChangeSetItemRow, undone: ReadonlyMap<number, ReadonlyMap<number, number>>): Command {
    const quotaId = item.quotaId ?? 0
    let version = item.appliedVersion ?? 0
    // Versions only increase; a pair that does not would be followed for ever.
    for (let next = undone.get(quotaId)?.get(version); next !== undefined && next > version;) {
      version = next
      next = undone.get(quotaId)?.get(version)
    }
    if (item.action === 'create') return { kind: 'delete', quotaId, version }
    if (item.action === 'delete') return { kind: 'restore', quotaId, version }
    const before = JSON.parse(item.before ?? '{}') as Record<string, unknown>
    const regained = keepOverrides(before, JSON.parse(item.after ?? '{}') as Record<string, unknown>)
    const applied = JSON.parse(item.command ?? '{}') as Extract<Command, { kind: 'update' }>
    // The record of a change lacks values that did not differ; the anchor says when the cycle resets.
    for (const name of regained ?? [])
      if (!(name in before) && name !== 'cycle_reset_at') before[name] = applied.own?.[name]
    const { value } = checkDto<SettingsPatchFields>(this.dependencies.kind.update, before, {
      from: 'body',
      now: () => 0,
    })
    if (value === undefined) throw new Error(`the change of row ${item.row} is unreadable`)
    const cycle = Object.keys(before).some((name) => name.startsWith('cycle_'))
    const anchorAt = cycle && item.anchorAt !== null ? item.anchorAt : undefined
    return {
      kind: 'update',
      quotaId,
      patch: patchOf(value),
      version,
      overrides: value.overrides ?? undefined,
      regained,
      anchorAt,
    }
  }

  /**
   * Submits rows, in order, and omits those that met a temporary failure.
   * @throws ServiceError unavailable if all did
   */
  private async submit(
    step: 'apply' | 'revert',
    items: readonly ChangeSetItemRow[],
    commandFor: (item: ChangeSetItemRow) => Command,
  ): Promise<[ChangeSetItemRow, Answer | ServiceError][]> {
    const { set } = this.leased
    const settled = await Promise.allSettled(
      items.map(async (item) => {
        const key = deduplicationKeyForRow(step, set.id, item.row)
        return this.dependencies.ledger.inBackground(this.actor, set, item.ownerId ?? 0, commandFor(item), key)
      }),
    )
    const results: [ChangeSetItemRow, Answer | ServiceError][] = []
    let passing: Error | undefined
    for (const [place, result] of settled.entries()) {
      const item = items[place]
      if (item === undefined) continue
      if (result.status === 'fulfilled') results.push([item, result.value])
      else if (isTemporary(result.reason)) passing = result.reason as ServiceError
      else if (result.reason instanceof ServiceError) results.push([item, result.reason])
      else results.push([item, new ServiceError('internal_error', 'this row failed', { cause: result.reason })])
    }
    if (results.length === 0 && passing !== undefined) throw passing
    return results
  }
}

const RESET_STAYS = new ServiceError('change_set_state', 'A reset cannot be undone.')

/**
 * Reverts overrides of a member's count: what the change made an override is given back instead of set, and what it
 * gave back becomes an override again, also if its value did not differ.
 * @returns what becomes one again; undefined if the change did not change overrides
 */
function keepOverrides(before: Record<string, unknown>, after: Record<string, unknown>): string[] | undefined {
  const [was, is] = [before['overrides'], after['overrides']]
  if (!Array.isArray(was) || !Array.isArray(is)) return undefined
  for (const name of is as string[]) if (!was.includes(name)) Reflect.deleteProperty(before, name)
  before['overrides'] = (was as string[]).filter((name) => is.includes(name))
  return (was as string[]).filter((name) => !is.includes(name))
}

function versionIn({ body }: Answer): number {
  return (JSON.parse(body) as { version: number }).version
}
