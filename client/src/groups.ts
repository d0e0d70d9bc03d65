import { given, type Listing } from './listing.js'
import type { Paths } from './paths.js'
import { Records } from './records.js'
import type { CallOptions, MaybeKeyedOptions, Transport } from './transport.js'
import type {
  AnyChannel,
  CapTrial,
  ChangesOfFilter,
  CreateGroup,
  Group,
  GroupCapTrial,
  GroupPage,
  GroupsFilter,
  GroupSummary,
  MembersAdded,
  MembersFilter,
  UpdateGroup,
} from './types.js'

/** The groups of a channel: limits of many owners, for administrators. Retries and versions are as for quotas. */
export class Groups<Channel extends AnyChannel> extends Records<Group, UpdateGroup, Channel['changePage']> {
  constructor(transport: Transport, paths: Paths) {
    super(transport, `${paths.quotas}/groups`, 'group_not_found')
  }

  /**
   * Creates a group.
   * @throws Problem `group_name_taken`, `default_group_taken`, `group_not_found` of the parent, `validation_failed`
   */
  create(group: CreateGroup, options: MaybeKeyedOptions = {}): Promise<Group> {
    return this.call({ ...options, method: 'POST', path: this.at(), body: group })
  }

  /** Lists groups, newest first. */
  list(filter: GroupsFilter = {}, options: CallOptions = {}): Listing<GroupPage> {
    return this.newest(this.at(), filter, options)
  }

  /** Lists the changes of a group's settings and members, newest first. */
  changes(id: number, filter: ChangesOfFilter = {}, options: CallOptions = {}): Listing<Channel['changePage']> {
    return this.history(id, filter, options)
  }

  /** The sums of a group's active shared quotas, and what a new member could take. */
  summary(id: number, options: CallOptions = {}): Promise<GroupSummary> {
    return this.call({ ...options, method: 'GET', path: this.at(id, 'summary') })
  }

  /** What a shared cap would have refused of the members in the last days; nothing changes. As of an owner. */
  tryCap(id: number, cap: GroupCapTrial, options: CallOptions = {}): Promise<CapTrial> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'caps', 'preview'), body: cap, repeatable: true })
  }

  /** Lists the members of a group, ids ascending. */
  members(id: number, filter: MembersFilter = {}, options: CallOptions = {}): Listing<Channel['membersPage']> {
    return this.listing(this.at(id, 'members'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** Makes up to 1000 owners members, all of them or none; those in another group are moved. */
  addMembers(id: number, owners: Channel['addMembers'], options: MaybeKeyedOptions = {}): Promise<MembersAdded> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'members'), body: owners, repeatable: true })
  }

  /** Ends the membership of an owner. @throws Problem `member_not_found`, also after an attempt that had effect */
  async removeMember(id: number, owner: Channel['owner'], options: CallOptions = {}): Promise<void> {
    await this.call({
      ...options,
      method: 'DELETE',
      path: this.at(id, 'members', ...Object.values(owner as Record<string, number>)),
      repeatable: true,
    })
  }
}
