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
import { MAX_AMOUNT, readWhole, type Reading } from './whole-number.ts'
import { amount } from './amount.ts'
import { EDITABLE, type Editable, sameSetting, type SettingValue } from './field-name.ts'
import { fromLocalInput, timeMistake, timeText, toLocalInput } from './format.tsx'
import { UNITS } from './resets.ts'

/*
 * A quota's settings in a form: texts, until they are sent.
 */

export { EDITABLE, type Editable, sameSetting, type SettingValue }
/** The typed texts; times in the format of `datetime-local`, windows as `24 hour`, thresholds as `50 80`. */
export type Typed = Record<Editable, string>

/** Reads a typed total. */
export function readTotal(text: string): Reading {
  return readWhole(text, { min: 0, max: MAX_AMOUNT })
}

/** The types that have a setting; others are for all. */
const TYPES: Readonly<Partial<Record<Editable, readonly QuotaType[]>>> = {
  cycleUnit: [2],
  cycleResetAt: [2],
  cycleTimeZone: [2],
  windowSeconds: [3],
  thresholds: [1, 2],
}

/** The editable settings of a quota: a quota that pays cannot become a cap. */
export function editableOf({
  quotaType,
  cap,
}: {
  readonly quotaType: QuotaType
  readonly cap: CapMode | null
}): readonly Editable[] {
  return EDITABLE.filter((field) => (field === 'cap' ? cap !== null : (TYPES[field]?.includes(quotaType) ?? true)))
}

/** The texts of a form for a record. */
export function typedOf(quota: Quota): Typed {
  return {
    label: quota.label ?? '',
    total: String(quota.total),
    // `expired` is not a setting: it follows from `expireAt`.
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

/** The fields whose values differ from the record. */
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

/** The mistakes that prevent sending, by field; the service reports those that only it can find. */
export function mistakes(typed: Typed, quotaType: QuotaType): Partial<Record<Editable, string>> {
  const found = {
    total: readTotal(typed.total).mistake,
    expireAt: quotaType === 1 && typed.expireAt === '' ? 'a total quota has an end' : timeMistake(typed.expireAt),
    cycleResetAt:
      quotaType !== 2
        ? undefined
        : typed.cycleResetAt === ''
          ? 'a cycle quota has a next reset'
          : timeMistake(typed.cycleResetAt),
    windowSeconds: quotaType === 3 ? readWindow(typed.windowSeconds).mistake : undefined,
    thresholds: quotaType === 3 ? undefined : readThresholds(typed.thresholds).mistake,
  }
  return Object.fromEntries(Object.entries(found).filter(([, mistake]) => mistake !== undefined))
}

/** The cap in a form. */
export function capOf(typed: Pick<Typed, 'cap'>): CapMode | null {
  return typed.cap === 'enforce' || typed.cap === 'observe' ? typed.cap : null
}

/** The typed limit; undefined while it is incomplete. */
export function limitOf(typed: Typed, quotaType: QuotaType): Limit | undefined {
  const total = readTotal(typed.total).value
  const windowSeconds = quotaType === 3 ? readWindow(typed.windowSeconds).value : null
  const expireAt = fromLocalInput(typed.expireAt)
  const ends = expireAt === null ? undefined : timeText(expireAt)
  if (total === undefined || windowSeconds === undefined || timeMistake(typed.expireAt) !== undefined) return undefined
  if (quotaType === 1 && ends === undefined) return undefined
  return { cap: capOf(typed), quotaType, total, windowSeconds, cycleUnit: typed.cycleUnit, ends }
}

/** The limit of a record. */
export function limitOfQuota(quota: Quota): Limit {
  return { ...quota, ends: quota.expireAt === null ? undefined : timeText(quota.expireAt) }
}

/** The fields in the form of a request. */
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

/** Is the value absent, empty, or an empty list? */
export function isNothing(value: SettingValue): value is null | undefined | '' | readonly [] {
  return value === null || value === undefined || value === '' || (isList(value) && value.length === 0)
}

/** The text of a setting in a change or a conflict. */
export function settingText(field: string, value: SettingValue): string {
  if (isNothing(value)) return field === 'expireAt' ? 'never' : NONE
  if (isList(value)) return thresholdsText(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (field.endsWith('At')) return timeText(value as string)
  if (field === 'windowSeconds') return windowText(Number(value))
  if (field === 'cap') return roleText(value as CapMode)
  return typeof value === 'number' ? amount(value) : value
}

function isList(value: SettingValue): value is readonly number[] {
  return Array.isArray(value)
}

/** The fields of a change, with their values before and after. */
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
