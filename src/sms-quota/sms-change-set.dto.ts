import { OmitType } from '@nestjs/swagger'
import {
  filterErrors,
  MAX_FILTER_IDS,
  NewChangeSetFields,
  NOT_EXPORTED,
  NOT_FILTERED,
  RowFields,
  RowsPageFields,
} from '../change-set/change-set.dto.js'
import type { FieldError } from '../common/service-error.js'
import type { DtoClass } from '../http/dto.js'
import { IdsField, MembersField, ResponseId, ResponseObject, TrueField } from '../http/field.decorator.js'
import { SmsQuotaListQuery } from './sms-quota.dto.js'

/** Selects the quotas of an export, by the filters of their list. */
export class SmsExportQuery extends OmitType(SmsQuotaListQuery, NOT_EXPORTED) {}

/** Selects the quotas of a change set, by the filters of their list. */
export class SmsChangeFilter extends OmitType(SmsQuotaListQuery, NOT_FILTERED) {
  /** Selects all quotas. Cannot be combined with other conditions. */
  @TrueField({ optional: true })
  all?: true

  /** Selects only quotas with these ids. Ids that no live quota has are skipped. */
  @IdsField({ min: 1, max: MAX_FILTER_IDS, optional: true })
  ids?: number[]

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return filterErrors(this)
  }
}

/** The body that creates a change set. */
export class NewSmsChangeSet extends NewChangeSetFields {
  /** Selects the quotas, once, when the change set is prepared. */
  @MembersField(() => SmsChangeFilter)
  filter!: SmsChangeFilter

  /** The DTO class of the filter. */
  members(): DtoClass {
    return SmsChangeFilter
  }
}

/** A row of a change set. */
export class SmsChangeSetRow extends RowFields {
  /** The owner of the quota; null if the record names none. */
  @ResponseId({ nullable: true })
  user_id!: number | null
}

/** A page of a change set's rows. */
export class SmsChangeSetRowsPage extends RowsPageFields {
  /** The rows. */
  @ResponseObject(() => SmsChangeSetRow, { isArray: true })
  items!: SmsChangeSetRow[]
}
