import { ServiceError, validationFailed } from '../../common/service-error.js'
import { refusingCaps, type Limits, MAX_LIVE_CAPS, payable, wouldRefuse } from '../../domain/cap.js'
import { type Allocation, cut, draw } from '../../domain/draw-down.js'
import { editCount, isFollowed, overridesViolations, shownId } from '../../domain/follow.js'
import { beginCount, isLive, MAX_LIVE_QUOTAS, MAX_QUOTAS_SHOWN } from '../../domain/quota.js'
import {
  type Applied,
  applyPatch,
  timeViolations,
  foreignViolations,
  newQuota,
  putBack,
  type SettingsChange,
  settingsView,
} from '../../domain/settings.js'
import { armUnreached, passThresholds } from '../../domain/threshold.js'
import { unicodeName, storedName } from '../../common/principal-name.js'
import { formatInstant, type Instant, MAX_INSTANT, timeOrNull } from '../../common/instant.js'
import type { Act } from '../rows/act.entity.js'
import type { ChangeAction, ChangeRow } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS, NONE_REFUSING } from '../rows/counted-caps.js'
import { groupOf } from '../rows/group.entity.js'
import type { OperationRow } from '../rows/operation.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { capView, isDue, limitView, operationView, quotaView } from '../store/answers.js'
import {
  amountOf,
  type Command,
  hashRequest,
  type Outcome,
  type RecordedCommand,
  type Request,
} from '../store/command.js'
import { MoreHolds } from './holds.js'
import { groupNotFound, keyReused, operationNotFound, quotaNotFound, versionMismatch } from '../store/errors.js'
import { eventOfChange, eventOfThresholds, type QuotaAction } from '../store/new-event.js'
import type { WorkingSet, OperationEntry } from '../store/working-set.js'

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

/**
 * The decision on a request: its answer, or new quotas that need their ids from the database before it can be answered.
 */
export type Verdict<Q> = { outcome: Outcome } | { insert: Omit<Q, 'id'>[]; admit: (ids: readonly number[]) => Outcome }

/**
 * Decides requests one by one, in order of arrival, against the working set, and records their effects there. It is
 * pure: no database, and only the working set's clock. A refusal is a ServiceError and leaves the working set
 * unchanged.
 */
export class Judge<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly workingSet: WorkingSet<Q>,
  ) {}

  /** @throws ServiceError if the request is refused */
  decide(request: Request): Verdict<Q> {
    const earlier = replayOf(this.workingSet, request)
    if (earlier !== undefined) return { outcome: earlier }
    const verdict = this.judge(request)
    if ('outcome' in verdict) {
      this.recordThresholds(request)
      return verdict
    }
    const admit = (ids: readonly number[]): Outcome => {
      const outcome = verdict.admit(ids)
      this.recordThresholds(request)
      return outcome
    }
    return { insert: verdict.insert, admit }
  }

  private judge(request: Request): Verdict<Q> {
    const { command } = request
    switch (command.kind) {
      case 'create':
        return this.create(request, command)
      case 'update':
        return { outcome: this.update(request, command) }
      case 'delete':
        return { outcome: this.remove(request, command) }
      case 'restore':
        return { outcome: this.restore(request, command) }
      case 'reset':
        return { outcome: this.reset(request, command) }
      case 'consume':
      case 'reserve':
        return this.spend(request, command)
      case 'commit':
      case 'release':
        return { outcome: this.settle(request, command) }
      case 'refund':
        return { outcome: this.refund(request, command) }
      case 'group':
      case 'members':
        throw new Error('acts on groups have transactions of their own')
      case 'sweep':
        return { outcome: { body: '', replayed: false, subject: request.ownerId } }
      case 'follow':
        this.workingSet.writeOutdated(request.ownerId)
        return { outcome: { body: '', replayed: false, subject: request.ownerId } }
    }
  }

  private create(request: Request, { settings, subjects, place }: Of<'create'>): Verdict<Q> {
    const { workingSet } = this
    const violations = timeViolations(settings, workingSet.now)
    if (violations.length > 0) throw validationFailed(violations)
    this.checkGroup(request.ownerId)
    this.checkQuotaLimit(request.ownerId, settings.cap !== null)
    const row: Omit<QuotaRow, 'id' | 'ownerId'> = {
      ...newQuota(settings, workingSet.now, place),
      openingUsed: settings.used,
      version: 1,
      updatedAt: workingSet.now,
      copiesVersion: place?.per === 'member' ? 1 : null,
    }
    const draft = { ...row, ...subjects } as unknown as Omit<Q, 'id'>
    return {
      insert: [draft],
      admit: ([id = 0]) => {
        const quota = { id, ...draft } as Q
        workingSet.addQuota(quota)
        const { used } = settings
        const after = { ...settingsView(quota), ...(used === 0 ? {} : { used }) }
        this.recordChange(request, quota, 'create', { before: {}, after })
        // It may have passed thresholds, which are written after the insert.
        if (used > 0) workingSet.markEdited(quota)
        return this.answerQuota(request, quota)
      },
    }
  }

  private update(request: Request, command: Of<'update'>): Outcome {
    const { quotaId, patch, version } = command
    const quota = this.present(quotaId)
    const { workingSet } = this
    const patched = { ...quota }
    const foreign = foreignViolations(quota, patch)
    const applied = this.apply(patched, command)
    if (foreign.length > 0) throw validationFailed([...foreign, ...(applied.violations ?? [])])
    const revives = quota.follows === null && !isLive(quota, workingSet.now) && isLive(patched, workingSet.now)
    if (revives) this.checkGroup(quota.ownerId)
    // Rules that depend on the quota's present state come last: for a stale record, the error is the stale version.
    this.checkVersion(quota, version)
    if (applied.violations !== undefined) throw validationFailed(applied.violations)
    if (applied.change === undefined) return this.show(quota)
    if (revives) this.checkQuotaLimit(quota.ownerId, quota.cap !== null)
    const sameTotal = patched.total === quota.total
    Object.assign(quota, patched)
    if (!sameTotal) armUnreached(quota)
    return this.edit(request, quota, 'update', applied.change)
  }

  /** Applies an update to a copy of a quota. */
  private apply(quota: Q, { patch, overrides, regained, anchorAt }: Of<'update'>): Applied {
    const { workingSet } = this
    const { now } = workingSet
    if (quota.follows !== null) {
      const followed = workingSet.followedBy(quota)
      return editCount(quota, followed, workingSet.isInChain(quota), { patch, overrides, regained, anchorAt }, now)
    }
    const wrong = overridesViolations(quota, overrides)
    if (wrong.length > 0) return { violations: [...wrong, ...(applyPatch(quota, patch, now).violations ?? [])] }
    return anchorAt === undefined ? applyPatch(quota, patch, now) : putBack(quota, patch, anchorAt, now)
  }

  private remove(request: Request, { quotaId, version }: Of<'delete'>): Outcome {
    const quota = this.present(quotaId)
    this.checkVersion(quota, version)
    quota.deletedAt = this.workingSet.now
    return this.edit(request, quota, 'delete', {
      before: { deleted_at: null },
      after: { deleted_at: formatInstant(quota.deletedAt) },
    })
  }

  private restore(request: Request, { quotaId, version }: Of<'restore'>): Outcome {
    const quota = this.workingSet.quota(quotaId)
    if (quota === undefined) throw quotaNotFound(quotaId)
    this.checkVersion(quota, version)
    if (quota.deletedAt === null) return this.show(quota)
    this.checkGroup(quota.ownerId)
    const deletedAt = formatInstant(quota.deletedAt)
    if (quota.follows === null && isLive({ ...quota, deletedAt: null }, this.workingSet.now))
      this.checkQuotaLimit(quota.ownerId, quota.cap !== null)
    quota.deletedAt = null
    return this.edit(request, quota, 'restore', { before: { deleted_at: deletedAt }, after: { deleted_at: null } })
  }

  /** Begins a new count (contract, §8 Reset). It is not an edit of settings: the version stays. */
  private reset(request: Request, { quotaId, version }: Of<'reset'>): Outcome {
    const quota = this.present(quotaId)
    this.checkVersion(quota, version)
    if (isFollowed(quota))
      throw new ServiceError('nothing_to_reset', `Quota ${quota.id} has no count of its own: each member has one.`)
    const { used, reserved } = quota
    if (used === 0 && reserved === 0)
      return request.deduplicationKey === null ? this.show(quota) : this.answerQuota(request, quota)
    beginCount(quota)
    quota.updatedAt = this.workingSet.now
    this.recordChange(request, quota, 'reset', { before: { used, reserved }, after: { used: 0, reserved: 0 } })
    this.workingSet.markEdited(quota)
    return this.answerQuota(request, quota)
  }

  private spend(request: Request, command: Of<'consume'> | Of<'reserve'>): Verdict<Q> {
    const { workingSet } = this
    const { ownerId } = request
    const limits = workingSet.limits(ownerId)
    const { payers, caps } = limits
    if (payers.length === 0)
      throw new ServiceError('no_active_quota', `${this.nameOwner(ownerId)} has no active quota.`)
    const allocations = draw(payers, command.amount)
    if (allocations === undefined || (caps.length > 0 && refusingCaps(caps, command.amount).length > 0))
      throw this.exceeded(ownerId, command.amount, limits)
    if (workingSet.owner(ownerId).unborn.length === 0)
      return { outcome: this.take(request, command, allocations, caps) }
    return {
      insert: workingSet.unbornCounts(ownerId),
      admit: (ids) => {
        workingSet.addCounts(ownerId, ids)
        const { payers: all, caps: counting } = workingSet.limits(ownerId)
        return this.take(request, command, draw(all, command.amount) ?? [], counting)
      },
    }
  }

  /** Takes what has been found to fit. */
  private take(
    request: Request,
    command: Of<'consume'> | Of<'reserve'>,
    allocations: readonly Allocation[],
    caps: readonly Q[],
  ): Outcome {
    const { workingSet } = this
    const { amount } = command
    const refusing = caps.length === 0 ? NONE_REFUSING : wouldRefuse(caps, amount).map(({ id }) => id)
    const hold = command.kind === 'reserve' ? Math.min(workingSet.now + command.ttlSeconds * 1000, MAX_INSTANT) : null
    workingSet.applyAllocations(allocations, hold === null ? { used: 1 } : { reserved: 1 })
    const counted =
      caps.length === 0
        ? NO_CAPS
        : workingSet.countInCaps(caps, hold === null ? { used: amount } : { reserved: amount })
    if (hold !== null) {
      workingSet.openHold(request.ownerId, {
        operationId: request.id,
        expiresAt: hold,
        allocations,
        ...(counted.length === 0 ? {} : { counted: { at: workingSet.now, caps: counted } }),
      })
    }
    const row: OperationRow = {
      id: request.id,
      ownerId: request.ownerId,
      kind: command.kind,
      state: hold === null ? 'consumed' : 'reserved',
      amount,
      charged: hold === null ? amount : 0,
      refunded: 0,
      ownerRemaining: workingSet.available(request.ownerId),
      expiresAt: hold,
      createdAt: workingSet.now,
    }
    const entry = { row, allocations, caps: counted, wouldRefuse: refusing }
    workingSet.addOperation(entry)
    workingSet.newOperations.push(entry)
    return this.answerOperation(request, entry, amount, null)
  }

  private settle(request: Request, command: Of<'commit'> | Of<'release'>): Outcome {
    const { workingSet } = this
    const entry = this.operation(command.operationId)
    const { row, allocations } = entry
    if (row.state !== 'reserved' || isDue(row, workingSet.now))
      throw alreadySettled(isDue(row, workingSet.now) ? 'expired' : row.state)
    const charged = command.kind === 'release' ? 0 : (command.amount ?? row.amount)
    if (charged > row.amount) {
      throw new ServiceError('commit_exceeds_hold', `The hold keeps ${row.amount}; ${charged} cannot be committed.`, {
        extra: { held: row.amount },
      })
    }
    workingSet.applyAllocations(allocations, { reserved: -1 })
    workingSet.applyAllocations(cut(allocations, 0, charged), { used: 1 })
    workingSet.settleInCaps(entry, { reserved: -row.amount, used: charged })
    workingSet.closeHold(row.ownerId, row.id)
    row.state = command.kind === 'commit' ? 'committed' : 'released'
    row.charged = charged
    return this.answerOperation(request, entry, command.kind === 'commit' ? charged : row.amount, row.amount)
  }

  private refund(request: Request, { operationId, amount }: Of<'refund'>): Outcome {
    const entry = this.operation(operationId)
    const { row, allocations } = entry
    const left = row.charged - row.refunded
    const back = amount ?? left
    if (left === 0 || back > left) {
      throw new ServiceError(
        'refund_exceeds_charge',
        left === 0 ? 'Nothing is left to refund.' : `Only ${left} is left to refund, not ${back}.`,
        {
          extra: { refundable: left },
        },
      )
    }
    this.workingSet.applyAllocations(cut(allocations, left - back, left), { used: -1 })
    this.workingSet.settleInCaps(entry, { used: -back })
    row.refunded += back
    return this.answerOperation(request, entry, back, left)
  }

  /** Records an edit of a quota's settings: its version, its history, its act. */
  private edit(
    request: Request,
    quota: Q,
    action: QuotaAction,
    change: SettingsChange | { before: object; after: object },
  ): Outcome {
    quota.version += 1
    quota.updatedAt = this.workingSet.now
    this.recordChange(request, quota, action, change)
    this.workingSet.markEdited(quota)
    return this.answerQuota(request, quota)
  }

  private recordChange(
    request: Request,
    quota: Q,
    action: QuotaAction,
    difference: { before: object; after: object },
  ): void {
    const { id: quotaId, ownerId, groupId } = quota
    const change = changeOf(request, { quotaId, ownerId, groupId }, action, this.workingSet.now, difference)
    this.workingSet.changes.push(change)
    this.workingSet.events.push(eventOfChange(this.channel, request.id, { ...change, quotaId, action }, quota, change))
  }

  /**
   * Records the event of each quota whose thresholds this act has passed; several thresholds of one quota are one
   * event.
   */
  private recordThresholds({ id, command }: Request): void {
    for (const quota of this.workingSet.takeReached()) {
      const crossed = passThresholds(quota)
      if (crossed.length === 0) continue
      const operationId = command.kind === 'commit' ? command.operationId : command.kind === 'consume' ? id : null
      const actId = command.kind === 'follow' ? null : id
      this.workingSet.events.push(eventOfThresholds(actId, quota, crossed, operationId, this.workingSet.now))
    }
  }

  private show(quota: Q): Outcome {
    return { body: storedJson(quotaView(this.channel, quota, this.workingSet.now)), replayed: false, subject: quota.id }
  }

  private answerQuota(request: Request, quota: Q): Outcome {
    const outcome = this.show(quota)
    this.workingSet.record(
      actOf(request, this.workingSet.now, {
        quotaId: quota.id,
        operationId: null,
        amount: null,
        defaultAmount: null,
        answer: outcome.body,
      }),
    )
    return outcome
  }

  private answerOperation(
    request: Request,
    entry: OperationEntry,
    amount: number,
    defaultAmount: number | null,
  ): Outcome {
    const { row, allocations, caps } = entry
    row.ownerRemaining = this.workingSet.available(row.ownerId)
    // Only the first answer names the caps that would have refused the operation.
    const refusing = row.id === request.id ? (entry.wouldRefuse ?? NONE_REFUSING) : NONE_REFUSING
    if (row.id !== request.id) this.workingSet.changedOperations.set(row.id, entry)
    const body = storedJson(operationView(this.channel, row, allocations, this.workingSet.now, caps, refusing))
    this.workingSet.record(
      actOf(request, this.workingSet.now, { quotaId: null, operationId: row.id, amount, defaultAmount, answer: body }),
    )
    if (refusing.length > 0) return { body, replayed: false, subject: row.id, observed: true }
    return { body, replayed: false, subject: row.id }
  }

  private present(quotaId: number): Q {
    const quota = this.workingSet.quota(quotaId)
    if (quota === undefined || quota.deletedAt !== null) throw quotaNotFound(quotaId)
    return quota
  }

  private operation(operationId: string): OperationEntry {
    const entry = this.workingSet.operation(operationId)
    if (entry === undefined) throw operationNotFound(operationId)
    return entry
  }

  private checkVersion(quota: Q, version: number | undefined): void {
    if (version !== undefined && version !== quota.version) throw versionMismatch('quota', quota.version, version)
  }

  /** @throws ServiceError group_not_found if this is a group that does not exist or is deleted */
  private checkGroup(ownerId: number): void {
    const groupId = groupOf(ownerId)
    if (groupId !== undefined && this.workingSet.groups.get(groupId)?.deletedAt !== null) throw groupNotFound(groupId)
  }

  /** Checks that the owner may have one more live quota. @throws ServiceError too_many_quotas */
  private checkQuotaLimit(ownerId: number, forCap: boolean): void {
    const { quotas, caps } = this.workingSet.liveCounts(ownerId)
    if (quotas >= MAX_LIVE_QUOTAS) throw tooMany(ownerId, `${MAX_LIVE_QUOTAS} quotas`)
    if (forCap && caps >= MAX_LIVE_CAPS) throw tooMany(ownerId, `${MAX_LIVE_CAPS} caps`)
  }

  private nameOwner(ownerId: number): string {
    return `${this.channel.subjects[0].field} ${ownerId}`
  }

  /** @throws MoreHolds */
  private exceeded(ownerId: number, requested: number, { payers, caps }: Limits<Q>): ServiceError {
    const left = this.workingSet.available(ownerId)
    const refusing = refusingCaps(caps, requested)
    const refill = this.workingSet.refillsAt(ownerId, requested)
    if (refill === undefined) throw new MoreHolds(this.workingSet.levels(ownerId))
    return new ServiceError(
      'quota_exceeded',
      `${requested} requested, ${left} remaining for ${this.nameOwner(ownerId)}${byCaps(refusing)}.`,
      {
        extra: {
          requested,
          remaining: left,
          payable: payable(payers),
          refills_at: timeOrNull(refill),
          caps: refusing.map(capView),
          quotas: shownPayers(payers).map(limitView),
        },
      },
    )
  }
}

/**
 * Has this request taken effect before, in an attempt whose answer was lost or as an earlier request with the same key?
 * @throws ServiceError if the key belongs to another request
 */
export function replayOf<Q extends QuotaRow>(workingSet: WorkingSet<Q>, request: Request): Outcome | undefined {
  const { id, ownerId, deduplicationKey, changeSet, command } = request
  const act =
    workingSet.actById(id) ??
    (deduplicationKey === null ? undefined : workingSet.actByDeduplicationKey(deduplicationKey))
  if (act === undefined) return undefined
  const subject = act.operationId ?? act.quotaId ?? groupOf(act.ownerId) ?? 0
  if (act.id === id) return { body: act.answer, replayed: false, subject, ...observedIn(act) }
  // The key of a change set's row names the row, whose texts an erasure may have changed, as it may those of the act.
  const same =
    (changeSet !== undefined || act.requestHash === hashRequest(command, ownerId)) &&
    (amountOf(command) ?? act.defaultAmount) === act.amount
  if (same) return { body: act.answer, replayed: true, subject }
  if (command.kind === 'commit' || command.kind === 'release')
    throw alreadySettled(act.kind === 'commit' ? 'committed' : 'released')
  if (command.kind === 'create') {
    const violations = timeViolations(command.settings, workingSet.now)
    if (violations.length > 0) throw validationFailed(violations)
  }
  throw keyReused()
}

/** The act of a request that takes effect. */
export function actOf(
  { id, command, ownerId, caller, callerId, key, deduplicationKey, requestId }: Request,
  at: Instant,
  what: Pick<Act, 'quotaId' | 'operationId' | 'amount' | 'defaultAmount' | 'answer'>,
): Act {
  const { kind } = command as RecordedCommand
  return {
    id,
    kind,
    ownerId,
    caller: storedName(caller),
    callerName: unicodeName(caller),
    callerId: callerId === caller ? null : callerId,
    idempotencyKey: key,
    deduplicationKey,
    // Created only if needed: most consumes are stored without it.
    get requestHash() {
      return hashRequest(command, ownerId)
    },
    requestId,
    at,
    ...what,
  }
}

/** The change record of a request. */
export function changeOf(
  { caller, requestId, changeSet }: Request,
  of: Pick<ChangeRow, 'quotaId' | 'groupId'> & { ownerId: number },
  action: ChangeAction,
  at: Instant,
  { before, after }: { before: object; after: object },
): Omit<ChangeRow, 'id'> & { ownerId: number } {
  return {
    ...of,
    action,
    actor: storedName(caller),
    actorName: unicodeName(caller),
    requestId,
    at,
    before: storedJson(before),
    after: storedJson(after),
    changeSetId: changeSet?.id ?? null,
  }
}

/** The payers that a refusal names: in paying order, counts that do not exist yet last. */
function shownPayers<Q extends { id: number }>(payers: readonly Q[]): readonly Q[] {
  const first = payers.slice(0, MAX_QUOTAS_SHOWN)
  const isBorn = ({ id }: Q): boolean => shownId(id) !== null
  return first.every(isBorn) ? first : [...first.filter(isBorn), ...first.filter((one) => !isBorn(one))]
}

/** Describes the caps that refuse the amount, for people. */
function byCaps(caps: readonly { readonly id: number }[]): string {
  if (caps.length === 0) return ''
  return `, bounded by ${caps.length === 1 ? 'cap' : 'caps'} ${caps.map(({ id }) => shownId(id) ?? 'of its group').join(', ')}`
}

/** Would an `observe` cap have refused this act? Its answer says so. */
function observedIn({ kind, answer }: Act): { observed?: true } {
  return (kind === 'consume' || kind === 'reserve') && answer.includes('"would_refuse":') ? { observed: true } : {}
}

function alreadySettled(state: string): ServiceError {
  const why = state === 'consumed' ? 'A consume has no hold to settle.' : `The hold is already ${state}.`
  return new ServiceError('operation_already_settled', why, { extra: { state } })
}

function tooMany(ownerId: number, most: string): ServiceError {
  const who = groupOf(ownerId) === undefined ? 'An owner' : 'A group'
  return new ServiceError('too_many_quotas', `${who} may have at most ${most} that are neither deleted nor expired.`)
}
