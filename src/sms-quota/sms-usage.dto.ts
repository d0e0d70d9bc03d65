import {
  BatchItemFields,
  BatchResultFields,
  CheckFields,
  ConsumeFields,
  LedgerFields,
  LedgerPageFields,
  OperationFields,
  ReserveFields,
} from '../channel-api/usage.dto.js'
import { IdField, ItemsField, ShownId, ShownObject } from '../http/field.decorator.js'
import { ProblemDto } from '../http/problem.dto.js'

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

/** Whose operations to show: exactly one of `user_id` and `quota_id`. */
export class SmsLedgerQuery extends LedgerFields {
  /** Only operations of this owner. */
  @IdField({ optional: true })
  user_id?: number
}

/** A consume or a reservation of a user, with what became of it. */
export class SmsOperationDto extends OperationFields {
  /** Who spends. */
  @ShownId()
  user_id!: number
}

/** A page of the ledger, newest first. */
export class SmsLedgerPageDto extends LedgerPageFields {
  /** The operations. */
  @ShownObject(() => SmsOperationDto, { isArray: true })
  items!: SmsOperationDto[]
}

/** How one item of a batch was answered: with an operation, or with a problem. */
export class SmsBatchResultDto extends BatchResultFields {
  /** There with status 200. */
  @ShownObject(() => SmsOperationDto, { optional: true })
  operation?: SmsOperationDto

  /** There with any other status. */
  @ShownObject(() => ProblemDto, { optional: true })
  problem?: ProblemDto
}

/** One result for each item, in order. */
export class SmsBatchAnswerDto {
  /** The results. */
  @ShownObject(() => SmsBatchResultDto, { isArray: true })
  results!: SmsBatchResultDto[]
}
