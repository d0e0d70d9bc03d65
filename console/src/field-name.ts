import { wireName } from '@quota-service/client'

const FIELD_NAMES: Readonly<Record<string, string>> = {
  accountId: 'Account',
  userId: 'User',
  quotaType: 'Type',
  total: 'Total',
  status: 'Status',
  expireAt: 'Ends',
  cycleUnit: 'Cycle',
  cycleResetAt: 'Next reset',
  cycleTimeZone: 'Time zone',
  label: 'Label',
  amount: 'Amount',
  deletedAt: 'Deleted',
  used: 'Used',
  reserved: 'Reserved',
  cap: 'Cap',
  windowSeconds: 'Window',
  thresholds: 'Notify at',
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
