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
import { MailQuotaListQuery } from './mail-quota.dto.js'

/** Selects the quotas of an export, by the filters of their list. */
export class MailExportQuery extends OmitType(MailQuotaListQuery, NOT_EXPORTED) {}

/** Selects the quotas of a change set, by the filters of their list. */
export class MailChangeFilter extends OmitType(MailQuotaListQuery, NOT_FILTERED) {
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
export class NewMailChangeSet extends NewChangeSetFields {
  /** Selects the quotas, once, when the change set is prepared. */
  @MembersField(() => MailChangeFilter)
  filter!: MailChangeFilter

  /** The DTO class of the filter. */
  members(): DtoClass {
    return MailChangeFilter
  }
}

/** A row of a change set. */
export class MailChangeSetRow extends RowFields {
  /** The owner of the quota; null if the record names none. */
  @ResponseId({ nullable: true })
  account_id!: number | null
}

/** A page of a change set's rows. */
export class MailChangeSetRowsPage extends RowsPageFields {
  /** The rows. */
  @ResponseObject(() => MailChangeSetRow, { isArray: true })
  items!: MailChangeSetRow[]
}
