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

/** The client's name of a field of the service: `expire_at` is `expireAt`. */
export function camel(field: string): string {
  return field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

const NAMED = new Map(
  Object.entries(FIELD_NAMES).map(([field, name]) => [
    name.toLowerCase(),
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ]),
)

/** The service's name of a field that is named as in forms, in any case; undefined for another text. */
export function fieldNamed(name: string): string | undefined {
  return NAMED.get(name.toLowerCase())
}
