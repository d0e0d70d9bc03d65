import {
  AmountField,
  IntegerField,
  KeyField,
  OperationIdField,
  ShownChoice,
  ShownFlag,
  ShownId,
  ShownInstant,
  ShownInteger,
  ShownObject,
  ShownText,
} from '../http/field.decorator.js'
import {
  OPERATION_KINDS,
  OPERATION_STATES,
  type OperationKind,
  type OperationState,
} from '../ledger/operation.entity.js'
import { LARGEST_AMOUNT } from '../quota/quota.js'

const amount = { max: LARGEST_AMOUNT } as const
const OPERATION_ID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'

/** How long a hold lasts where the caller does not say. */
export const DEFAULT_TTL_SECONDS = 600
/** The longest a hold lasts: a day. */
export const LONGEST_TTL_SECONDS = 86_400

/** What a consume says beside the owner. */
export abstract class ConsumeFields {
  /** Units to spend; all of them or none. */
  @AmountField()
  amount!: number
}

/** What an item of a batch says beside the owner. */
export abstract class BatchItemFields {
  /** Units to spend; all of them or none. */
  @AmountField()
  amount!: number

  /** The item's own Idempotency-Key. */
  @KeyField()
  idempotency_key!: string
}

/** What a reserve says beside the owner. */
export abstract class ReserveFields {
  /** Units to hold; all of them or none. */
  @AmountField()
  amount!: number

  /** How long the hold lasts unless it is settled before, in seconds. */
  @IntegerField({
    optional: true,
    min: 1,
    max: LONGEST_TTL_SECONDS,
    default: DEFAULT_TTL_SECONDS,
    example: DEFAULT_TTL_SECONDS,
  })
  ttl_seconds?: number
}

/** What a commit may say. */
export class CommitDto {
  /** Units to spend of those held; absent: all. The rest returns. */
  @AmountField({ optional: true })
  amount?: number
}

/** What a refund may say. */
export class RefundDto {
  /** Units to return of those charged; absent: all that is left to refund. */
  @AmountField({ optional: true })
  amount?: number
}

/** What a check asks beside the owner. */
export abstract class CheckFields {
  /** Units that would be asked for. */
  @AmountField()
  amount!: number
}

/** What a page of the ledger is asked by, beside the owner. */
export abstract class LedgerFields {
  /** Only operations that this quota paid a part of; a deleted quota's too. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 12 })
  quota_id?: number

  /** Only operations older than this one: the `next_before` of the page before. */
  @OperationIdField({ optional: true })
  before?: string

  /** 1 … 100 */
  @IntegerField({ optional: true, min: 1, max: 100, default: 20, example: 20 })
  page_size?: number
}

/** What one quota paid of an operation. */
export class AllocationDto {
  /** The quota. */
  @ShownId({ example: 12 })
  quota_id!: number

  /** Units drawn from it; what returned later is not taken off here. */
  @ShownInteger({ ...amount, min: 1, example: 5 })
  amount!: number
}

/** What both channels show of an operation; each adds the owner. */
export abstract class OperationFields {
  /** UUIDv7; rises with time. */
  @ShownText({ format: 'uuid', example: OPERATION_ID })
  id!: string

  /** How it began. */
  @ShownChoice(OPERATION_KINDS)
  kind!: OperationKind

  /** What has become of it. */
  @ShownChoice(OPERATION_STATES)
  state!: OperationState

  /** Units asked for. */
  @ShownInteger({ ...amount, min: 1, example: 5 })
  amount!: number

  /** Units spent, gross; 0 while a hold is open. */
  @ShownInteger({ ...amount, example: 5 })
  charged!: number

  /** Units of `charged` that came back. */
  @ShownInteger({ ...amount, example: 0 })
  refunded!: number

  /** Which quotas paid, as drawn, in draw-down order. */
  @ShownObject(() => AllocationDto, { isArray: true })
  allocations!: AllocationDto[]

  /** What the owner had left right after the operation's last act. */
  @ShownInteger({ example: 970 })
  owner_remaining!: number

  /** When the hold ends by itself; null for a consume. */
  @ShownInstant({ nullable: true, example: null })
  expires_at!: string | null

  /** When it was made. */
  @ShownInstant()
  created_at!: string
}

/** Would an amount fit now? */
export class CheckDto {
  /** Whether the owner's active quotas could pay it together at this moment. */
  @ShownFlag()
  allowed!: boolean

  /** Units asked about. */
  @ShownInteger({ ...amount, min: 1, example: 5 })
  requested!: number

  /** What the owner has left. */
  @ShownInteger({ example: 975 })
  remaining!: number

  /** The earliest reset from which the amount could fit if nobody else took anything; null where allowed or where there is none. */
  @ShownInstant({ nullable: true, example: null })
  refills_at!: string | null
}

/** Where a page of the ledger ends. */
export abstract class LedgerPageFields {
  /** Hand it in as `before` for the next page; null at the end. */
  @ShownText({ nullable: true, format: 'uuid', example: OPERATION_ID })
  next_before!: string | null
}

/** How an item of a batch was answered, beside its operation. */
export abstract class BatchResultFields {
  /** The status that the item would have had as a request of its own. */
  @ShownInteger({ min: 200, max: 599, example: 200 })
  status!: number

  /** Whether this repeats an earlier answer; there with status 200. */
  @ShownFlag({ optional: true, example: false })
  replayed?: boolean
}
