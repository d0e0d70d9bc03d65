import type { EventType, EventTypeOf } from '../../domain/event-type.js'
import type { QuotaState } from '../../domain/quota.js'
import type { Spell } from '../../domain/spell.js'
import { formatInstant, type Instant, timeOrNull } from '../../common/instant.js'
import type { ChangeAction, ChangeRow } from '../rows/change.entity.js'
import type { AnyChannel } from '../rows/channel.js'
import type { EventRow } from '../rows/event.entity.js'
import type { RefusalCode } from '../rows/refusal.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { changeView, shownOwner } from './answers.js'

/** An event in the form of answers; the owner comes after `at`. */
export interface EventView {
  id: string
  type: EventType
  at: string
  quota_id: number | null
  group_id: number | null
  data: object
}

/** An event that a batch is about to write. */
export interface NewEvent extends Omit<EventRow, 'seq' | 'position' | 'id' | 'changeId'> {
  /** The change that it reports, whose id comes from the database. */
  readonly change?: Omit<ChangeRow, 'id'>
}

/** An action on a quota. */
export type QuotaAction = Exclude<ChangeAction, 'members'>

const TYPES: Readonly<Record<QuotaAction, EventTypeOf<'change'>>> = {
  create: 'quota.created',
  update: 'quota.updated',
  delete: 'quota.deleted',
  restore: 'quota.restored',
  reset: 'quota.reset',
  erase: 'quota.updated',
}

/**
 * The event of a change.
 * @param quota right after the act
 * @param row the change as it is written, from which the event gets its id
 */
export function eventOfChange(
  channel: AnyChannel,
  actId: string,
  change: Omit<ChangeRow, 'id'> & { ownerId: number; quotaId: number; action: QuotaAction },
  quota: Pick<QuotaState, 'label' | 'cycleEndsAt' | 'expireAt'>,
  row: Omit<ChangeRow, 'id'> = change,
): NewEvent {
  const { id: _, ...data } = changeView(channel, { id: 0, ...change })
  return { ...eventOfQuota(TYPES[change.action], actId, change, quota, data), change: row }
}

/**
 * The event of thresholds that are passed.
 * @param actId the act that passed them; null where a count follows an edit
 * @param quota right after the act
 * @param crossed ascending, not empty
 * @param operationId what passed them; null for an edit
 */
export function eventOfThresholds(
  actId: string | null,
  quota: QuotaState & { ownerId: number },
  crossed: readonly number[],
  operationId: string | null,
  at: number,
): NewEvent {
  const { id: quotaId, ownerId, groupId, total, used, cycleEndsAt, label } = quota
  const data = {
    threshold: crossed.at(-1),
    crossed,
    total,
    used,
    cycle_reset_at: timeOrNull(cycleEndsAt),
    label,
    operation_id: operationId,
  }
  return eventOfQuota('quota.threshold_reached', actId, { quotaId, ownerId, groupId, at }, quota, data)
}

function eventOfQuota(
  type: EventType,
  actId: string | null,
  { quotaId, ownerId, groupId, at }: { quotaId: number; ownerId: number; groupId: number | null; at: Instant },
  { label, cycleEndsAt, expireAt }: Pick<QuotaState, 'label' | 'cycleEndsAt' | 'expireAt'>,
  data: object,
): NewEvent {
  const until = cycleEndsAt ?? expireAt
  return { type, at, ownerId, groupId, quotaId, actId, label, until, data: storedJson(data) }
}

/**
 * The event of a spell of refusals.
 * @param groupId the group that the owner belongs to
 * @param label that of one of its quotas
 */
export function eventOfSpell(
  type: EventTypeOf<'spell'>,
  spell: Spell & { ownerId: number; code: RefusalCode },
  groupId: number | null,
  label: string | null,
  at: number,
): NewEvent {
  const { ownerId, code, since, count, requested } = spell
  const data = storedJson({ code, since: formatInstant(since), count, requested })
  return { type, at, ownerId, groupId, quotaId: null, actId: null, label, until: null, data }
}

/** Shows an event. The same row always results in the same text. */
export function eventView(channel: AnyChannel, event: EventRow): EventView {
  const data = JSON.parse(event.data) as object
  return {
    id: event.id,
    type: event.type,
    at: formatInstant(event.at),
    [channel.subjects[0].field]: shownOwner(event.ownerId),
    quota_id: event.quotaId,
    group_id: event.groupId,
    data: event.changeId === null ? data : { id: event.changeId, ...data },
  }
}
