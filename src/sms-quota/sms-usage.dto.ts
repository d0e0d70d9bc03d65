import { SeriesFields, seriesViolations } from '../channel-api/series.dto.js'
import {
  BatchDoneFields,
  BatchFields,
  BatchItemFields,
  BatchRefusedDto,
  CheckFields,
  ConsumeFields,
  LedgerFields,
  LedgerPageFields,
  ledgerViolations,
  MadeByDto,
  MAX_BATCH_ITEMS,
  OperationFields,
  ReserveFields,
} from '../channel-api/usage.dto.js'
import type { FieldError } from '../common/service-error.js'
import { IdField, ItemsField, ResponseForms, ResponseId, ResponseObject } from '../http/field.decorator.js'

/** The body of a consume. */
export class SmsConsume extends ConsumeFields {
  /** The owner whose quotas pay. */
  @IdField()
  user_id!: number
}

/** An item of a batch. */
export class SmsBatchItem extends BatchItemFields {
  /** The owner whose quotas pay. */
  @IdField()
  user_id!: number
}

/** Consumes that are sent together and decided one by one. */
export class SmsBatch extends BatchFields {
  /** 1 … 1000 consumes, processed in order. */
  @ItemsField(() => SmsBatchItem, { min: 1, max: MAX_BATCH_ITEMS })
  items!: readonly unknown[]
}

/** The body of a reserve. */
export class SmsReserve extends ReserveFields {
  /** The owner whose quotas hold the units. */
  @IdField()
  user_id!: number
}

/** The query of a check. */
export class SmsCheckQuery extends CheckFields {
  /** The owner to check. */
  @IdField()
  user_id!: number
}

/** Selects operations by exactly one of owner, quota, key and `all`. */
export class SmsLedgerQuery extends LedgerFields {
  /** Returns only operations of this owner. */
  @IdField({ optional: true })
  user_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return ledgerViolations(this, 'user_id')
  }
}

/** Selects usage by exactly one of owner and quota. */
export class SmsSeriesQuery extends SeriesFields {
  /** Returns only usage of this owner. */
  @IdField({ optional: true })
  user_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return seriesViolations(this, 'user_id')
  }
}

/** An operation as answers show it. */
export class SmsOperation extends OperationFields {
  /** The owner whose quotas pay. */
  @ResponseId()
  user_id!: number
}

/** An operation in a page of the ledger. */
export class SmsListedOperation extends SmsOperation {
  /** The principal and the key. Present only with `made_by=true`. */
  @ResponseObject(() => MadeByDto, { optional: true })
  made_by?: MadeByDto
}

/** A page of the ledger. */
export class SmsLedgerPage extends LedgerPageFields {
  /** The operations. */
  @ResponseObject(() => SmsListedOperation, { isArray: true })
  items!: SmsListedOperation[]
}

/** The result of a successful item of a batch. */
export class SmsBatchDone extends BatchDoneFields {
  /** The operation. */
  @ResponseObject(() => SmsOperation)
  operation!: SmsOperation
}

/** One result for each item, in order: the operation if `status` is 200, otherwise the problem. */
export class SmsBatchAnswer {
  /** The results. */
  @ResponseForms([SmsBatchDone, BatchRefusedDto])
  results!: (SmsBatchDone | BatchRefusedDto)[]
}
