import {
  type ChangeFilter,
  filterErrors,
  NewChangeSetFields,
  PAGING,
  RowFields,
  RowsPageFields,
} from '../change-set/change-set.dto.js'
import type { FieldError } from '../error/service-error.js'
import type { DtoClass } from '../http/dto.js'
import { FieldsWithout, MembersField, ResponseId, ResponseObject, TrueField } from '../http/field.decorator.js'
import { SmsQuotaListQuery } from './sms-quota.dto.js'

/** Which SMS quotas to hand out: the filters of their list. */
export class SmsExportQuery extends FieldsWithout(SmsQuotaListQuery, [...PAGING, 'violations']) {}

/** Which SMS quotas to change: the filters of their list, at least one. */
export class SmsChangeFilterDto
  extends FieldsWithout(SmsQuotaListQuery, [...PAGING, 'deleted', 'violations'])
  implements ChangeFilter
{
  /** All of them; alone. */
  @TrueField({ optional: true })
  all?: true

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return filterErrors(this)
  }
}

/** Many SMS quotas to be changed as one. */
export class NewSmsChangeSetDto extends NewChangeSetFields {
  /** Which ones; looked for once, when the change set is prepared. */
  @MembersField(() => SmsChangeFilterDto)
  filter!: SmsChangeFilterDto

  members(): DtoClass {
    return SmsChangeFilterDto
  }
}

/** A row of a change set of SMS quotas. */
export class SmsChangeSetRowDto extends RowFields {
  /** Whose quota it is; null where the record names nobody. */
  @ResponseId({ nullable: true })
  user_id!: number | null
}

/** A page of a change set's rows, in order. */
export class SmsChangeSetRowsPageDto extends RowsPageFields {
  /** The rows. */
  @ResponseObject(() => SmsChangeSetRowDto, { isArray: true })
  items!: SmsChangeSetRowDto[]
}
