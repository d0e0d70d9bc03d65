import { MAX_ADDED, MemberFields, MembersPageFields } from '../channel-api/group.dto.js'
import { IdsField, ResponseId, ResponseObject } from '../http/field.decorator.js'

/** The owners to add. */
export class SmsAddMembers {
  /** 1 … 1000 different users. Those in another group are moved. */
  @IdsField({ min: 1, max: MAX_ADDED })
  user_ids!: number[]
}

/** A member of a group. */
export class SmsMember extends MemberFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}

/** A page of members. */
export class SmsMembersPage extends MembersPageFields {
  /** The members, ids ascending. */
  @ResponseObject(() => SmsMember, { isArray: true })
  items!: SmsMember[]
}
