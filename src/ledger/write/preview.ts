import type { Clock } from '../../common/clock.js'
import { TimeSlice } from '../../common/time-slice.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { ServiceError } from '../../common/service-error.js'
import type { Instant } from '../../common/instant.js'
import { changedPart, type SettingsChange } from '../../domain/settings.js'
import type { Channel } from '../rows/channel.js'
import { groupOf } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { Command } from '../store/command.js'
import { GroupStore } from '../store/group-store.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { WorkingSet } from '../store/working-set.js'
import { loadDueHolds } from './holds.js'
import { Judge } from './judge.js'

/** A proposed change. */
export interface Proposal<Q extends QuotaRow> {
  readonly ownerId: number
  /** The affected quota; undefined for a create. */
  readonly quotaId: number | undefined
  /**
   * Returns the command for the quota's state at that time; undefined if no quota has that id.
   * @throws ServiceError if no command achieves the change
   */
  readonly command: (quota: Q | undefined) => Command
}

/** The expected result of a proposed change. */
export interface Previewed {
  readonly command: Command | undefined
  /** The quota's version before the change; undefined for a create, and if the quota does not exist. */
  readonly version: number | undefined
  readonly anchorAt: Instant | null
  /** The change record, as JSON; undefined if nothing would change. */
  readonly change: { readonly before: string; readonly after: string } | undefined
  /** The reason why it would be refused. */
  readonly refusal: ServiceError | undefined
}

/**
 * Predicts the results of changes with the same judge that decides them, one after another: earlier ones of an owner
 * affect later ones. It locks and writes nothing. An owner's proposals must come together, and may be split over
 * consecutive calls.
 */
export class Preview<Q extends QuotaRow> {
  private workingSet: WorkingSet<Q> | undefined
  /** The owner of the last proposal: more of its proposals may follow. */
  private lastOwner: number | undefined
  private made = 0

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {}

  /** @param proposals owner by owner, each owner's in their order */
  async decide(proposals: readonly Proposal<Q>[]): Promise<Previewed[]> {
    // Such a call does not end the last owner's proposals.
    if (proposals.length === 0) return []
    const workingSet = await this.load(proposals)
    const judge = new Judge(this.channel, workingSet)
    const slice = new TimeSlice()
    const decided: Previewed[] = []
    for (const proposal of proposals) {
      if (slice.spent) await slice.next()
      decided.push(this.decideOne(workingSet, judge, proposal))
    }
    return decided
  }

  private async load(proposals: readonly Proposal<Q>[]): Promise<WorkingSet<Q>> {
    const ownerIds = [...new Set(proposals.map(({ ownerId }) => ownerId))]
    const goesOn = this.lastOwner !== undefined && ownerIds[0] === this.lastOwner
    const workingSet = goesOn && this.workingSet !== undefined ? this.workingSet : new WorkingSet<Q>(this.clock.now())
    this.workingSet = workingSet
    const others = ownerIds.filter((ownerId) => !goesOn || ownerId !== this.lastOwner)
    this.lastOwner = ownerIds.at(-1)
    const quotaIds = proposals.flatMap(({ quotaId }) => quotaId ?? [])
    const reads = this.transactions.readsOf(`(${this.channel.name} change sets)`)
    await reads.read(async (transaction) => {
      // A retry adds rows that exist already, which changes nothing.
      const wanted = { ownerIds: others, quotaIds: [...new Set(quotaIds)], now: workingSet.now }
      const quotas = await this.store.quotasOf(transaction, wanted)
      const counts = quotas.filter(({ follows }) => follows !== null)
      if (counts.length > 0) await this.loadFollowed(transaction, workingSet, counts)
      for (const quota of quotas) workingSet.addQuota(quota)
      const groupIds = others.flatMap((ownerId) => groupOf(ownerId) ?? [])
      for (const group of await this.store.groupsById(transaction, groupIds)) workingSet.groups.set(group.id, group)
    })
    await reads.read(async (transaction) => loadDueHolds(transaction, this.store, workingSet, [], others))
    return workingSet
  }

  /** Loads what members' counts follow, and the chains of their owners. */
  private async loadFollowed(transaction: Transaction, workingSet: WorkingSet<Q>, counts: readonly Q[]): Promise<void> {
    const ownerIds = [...new Set(counts.map(({ ownerId }) => ownerId))]
    const chains = await new GroupStore(this.store).chainsOf(transaction, ownerIds)
    for (const [ownerId, chain] of chains) workingSet.setChain(ownerId, chain)
    const ids = [...new Set(counts.flatMap(({ follows }) => follows ?? []))]
    for (const quota of await this.store.quotasById(transaction, ids)) workingSet.addQuota(quota)
  }

  private decideOne(workingSet: WorkingSet<Q>, judge: Judge<Q>, proposal: Proposal<Q>): Previewed {
    const { ownerId, quotaId } = proposal
    const quota = quotaId === undefined ? undefined : workingSet.quota(quotaId)
    const seen = { version: quota?.version, anchorAt: quota?.cycleAnchorAt ?? null }
    let command: Command | undefined
    try {
      command = proposal.command(quota)
      this.made += 1
      const verdict = judge.decide({
        id: `preview ${this.made}`,
        ownerId,
        caller: '',
        callerId: '',
        requestId: '',
        key: null,
        deduplicationKey: null,
        command,
      })
      // No quota has a negative id.
      if ('insert' in verdict) verdict.admit([-this.made])
      const [change] = workingSet.changes
      // What the count follows may change before this is applied, which does not change the count's version.
      if (quota?.follows != null && command.kind === 'update' && change !== undefined) {
        const after = JSON.parse(change.after) as SettingsChange['after']
        command = { ...command, patch: changedPart(command.patch, { after }) }
      }
      return { ...seen, command, change, refusal: undefined }
    } catch (refusal) {
      if (!(refusal instanceof ServiceError)) throw refusal
      return { ...seen, command, change: undefined, refusal }
    } finally {
      // One owner may have all rows of a change set.
      workingSet.forgetRecords()
    }
  }
}
