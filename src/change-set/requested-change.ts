import { subjectsOf } from '../channel-api/subjects.js'
import {
  type NewSettingsFields,
  patchOf,
  placeOf,
  settingsOf,
  type SettingsPatchFields,
} from '../channel-api/settings.dto.js'
import type { Clock } from '../common/clock.js'
import { type FieldError, type ServiceError, validationFailed } from '../common/service-error.js'
import { checkDto, fieldsOf, firstOfEach } from '../http/dto.js'
import { groupOwner } from '../ledger/rows/group.entity.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { shownOwner } from '../ledger/store/answers.js'
import type { Command } from '../ledger/store/command.js'
import { ownSettings } from '../domain/follow.js'
import { MAX_AMOUNT } from '../domain/quota.js'
import { type GroupPlace, type NewSettings, patchViolations, type SettingsPatch } from '../domain/settings.js'
import type { Instant } from '../common/instant.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { ItemAction } from './change-set-item.entity.js'
import { type Cells, importedCells } from './csv-cells.js'

/** A change of a total. */
export type TotalChange = { readonly add: number } | { readonly percent: number }

/** The expected value of a member that no update can change. */
export interface Expected {
  /** Its name in the API. */
  readonly field: string
  readonly property: string
  readonly value: number | null
}

/** The requested change of a row, independent of the quota's state. */
export type RequestedChange =
  | {
      readonly kind: 'create'
      readonly settings: NewSettings
      readonly subjects: Record<string, number | null>
      readonly place?: GroupPlace | undefined
    }
  | {
      readonly kind: 'update'
      readonly patch: SettingsPatch
      readonly total?: TotalChange | undefined
      /** Members that the quota must have. */
      readonly expected?: readonly Expected[] | undefined
      /** The version that the caller read. */
      readonly version?: number | undefined
      /** The settings of a member's count that stay its own; undefined: all. */
      readonly overrides?: readonly string[] | undefined
      /** The mistakes of the record alone; the quota may add others (contract, §7). */
      readonly errors?: readonly FieldError[] | undefined
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'reset' }

/**
 * Returns the changed total.
 * @throws ServiceError validation_failed if it is outside 0 … 10^12
 */
function changedTotal(total: number, change: TotalChange): number {
  // The product may exceed 2^53.
  const changed =
    'add' in change ? BigInt(total + change.add) : (BigInt(total) * BigInt(100 + change.percent) + 50n) / 100n
  if (changed < 0n || changed > BigInt(MAX_AMOUNT)) {
    throw validationFailed([
      { field: 'total', message: `would be ${changed}: must be an integer from 0 to ${MAX_AMOUNT}` },
    ])
  }
  return Number(changed)
}

/**
 * Returns the command for the requested change.
 * @param quota undefined if no quota has the id, or for a create
 * @throws ServiceError if there is no such command; it names every mistake
 */
export function commandOf<Q extends QuotaRow>(
  requested: RequestedChange,
  quotaId: number | null,
  quota: Q | undefined,
  now: Instant,
): Command {
  if (requested.kind === 'create') return requested
  if (quotaId === null) throw new Error(`a row with the action ${requested.kind} names no quota`)
  if (requested.kind !== 'update') return { kind: requested.kind, quotaId, version: undefined }
  const { patch, total, version, overrides, expected = [], errors = [] } = requested
  const missing = quota === undefined || quota.deletedAt !== null
  const differing = expected
    .filter(({ property, value }) => !missing && shownOf(quota, property) !== value)
    .map(({ field }) => ({ field, message: 'differs from the value of the quota, and cannot be changed' }))
  if (errors.length > 0 || differing.length > 0) {
    const mistakes = missing ? errors : patchViolations(quota, patch, now, errors)
    throw validationFailed(firstOfEach([...differing, ...mistakes]))
  }
  // The judge reports missing quotas.
  const changed = missing || total === undefined ? patch : { ...patch, total: changedTotal(quota.total, total) }
  const own = missing || overrides === undefined ? undefined : ownSettings(quota)
  return { kind: 'update', quotaId, patch: changed, version, overrides, own }
}

function shownOf<Q extends QuotaRow>(quota: Q, property: string): unknown {
  return property === 'ownerId' ? shownOwner(quota.ownerId) : quota[property as keyof Q]
}

/** The requested change of a record, or its mistakes. */
interface ReadRecord {
  readonly action: ItemAction
  /** The quota that it names; null for a create, and if the id is invalid. */
  readonly quotaId: number | null
  readonly requested: RequestedChange | undefined
  readonly refusal: ServiceError | undefined
}

/** The same, with the owner that the record names, whatever its mistakes. */
export interface RequestOfRecord extends ReadRecord {
  /** Of a create also a group; null if none is named, and if the id is invalid. */
  readonly ownerId: number | null
}

const ID_FIELD = 'id'
const TYPE_FIELD = 'quota_type'
const NOT_AN_ID = 'must be an integer from 1 to 9007199254740991'

/** Reads the records of one file as requested changes, with the same checks as single requests. */
export class RecordReader<Q extends QuotaRow> {
  /** The ids of earlier records. */
  private readonly seen = new Set<number>()

  constructor(
    private readonly kind: ChangeSetChannel<Q>,
    private readonly columns: readonly string[],
    private readonly clock: Clock,
  ) {}

  /** @param given the cells of the record */
  read(given: readonly string[]): RequestOfRecord {
    const cells = importedCells(this.kind, this.columns, given)
    const isCreate = cells[ID_FIELD] === undefined || cells[ID_FIELD] === null
    const [owner, group] = [cells[this.kind.channel.subjects[0].field], cells['group_id']]
    const ownerId = isId(owner) ? owner : isCreate && isId(group) ? groupOwner(group) : null
    return { ...this.request(given, cells, isCreate), ownerId }
  }

  private request(given: readonly string[], cells: Cells, isCreate: boolean): ReadRecord {
    if (given.length !== this.columns.length) {
      const { length } = this.columns
      const message = `has ${given.length > length ? 'more' : 'fewer'} cells than the header, which has ${length}`
      const refusal = validationFailed([{ field: 'record', message }])
      if (isId(cells[ID_FIELD])) this.seen.add(cells[ID_FIELD])
      return refused(isCreate ? 'create' : 'update', refusal, cells[ID_FIELD])
    }
    return isCreate ? this.create(cells) : this.update(cells)
  }

  private create({ id: _none, ...cells }: Cells): ReadRecord {
    const { channel, create } = this.kind
    const known = Object.entries(cells).filter(([name]) => fieldsOf(create).has(name))
    const { clock } = this
    const now = (): Instant => clock.now()
    const { value, errors = [] } = checkDto<NewSettingsFields>(create, Object.fromEntries(known), { from: 'body', now })
    const all = [...errors, ...this.versionErrors(cells)]
    const status = cells['status']
    if (status !== undefined && status !== 'active')
      all.push({ field: 'status', message: 'must be active in a row that creates a quota' })
    if (all.length > 0 || value === undefined) {
      // With other mistakes, the times are checked here; without, when the row is decided.
      const late = value?.violationsAt(now()) ?? []
      return refused('create', validationFailed(firstOfEach([...all, ...late])))
    }
    const requested: RequestedChange = {
      kind: 'create',
      settings: settingsOf(value),
      subjects: subjectsOf(channel, value),
      place: placeOf(value),
    }
    return { action: 'create', quotaId: null, requested, refusal: undefined }
  }

  private update({ id, ...cells }: Cells): ReadRecord {
    const errors: FieldError[] = []
    if (!isId(id)) errors.push({ field: ID_FIELD, message: NOT_AN_ID })
    else if (this.seen.has(id)) errors.push({ field: ID_FIELD, message: 'occurs in an earlier row' })
    else this.seen.add(id)
    const expected: Expected[] = []
    for (const { field, property } of [...this.kind.channel.subjects, { field: TYPE_FIELD, property: 'quotaType' }]) {
      const value = cells[field]
      if (value === undefined) continue
      if (value === null || isId(value)) expected.push({ field, property, value })
      else errors.push({ field, message: NOT_AN_ID })
      Reflect.deleteProperty(cells, field)
    }
    errors.push(...this.versionErrors(cells))
    Reflect.deleteProperty(cells, 'overrides')
    const checked = checkDto<SettingsPatchFields>(this.kind.update, cells, { from: 'body', now: () => 0 })
    // A row without settings is valid and changes nothing.
    for (const error of checked.errors ?? []) {
      if (error.field !== 'body' && !errors.some(({ field }) => field === error.field)) errors.push(error)
    }
    if (!isId(id) || checked.value === undefined) return refused('update', validationFailed(errors), id)
    const { version } = checked.value
    const patch = patchOf(checked.value)
    const requested: RequestedChange = {
      kind: 'update',
      patch,
      expected,
      version,
      errors: errors.length > 0 ? errors : undefined,
    }
    return { action: 'update', quotaId: id, requested, refusal: undefined }
  }

  private versionErrors({ version }: Cells): FieldError[] {
    if (version === undefined || isId(version)) return []
    return [{ field: 'version', message: NOT_AN_ID }]
  }
}

function refused(action: ItemAction, refusal: ServiceError, id?: unknown): ReadRecord {
  return { action, quotaId: isId(id) ? id : null, requested: undefined, refusal }
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}
