import { wireName } from '@quota-service/client'
import type { Quota } from './channel-client.ts'

type Camel<S extends string> = S extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : S

/** A setting of a quota, which forms change: what a count may override. */
export type Editable = Camel<NonNullable<Quota['overrides']>[number]>

/** The names of these settings, in the order of tables. */
export const SETTING_NAMES: Readonly<Record<Editable, string>> = {
  label: 'Label',
  total: 'Total',
  status: 'Status',
  cap: 'Cap',
  windowSeconds: 'Window',
  expireAt: 'Ends',
  cycleUnit: 'Cycle',
  cycleResetAt: 'Next reset',
  cycleTimeZone: 'Time zone',
  thresholds: 'Notify at',
}

export const EDITABLE = Object.keys(SETTING_NAMES) as readonly Editable[]

/** The value of a setting. */
export type SettingValue = string | number | boolean | null | undefined | readonly number[]

/** Are two values of a setting equal? */
export function sameSetting(one: SettingValue, other: SettingValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  ...SETTING_NAMES,
  accountId: 'Account',
  userId: 'User',
  quotaType: 'Type',
  amount: 'Amount',
  deletedAt: 'Deleted',
  used: 'Used',
  reserved: 'Reserved',
  name: 'Name',
  parentId: 'Parent',
  groupId: 'Group',
  default: 'Default',
  overrides: 'Own settings',
  per: 'Count',
}

/** The name of a field in forms. */
export function fieldName(field: string): string {
  return FIELD_NAMES[field] ?? field
}

const NAMED = new Map(Object.entries(FIELD_NAMES).map(([field, name]) => [name.toLowerCase(), wireName(field)]))

/** The service's name of a field that is named as in forms, in any case; undefined for another text. */
export function fieldNamed(name: string): string | undefined {
  return NAMED.get(name.toLowerCase())
}
