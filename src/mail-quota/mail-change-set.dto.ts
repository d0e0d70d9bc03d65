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
import { MailQuotaListQuery } from './mail-quota.dto.js'

/** Which mail quotas to hand out: the filters of their list. */
export class MailExportQuery extends FieldsWithout(MailQuotaListQuery, [...PAGING, 'violations']) {}

/** Which mail quotas to change: the filters of their list, at least one. */
export class MailChangeFilterDto
  extends FieldsWithout(MailQuotaListQuery, [...PAGING, 'deleted', 'violations'])
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

/** Many mail quotas to be changed as one. */
export class NewMailChangeSetDto extends NewChangeSetFields {
  /** Which ones; looked for once, when the change set is prepared. */
  @MembersField(() => MailChangeFilterDto)
  filter!: MailChangeFilterDto

  members(): DtoClass {
    return MailChangeFilterDto
  }
}

/** A row of a change set of mail quotas. */
export class MailChangeSetRowDto extends RowFields {
  /** Whose quota it is; null where the record names nobody. */
  @ResponseId({ nullable: true })
  account_id!: number | null
}

/** A page of a change set's rows, in order. */
export class MailChangeSetRowsPageDto extends RowsPageFields {
  /** The rows. */
  @ResponseObject(() => MailChangeSetRowDto, { isArray: true })
  items!: MailChangeSetRowDto[]
}
