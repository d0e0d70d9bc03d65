/** The types of events (contract, §10). */
export const EVENT_TYPES = [
  'quota.threshold_reached',
  'quota.created',
  'quota.updated',
  'quota.deleted',
  'quota.restored',
  'quota.reset',
] as const
export type EventType = (typeof EVENT_TYPES)[number]
