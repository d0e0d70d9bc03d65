import type { ChangeSetState, RowOutcome } from '@quota-service/client/change-sets'
import type { AnyChange, Status } from './channel-client.ts'

/*
 * The part of a screen's state that its address contains, so that the address can be shared: filters and pages, as
 * plain text. Invalid values are omitted.
 */

type Raw = Record<string, unknown>

export function readSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function writeSearch(search: Raw): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** Reads an integer from 1; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  const found = /^\d{1,16}$/.test(String(value)) ? Number(value) : 0
  return found > 0 && Number.isSafeInteger(found) ? found : undefined
}

/** The maximum number of ids in a filter of the service. */
export const MAX_CHOSEN = 1_000

/**
 * Reads different ids, from a list or between commas. The service refuses none, and too many: neither may become a
 * whole list.
 */
function idsOf(value: unknown): readonly number[] | undefined {
  if (value === undefined) return undefined
  const given: readonly unknown[] = Array.isArray(value)
    ? value
    : typeof value === 'string'
      ? value.split(',')
      : [value]
  const ids = given.flatMap((one) => numberOf(one) ?? [])
  return [...new Set(ids)]
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function oneOf<T extends string>(values: readonly T[], value: unknown): T | undefined {
  return values.find((one) => one === value)
}

function defined<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

export const STATUSES: readonly Status[] = ['active', 'disabled', 'expired', 'left']
/** Filters by role: quotas that pay, caps that refuse, caps that only observe. */
export const CAP_FILTERS = ['none', 'enforce', 'observe'] as const
export const ACTIONS: readonly AnyChange['action'][] = [
  'create',
  'update',
  'delete',
  'restore',
  'reset',
  'members',
  'erase',
]

export const SET_STATES: readonly ChangeSetState[] = [
  'ready',
  'applied',
  'reverted',
  'preparing',
  'applying',
  'reverting',
  'failed',
]
/** In the order of display. */
export const SET_OUTCOMES: readonly RowOutcome[] = [
  'planned',
  'unchanged',
  'invalid',
  'applied',
  'conflict',
  'reverted',
  'kept',
]

export const overviewSearch = (raw: Raw) => defined({ cursor: text(raw['cursor']) })
export const quotasSearch = (raw: Raw) =>
  defined({
    page: numberOf(raw['page']),
    beforeId: numberOf(raw['beforeId']),
    owner: numberOf(raw['owner']),
    person: numberOf(raw['person']),
    status: oneOf(STATUSES, raw['status']),
    label: text(raw['label']),
    cap: oneOf(CAP_FILTERS, raw['cap']),
    groupId: numberOf(raw['groupId']),
    follows: numberOf(raw['follows']),
    deleted: raw['deleted'] === 'true' || raw['deleted'] === true ? (true as const) : undefined,
  })
/** Selects the quotas of a change set: the chosen ones, or all of a list by its filters. */
export const manySearch = (raw: Raw) => {
  const { owner, person, status, label, cap, groupId, follows } = quotasSearch(raw)
  return defined({ ids: idsOf(raw['ids']), owner, person, status, label, cap, groupId, follows })
}
export const changeSetsSearch = (raw: Raw) =>
  defined({ state: oneOf(SET_STATES, raw['state']), before: numberOf(raw['before']) })
export const changeSetSearch = (raw: Raw) =>
  defined({ outcome: oneOf(SET_OUTCOMES, raw['outcome']), after: numberOf(raw['after']) })
export const quotaSearch = (raw: Raw) =>
  defined({ edit: raw['edit'] === 'true' || raw['edit'] === true ? (true as const) : undefined })
export const newSearch = (raw: Raw) => defined({ owner: numberOf(raw['owner']), group: numberOf(raw['group']) })
export const groupsSearch = (raw: Raw) => defined({ name: text(raw['name']), page: numberOf(raw['page']) })
export const groupSearch = (raw: Raw) => defined({ after: numberOf(raw['after']) })
export const changesSearch = (raw: Raw) =>
  defined({
    owner: numberOf(raw['owner']),
    quotaId: numberOf(raw['quotaId']),
    actor: text(raw['actor']),
    action: oneOf(ACTIONS, raw['action']),
    requestId: text(raw['requestId']),
    from: text(raw['from']),
    to: text(raw['to']),
    before: numberOf(raw['before']),
  })
export const everythingSearch = (raw: Raw) => defined({ q: text(raw['q']) })
export const operationsSearch = (raw: Raw) => defined({ key: text(raw['key']), caller: text(raw['caller']) })

export type OverviewSearch = ReturnType<typeof overviewSearch>
export type QuotasSearch = ReturnType<typeof quotasSearch>
export type ManySearch = ReturnType<typeof manySearch>
export type ChangeSetsSearch = ReturnType<typeof changeSetsSearch>
export type ChangeSetSearch = ReturnType<typeof changeSetSearch>
export type QuotaSearch = ReturnType<typeof quotaSearch>
export type GroupsSearch = ReturnType<typeof groupsSearch>
export type GroupSearch = ReturnType<typeof groupSearch>
export type NewSearch = ReturnType<typeof newSearch>
export type ChangesSearch = ReturnType<typeof changesSearch>
export type EverythingSearch = ReturnType<typeof everythingSearch>
export type OperationsSearch = ReturnType<typeof operationsSearch>
