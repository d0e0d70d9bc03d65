import type { Channel } from '../ledger/rows/channel.js'
import { groupOwner } from '../ledger/rows/group.entity.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'

/** The owner that a valid request names in the channel's field; that of the group if it names a group instead. */
export function ownerOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): number {
  const groupId = idIn(request, 'group_id')
  const ownerId = groupId == null ? optionalOwnerOf(channel, request) : groupOwner(groupId)
  if (ownerId === undefined) throw new Error(`${request.constructor.name} names no ${channel.subjects[0].field}`)
  return ownerId
}

/** The same for requests in which the owner is optional. */
export function optionalOwnerOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): number | undefined {
  return idIn(request, channel.subjects[0].field) ?? undefined
}

/** The subjects that a new quota names, by property, the owner first; null if the request names none. */
export function subjectsOf<Q extends QuotaRow>(channel: Channel<Q>, request: object): Record<string, number | null> {
  const subjects = channel.subjects.map(({ field, property }) => [property, idIn(request, field) ?? null] as const)
  return { ...Object.fromEntries(subjects), [channel.subjects[0].property]: ownerOf(channel, request) }
}

/** The subjects that a list is filtered by, by property. */
export function subjectFilter<Q extends QuotaRow>(
  channel: Channel<Q>,
  query: object,
): Partial<Record<keyof Q & string, number>> {
  const named = channel.subjects.map(({ field, property }) => [property, idIn(query, field)] as const)
  const wanted = Object.fromEntries(named.filter(([, id]) => id != null)) as Partial<Record<keyof Q & string, number>>
  const groupId = idIn(query, 'group_id')
  if (groupId == null) return wanted
  const [{ property }] = channel.subjects
  // No quota of a group names an owner.
  return { ...wanted, [property]: wanted[property] === undefined ? groupOwner(groupId) : NOBODY }
}

/** No owner. */
const NOBODY = 0

function idIn(request: object, field: string): number | null | undefined {
  return (request as Readonly<Record<string, number | null | undefined>>)[field]
}
