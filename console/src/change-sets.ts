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
import type { ManySearch } from './search.ts'
import { client as quotaClient } from './session.ts'

/*
 * Many quotas changed as one. As in `channel-client.ts`, the two channels are one to the screens. Loaded with the first
 * screen that needs it.
 */

export type ChangeSet = AnyChangeSet<Mail>
export type Counts = ChangeSet['counts']
/** A row, of whichever channel. */
export type Row = ChangeSetRow<Mail>
export type { ChangeSetState, RowOutcome }
export type Change = QuotaChange<Mail>

const APIS: Readonly<Record<ChannelName, ChangeSets<Mail>>> = {
  mail: changeSets(quotaClient.mail),
  // The same routes and fields, but that an owner is a user; `filterOf` and `ownerOf` know.
  sms: changeSets(quotaClient.sms) as unknown as ChangeSets<Mail>,
}

/** The change sets of a channel. */
export function setsOf(client: ChannelClient): ChangeSets<Mail> {
  return APIS[client.name]
}

/** What a list shows, as a filter of a change set. */
export function filterOf(client: ChannelClient, { owner, person, ...rest }: ManySearch): ChangeSetFilter<Mail> {
  const filter = given({ ...rest, ...client.peopleOf({ owner, person }) })
  return Object.keys(filter).length === 0 ? { all: true } : filter
}

/** And back; without anything where it is everything, or there is none. */
export function searchOf(client: ChannelClient, { filter }: ChangeSet): ManySearch {
  const { all: _all, accountId, userId, ...rest } = filter ?? {}
  const people = client.namesPerson ? { owner: accountId, person: userId } : { owner: userId }
  return given({ ...rest, ...people })
}

/** Whose quota a row is about. */
export function ownerOf(row: Row): number | null {
  return (row as Row & { userId?: number | null }).userId ?? row.accountId ?? null
}

/** What is asked for, as a sentence. */
export function askOf(client: ChannelClient, set: ChangeSet): readonly Part[] {
  if (set.source === 'import' || set.filter === null || set.change === null) return ['Import of a table.']
  return sentenceOf(client, searchOf(client, set), set.change)
}

/** The same before it is asked for. */
export function sentenceOf(client: ChannelClient, search: ManySearch, change: Change): readonly Part[] {
  const filter: AskedFilter = search
  return askParts(filter, change, { owner: client.owner, time: timeText })
}

/** States in which the service is at work. */
export function isAtWork({ state }: Pick<ChangeSet, 'state'>): boolean {
  return state === 'preparing' || state === 'applying' || state === 'reverting'
}

/** What a state is called, with a sign of its own. */
export const STATES: Readonly<Record<ChangeSetState, readonly [sign: string, name: string]>> = {
  preparing: ['◔', 'being looked at'],
  ready: ['○', 'not applied yet'],
  applying: ['◔', 'under way'],
  applied: ['●', 'applied'],
  reverting: ['◔', 'being undone'],
  reverted: ['↩', 'undone'],
  failed: ['✕', 'failed'],
}

/** What became of a row. */
export const OUTCOMES: Readonly<Record<RowOutcome, readonly [sign: string, name: string]>> = {
  planned: ['○', 'to do'],
  unchanged: ['=', 'as it is'],
  invalid: ['✕', 'not possible'],
  applied: ['●', 'done'],
  conflict: ['‖', 'in conflict'],
  reverted: ['↩', 'undone'],
  kept: ['‖', 'kept'],
}

/** How far it is: rows that are done of those that are to be; what turned out not to be possible is neither. */
export function progressOf({ state, counts }: ChangeSet): { readonly done: number; readonly total: number } {
  const done = state === 'reverting' ? counts.reverted + counts.kept : counts.applied + counts.conflict
  return { done, total: done + (state === 'reverting' ? counts.applied : counts.planned) }
}

/** Under what the form is kept that asks for a change of these. */
export function manyDraft(client: ChannelClient, search: ManySearch): string {
  return `${client.name}/many/${JSON.stringify(Object.entries(search).sort(([a], [b]) => (a < b ? -1 : 1)))}`
}

/** What is typed of an import. */
export interface ImportDraft {
  readonly text: string
  /** Of the next try. */
  readonly key: string
  /** The change set that was made of it last. */
  readonly checked?: number | undefined
  /** Was anything typed since? */
  readonly edited?: boolean | undefined
}

/** Under what that is kept. */
export function importDraft(client: ChannelClient): string {
  return `${client.name}/import`
}
