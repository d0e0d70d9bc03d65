import type { ChangedSettings, Quota, Settings } from './desk.ts'
import { readWhole, type Reading } from './whole-number.ts'
import { amount, fromLocalInput, timeText, toLocalInput } from './format.tsx'

/*
 * A quota's settings as a form holds them: texts, until they are sent.
 */

export const EDITABLE = ['label', 'total', 'status', 'expireAt', 'cycleUnit', 'cycleResetAt', 'cycleTimeZone'] as const
export type Editable = (typeof EDITABLE)[number]
/** What is typed; times as `datetime-local` has them. */
export type Typed = Record<Editable, string>

export const UNITS = ['hour', 'day', 'week', 'month', 'year'] as const
export const MOST = 1_000_000_000_000

/** A total as it is typed. */
export function readTotal(text: string): Reading {
  return readWhole(text, { min: 0, max: MOST })
}

/** The settings that a quota of this type has. */
export function editableOf(quotaType: 1 | 2 | 3): readonly Editable[] {
  return quotaType === 2 ? EDITABLE : ['label', 'total', 'status', 'expireAt']
}

/** What a form shows for a record. */
export function typedOf(quota: Quota): Typed {
  return {
    label: quota.label ?? '',
    total: String(quota.total),
    // `expired` is no setting: it follows from the end.
    status: quota.status === 'disabled' ? 'disabled' : 'active',
    expireAt: toLocalInput(quota.expireAt),
    cycleUnit: quota.cycleUnit ?? '',
    cycleResetAt: toLocalInput(quota.cycleResetAt),
    cycleTimeZone: quota.cycleTimeZone ?? '',
  }
}

/** The fields that say something else than the record. */
export function changedFields(typed: Typed, record: Quota): Editable[] {
  const shown = typedOf(record)
  return editableOf(record.quotaType).filter((field) =>
    field === 'total' ? readTotal(typed.total).value !== record.total : typed[field] !== shown[field],
  )
}

/** What keeps a field from being sent, by field; what only the service can tell it tells. */
export function mistakes(
  typed: Pick<Typed, 'total' | 'expireAt' | 'cycleResetAt'>,
  quotaType: 1 | 2 | 3,
): Partial<Record<Editable, string>> {
  const total = readTotal(typed.total)
  return {
    ...(total.value === undefined ? { total: total.mistake } : {}),
    ...(quotaType === 1 && typed.expireAt === '' ? { expireAt: 'a total quota has an end' } : {}),
    ...(quotaType === 2 && typed.cycleResetAt === '' ? { cycleResetAt: 'a cycle quota has a next reset' } : {}),
  }
}

/** As the service takes it. */
export function settingsOf(typed: Typed, fields: readonly Editable[]): Settings {
  const all = {
    label: typed.label === '' ? null : typed.label,
    total: readTotal(typed.total).value ?? NaN,
    status: typed.status === 'disabled' ? ('disabled' as const) : ('active' as const),
    expireAt: fromLocalInput(typed.expireAt),
    cycleUnit: UNITS.find((unit) => unit === typed.cycleUnit) ?? null,
    cycleResetAt: fromLocalInput(typed.cycleResetAt),
    cycleTimeZone: typed.cycleTimeZone,
  }
  return Object.fromEntries(fields.map((field) => [field, all[field]]))
}

const NONE = 'none'

/** What a setting may be. */
export type SettingValue = string | number | null | undefined

/** A setting as a change, or a conflict, tells it. */
export function settingText(field: string, value: SettingValue): string {
  if (value === null || value === undefined || value === '') return field === 'expireAt' ? 'never' : NONE
  if (field.endsWith('At')) return timeText(value as string)
  return typeof value === 'number' ? amount(value) : value
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
