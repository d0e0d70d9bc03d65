import { camelName } from '@quota-service/client'
import type { AnyChange, Change, Quota, Settings } from './channel-client.ts'
import { EDITABLE, type Editable, sameSetting, type SettingValue } from './field-name.ts'

type Overrides = NonNullable<Quota['overrides']>

/** What undoes a change of a quota's settings. */
export interface Undone {
  /** The settings that get their former values. */
  readonly fields: readonly Editable[]
  /** The settings of a member's count that the change made its own, and that follow again. */
  readonly follow: readonly Editable[]
  /** What makes both so. */
  readonly patch: Settings
}

/** The settings that a change of a member's count has made its own. */
export function madeOwn({ before, after }: Pick<Change, 'before' | 'after'>): Overrides {
  const were = overridesIn(before)
  return overridesIn(after).filter((name) => !were.includes(name))
}

/** What undoes a change, as the quota is now. */
export function undoing(change: Pick<Change, 'before' | 'after'>, quota: Quota): Undone {
  const before = change.before as Record<string, SettingValue>
  const own = quota.overrides ?? []
  const back = madeOwn(change).filter((name) => own.includes(name))
  const follow = back.map((name) => camelName(name) as Editable)
  const fields = EDITABLE.filter(
    (field) => field in before && !follow.includes(field) && !sameSetting(presentOf(quota, field), before[field]),
  )
  const patch: Settings = Object.fromEntries(fields.map((field) => [field, before[field]]))
  return {
    fields,
    follow,
    patch: back.length === 0 ? patch : { ...patch, overrides: own.filter((name) => !back.includes(name)) },
  }
}

/** The present value of a setting. `expired` is none: it follows from `expireAt`. */
export function presentOf(quota: Quota, field: Editable): SettingValue {
  if (field === 'status') return quota.status === 'disabled' ? 'disabled' : 'active'
  return quota[field]
}

/** Have later changes put everything back that a change has changed? */
export function isUndone({ id, quotaId, action, before, after }: Change, known: readonly AnyChange[]): boolean {
  const later = known.filter((one) => one.quotaId === quotaId && one.id > id)
  if (action === 'delete') return later.some((one) => one.action === 'restore')
  const was = before as Record<string, SettingValue>
  const own = madeOwn({ before, after })
  const fields = EDITABLE.filter((field) => field in was)
  const isBack = (field: Editable): boolean => {
    const name = own.find((one) => camelName(one) === field)
    return later.some((one) => {
      const is = one.after as Record<string, unknown>
      if (name !== undefined) return Array.isArray(is['overrides']) && !is['overrides'].includes(name)
      return field in is && sameSetting(is[field] as SettingValue, was[field])
    })
  }
  return fields.length > 0 && fields.every(isBack)
}

function overridesIn(members: object): Overrides {
  const { overrides } = members as { overrides?: Overrides | null }
  return overrides ?? []
}
