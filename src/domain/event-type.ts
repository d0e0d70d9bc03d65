/**
 * The types of events (contract, §10 and §14) with their causes. An event of a `change` says what it was, one of a
 * `threshold` what was reached; one of a `spell` tells of an owner's refusals, and names no quota.
 */
const CAUSES = {
  'quota.threshold_reached': 'threshold',
  'quota.created': 'change',
  'quota.updated': 'change',
  'quota.deleted': 'change',
  'quota.restored': 'change',
  'quota.reset': 'change',
  'owner.refused': 'spell',
  'owner.recovered': 'spell',
} as const

/** The type of an event, as on the wire. */
export type EventType = keyof typeof CAUSES
/** What an event comes from: forms, texts and rules are by cause. */
export type EventCause = (typeof CAUSES)[EventType]
/** The types with a cause. */
export type EventTypeOf<C extends EventCause> = {
  [T in EventType]: (typeof CAUSES)[T] extends C ? T : never
}[EventType]

/** All types, in order. */
export const EVENT_TYPES = Object.keys(CAUSES) as readonly EventType[]

/** The types with a cause, in order. */
export function eventTypesOf<C extends EventCause>(cause: C): readonly EventTypeOf<C>[] {
  return EVENT_TYPES.filter((type): type is EventTypeOf<C> => CAUSES[type] === cause)
}

/** The cause of a stored event; undefined for a type that only a later version knows. */
export function causeOf(type: EventType): EventCause | undefined {
  return CAUSES[type]
}

/** Selects events: those of quotas whose label begins so, and of owners of such quotas; or those of a group. */
export type EventScope = { readonly label: string } | { readonly groupId: number }
