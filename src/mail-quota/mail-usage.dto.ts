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
export class MailConsume extends ConsumeFields {
  /** The owner whose quotas pay. */
  @IdField()
  account_id!: number
}

/** An item of a batch. */
export class MailBatchItem extends BatchItemFields {
  /** The owner whose quotas pay. */
  @IdField()
  account_id!: number
}

/** Consumes that are sent together and decided one by one. */
export class MailBatch extends BatchFields {
  /** 1 … 1000 consumes, processed in order. */
  @ItemsField(() => MailBatchItem, { min: 1, max: MAX_BATCH_ITEMS })
  items!: readonly unknown[]
}

/** The body of a reserve. */
export class MailReserve extends ReserveFields {
  /** The owner whose quotas hold the units. */
  @IdField()
  account_id!: number
}

/** The query of a check. */
export class MailCheckQuery extends CheckFields {
  /** The owner to check. */
  @IdField()
  account_id!: number
}

/** Selects operations by exactly one of owner, quota, key and `all`. */
export class MailLedgerQuery extends LedgerFields {
  /** Returns only operations of this owner. */
  @IdField({ optional: true })
  account_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return ledgerViolations(this, 'account_id')
  }
}

/** Selects usage by exactly one of owner and quota. */
export class MailSeriesQuery extends SeriesFields {
  /** Returns only usage of this owner. */
  @IdField({ optional: true })
  account_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return seriesViolations(this, 'account_id')
  }
}

/** An operation as answers show it. */
export class MailOperation extends OperationFields {
  /** The owner whose quotas pay. */
  @ResponseId()
  account_id!: number
}

/** An operation in a page of the ledger. */
export class MailListedOperation extends MailOperation {
  /** The principal and the key. Present only with `made_by=true`. */
  @ResponseObject(() => MadeByDto, { optional: true })
  made_by?: MadeByDto
}

/** A page of the ledger. */
export class MailLedgerPage extends LedgerPageFields {
  /** The operations. */
  @ResponseObject(() => MailListedOperation, { isArray: true })
  items!: MailListedOperation[]
}

/** The result of a successful item of a batch. */
export class MailBatchDone extends BatchDoneFields {
  /** The operation. */
  @ResponseObject(() => MailOperation)
  operation!: MailOperation
}

/** One result for each item, in order: the operation if `status` is 200, otherwise the problem. */
export class MailBatchAnswer {
  /** The results. */
  @ResponseForms([MailBatchDone, BatchRefusedDto])
  results!: (MailBatchDone | BatchRefusedDto)[]
}
