import { CYCLE_UNITS } from '../domain/cycle.js'
import { CAP_MODES, type CapMode, MAX_AMOUNT, QUOTA_TYPES, type QuotaType } from '../domain/quota.js'
import { ResponseChoice, ResponseInstant, ResponseId, ResponseInteger, ResponseText } from './field.decorator.js'

/** A field with a mistake. */
export class FieldErrorDto {
  /** Name of the field in the request: `items[3].amount` within a batch, `body` for the body as a whole. */
  @ResponseText({ example: 'cycle_unit' })
  field!: string

  /** The mistake, or what the field accepts. */
  @ResponseText({ example: `must be one of ${CYCLE_UNITS.join(', ')}` })
  message!: string
}

const amount = { max: MAX_AMOUNT } as const

/** The state of a quota when the request was refused. */
export class RefusingQuotaDto {
  /** Id of the quota; null for a member's count that its first consume will create. */
  @ResponseId({ nullable: true, example: 12 })
  id!: number | null

  /** The group of the quota; null for a quota of the owner. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null

  /** Its allowance. */
  @ResponseInteger({ ...amount, example: 1000 })
  total!: number

  /** Units spent. */
  @ResponseInteger({ ...amount, example: 997 })
  used!: number

  /** Units reserved by open holds. */
  @ResponseInteger({ ...amount, example: 0 })
  reserved!: number

  /** Units that remain. */
  @ResponseInteger({ ...amount, example: 3 })
  remaining!: number

  /** The next reset before `expire_at`; null if there is none. */
  @ResponseInstant({ nullable: true })
  refills_at!: string | null
}

/** The current state of a cap. */
export class CapDto {
  /** Id of the cap; null for a member's count that its first consume will create. */
  @ResponseId({ nullable: true, example: 9 })
  id!: number | null

  /** The group of the cap; null for a cap of the owner. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null

  /** `enforce`: refuses requests that exceed it. `observe`: only reports them. */
  @ResponseChoice(CAP_MODES)
  cap!: CapMode

  /** 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any window. */
  @ResponseChoice(QUOTA_TYPES, { example: 3 })
  quota_type!: QuotaType

  /** Its allowance. */
  @ResponseInteger({ ...amount, example: 100 })
  total!: number

  /** Units spent that count now. Can exceed `total` in an observe cap. */
  @ResponseInteger({ example: 97 })
  used!: number

  /** Units reserved by open holds that count now. */
  @ResponseInteger({ example: 0 })
  reserved!: number

  /** Units that the cap still admits. */
  @ResponseInteger({ ...amount, example: 3 })
  remaining!: number

  /** When the cap next admits more units, before `expire_at`: its next reset or, for a rolling cap, the next boundary at which units leave the window. Null if there is none. */
  @ResponseInstant({ nullable: true })
  refills_at!: string | null
}
