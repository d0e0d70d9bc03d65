import { validationFailed } from '../common/service-error.js'
import { firstOfEach } from '../http/dto.js'
import { DEFAULT_PAGE_SIZE } from '../http/field.decorator.js'
import { pagingOf, type PageQuery } from '../http/page.dto.js'
import type { CapTrialReader, CapTrialView } from '../ledger/read/cap-trial-reader.js'
import type { GroupReader, MembersPage } from '../ledger/read/group-reader.js'
import type { Page } from '../ledger/read/list-reader.js'
import type { QuotaReader, SummaryWithCaps } from '../ledger/read/quota-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeView, GroupView } from '../ledger/store/answers.js'
import type { Caller, Outcome } from '../ledger/store/command.js'
import type { Ledger } from '../ledger/write/ledger.js'
import { type CapTrialFields, trialOf } from './cap-trial.dto.js'
import {
  type CreateGroupDto,
  type GroupListQuery,
  groupPatchOf,
  type MembersQuery,
  type UpdateGroupDto,
} from './group.dto.js'

/** The sums of a group in an answer. */
export interface GroupSummaryView extends SummaryWithCaps {
  members: number
  members_relation: 'exact' | 'recent'
}

/** Operations on one channel's groups: takes DTOs, returns domain values. Every error is a ServiceError. */
export class GroupService<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly ledger: Ledger<Q>,
    private readonly reader: GroupReader<Q>,
    private readonly quotas: QuotaReader<Q>,
    private readonly trials: CapTrialReader<Q>,
  ) {}

  /** Creates a group. @param key makes a retry return the first answer */
  async create(caller: Caller, dto: CreateGroupDto, key: string | undefined): Promise<Outcome> {
    await this.refuseMistakes(caller, undefined, dto)
    return this.ledger.changeGroup(caller, 'create', null, { patch: groupPatchOf(dto), key: key ?? null })
  }

  /** One live group. */
  async get({ id: principalId }: Caller, id: number): Promise<GroupView> {
    return this.reader.get(principalId, id)
  }

  /** A page of live groups, newest first. */
  async list({ id: principalId }: Caller, query: GroupListQuery): Promise<Page<GroupView>> {
    return this.reader.list(principalId, { name: query.name, parentId: query.parent_id }, pagingOf(query))
  }

  /** Changes settings. */
  async update(caller: Caller, id: number, dto: UpdateGroupDto): Promise<Outcome> {
    await this.refuseMistakes(caller, id, dto)
    return this.ledger.changeGroup(caller, 'update', id, { patch: groupPatchOf(dto), version: dto.version })
  }

  /** Errors of the body and that of the parent are reported together. */
  private async refuseMistakes(
    { id: principalId }: Caller,
    id: number | undefined,
    { errors, parent_id: parentId }: CreateGroupDto | UpdateGroupDto,
  ): Promise<void> {
    if (errors !== undefined)
      throw validationFailed(firstOfEach(await this.reader.violationsBy(principalId, id, parentId, errors)))
  }

  /** Soft-deletes. */
  async remove(caller: Caller, id: number, version: number | undefined): Promise<void> {
    await this.ledger.changeGroup(caller, 'delete', id, { version })
  }

  /** Reverts a soft delete. */
  async restore(caller: Caller, id: number): Promise<Outcome> {
    return this.ledger.changeGroup(caller, 'restore', id)
  }

  /** A page of the changes of a group's settings and members, newest first. */
  async changes({ id: principalId }: Caller, id: number, query: PageQuery): Promise<Page<ChangeView>> {
    return this.reader.changes(principalId, id, pagingOf(query))
  }

  /** The sums of a group's active shared quotas. */
  async summary({ id: principalId }: Caller, id: number): Promise<GroupSummaryView> {
    const chain = await this.reader.chainOf(principalId, id)
    const { total: members, total_relation: relation } = await this.reader.memberCount(principalId, id)
    return { group_id: id, ...(await this.quotas.summaryOfGroup(chain)), members, members_relation: relation }
  }

  /** What a shared cap would have refused of the members. */
  async capTrial({ id: principalId }: Caller, id: number, dto: CapTrialFields): Promise<CapTrialView> {
    const { settings, days } = trialOf(dto)
    return this.trials.ofGroup(principalId, id, settings, days)
  }

  /** A page of members, ids ascending. */
  async members(
    { id: principalId }: Caller,
    id: number,
    { after, page_size: size }: MembersQuery,
  ): Promise<MembersPage> {
    return this.reader.members(principalId, id, after, size ?? DEFAULT_PAGE_SIZE)
  }

  /** Makes owners members, all of them or none. @param dto names them in the field of the channel's owners */
  async addMembers(caller: Caller, id: number, dto: object, key: string | undefined): Promise<Outcome> {
    const ownerIds = (dto as Readonly<Record<string, number[]>>)[`${this.channel.subjects[0].field}s`] ?? []
    return this.ledger.addMembers(caller, id, ownerIds, key ?? null)
  }

  /** Ends a membership. */
  async removeMember(caller: Caller, id: number, ownerId: number): Promise<void> {
    await this.ledger.removeMember(caller, id, ownerId)
  }
}
