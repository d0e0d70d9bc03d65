import type { Allocation } from '../quota/draw-down.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { remaining, type Status, statusAt } from '../quota/quota.js'
import type { ChangeRow } from './change.entity.js'
import type { AnyChannel, Channel } from './channel.js'
import type { OperationKind, OperationRow, OperationState } from './operation.entity.js'
import type { QuotaRow } from './quota.entity.js'

/** A quota as it is answered (contract, §3); the people it names come between `id` and `quota_type`. */
export interface QuotaView {
  id: number
  quota_type: number
  total: number
  used: number
  reserved: number
  remaining: number
  status: Status
  expire_at: string | null
  cycle_unit: string | null
  cycle_reset_at: string | null
  cycle_anchor_at: string | null
  cycle_time_zone: string | null
  version: number
  created_at: string
  updated_at: string
}

/** An operation as it is answered (contract, §4); the owner comes after `state`. */
export interface OperationView {
  id: string
  kind: OperationKind
  state: OperationState
  amount: number
  charged: number
  refunded: number
  allocations: { quota_id: number; amount: number }[]
  owner_remaining: number
  expires_at: string | null
  created_at: string
}

/** A change of settings as it is answered. */
export interface ChangeView {
  id: number
  quota_id: number
  action: string
  actor: string
  request_id: string
  at: string
  before: object
  after: object
}

function timeOrNull(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant)
}

/** Shows a rolled quota as it is at `now`. */
export function quotaView<Q extends QuotaRow>(channel: Channel<Q>, quota: Q, now: Instant): QuotaView {
  return {
    id: quota.id,
    ...Object.fromEntries(channel.people.map(({ field, property }) => [field, quota[property]])),
    quota_type: quota.quotaType,
    total: quota.total,
    used: quota.used,
    reserved: quota.reserved,
    remaining: remaining(quota),
    status: statusAt(quota, now),
    expire_at: timeOrNull(quota.expireAt),
    cycle_unit: quota.cycleUnit,
    cycle_reset_at: timeOrNull(quota.cycleEndsAt),
    cycle_anchor_at: timeOrNull(quota.cycleAnchorAt),
    cycle_time_zone: quota.cycleTimeZone,
    version: quota.version,
    created_at: formatInstant(quota.createdAt),
    updated_at: formatInstant(quota.updatedAt),
  }
}

/** Is this a hold whose time has come, whether or not anything has written that down? */
export function isDue(operation: OperationRow, now: Instant): boolean {
  return operation.state === 'reserved' && operation.expiresAt !== null && operation.expiresAt <= now
}

/** Shows an operation as it is at `now`. */
export function operationView(
  channel: AnyChannel,
  operation: OperationRow,
  allocations: readonly Allocation[],
  now: Instant,
): OperationView {
  return {
    id: operation.id,
    kind: operation.kind,
    state: isDue(operation, now) ? 'expired' : operation.state,
    [channel.people[0].field]: operation.ownerId,
    amount: operation.amount,
    charged: operation.charged,
    refunded: operation.refunded,
    allocations: allocations.map(({ quotaId, amount }) => ({ quota_id: quotaId, amount })),
    owner_remaining: operation.ownerRemaining,
    expires_at: timeOrNull(operation.expiresAt),
    created_at: formatInstant(operation.createdAt),
  }
}

/** Shows a recorded change. */
export function changeView(change: ChangeRow): ChangeView {
  return {
    id: change.id,
    quota_id: change.quotaId,
    action: change.action,
    actor: change.actor,
    request_id: change.requestId,
    at: formatInstant(change.at),
    before: JSON.parse(change.before) as object,
    after: JSON.parse(change.after) as object,
  }
}
