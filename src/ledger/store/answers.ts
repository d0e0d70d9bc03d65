import type { CapCount } from '../../domain/cap.js'
import type { Allocation } from '../../domain/draw-down.js'
import { shownId, shownOverrides } from '../../domain/follow.js'
import { endOf, type QuotaState, remaining, statusAt } from '../../domain/quota.js'
import { nextRefill } from '../../domain/refill.js'
import { settingsView } from '../../domain/settings.js'
import { nameOf } from '../../common/principal-name.js'
import { formatInstant, type Instant, timeOrNull } from '../../common/instant.js'
import type { Act } from '../rows/act.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { AnyChannel, Channel } from '../rows/channel.js'
import { NO_CAPS, NONE_REFUSING } from '../rows/counted-caps.js'
import { groupOf, type GroupRow } from '../rows/group.entity.js'
import type { OperationKind, OperationRow, OperationState } from '../rows/operation.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'

/** A quota in the form of answers (contract, §3); its subjects come between `id` and `quota_type`. */
export interface QuotaView extends ReturnType<typeof membersOf> {
  id: number
  /** Present only in a list of deleted quotas. */
  deleted_at?: string
}

/** An operation in the form of answers (contract, §4); the owner comes after `state`. */
export interface OperationView {
  id: string
  kind: OperationKind
  state: OperationState
  amount: number
  charged: number
  refunded: number
  allocations: { quota_id: number; amount: number }[]
  /** The caps that counted it, ids ascending; absent if there are none. */
  caps?: number[] | undefined
  /** The `observe` caps among them that would have refused it; only in the first answer, absent if there are none. */
  would_refuse?: readonly number[] | undefined
  owner_remaining: number
  expires_at: string | null
  created_at: string
  /** Present only in a list that requests it. */
  made_by?: MadeBy
}

/** The maker of an operation, in the form of answers. */
export interface MadeBy {
  actor: string
  idempotency_key: string | null
}

/**
 * A change, in the form of answers; the owner comes after `quota_id`. The change of a group has neither of the two, the
 * erasure of an owner has the owner alone.
 */
export interface ChangeView {
  id: number
  quota_id?: number
  group_id: number | null
  action: string
  actor: string
  request_id: string
  at: string
  before: object
  after: object
  /** Present only in a change that a change set made. */
  change_set_id?: number
}

/** A group, in the form of answers (contract, §13). */
export type GroupView = ReturnType<typeof groupView>

/** Shows a group. */
export function groupView(group: GroupRow) {
  const { id, name, parentId, isDefault, version, createdAt, updatedAt } = group
  return {
    id,
    name,
    parent_id: parentId,
    default: isDefault === 1,
    version,
    created_at: formatInstant(createdAt),
    updated_at: formatInstant(updatedAt),
  }
}

/** Shows a rolled quota as of `now`. */
export function quotaView<Q extends QuotaRow>(channel: Channel<Q>, quota: Q, now: Instant): QuotaView {
  const subjects: Record<string, unknown> = { id: quota.id }
  for (const { field, property } of channel.subjects) subjects[field] = quota[property]
  subjects[channel.subjects[0].field] = shownOwner(quota.ownerId)
  return Object.assign(subjects, membersOf(quota, now)) as unknown as QuotaView
}

/** The members of every quota in answers, without its id and its subjects. */
function membersOf(quota: QuotaRow, now: Instant) {
  const { total, status: _, expire_at, cycle_unit, cycle_reset_at, ...settings } = settingsView(quota)
  return {
    quota_type: quota.quotaType,
    total,
    used: quota.used,
    reserved: quota.reserved,
    remaining: remaining(quota),
    status: statusAt(quota, now),
    expire_at,
    cycle_unit,
    cycle_reset_at,
    cycle_anchor_at: timeOrNull(quota.cycleAnchorAt),
    ...settings,
    group_id: quota.groupId,
    per: quota.per,
    follows: quota.follows,
    overrides: shownOverrides(quota.overrides),
    version: quota.version,
    created_at: formatInstant(quota.createdAt),
    updated_at: formatInstant(quota.updatedAt),
  }
}

/** Is this a hold that is due, whether or not its expiry is recorded? */
export function isDue(operation: OperationRow, now: Instant): boolean {
  return operation.state === 'reserved' && operation.expiresAt !== null && operation.expiresAt <= now
}

/** Shows a rolled payer, for a refusal. */
export function limitView(quota: QuotaState) {
  const { id, groupId, total, used, reserved } = quota
  return {
    // Null for a member's count that its first consume will create.
    id: shownId(id),
    group_id: groupId,
    total,
    used,
    reserved,
    remaining: remaining(quota),
    // The next time before its end at which it has more units.
    refills_at: timeOrNull(nextRefill(quota)),
  }
}

/** A cap in a refusal, a check or a summary. */
export type CapView = ReturnType<typeof capView>

/** Shows a rolled cap. */
export function capView(quota: QuotaState) {
  const { id, group_id, ...limit } = limitView(quota)
  return { id, group_id, cap: quota.cap ?? ('enforce' as const), quota_type: quota.quotaType, ...limit }
}

/** A payer or a cap, as its owner sees it by a link (contract, §14). */
export type OwnerLimitView = ReturnType<typeof ownerLimitView>

/**
 * Shows a rolled payer or cap to its owner. The counters of a quota that owners share would tell about the others, so
 * it shows only what this owner may still take.
 * @param left the owner's `available`
 */
export function ownerLimitView(quota: QuotaState, left: number) {
  const { id, total, used, remaining: unused, refills_at } = limitView(quota)
  const isShared = quota.per === 'group'
  return {
    id: isShared ? null : id,
    label: quota.label,
    quota_type: quota.quotaType,
    cap: quota.cap,
    total: isShared ? null : total,
    used: isShared ? null : used,
    remaining: isShared ? Math.min(unused, left) : unused,
    refills_at,
    expire_at: timeOrNull(endOf(quota)),
  }
}

/** Shows an operation as of `now`. */
export function operationView(
  channel: AnyChannel,
  operation: OperationRow,
  allocations: readonly Allocation[],
  now: Instant,
  caps: readonly CapCount[] = NO_CAPS,
  wouldRefuse: readonly number[] = NONE_REFUSING,
): OperationView {
  return {
    id: operation.id,
    kind: operation.kind,
    state: isDue(operation, now) ? 'expired' : operation.state,
    [channel.subjects[0].field]: operation.ownerId,
    amount: operation.amount,
    charged: operation.charged,
    refunded: operation.refunded,
    allocations: allocations.map(({ quotaId, amount }) => ({ quota_id: quotaId, amount })),
    caps: caps.length === 0 ? undefined : caps.map(({ quotaId }) => quotaId),
    would_refuse: wouldRefuse.length === 0 ? undefined : wouldRefuse,
    owner_remaining: operation.ownerRemaining,
    expires_at: timeOrNull(operation.expiresAt),
    created_at: formatInstant(operation.createdAt),
  }
}

/** An act on an operation, in the form of answers. */
export type ActView = ReturnType<typeof actView>

/** Shows an act on an operation. */
export function actView(act: Act) {
  return {
    kind: act.kind,
    actor: nameOf(act.caller, act.callerName),
    amount: act.amount,
    idempotency_key: act.idempotencyKey,
    request_id: act.requestId,
    at: formatInstant(act.at),
  }
}

/** Shows a recorded change. */
export function changeView(channel: AnyChannel, change: ChangeRow): ChangeView {
  const { quotaId, groupId } = change
  const owner = { [channel.subjects[0].field]: shownOwner(change.ownerId) }
  return {
    id: change.id,
    ...(quotaId === null ? (groupId === null ? owner : {}) : { quota_id: quotaId, ...owner }),
    group_id: groupId,
    action: change.action,
    actor: nameOf(change.actor, change.actorName),
    request_id: change.requestId,
    at: formatInstant(change.at),
    before: JSON.parse(change.before) as object,
    after: JSON.parse(change.after) as object,
    ...(change.changeSetId === null ? {} : { change_set_id: change.changeSetId }),
  }
}

/** The owner in answers: null for a group's quotas, whose owner is the group. */
export function shownOwner(ownerId: number): number | null {
  return groupOf(ownerId) === undefined ? ownerId : null
}
