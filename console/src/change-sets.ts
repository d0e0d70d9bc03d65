import {
  type ChangeSet as AnyChangeSet,
  type ChangeSetFilter,
  type ChangeSetRow,
  type ChangeSets,
  changeSets,
  type ChangeSetState,
  type QuotaChange,
  type RowOutcome,
} from '@quota-service/client/change-sets'
import type { Mail } from '@quota-service/client'
import { type AskedFilter, askParts, type Part } from './ask.ts'
import { type ChannelName, type ChannelClient, given } from './channel-client.ts'
import { timeText } from './format.tsx'
import { Notice } from './notice.ts'
import type { ManySearch } from './search.ts'
import { client as quotaClient } from './session.ts'

/*
 * Change sets. As in `channel-client.ts`, screens do not distinguish the two channels. Loaded with the first screen
 * that needs it.
 */

export type ChangeSet = AnyChangeSet<Mail>
export type Counts = ChangeSet['counts']
/** A row of either channel. */
export type Row = ChangeSetRow<Mail>
export type { ChangeSetState, RowOutcome }
export type Change = QuotaChange<Mail>

const APIS: Readonly<Record<ChannelName, ChangeSets<Mail>>> = {
  mail: changeSets(quotaClient.mail),
  // The same routes and fields, except that the owner is a user; `filterOf` and `ownerOf` handle this.
  sms: changeSets(quotaClient.sms) as unknown as ChangeSets<Mail>,
}

/** The change sets of a channel. */
export function setsOf(client: ChannelClient): ChangeSets<Mail> {
  return APIS[client.name]
}

/** The chosen quotas, or the filters of a list, as the filter of a change set. */
export function filterOf(client: ChannelClient, { ids, owner, person, ...rest }: ManySearch): ChangeSetFilter<Mail> {
  if (ids !== undefined) return { ids: [...ids] }
  // A condition that does not exist must not become none.
  if (person !== undefined && !client.namesPerson)
    throw new Notice(
      'This filter is for mail',
      `Quotas of ${client.title} name no further user.`,
      'Begin again from the list of quotas.',
    )
  const filter = given({ ...rest, ...client.peopleOf({ owner, person }) })
  return Object.keys(filter).length === 0 ? { all: true } : filter
}

/** The reverse; empty if the filter is absent or selects all quotas. */
export function searchOf(client: ChannelClient, { filter }: ChangeSet): ManySearch {
  const { all: _all, accountId, userId, ...rest } = filter ?? {}
  const people = client.namesPerson ? { owner: accountId, person: userId } : { owner: userId }
  return given({ ...rest, ...people })
}

/** The owner of the quota of a row. */
export function ownerOf(row: Row): number | null {
  return (row as Row & { userId?: number | null }).userId ?? row.accountId ?? null
}

/** The requested change, as a sentence. */
export function askOf(client: ChannelClient, set: ChangeSet): readonly Part[] {
  if (set.source === 'import' || set.filter === null || set.change === null) return ['Import of a table.']
  return sentenceOf(client, searchOf(client, set), set.change)
}

/** The same before the change set exists. */
export function sentenceOf(client: ChannelClient, search: ManySearch, change: Change): readonly Part[] {
  const filter: AskedFilter = search
  return askParts(filter, change, { owner: client.owner, time: timeText })
}

/** Is the service processing the change set? */
export function isAtWork({ state }: Pick<ChangeSet, 'state'>): boolean {
  return state === 'preparing' || state === 'applying' || state === 'reverting'
}

/** The sign and the name of each state. */
export const STATES: Readonly<Record<ChangeSetState, readonly [sign: string, name: string]>> = {
  preparing: ['◔', 'being looked at'],
  ready: ['○', 'not applied yet'],
  applying: ['◔', 'under way'],
  applied: ['●', 'applied'],
  reverting: ['◔', 'being undone'],
  reverted: ['↩', 'undone'],
  failed: ['✕', 'failed'],
}

/** The sign and the name of each outcome. */
export const OUTCOMES: Readonly<Record<RowOutcome, readonly [sign: string, name: string]>> = {
  planned: ['○', 'to do'],
  unchanged: ['=', 'as it is'],
  invalid: ['✕', 'not possible'],
  applied: ['●', 'done'],
  conflict: ['‖', 'in conflict'],
  reverted: ['↩', 'undone'],
  kept: ['‖', 'kept'],
}

/** The progress: processed rows, and the total; rows that were invalid are in neither. */
export function progressOf({ state, counts }: ChangeSet): { readonly done: number; readonly total: number } {
  const done = state === 'reverting' ? counts.reverted + counts.kept : counts.applied + counts.conflict
  return { done, total: done + (state === 'reverting' ? counts.applied : counts.planned) }
}

/** The name of the draft of a change of these quotas: as of their change set, which keeps no filter beside ids. */
export function manyDraft(client: ChannelClient, search: ManySearch): string {
  const { ids } = search
  const parts = Object.entries(ids === undefined ? search : { ids }).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${client.name}/many/${JSON.stringify(parts)}`
}

/** The draft of an import. */
export interface ImportDraft {
  readonly text: string
  /** The idempotency key of the next request. */
  readonly key: string
  /** The idempotency key of the check that began last. */
  readonly checking?: string | undefined
  /** The last change set created from it. */
  readonly checked?: number | undefined
  /** Was it edited since? */
  readonly edited?: boolean | undefined
}

/** The name of that draft. */
export function importDraft(client: ChannelClient): string {
  return `${client.name}/import`
}
