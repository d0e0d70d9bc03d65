import type { ErrorCode, FieldError } from '../error/service-error.js'
import { EXAMPLE_UUID } from '../http/example.js'
import {
  AmountField,
  ChoiceField,
  ExactTextField,
  IdField,
  InstantField,
  IntegerField,
  ItemsField,
  KeyField,
  OperationIdField,
  PageSizeField,
  ResponseChoice,
  ResponseFlag,
  ResponseForms,
  ResponseId,
  ResponseIds,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
} from '../http/field.decorator.js'
import { CapDto } from '../http/problem.dto.js'
import { statusOf } from '../http/problem.js'
import { problemSchema } from '../http/problem.schema.js'
import { OPERATION_ACTS, type OperationAct } from '../ledger/rows/act.entity.js'
import {
  OPERATION_KINDS,
  OPERATION_STATES,
  type OperationKind,
  type OperationState,
} from '../ledger/rows/operation.entity.js'
import { MAX_AMOUNT } from '../quota/quota.js'
import type { ChannelWords } from './channel-words.js'
import { dtoClass } from './dto-class.js'
import { periodViolations } from './period.js'
import { SeriesFields, seriesViolations } from './series.dto.js'

const amount = { max: MAX_AMOUNT } as const
/** Stands for everybody who has spent lately, where a key is looked for; no principal has this name. */
export const EVERY_CALLER = '*'

/** How long a hold lasts where the caller does not say. */
export const DEFAULT_TTL_SECONDS = 600
/** The longest a hold lasts: a day. */
export const MAX_TTL_SECONDS = 86_400

/** What a consume says beside the owner. */
export abstract class ConsumeFields {
  /** Units to spend; all of them or none. */
  @AmountField()
  amount!: number
}

/** The largest body of a batch. */
export const BATCH_BYTES = 1_000_000

/** Consumes that are sent together; what an item is, each channel says. */
export abstract class BatchFields {
  items!: readonly unknown[]
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
    max: MAX_TTL_SECONDS,
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

/** The one value of `made_by`. */
const MADE_BY = 'true'

/**
 * What a page of the ledger is asked by, beside the owner: exactly one of owner, quota and key. A key stands for one operation, so nothing but its
 * caller goes with it.
 */
export abstract class LedgerFields {
  /** Only operations that this quota paid a part of, or that this cap counted; a deleted one's too. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 12 })
  quota_id?: number

  /** Only what this key made or refunded: one operation, or with `caller=*` one for each caller who has sent it. */
  @KeyField({ optional: true })
  idempotency_key?: string

  /**
   * Whose key it is, by the principal's name; without it, the asking one's. `*` looks under every name that has spent in this channel in the last 31 days, newest
   * operation first, at most 20. Another's, and `*`, need the role that the quotas need.
   */
  @ExactTextField({ optional: true, example: 'mailer' })
  caller?: string

  /** Only operations that have become so. */
  @ChoiceField(OPERATION_STATES, { optional: true, example: 'reserved' })
  state?: OperationState

  /** Only operations that began so. */
  @ChoiceField(OPERATION_KINDS, { optional: true, example: 'reserve' })
  kind?: OperationKind

  /** Only operations made at this instant or later. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Only operations made before this instant. */
  @InstantField({ optional: true })
  to?: string

  /** Only operations older than this one: the `next_before` of the page before. */
  @OperationIdField({ optional: true })
  before?: string

  /** Operations on a page. */
  @PageSizeField()
  page_size?: number

  /** Says of each operation who made it, and with which key. */
  @ChoiceField([MADE_BY], { optional: true, example: MADE_BY })
  made_by?: typeof MADE_BY
}

/** What goes with an owner or a quota, and not with a key. */
const NOT_WITH_A_KEY = ['state', 'kind', 'from', 'to', 'before'] as const

/**
 * What is wrong between the fields of a ledger query.
 * @param ownerField the field that names the owner
 */
function ledgerViolations(query: LedgerFields, ownerField: string): FieldError[] {
  const violations = periodViolations(query)
  const owner = (query as unknown as Record<string, unknown>)[ownerField]
  const of = [owner, query.quota_id, query.idempotency_key].filter((value) => value !== undefined)
  if (of.length !== 1) {
    const message = `exactly one of ${ownerField}, quota_id and idempotency_key must be given`
    violations.push({ field: ownerField, message })
  }
  if (query.idempotency_key === undefined) {
    if (query.caller !== undefined) violations.push({ field: 'caller', message: 'goes with idempotency_key alone' })
  } else {
    for (const field of NOT_WITH_A_KEY)
      if (query[field] !== undefined) violations.push({ field, message: 'does not go with idempotency_key' })
  }
  return violations
}

/** What was done with an operation, once. */
export class ActDto {
  /** What was done. */
  @ResponseChoice(OPERATION_ACTS, { example: 'reserve' })
  kind!: OperationAct

  /** The name of the principal who did it. */
  @ResponseText({ example: 'mailer' })
  actor!: string

  /** Units spent, held, charged, or returned. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number

  /** The key it was sent with; null for commit and release. */
  @ResponseText({ nullable: true, example: 'msg-8841' })
  idempotency_key!: string | null

  /** The X-Request-Id of the request that did it. */
  @ResponseText({ example: EXAMPLE_UUID })
  request_id!: string

  /** When it was done. */
  @ResponseInstant()
  at!: string
}

/** What was done with an operation. */
export class ActsDto {
  /** The acts, oldest first. */
  @ResponseObject(() => ActDto, { isArray: true })
  items!: ActDto[]
}

/** What one quota paid of an operation. */
export class AllocationDto {
  /** The quota. */
  @ResponseId({ example: 12 })
  quota_id!: number

  /** Units drawn from it; what returned later is not taken off here. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number
}

/** What both channels show of an operation; each adds the owner. */
export abstract class OperationFields {
  /** UUIDv7; rises with time. */
  @ResponseText({ format: 'uuid', example: EXAMPLE_UUID })
  id!: string

  /** How it began. */
  @ResponseChoice(OPERATION_KINDS)
  kind!: OperationKind

  /** What has become of it. */
  @ResponseChoice(OPERATION_STATES)
  state!: OperationState

  /** Units asked for. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  amount!: number

  /** Units spent, gross; 0 while a hold is open. */
  @ResponseInteger({ ...amount, example: 5 })
  charged!: number

  /** Units of `charged` that came back. */
  @ResponseInteger({ ...amount, example: 0 })
  refunded!: number

  /** Which quotas paid, as drawn, in draw-down order. */
  @ResponseObject(() => AllocationDto, { isArray: true })
  allocations!: AllocationDto[]

  /** The caps that counted it, with its whole amount, ids ascending; absent where there were none. */
  @ResponseIds({ optional: true })
  caps?: number[]

  /** The observe caps among them that would have refused it; in the first answer and its replays alone, absent where there were none. */
  @ResponseIds({ optional: true, example: [10] })
  would_refuse?: number[]

  /** What the owner could take in one consume right after the operation's last act. */
  @ResponseInteger({ example: 970 })
  owner_remaining!: number

  /** When the hold ends by itself; null for a consume. */
  @ResponseInstant({ nullable: true, example: null })
  expires_at!: string | null

  /** When it was made. */
  @ResponseInstant()
  created_at!: string
}

/** Who made an operation. */
export class MadeByDto {
  /** The name of the principal who spent or held. */
  @ResponseText({ example: 'mailer' })
  actor!: string

  /** The key that it was sent with. */
  @ResponseText({ nullable: true, example: 'msg-8841' })
  idempotency_key!: string | null
}

/** Would an amount fit now? */
export class CheckDto {
  /** Whether the owner's active quotas could pay it together, and its caps let it pass, at this moment. */
  @ResponseFlag()
  allowed!: boolean

  /** Units asked about. */
  @ResponseInteger({ ...amount, min: 1, example: 5 })
  requested!: number

  /** What one consume could take: `payable`, bounded by what remains of each enforce cap; 0 without an active payer. */
  @ResponseInteger({ example: 975 })
  remaining!: number

  /** What the quotas that pay could pay together. */
  @ResponseInteger({ example: 975 })
  payable!: number

  /** The earliest instant from which payers and caps would let it pass if nobody else took anything; null where allowed or where there is none. */
  @ResponseInstant({ nullable: true, example: null })
  refills_at!: string | null

  /** The enforce caps that cannot take it, ids ascending; none where it is allowed. */
  @ResponseObject(() => CapDto, { isArray: true, example: [] })
  caps!: CapDto[]
}

/** Where a page of the ledger ends. */
export abstract class LedgerPageFields {
  /** Hand it in as `before` for the next page; null at the end. To a token of the scope `own` a page with few or no operations may name a next one. */
  @ResponseText({ nullable: true, format: 'uuid', example: EXAMPLE_UUID })
  next_before!: string | null

  /** From this instant on the ledger is whole, what was settled before is no longer kept; absent where everything is. */
  @ResponseInstant({ optional: true })
  begins_at?: string
}

/** How an item of a batch was answered that took effect, beside its operation. */
export abstract class BatchDoneFields {
  /** The status that the item would have had as a request of its own. */
  @ResponseChoice([200])
  status!: 200

  /** Whether this repeats an earlier answer. */
  @ResponseFlag({ example: false })
  replayed!: boolean
}

/** Why an item of a batch may be refused. */
const BATCH_CODES = [
  'validation_failed',
  'quota_exceeded',
  'no_active_quota',
  'idempotency_key_reused',
  'internal_error',
  'unavailable',
] as const satisfies readonly ErrorCode[]

/** How an item of a batch was answered that took no effect. */
export class BatchRefusedDto {
  /** The status that the item would have had as a request of its own. */
  @ResponseChoice([...new Set(BATCH_CODES.map(statusOf))])
  status!: number

  /** Why. */
  @ResponseSchema(problemSchema(BATCH_CODES))
  problem!: object
}

/** What a channel's usage is asked and told by. */
export function usageDtos({ schema, channel }: ChannelWords) {
  const [{ field }] = channel.subjects
  const spender = { [field]: IdField({ description: 'Who spends.' }) }

  const BatchItem = dtoClass(`${schema}BatchItem`, BatchItemFields, spender)
  const Operation = dtoClass(`${schema}Operation`, OperationFields, {
    [field]: ResponseId({ description: 'Who spends.' }),
  })
  const ListedOperation = dtoClass(`${schema}ListedOperation`, Operation, {
    made_by: ResponseObject(() => MadeByDto, {
      optional: true,
      description: 'Who made it, and with which key; there with `made_by=true` alone.',
    }),
  })
  const BatchDone = dtoClass(`${schema}BatchDone`, BatchDoneFields, {
    operation: ResponseObject(() => Operation, { description: 'What it made.' }),
  })

  return {
    Consume: dtoClass(`${schema}Consume`, ConsumeFields, spender),
    BatchItem,
    /** Consumes that are sent together and decided one by one. */
    Batch: dtoClass(`${schema}Batch`, BatchFields, {
      items: ItemsField(() => BatchItem, { min: 1, max: 1000, description: '1 … 1000 consumes, decided in order.' }),
    }),
    Reserve: dtoClass(`${schema}Reserve`, ReserveFields, {
      [field]: IdField({ description: 'For whom they are held.' }),
    }),
    CheckQuery: dtoClass(`${schema}CheckQuery`, CheckFields, { [field]: IdField({ description: 'Who would spend.' }) }),
    /** Which operations to show: those of exactly one of owner, quota and key. */
    LedgerQuery: dtoClass(
      `${schema}LedgerQuery`,
      class extends LedgerFields {
        /** Asked by the pipe. */
        violations(): FieldError[] {
          return ledgerViolations(this, field)
        }
      },
      { [field]: IdField({ optional: true, description: 'Only operations of this owner.' }) },
    ),
    /** Whose usage to show: that of exactly one of owner and quota. */
    SeriesQuery: dtoClass(
      `${schema}SeriesQuery`,
      class extends SeriesFields {
        /** Asked by the pipe. */
        violations(): FieldError[] {
          return seriesViolations(this, field)
        }
      },
      { [field]: IdField({ optional: true, description: 'Only usage of this owner.' }) },
    ),
    Operation,
    LedgerPage: dtoClass(`${schema}LedgerPage`, LedgerPageFields, {
      items: ResponseObject(() => ListedOperation, { isArray: true, description: 'The operations.' }),
    }),
    /** One result for each item, in order: `status` 200 with the operation, any other with the problem. */
    BatchAnswer: dtoClass(`${schema}BatchAnswer`, Object, {
      results: ResponseForms([BatchDone, BatchRefusedDto], { description: 'The results.' }),
    }),
  }
}
