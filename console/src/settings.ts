import type { ChangedSettings, Quota, Settings } from './channel-client.ts'
import {
  type CapMode,
  type Limit,
  type QuotaType,
  readThresholds,
  readWindow,
  roleText,
  thresholdsText,
  windowText,
  windowTyped,
} from './limits.ts'
import { readWhole, type Reading } from './whole-number.ts'
import { amount, fromLocalInput, timeText, toLocalInput } from './format.tsx'

/*
 * A quota's settings as a form holds them: texts, until they are sent.
 */

export const EDITABLE = [
  'label',
  'total',
  'status',
  'cap',
  'windowSeconds',
  'expireAt',
  'cycleUnit',
  'cycleResetAt',
  'cycleTimeZone',
  'thresholds',
] as const
export type Editable = (typeof EDITABLE)[number]
/** What is typed; times as `datetime-local` has them, windows as `24 hour`, thresholds as `50 80`. */
export type Typed = Record<Editable, string>

export const UNITS = ['hour', 'day', 'week', 'month', 'year'] as const
export const MOST = 1_000_000_000_000

/** A total as it is typed. */
export function readTotal(text: string): Reading {
  return readWhole(text, { min: 0, max: MOST })
}

const OF_TYPE: Readonly<Record<QuotaType, readonly Editable[]>> = {
  1: ['label', 'total', 'status', 'expireAt', 'thresholds'],
  2: ['label', 'total', 'status', 'expireAt', 'cycleUnit', 'cycleResetAt', 'cycleTimeZone', 'thresholds'],
  3: ['label', 'total', 'status', 'windowSeconds', 'expireAt'],
}

/** The settings that can be edited of such a quota: what pays stays that. */
export function editableOf({
  quotaType,
  cap,
}: {
  readonly quotaType: QuotaType
  readonly cap: CapMode | null
}): readonly Editable[] {
  return EDITABLE.filter((field) => OF_TYPE[quotaType].includes(field) || (field === 'cap' && cap !== null))
}

/** What a form shows for a record. */
export function typedOf(quota: Quota): Typed {
  return {
    label: quota.label ?? '',
    total: String(quota.total),
    // `expired` is no setting: it follows from the end.
    status: quota.status === 'disabled' ? 'disabled' : 'active',
    cap: quota.cap ?? '',
    windowSeconds: windowTyped(quota.windowSeconds),
    thresholds: quota.thresholds?.join(' ') ?? '',
    expireAt: toLocalInput(quota.expireAt),
    cycleUnit: quota.cycleUnit ?? '',
    cycleResetAt: toLocalInput(quota.cycleResetAt),
    cycleTimeZone: quota.cycleTimeZone ?? '',
  }
}

/** The fields that say something else than the record. */
export function changedFields(typed: Typed, record: Quota): Editable[] {
  const shown = typedOf(record)
  const same = (field: Editable): boolean => {
    if (field === 'total') return readTotal(typed.total).value === record.total
    if (field === 'windowSeconds') return readWindow(typed.windowSeconds).value === record.windowSeconds
    if (field === 'thresholds') return readThresholds(typed.thresholds).value?.join(' ') === shown.thresholds
    return typed[field] === shown[field]
  }
  return editableOf(record).filter((field) => !same(field))
}

/** What keeps a field from being sent, by field; what only the service can tell it tells. */
export function mistakes(typed: Typed, quotaType: QuotaType): Partial<Record<Editable, string>> {
  const found = {
    total: readTotal(typed.total).mistake,
    expireAt: quotaType === 1 && typed.expireAt === '' ? 'a total quota has an end' : undefined,
    cycleResetAt: quotaType === 2 && typed.cycleResetAt === '' ? 'a cycle quota has a next reset' : undefined,
    windowSeconds: quotaType === 3 ? readWindow(typed.windowSeconds).mistake : undefined,
    thresholds: quotaType === 3 ? undefined : readThresholds(typed.thresholds).mistake,
  }
  return Object.fromEntries(Object.entries(found).filter(([, mistake]) => mistake !== undefined))
}

/** A cap as a form has it. */
export function capOf(typed: Pick<Typed, 'cap'>): CapMode | null {
  return typed.cap === 'enforce' || typed.cap === 'observe' ? typed.cap : null
}

/** The limit that is typed; undefined where it is not known yet. */
export function limitOf(typed: Typed, quotaType: QuotaType): Limit | undefined {
  const total = readTotal(typed.total).value
  const windowSeconds = quotaType === 3 ? readWindow(typed.windowSeconds).value : null
  const ends = typed.expireAt === '' ? undefined : timeText(fromLocalInput(typed.expireAt) ?? '')
  if (total === undefined || windowSeconds === undefined || (quotaType === 1 && ends === undefined)) return undefined
  return { cap: capOf(typed), quotaType, total, windowSeconds, cycleUnit: typed.cycleUnit, ends }
}

/** The limit of a record. */
export function limitOfQuota(quota: Quota): Limit {
  return { ...quota, ends: quota.expireAt === null ? undefined : timeText(quota.expireAt) }
}

/** As the service takes it. */
export function settingsOf(typed: Typed, fields: readonly Editable[]): Settings {
  const all = {
    label: typed.label === '' ? null : typed.label,
    total: readTotal(typed.total).value ?? NaN,
    status: typed.status === 'disabled' ? ('disabled' as const) : ('active' as const),
    cap: capOf(typed),
    windowSeconds: readWindow(typed.windowSeconds).value ?? null,
    thresholds: [...(readThresholds(typed.thresholds).value ?? [])],
    expireAt: fromLocalInput(typed.expireAt),
    cycleUnit: UNITS.find((unit) => unit === typed.cycleUnit) ?? null,
    cycleResetAt: fromLocalInput(typed.cycleResetAt),
    cycleTimeZone: typed.cycleTimeZone,
  }
  return Object.fromEntries(fields.map((field) => [field, all[field]]))
}

const NONE = 'none'

/** What a setting may be. */
export type SettingValue = string | number | null | undefined | readonly number[]

/** Says nothing: absent, empty, or a list of nothing. */
export function isNothing(value: SettingValue): value is null | undefined | '' | readonly [] {
  return value === null || value === undefined || value === '' || (isList(value) && value.length === 0)
}

/** A setting as a change, or a conflict, tells it. */
export function settingText(field: string, value: SettingValue): string {
  if (isNothing(value)) return field === 'expireAt' ? 'never' : NONE
  if (isList(value)) return thresholdsText(value)
  if (field.endsWith('At')) return timeText(value as string)
  if (field === 'windowSeconds') return windowText(Number(value))
  if (field === 'cap') return roleText(value as CapMode)
  return typeof value === 'number' ? amount(value) : value
}

function isList(value: SettingValue): value is readonly number[] {
  return Array.isArray(value)
}

/** Are two values of a setting the same? */
export function sameSetting(one: SettingValue, other: SettingValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The fields of a change, with what was and what is. */
export function differences({
  before,
  after,
}: {
  before: ChangedSettings
  after: ChangedSettings
}): { field: string; was: string; is: string }[] {
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])]
  const known = (side: ChangedSettings, name: string): string =>
    name in side ? settingText(name, (side as Record<string, SettingValue>)[name]) : NONE
  return names.map((field) => ({ field, was: known(before, field), is: known(after, field) }))
}
