import { ApiHideProperty } from '@nestjs/swagger'
import type { FieldError } from '../common/service-error.js'
import {
  FlagField,
  IdField,
  IgnoredField,
  IntegerField,
  LabelField,
  PageSizeField,
  ResponseChoice,
  ResponseFlag,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseText,
} from '../http/field.decorator.js'
import { CursorPageQuery } from '../http/page.dto.js'
import type { GroupPatch } from '../ledger/store/command.js'
import { OwnSummaryFields, PageFields } from './quota.dto.js'

/** The maximum number of owners that one call adds to a group. */
export const MAX_ADDED = 1000
const NAME = 'Spring campaign'

/** The settings of a new group. */
export class CreateGroupDto {
  /** The name, in the form of a label. No other live group of the channel may have it; case is ignored. */
  @LabelField({ example: 'example.org' })
  name!: string

  /** The group above; null or absent: none. A chain has at most three groups. */
  @IdField({ optional: true, nullable: true, example: 4 })
  parent_id?: number | null

  /** Makes it the group of every owner of the channel that is in none. There is at most one. */
  @FlagField({ optional: true, default: false, example: false })
  default?: boolean

  /** The mistakes of the body alone; the parent may have another (contract, §7). */
  @ApiHideProperty()
  errors: readonly FieldError[] | undefined = undefined
}

/** The settings of a group that change; absent ones stay. Other members of the record are accepted and ignored. */
export class UpdateGroupDto {
  /** The name. */
  @LabelField({ optional: true, example: NAME })
  name?: string

  /** The group above; null: none. In force at once for all members below. */
  @IdField({ optional: true, nullable: true, example: 4 })
  parent_id?: number | null

  /** Whether it is the group of every owner of the channel that is in none. */
  @FlagField({ optional: true, example: true })
  default?: boolean

  /** The version that the caller read. If it is not the current one, nothing changes, and the answer is `version_mismatch`. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number

  @IgnoredField()
  id?: unknown

  @IgnoredField()
  created_at?: unknown

  @IgnoredField()
  updated_at?: unknown

  /** The mistakes of the body alone; the parent may have another (contract, §7). */
  @ApiHideProperty()
  errors: readonly FieldError[] | undefined = undefined

  /** Requires at least one setting. */
  violations(): FieldError[] {
    const named = [this.name, this.parent_id, this.default].some((value) => value !== undefined)
    return named ? [] : [{ field: 'body', message: 'must name at least one of name, parent_id, default' }]
  }
}

/** Returns the settings of a valid create or update. */
export function groupPatchOf(dto: CreateGroupDto | UpdateGroupDto): GroupPatch {
  return {
    ...(dto.name === undefined ? {} : { name: dto.name }),
    ...(dto.parent_id === undefined ? {} : { parentId: dto.parent_id }),
    ...(dto.default === undefined ? {} : { isDefault: dto.default }),
  }
}

/** Selects groups. */
export class GroupListQuery extends CursorPageQuery {
  /** Returns only groups whose name begins with this text. Case is ignored, accents are not; there are no wildcards. */
  @LabelField({ optional: true, beginning: true })
  name?: string

  /** Returns only groups directly below this one. */
  @IdField({ optional: true, example: 4 })
  parent_id?: number
}

/** A group of owners. */
export class GroupDto {
  /** Id of the group. */
  @ResponseId({ example: 5 })
  id!: number

  /** The name, as sent. */
  @ResponseText({ example: 'example.org' })
  name!: string

  /** The group above; null: none. */
  @ResponseId({ nullable: true, example: null })
  parent_id!: number | null

  /** Whether it is the group of every owner of the channel that is in none. */
  @ResponseFlag({ example: false })
  default!: boolean

  /** Starts at 1 and is incremented by each edit of the settings, not by changes of members. */
  @ResponseInteger({ min: 1, example: 1 })
  version!: number

  /** Time of the creation. */
  @ResponseInstant()
  created_at!: string

  /** Time of the last edit, deletion or restore. */
  @ResponseInstant()
  updated_at!: string
}

/** A page of groups. */
export class GroupPageDto extends PageFields {
  /** The groups. */
  @ResponseObject(() => GroupDto, { isArray: true })
  items!: GroupDto[]
}

/** Selects a page of members. */
export class MembersQuery {
  /** Returns only members with a larger id. Pass the `next_after` of the previous page. */
  @IdField({ optional: true })
  after?: number

  /** Number of members on the page. */
  @PageSizeField()
  page_size?: number
}

/** A member in both channels; each adds the owner. */
export abstract class MemberFields {
  /** The time since which it is a member of this group. */
  @ResponseInstant()
  since!: string
}

/** The end of a page of members. */
export abstract class MembersPageFields {
  /** Pass it as `after` to get the next page; null on the last page. */
  @ResponseId({ nullable: true })
  next_after!: number | null
}

/** The result of adding members. */
export class MembersAddedDto {
  /** Owners that were in no group. */
  @ResponseInteger({ max: MAX_ADDED, example: 2 })
  added!: number

  /** Owners that were in another group. */
  @ResponseInteger({ max: MAX_ADDED, example: 1 })
  moved!: number

  /** Owners that were members already. */
  @ResponseInteger({ max: MAX_ADDED, example: 0 })
  unchanged!: number
}

/** The sums of a group's active shared quotas. */
export class GroupSummaryDto extends OwnSummaryFields {
  /** The group. */
  @ResponseId({ example: 5 })
  declare group_id: number

  /** Number of members by name. */
  @ResponseInteger({ example: 1204 })
  members!: number

  /** `exact` up to 10,000 members; above, the number is at most 60 seconds old. */
  @ResponseChoice(['exact', 'recent'])
  members_relation!: 'exact' | 'recent'
}
