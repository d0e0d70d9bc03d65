/** The types of events about the refusals of an owner (contract, §14). */
export const OWNER_EVENT_TYPES = ['owner.refused', 'owner.recovered'] as const
export type OwnerEventType = (typeof OWNER_EVENT_TYPES)[number]

/** The types of events (contract, §10 and §14). */
export const EVENT_TYPES = [
  'quota.threshold_reached',
  'quota.created',
  'quota.updated',
  'quota.deleted',
  'quota.restored',
  'quota.reset',
  ...OWNER_EVENT_TYPES,
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Selects events: those of quotas whose label begins so, and of owners of such quotas; or those of a group. */
export type EventScope = { readonly label: string } | { readonly groupId: number }
