import {
  BatchDoneFields,
  BatchItemFields,
  BatchRefusedDto,
  ledgerViolations,
  CheckFields,
  ConsumeFields,
  LedgerFields,
  LedgerPageFields,
  MadeByDto,
  OperationFields,
  ReserveFields,
} from '../channel-api/usage.dto.js'
import { SeriesFields, seriesViolations } from '../channel-api/series.dto.js'
import type { FieldError } from '../error/service-error.js'
import { IdField, ItemsField, ResponseForms, ResponseId, ResponseObject } from '../http/field.decorator.js'

/** Units that a mail account spends at once. */
export class MailConsumeDto extends ConsumeFields {
  /** Who spends. */
  @IdField()
  account_id!: number
}

/** One consume of a batch. */
export class MailBatchItemDto extends BatchItemFields {
  /** Who spends. */
  @IdField()
  account_id!: number
}

/** Consumes that are sent together and decided one by one. */
export class MailBatchDto {
  /** 1 … 1000 consumes, decided in order. */
  @ItemsField(() => MailBatchItemDto, { min: 1, max: 1000 })
  items!: unknown[]
}

/** Units that are held for a mail account. */
export class MailReserveDto extends ReserveFields {
  /** For whom they are held. */
  @IdField()
  account_id!: number
}

/** A question that takes nothing. */
export class MailCheckQuery extends CheckFields {
  /** Who would spend. */
  @IdField()
  account_id!: number
}

/** Which operations to show: those of exactly one of `account_id`, `quota_id` and `idempotency_key`. */
export class MailLedgerQuery extends LedgerFields {
  /** Only operations of this owner. */
  @IdField({ optional: true })
  account_id?: number

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return ledgerViolations(this, 'account_id')
  }
}

/** Whose usage to show: that of exactly one of `account_id` and `quota_id`. */
export class MailSeriesQuery extends SeriesFields {
  /** Only usage of this owner. */
  @IdField({ optional: true })
  account_id?: number

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return seriesViolations(this, 'account_id')
  }
}

/** A consume or a reservation of a mail account, with what became of it. */
export class MailOperationDto extends OperationFields {
  /** Who spends. */
  @ResponseId()
  account_id!: number
}

/** An operation in the ledger. */
export class MailListedOperationDto extends MailOperationDto {
  /** Who made it, and with which key; there with `made_by=true` alone. */
  @ResponseObject(() => MadeByDto, { optional: true })
  made_by?: MadeByDto
}

/** A page of the ledger, newest first. */
export class MailLedgerPageDto extends LedgerPageFields {
  /** The operations. */
  @ResponseObject(() => MailListedOperationDto, { isArray: true })
  items!: MailListedOperationDto[]
}

/** How one item of a batch was answered that took effect. */
export class MailBatchDoneDto extends BatchDoneFields {
  /** What it made. */
  @ResponseObject(() => MailOperationDto)
  operation!: MailOperationDto
}

/** One result for each item, in order: `status` 200 with the operation, any other with the problem. */
export class MailBatchAnswerDto {
  /** The results. */
  @ResponseForms([MailBatchDoneDto, BatchRefusedDto])
  results!: (MailBatchDoneDto | BatchRefusedDto)[]
}
