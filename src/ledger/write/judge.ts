import { ServiceError, validationFailed } from '../../error/service-error.js'
import { refusingCaps, type Limits, MAX_LIVE_CAPS, payable, wouldRefuse } from '../../quota/cap.js'
import { cut, draw } from '../../quota/draw-down.js'
import { beginCount, isLive, MAX_LIVE_QUOTAS, MAX_QUOTAS_SHOWN } from '../../quota/quota.js'
import {
  applyPatch,
  timeViolations,
  foreignViolations,
  newQuota,
  putBack,
  type SettingsChange,
  settingsView,
} from '../../quota/settings.js'
import { armUnreached, passThresholds } from '../../quota/threshold.js'
import { unicodeName, storedName } from '../../role/principal-name.js'
import { formatInstant, MAX_INSTANT } from '../../time/instant.js'
import type { Act } from '../rows/act.entity.js'
import type { ChangeAction } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS, NONE_REFUSING } from '../rows/counted-caps.js'
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
import { keyReused, operationNotFound, quotaNotFound } from '../store/errors.js'
import { eventOfChange, eventOfThresholds } from '../store/new-event.js'
import type { WorkingSet, OperationEntry } from '../store/working-set.js'

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

/**
 * The decision on a request: its answer, or a new quota that needs its id from the database before it can be answered.
 */
export type Verdict<Q> = { outcome: Outcome } | { insert: Omit<Q, 'id'>; admit: (id: number) => Outcome }

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
    const earlier = this.earlier(request)
    if (earlier !== undefined) return { outcome: earlier }
    const verdict = this.judge(request)
    this.recordThresholds(request)
    return verdict
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
        return { outcome: this.spend(request, command) }
      case 'commit':
      case 'release':
        return { outcome: this.settle(request, command) }
      case 'refund':
        return { outcome: this.refund(request, command) }
      case 'sweep':
        return { outcome: { body: '', replayed: false, subject: request.ownerId } }
    }
  }

  /**
   * Has this request taken effect before, in an attempt whose answer was lost or as an earlier request with the same
   * key?
   */
  private earlier({ id, ownerId, deduplicationKey, command }: Request): Outcome | undefined {
    const act =
      this.workingSet.actById(id) ??
      (deduplicationKey === null ? undefined : this.workingSet.actByDeduplicationKey(deduplicationKey))
    if (act === undefined) return undefined
    const subject = act.operationId ?? act.quotaId ?? 0
    if (act.id === id) return { body: act.answer, replayed: false, subject, ...observedIn(act) }
    const same =
      act.requestHash === hashRequest(command, ownerId) && (amountOf(command) ?? act.defaultAmount) === act.amount
    if (same) return { body: act.answer, replayed: true, subject }
    if (command.kind === 'commit' || command.kind === 'release')
      throw alreadySettled(act.kind === 'commit' ? 'committed' : 'released')
    if (command.kind === 'create') {
      const violations = timeViolations(command.settings, this.workingSet.now)
      if (violations.length > 0) throw validationFailed(violations)
    }
    throw keyReused()
  }

  private create(request: Request, { settings, subjects }: Of<'create'>): Verdict<Q> {
    const { workingSet } = this
    const violations = timeViolations(settings, workingSet.now)
    if (violations.length > 0) throw validationFailed(violations)
    this.checkQuotaLimit(request.ownerId, settings.cap !== null)
    const row: Omit<QuotaRow, 'id' | 'ownerId'> = {
      ...newQuota(settings, workingSet.now),
      version: 1,
      updatedAt: workingSet.now,
    }
    const draft = { ...row, ...subjects } as unknown as Omit<Q, 'id'>
    return {
      insert: draft,
      admit: (id) => {
        const quota = { id, ...draft } as Q
        workingSet.addQuota(quota)
        this.recordChange(request, quota, 'create', { before: {}, after: settingsView(quota) })
        return this.answerQuota(request, quota)
      },
    }
  }

  private update(request: Request, { quotaId, patch, version, anchorAt }: Of<'update'>): Outcome {
    const quota = this.present(quotaId)
    const { workingSet } = this
    const patched = { ...quota }
    const foreign = foreignViolations(quota, patch)
    const applied =
      anchorAt === undefined
        ? applyPatch(patched, patch, workingSet.now)
        : putBack(patched, patch, anchorAt, workingSet.now)
    if (foreign.length > 0) throw validationFailed([...foreign, ...(applied.violations ?? [])])
    // Rules that depend on the quota's present state come last: for a stale record, the error is the stale version.
    this.checkVersion(quota, version)
    if (applied.violations !== undefined) throw validationFailed(applied.violations)
    if (applied.change === undefined) return this.show(quota)
    if (!isLive(quota, workingSet.now) && isLive(patched, workingSet.now))
      this.checkQuotaLimit(quota.ownerId, quota.cap !== null)
    const sameTotal = patched.total === quota.total
    Object.assign(quota, patched)
    if (!sameTotal) armUnreached(quota)
    return this.edit(request, quota, 'update', applied.change)
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
    const deletedAt = formatInstant(quota.deletedAt)
    if (isLive({ ...quota, deletedAt: null }, this.workingSet.now))
      this.checkQuotaLimit(quota.ownerId, quota.cap !== null)
    quota.deletedAt = null
    return this.edit(request, quota, 'restore', { before: { deleted_at: deletedAt }, after: { deleted_at: null } })
  }

  /** Begins a new count (contract, §8 Reset). It is not an edit of settings: the version stays. */
  private reset(request: Request, { quotaId, version }: Of<'reset'>): Outcome {
    const quota = this.present(quotaId)
    this.checkVersion(quota, version)
    const { used, reserved } = quota
    if (used === 0 && reserved === 0)
      return request.deduplicationKey === null ? this.show(quota) : this.answerQuota(request, quota)
    beginCount(quota)
    quota.updatedAt = this.workingSet.now
    this.recordChange(request, quota, 'reset', { before: { used, reserved }, after: { used: 0, reserved: 0 } })
    this.workingSet.markEdited(quota)
    return this.answerQuota(request, quota)
  }

  private spend(request: Request, command: Of<'consume'> | Of<'reserve'>): Outcome {
    const { workingSet } = this
    const { amount } = command
    const limits = workingSet.limits(request.ownerId)
    const { payers, caps } = limits
    if (payers.length === 0)
      throw new ServiceError('no_active_quota', `${this.nameOwner(request.ownerId)} has no active quota.`)
    const allocations = draw(payers, amount)
    if (allocations === undefined || (caps.length > 0 && refusingCaps(caps, amount).length > 0))
      throw this.exceeded(request.ownerId, amount, limits)

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
    action: ChangeAction,
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
    action: ChangeAction,
    { before, after }: { before: object; after: object },
  ): void {
    const change = {
      quotaId: quota.id,
      ownerId: quota.ownerId,
      action,
      actor: storedName(request.caller),
      actorName: unicodeName(request.caller),
      requestId: request.requestId,
      at: this.workingSet.now,
      before: storedJson(before),
      after: storedJson(after),
      changeSetId: request.changeSetId ?? null,
    }
    this.workingSet.changes.push(change)
    this.workingSet.recordEvent(eventOfChange(this.channel, request.id, change))
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
      this.workingSet.recordEvent(eventOfThresholds(id, quota, crossed, operationId, this.workingSet.now))
    }
  }

  private show(quota: Q): Outcome {
    return { body: storedJson(quotaView(this.channel, quota, this.workingSet.now)), replayed: false, subject: quota.id }
  }

  private answerQuota(request: Request, quota: Q): Outcome {
    const outcome = this.show(quota)
    this.workingSet.record(
      this.act(request, {
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
      this.act(request, { quotaId: null, operationId: row.id, amount, defaultAmount, answer: body }),
    )
    if (refusing.length > 0) return { body, replayed: false, subject: row.id, observed: true }
    return { body, replayed: false, subject: row.id }
  }

  private act(
    { id, command, ownerId, caller, callerId, key, deduplicationKey, requestId }: Request,
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
      at: this.workingSet.now,
      ...what,
    }
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
    if (version === undefined || version === quota.version) return
    throw new ServiceError(
      'version_mismatch',
      `The quota is at version ${quota.version}, not ${version}: somebody else changed it. Read it again, then decide.`,
      {
        extra: { version: quota.version },
      },
    )
  }

  /** Checks that the owner may have one more live quota. @throws ServiceError too_many_quotas */
  private checkQuotaLimit(ownerId: number, forCap: boolean): void {
    const { quotas, caps } = this.workingSet.liveCounts(ownerId)
    if (quotas >= MAX_LIVE_QUOTAS) throw tooMany(`${MAX_LIVE_QUOTAS} quotas`)
    if (forCap && caps >= MAX_LIVE_CAPS) throw tooMany(`${MAX_LIVE_CAPS} caps`)
  }

  private nameOwner(ownerId: number): string {
    return `${this.channel.subjects[0].field} ${ownerId}`
  }

  private exceeded(ownerId: number, requested: number, { payers, caps }: Limits<Q>): ServiceError {
    const left = this.workingSet.available(ownerId)
    const refusing = refusingCaps(caps, requested)
    const refill = this.workingSet.refillsAt(ownerId, requested)
    return new ServiceError(
      'quota_exceeded',
      `${requested} requested, ${left} remaining for ${this.nameOwner(ownerId)}${byCaps(refusing)}.`,
      {
        extra: {
          requested,
          remaining: left,
          payable: payable(payers),
          refills_at: refill === null ? null : formatInstant(refill),
          caps: refusing.map(capView),
          quotas: payers.slice(0, MAX_QUOTAS_SHOWN).map(limitView),
        },
      },
    )
  }
}

/** Describes the caps that refuse the amount, for people. */
function byCaps(caps: readonly { readonly id: number }[]): string {
  if (caps.length === 0) return ''
  return `, bounded by ${caps.length === 1 ? 'cap' : 'caps'} ${caps.map(({ id }) => id).join(', ')}`
}

/** Would an `observe` cap have refused this act? Its answer says so. */
function observedIn({ kind, answer }: Act): { observed?: true } {
  return (kind === 'consume' || kind === 'reserve') && answer.includes('"would_refuse":') ? { observed: true } : {}
}

function alreadySettled(state: string): ServiceError {
  const why = state === 'consumed' ? 'A consume has no hold to settle.' : `The hold is already ${state}.`
  return new ServiceError('operation_already_settled', why, { extra: { state } })
}

function tooMany(most: string): ServiceError {
  return new ServiceError('too_many_quotas', `An owner may have at most ${most} that are neither deleted nor expired.`)
}
