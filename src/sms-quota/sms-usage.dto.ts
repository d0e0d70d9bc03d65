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

/** Units that a user spends at once. */
export class SmsConsumeDto extends ConsumeFields {
  /** Who spends. */
  @IdField()
  user_id!: number
}

/** One consume of a batch. */
export class SmsBatchItemDto extends BatchItemFields {
  /** Who spends. */
  @IdField()
  user_id!: number
}

/** Consumes that are sent together and decided one by one. */
export class SmsBatchDto {
  /** 1 … 1000 consumes, decided in order. */
  @ItemsField(() => SmsBatchItemDto, { min: 1, max: 1000 })
  items!: unknown[]
}

/** Units that are held for a user. */
export class SmsReserveDto extends ReserveFields {
  /** For whom they are held. */
  @IdField()
  user_id!: number
}

/** A question that takes nothing. */
export class SmsCheckQuery extends CheckFields {
  /** Who would spend. */
  @IdField()
  user_id!: number
}

/** Which operations to show: those of exactly one of `user_id`, `quota_id` and `idempotency_key`. */
export class SmsLedgerQuery extends LedgerFields {
  /** Only operations of this owner. */
  @IdField({ optional: true })
  user_id?: number

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return ledgerViolations(this, 'user_id')
  }
}

/** Whose usage to show: that of exactly one of `user_id` and `quota_id`. */
export class SmsSeriesQuery extends SeriesFields {
  /** Only usage of this owner. */
  @IdField({ optional: true })
  user_id?: number

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return seriesViolations(this, 'user_id')
  }
}

/** A consume or a reservation of a user, with what became of it. */
export class SmsOperationDto extends OperationFields {
  /** Who spends. */
  @ResponseId()
  user_id!: number
}

/** An operation in the ledger. */
export class SmsListedOperationDto extends SmsOperationDto {
  /** Who made it, and with which key; there with `made_by=true` alone. */
  @ResponseObject(() => MadeByDto, { optional: true })
  made_by?: MadeByDto
}

/** A page of the ledger, newest first. */
export class SmsLedgerPageDto extends LedgerPageFields {
  /** The operations. */
  @ResponseObject(() => SmsListedOperationDto, { isArray: true })
  items!: SmsListedOperationDto[]
}

/** How one item of a batch was answered that took effect. */
export class SmsBatchDoneDto extends BatchDoneFields {
  /** What it made. */
  @ResponseObject(() => SmsOperationDto)
  operation!: SmsOperationDto
}

/** One result for each item, in order: `status` 200 with the operation, any other with the problem. */
export class SmsBatchAnswerDto {
  /** The results. */
  @ResponseForms([SmsBatchDoneDto, BatchRefusedDto])
  results!: (SmsBatchDoneDto | BatchRefusedDto)[]
}
