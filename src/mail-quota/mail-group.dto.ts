import { MAX_ADDED, MemberFields, MembersPageFields } from '../channel-api/group.dto.js'
import { IdsField, ResponseId, ResponseObject } from '../http/field.decorator.js'

/** The owners to add. */
export class MailAddMembers {
  /** 1 … 1000 different accounts. Those in another group are moved. */
  @IdsField({ min: 1, max: MAX_ADDED })
  account_ids!: number[]
}

/** A member of a group. */
export class MailMember extends MemberFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}

/** A page of members. */
export class MailMembersPage extends MembersPageFields {
  /** The members, ids ascending. */
  @ResponseObject(() => MailMember, { isArray: true })
  items!: MailMember[]
}
