import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'

/** The owner that a valid request names in the channel's field. */
export function ownerOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): number {
  const ownerId = optionalOwnerOf(channel, request)
  if (ownerId === undefined) throw new Error(`${request.constructor.name} names no ${channel.subjects[0].field}`)
  return ownerId
}

/** The same for requests in which the owner is optional. */
export function optionalOwnerOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): number | undefined {
  return idIn(request, channel.subjects[0].field) ?? undefined
}

/** The subjects that a new quota names, by property, the owner first; null if the request names none. */
export function subjectsOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): Record<string, number | null> {
  return Object.fromEntries(channel.subjects.map(({ field, property }) => [property, idIn(request, field) ?? null]))
}

/** The subjects that a list is filtered by, by property. */
export function subjectFilter<Q extends QuotaRow>(
  channel: Channel<Q>,
  query: object,
): Partial<Record<keyof Q & string, number>> {
  const named = channel.subjects.map(({ field, property }) => [property, idIn(query, field)] as const)
  return Object.fromEntries(named.filter(([, id]) => id != null)) as Partial<Record<keyof Q & string, number>>
}

function idIn(request: object, field: string): number | null | undefined {
  return (request as Readonly<Record<string, number | null | undefined>>)[field]
}
