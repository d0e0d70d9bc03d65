import { subjectsOf } from '../channel-api/subjects.js'
import { type NewSettingsFields, patchOf, settingsOf, type SettingsPatchFields } from '../channel-api/settings.dto.js'
import { type FieldError, type ServiceError, validationFailed } from '../error/service-error.js'
import { checkDto, fieldsOf } from '../http/dto.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { Command } from '../ledger/store/command.js'
import { MAX_AMOUNT } from '../quota/quota.js'
import type { NewSettings, SettingsPatch } from '../quota/settings.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { ItemAction } from './change-set-item.entity.js'
import { type Cells, importedCells } from './csv-cells.js'

/** How a total follows from the one that a quota has. */
export type TotalChange = { readonly add: number } | { readonly percent: number }

/** What a member of the record must be, which no update changes. */
export interface Expected {
  /** Its name on the wire. */
  readonly field: string
  readonly property: string
  readonly value: number | null
}

/** What a row asks for, before the quota is looked at. */
export type Ask =
  | { readonly kind: 'create'; readonly settings: NewSettings; readonly subjects: Record<string, number | null> }
  | {
      readonly kind: 'update'
      readonly patch: SettingsPatch
      readonly total?: TotalChange | undefined
      /** What the quota must be like. */
      readonly expected?: readonly Expected[] | undefined
      /** The version that the caller read. */
      readonly version?: number | undefined
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'reset' }

/**
 * The new total of a quota.
 * @throws ServiceError validation_failed where it lies outside 0 … 10^12
 */
export function changedTotal(total: number, change: TotalChange): number {
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
 * The command that does what a row asks for.
 * @param quota that it is about; undefined where there is none of that id, or it makes one
 * @throws ServiceError where there is no such command
 */
export function commandOf<Q extends QuotaRow>(ask: Ask, quotaId: number | null, quota: Q | undefined): Command {
  if (ask.kind === 'create') return ask
  if (quotaId === null) throw new Error(`a row that is to ${ask.kind} names no quota`)
  if (ask.kind !== 'update') return { kind: ask.kind, quotaId, version: undefined }
  // That it is gone is for the judge to say.
  const { patch, total, version } = ask
  if (quota === undefined || quota.deletedAt !== null) return { kind: 'update', quotaId, patch, version }
  const differing = (ask.expected ?? []).filter(({ property, value }) => quota[property as keyof Q] !== value)
  if (differing.length > 0) {
    throw validationFailed(
      differing.map(({ field }) => ({ field, message: 'differs from that of the quota, and cannot be changed' })),
    )
  }
  const changed = total === undefined ? patch : { ...patch, total: changedTotal(quota.total, total) }
  return { kind: 'update', quotaId, patch: changed, version }
}

/** What a record of a file asks for, or what is wrong with it. */
export interface AskedOfRecord {
  readonly action: ItemAction
  /** The quota that it names; null for a create, and where what it names is no id. */
  readonly quotaId: number | null
  /** The owner that a create names; null where what it names is no id, and for others. */
  readonly ownerId: number | null
  readonly ask: Ask | undefined
  readonly refusal: ServiceError | undefined
}

const ID_FIELD = 'id'
const TYPE_FIELD = 'quota_type'

/** Reads the records of one file as what they ask for. Checks each as the request that would do the same is checked. */
export class RecordReader<Q extends QuotaRow> {
  constructor(
    private readonly kind: ChangeSetChannel<Q>,
    private readonly columns: readonly string[],
  ) {}

  /** @param given the record's cells */
  read(given: readonly string[]): AskedOfRecord {
    const cells = importedCells(this.kind, this.columns, given)
    const makes = cells[ID_FIELD] === undefined || cells[ID_FIELD] === null
    if (given.length !== this.columns.length) {
      const message = `has ${given.length} fields where the header has ${this.columns.length}`
      return refused(makes ? 'create' : 'update', validationFailed([{ field: 'record', message }]))
    }
    return makes ? this.create(cells) : this.update(cells)
  }

  private create({ id: _none, ...cells }: Cells): AskedOfRecord {
    const { channel, create } = this.kind
    const owner = cells[channel.subjects[0].field]
    const ownerId = isId(owner) ? owner : null
    const known = Object.entries(cells).filter(([name]) => newFields(this.kind).has(name))
    const { value, errors = [] } = checkDto<NewSettingsFields>(create, Object.fromEntries(known), {
      from: 'body',
      now: () => 0,
    })
    const all = [...errors, ...this.versionErrors(cells)]
    const status = cells['status']
    if (status !== undefined && status !== 'active')
      all.push({ field: 'status', message: 'must be active in a row that makes a quota' })
    if (all.length > 0 || value === undefined) return { ...refused('create', validationFailed(all)), ownerId }
    const ask: Ask = { kind: 'create', settings: settingsOf(value), subjects: subjectsOf(channel, value) }
    return { action: 'create', quotaId: null, ownerId, ask, refusal: undefined }
  }

  private update({ id, ...cells }: Cells): AskedOfRecord {
    const errors: FieldError[] = []
    if (!isId(id)) errors.push({ field: ID_FIELD, message: 'must be an integer from 1 to 9007199254740991' })
    const expected: Expected[] = []
    for (const { field, property } of this.expectations()) {
      const value = cells[field]
      if (value === undefined) continue
      if (value === null || isId(value)) expected.push({ field, property, value })
      else errors.push({ field, message: 'must be an integer from 1 to 9007199254740991' })
      Reflect.deleteProperty(cells, field)
    }
    errors.push(...this.versionErrors(cells))
    const checked = checkDto<SettingsPatchFields>(this.kind.update, cells, { from: 'body', now: () => 0 })
    // A row that names no setting changes nothing.
    for (const error of checked.errors ?? []) {
      if (error.field !== 'body' && !errors.some(({ field }) => field === error.field)) errors.push(error)
    }
    if (errors.length > 0 || checked.value === undefined) {
      return { ...refused('update', validationFailed(errors)), quotaId: isId(id) ? id : null }
    }
    const { version } = checked.value
    const ask: Ask = { kind: 'update', patch: patchOf(checked.value), expected, version }
    return { action: 'update', quotaId: id as number, ownerId: null, ask, refusal: undefined }
  }

  private versionErrors({ version }: Cells): FieldError[] {
    if (version === undefined || isId(version)) return []
    return [{ field: 'version', message: 'must be an integer from 1 to 9007199254740991' }]
  }

  private expectations(): { field: string; property: string }[] {
    return [...this.kind.channel.subjects, { field: TYPE_FIELD, property: 'quotaType' }]
  }
}

function refused(action: ItemAction, refusal: ServiceError): AskedOfRecord {
  return { action, quotaId: null, ownerId: null, ask: undefined, refusal }
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

const news = new WeakMap<object, ReadonlySet<string>>()

function newFields<Q extends QuotaRow>({ create }: ChangeSetChannel<Q>): ReadonlySet<string> {
  let names = news.get(create)
  if (names === undefined) {
    names = new Set(fieldsOf(create))
    news.set(create, names)
  }
  return names
}
