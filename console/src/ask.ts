import { amount } from './amount.ts'
import type { Editable } from './field-name.ts'
import { roleText, thresholdsText, windowText } from './limits.ts'
import { MAX_AMOUNT, readWhole, type Reading } from './whole-number.ts'

/*
 * A requested change of many quotas, in words: the selected quotas, and the change of each.
 */

/** A part of a sentence. A name is a part of its own, since it may be written from right to left. */
export type Part = string | { readonly name: string }

/** Selects quotas that meet all conditions. */
export interface AskedFilter {
  readonly all?: boolean | undefined
  readonly owner?: number | undefined
  /** The user of a mail account. */
  readonly person?: number | undefined
  readonly status?: string | undefined
  readonly label?: string | undefined
  readonly cap?: 'none' | 'enforce' | 'observe' | undefined
  readonly groupId?: number | undefined
  readonly follows?: number | undefined
  readonly ids?: readonly number[] | undefined
}

/** A new total: an amount, or a change by units or by a percentage. */
export type AskedTotal = number | { readonly add?: number } | { readonly percent?: number }

/** The change of each quota: one of the three. */
export interface AskedChange {
  readonly update?: Readonly<Record<string, unknown>> | undefined
  readonly delete?: true | undefined
  readonly reset?: true | undefined
}

/** The channel's word for an owner, and the format of times. */
export interface Words {
  /** `account`, `user`. */
  readonly owner: string
  readonly time: (at: string) => string
}

/** `every active quota of account 7 whose label begins with “Trial”`. */
function filterParts(filter: AskedFilter, { owner }: Pick<Words, 'owner'>): Part[] {
  const { status, cap, label, person, groupId, follows, ids } = filter
  if (ids !== undefined) return [ids.length === 1 ? `quota #${ids[0]}` : `each of ${amount(ids.length)} chosen quotas`]
  const parts: Part[] = [`every ${status === undefined ? '' : `${status} `}quota`]
  if (filter.owner !== undefined) parts.push(` of ${owner} ${filter.owner}`)
  if (groupId !== undefined) parts.push(` of group ${groupId} itself`)
  const which: Part[][] = []
  if (follows !== undefined) which.push([`that follows #${follows}`])
  if (person !== undefined) which.push([`whose account belongs to user ${person}`])
  if (cap !== undefined) which.push([`that ${roleText(cap === 'none' ? null : cap)}`])
  if (label !== undefined) which.push(['whose label begins with “', { name: label }, '”'])
  for (const [place, condition] of which.entries()) parts.push(place === 0 ? ' ' : ' and ', ...condition)
  return parts
}

/** `total raised by 10 %, label “Basic”`. */
function changeParts(change: AskedChange, words: Pick<Words, 'time'>): Part[] {
  if (change.delete === true) return ['deleted']
  if (change.reset === true) return ['count set to 0']
  const said = Object.entries(change.update ?? {}).map(([field, value]) => settingParts(field, value, words))
  return said.flatMap((parts, place) => (place === 0 ? parts : [', ', ...parts]))
}

/** Filter and change as a sentence. */
export function askParts(filter: AskedFilter, change: AskedChange, words: Words): Part[] {
  const [first = '', ...rest] = filterParts(filter, words)
  const begun = typeof first === 'string' ? first.charAt(0).toUpperCase() + first.slice(1) : first
  return [begun, ...rest, ': ', ...changeParts(change, words), '.']
}

/** A sentence as plain text. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : part.name)).join('')
}

function settingParts(field: string, value: unknown, { time }: Pick<Words, 'time'>): Part[] {
  const setting = field as Editable
  switch (setting) {
    case 'total':
      return [totalText(value as AskedTotal)]
    case 'status':
      return [value === 'disabled' ? 'disabled' : 'enabled']
    case 'label':
      return value === null ? ['label taken away'] : ['label “', { name: value as string }, '”']
    case 'expireAt':
      return [value === null ? 'ends never' : `ends ${time(value as string)}`]
    case 'thresholds': {
      const list = (value ?? []) as readonly number[]
      return [list.length === 0 ? 'notifies at no threshold' : `notifies at ${thresholdsText(list)}`]
    }
    case 'windowSeconds':
      return [`window ${windowText(Number(value))}`]
    case 'cap':
      return [roleText(value === 'observe' ? 'observe' : 'enforce')]
    case 'cycleUnit':
      return [`cycle of ${value === 'hour' ? 'an' : 'a'} ${value as string}`]
    case 'cycleResetAt':
      return [`next reset ${time(value as string)}`]
    case 'cycleTimeZone':
      return [`time zone ${value as string}`]
    default:
      // Of a later version of the service.
      return [`${String(setting satisfies never)} ${JSON.stringify(value)}`]
  }
}

function totalText(total: AskedTotal): string {
  if (typeof total === 'number') return `total ${amount(total)}`
  const [by, unit] = 'percent' in total ? [total.percent ?? 0, '\u00a0%'] : [('add' in total && total.add) || 0, '']
  return `total ${by < 0 ? 'lowered' : 'raised'} by ${amount(Math.abs(by))}${unit}`
}

/* A typed total. */

/** The meanings of a typed number for the new total. */
export const HOWS = ['percentMore', 'percentLess', 'more', 'less', 'to'] as const
export type How = (typeof HOWS)[number]
const BOUNDS: Readonly<Record<How, number>> = {
  percentMore: 10_000,
  percentLess: 100,
  more: MAX_AMOUNT,
  less: MAX_AMOUNT,
  to: MAX_AMOUNT,
}

/** Reads a typed number. */
export function readBy(how: How, text: string): Reading {
  return readWhole(text, { min: how === 'to' ? 0 : 1, max: BOUNDS[how] })
}

/** The total in the form of a request. */
export function totalOf(how: How, value: number): AskedTotal {
  if (how === 'to') return value
  const signed = how === 'less' || how === 'percentLess' ? -value : value
  return how === 'more' || how === 'less' ? { add: signed } : { percent: signed }
}
