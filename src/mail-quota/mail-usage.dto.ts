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

/** Whose operations to show: exactly one of `account_id` and `quota_id`. */
export class MailLedgerQuery extends LedgerFields {
  /** Only operations of this owner. */
  @IdField({ optional: true })
  account_id?: number
}

/** A consume or a reservation of a mail account, with what became of it. */
export class MailOperationDto extends OperationFields {
  /** Who spends. */
  @ShownId()
  account_id!: number
}

/** A page of the ledger, newest first. */
export class MailLedgerPageDto extends LedgerPageFields {
  /** The operations. */
  @ShownObject(() => MailOperationDto, { isArray: true })
  items!: MailOperationDto[]
}

/** How one item of a batch was answered: with an operation, or with a problem. */
export class MailBatchResultDto extends BatchResultFields {
  /** There with status 200. */
  @ShownObject(() => MailOperationDto, { optional: true })
  operation?: MailOperationDto

  /** There with any other status. */
  @ShownObject(() => ProblemDto, { optional: true })
  problem?: ProblemDto
}

/** One result for each item, in order. */
export class MailBatchAnswerDto {
  /** The results. */
  @ShownObject(() => MailBatchResultDto, { isArray: true })
  results!: MailBatchResultDto[]
}
