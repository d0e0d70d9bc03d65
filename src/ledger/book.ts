import { type Allocation, byDrawDown } from '../quota/draw-down.js'
import type { Instant } from '../quota/instant.js'
import { isActive, isLive, type QuotaState, remaining, roll } from '../quota/quota.js'
import type { Hold } from '../quota/refill.js'
import type { ActRow } from './act.entity.js'
import type { AllocationRow } from './allocation.entity.js'
import type { ChangeRow } from './change.entity.js'
import type { OperationRow } from './operation.entity.js'
import type { QuotaRow } from './quota.entity.js'

/** The counters that usage moves, and their cycle. */
export const COUNTERS = ['used', 'reserved', 'cycleSeq', 'cycleEndsAt', 'holdDueAt'] as const
type Counters = Pick<QuotaState, (typeof COUNTERS)[number]>

/** An operation with what its quotas paid. */
export interface OperationEntry {
  readonly row: OperationRow
  readonly allocations: readonly Allocation[]
}

/** One owner's part of the working set. */
export interface OwnerBook<Q extends QuotaRow> {
  readonly ownerId: number
  /** Every quota of the owner that may be live, and those that a request named. */
  readonly quotas: Set<Q>
  /** Open holds as far as they are needed: all of them where a refusal or a sweep may want them. */
  readonly holds: Map<string, Hold>
  /** Active quotas in draw-down order; undefined after an edit. */
  paying: Q[] | undefined
}

/**
 * The working set of one batch: what was read under the owners' locks, changed in memory request by request, and what is to be written of it.
 * All quotas are rolled to `now`. Knows no database.
 */
export class Book<Q extends QuotaRow> {
  private readonly quotas = new Map<number, Q>()
  private readonly loaded = new Map<number, Counters>()
  private readonly touchedIds = new Set<number>()
  private readonly owners = new Map<number, OwnerBook<Q>>()
  private readonly operations = new Map<string, OperationEntry>()
  private readonly onceActs = new Map<string, ActRow>()
  private readonly actsById = new Map<string, ActRow>()

  readonly newActs: ActRow[] = []
  readonly newOperations: OperationEntry[] = []
  readonly newHolds = new Map<string, { ownerId: number; hold: Hold }>()
  readonly closedHolds: string[] = []
  readonly expiredOperations: string[] = []
  readonly changedOperations = new Map<string, OperationRow>()
  readonly changes: Omit<ChangeRow, 'id'>[] = []
  readonly editedQuotas = new Map<number, Q>()

  constructor(readonly now: Instant) {}

  owner(ownerId: number): OwnerBook<Q> {
    let owner = this.owners.get(ownerId)
    if (owner === undefined) {
      owner = { ownerId, quotas: new Set(), holds: new Map(), paying: undefined }
      this.owners.set(ownerId, owner)
    }
    return owner
  }

  /** Takes in a quota that was read or made; rolls it. */
  addQuota(quota: Q): void {
    if (this.quotas.has(quota.id)) return
    const { used, reserved, cycleSeq, cycleEndsAt, holdDueAt } = quota
    this.loaded.set(quota.id, { used, reserved, cycleSeq, cycleEndsAt, holdDueAt })
    roll(quota, this.now)
    this.quotas.set(quota.id, quota)
    const owner = this.owner(quota.ownerId)
    owner.quotas.add(quota)
    owner.paying = undefined
  }

  quota(id: number): Q | undefined {
    return this.quotas.get(id)
  }

  addOperation(entry: OperationEntry): void {
    this.operations.set(entry.row.id, entry)
  }

  operation(id: string): OperationEntry | undefined {
    return this.operations.get(id)
  }

  /** Takes in an act that was read. */
  addAct(act: ActRow): void {
    this.actsById.set(act.id, act)
    if (act.once !== null) this.onceActs.set(act.once, act)
  }

  /** The act of this very request, committed by an earlier try whose answer was lost. */
  actById(id: string): ActRow | undefined {
    return this.actsById.get(id)
  }

  actByOnce(once: string): ActRow | undefined {
    return this.onceActs.get(once)
  }

  /** Records an act to be written; later requests of the batch see it. */
  record(act: ActRow): void {
    this.newActs.push(act)
    this.addAct(act)
  }

  /** The owner's active quotas in draw-down order. */
  paying(ownerId: number): readonly Q[] {
    const owner = this.owner(ownerId)
    owner.paying ??= [...owner.quotas].filter((quota) => isActive(quota, this.now)).sort(byDrawDown)
    return owner.paying
  }

  ownerRemaining(ownerId: number): number {
    let sum = 0
    for (const quota of this.paying(ownerId)) sum += remaining(quota)
    return sum
  }

  liveCount(ownerId: number): number {
    let count = 0
    for (const quota of this.owner(ownerId).quotas) if (isLive(quota, this.now)) count += 1
    return count
  }

  /**
   * Moves a quota's counters by parts of an operation, where the cycle that paid is still the running one: across a reset nothing is
   * burdened or enriched.
   */
  move(parts: readonly Allocation[], by: { used?: 1 | -1; reserved?: 1 | -1 }): void {
    for (const { quotaId, cycleSeq, amount } of parts) {
      const quota = this.quotas.get(quotaId)
      if (quota?.cycleSeq !== cycleSeq) continue
      quota.used += (by.used ?? 0) * amount
      quota.reserved += (by.reserved ?? 0) * amount
      this.touchedIds.add(quotaId)
    }
  }

  openHold(ownerId: number, hold: Hold): void {
    this.owner(ownerId).holds.set(hold.operationId, hold)
    this.newHolds.set(hold.operationId, { ownerId, hold })
    for (const { quotaId } of hold.allocations) {
      const quota = this.quotas.get(quotaId)
      if (quota !== undefined) quota.holdDueAt = Math.min(quota.holdDueAt ?? hold.expiresAt, hold.expiresAt)
    }
  }

  closeHold(ownerId: number, operationId: string): void {
    this.owner(ownerId).holds.delete(operationId)
    if (!this.newHolds.delete(operationId)) this.closedHolds.push(operationId)
  }

  /** Returns what the owner's due holds keep, and moves `holdDueAt` on. Needs all of the owner's open holds. */
  sweep(ownerId: number): void {
    const { holds } = this.owner(ownerId)
    const quotas = new Set<Q>()
    for (const hold of [...holds.values()]) {
      if (hold.expiresAt > this.now) continue
      this.move(hold.allocations, { reserved: -1 })
      for (const { quotaId } of hold.allocations) {
        const quota = this.quotas.get(quotaId)
        if (quota !== undefined) quotas.add(quota)
      }
      this.closeHold(ownerId, hold.operationId)
      this.expiredOperations.push(hold.operationId)
      const operation = this.operations.get(hold.operationId)
      if (operation !== undefined) operation.row.state = 'expired'
    }
    // A hold that was settled early leaves its time behind: it is moved on too, or every later batch would look again.
    for (const quota of this.owner(ownerId).quotas) {
      if (quota.holdDueAt !== null && quota.holdDueAt <= this.now) quotas.add(quota)
    }
    for (const quota of quotas) {
      quota.holdDueAt = null
      this.touchedIds.add(quota.id)
    }
    for (const hold of holds.values()) {
      for (const { quotaId, cycleSeq } of hold.allocations) {
        const quota = this.quotas.get(quotaId)
        if (quota === undefined || !quotas.has(quota) || quota.cycleSeq !== cycleSeq) continue
        quota.holdDueAt = Math.min(quota.holdDueAt ?? hold.expiresAt, hold.expiresAt)
      }
    }
  }

  /** Marks a quota's settings as edited: the draw-down order may have changed with them. */
  edited(quota: Q): void {
    this.editedQuotas.set(quota.id, quota)
    this.owner(quota.ownerId).paying = undefined
  }

  /** Is there anything to write? */
  get changed(): boolean {
    return this.newActs.length > 0 || this.expiredOperations.length > 0 || this.movedCounters().length > 0
  }

  /** Quotas whose counters moved, with what differs from what is stored. */
  movedCounters(): { id: number; values: Partial<Counters> }[] {
    const moved = []
    for (const id of [...this.touchedIds].sort((a, b) => a - b)) {
      const quota = this.quotas.get(id)
      const before = this.loaded.get(id)
      if (quota === undefined || before === undefined) continue
      const differing = COUNTERS.filter((name) => quota[name] !== before[name])
      if (differing.length === 0) continue
      moved.push({ id, values: Object.fromEntries(differing.map((name) => [name, quota[name]])) })
    }
    return moved
  }
}

/** The rows of an operation's allocations. */
export function allocationRows(operationId: string, allocations: readonly Allocation[]): AllocationRow[] {
  return allocations.map((allocation, position) => ({ operationId, position, ...allocation }))
}
