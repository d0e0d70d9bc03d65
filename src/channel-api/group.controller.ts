import { Body, Delete, Get, HttpCode, Injectable, Post, Put, Query, Res } from '@nestjs/common'
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse } from '@nestjs/swagger'
import type { Response } from 'express'
import { Caller } from '../auth/caller.decorator.js'
import type { DtoClass } from '../http/dto.js'
import { IdParam } from '../http/id-param.decorator.js'
import { OptionalIdempotencyKey } from '../http/idempotency-key.decorator.js'
import { PageQuery } from '../http/page.dto.js'
import { Problems } from '../http/problem.decorator.js'
import { addHeader } from '../http/reply.js'
import type { CapTrialView } from '../ledger/read/cap-trial-reader.js'
import type { MembersPage } from '../ledger/read/group-reader.js'
import type { Page } from '../ledger/read/list-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeView, GroupView } from '../ledger/store/answers.js'
import { answer } from './answer.js'
import { CapTrialDto, GroupCapTrialDto } from './cap-trial.dto.js'
import type { ChannelApi } from './channel-api.js'
import {
  CreateGroupDto,
  GroupDto,
  GroupListQuery,
  GroupPageDto,
  GroupSummaryDto,
  MembersAddedDto,
  type MembersPageFields,
  MembersQuery,
  UpdateGroupDto,
} from './group.dto.js'
import { DeleteQuery, type PageFields } from './quota.dto.js'
import { GroupService, type GroupSummaryView } from './group.service.js'

/** A channel's DTO classes of groups. */
export interface GroupDtos {
  readonly AddMembers: DtoClass
  readonly MembersPage: DtoClass<MembersPageFields>
  readonly ChangePage: DtoClass<PageFields>
}

/**
 * The routes of a channel's groups. The channel's controller extends the class and declares its path, that of the
 * quotas and `groups`, and its access rule.
 */
export function groupController({ path, channel }: ChannelApi, dto: GroupDtos) {
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { AddMembers } = dto
  type AddMembers = InstanceType<typeof AddMembers>
  const member = channel.subjects[0].field

  @Injectable()
  class GroupController {
    constructor(protected readonly groups: GroupService<QuotaRow>) {}

    /** Create a group of owners */
    @Post()
    @ApiCreatedResponse({
      type: GroupDto,
      headers: { Location: { description: 'The new group.', schema: { type: 'string' } } },
    })
    @Problems('group_not_found', 'group_name_taken', 'default_group_taken')
    async create(
      @Caller() caller: Caller,
      @Body() body: CreateGroupDto,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      const outcome = await this.groups.create(caller, body, key)
      addHeader(response, 'Location', `${path}/groups/${outcome.subject}`)
      return answer(response, outcome)
    }

    /** List groups, newest first */
    @Get()
    @ApiOkResponse({ type: GroupPageDto })
    async list(@Caller() caller: Caller, @Query() query: GroupListQuery): Promise<Page<GroupView>> {
      return this.groups.list(caller, query)
    }

    /** Read one group */
    @Get(':id')
    @ApiOkResponse({ type: GroupDto })
    @Problems('group_not_found')
    async get(@Caller() caller: Caller, @IdParam('id') id: number): Promise<GroupView> {
      return this.groups.get(caller, id)
    }

    /** Change a group's settings */
    @Put(':id')
    @ApiOkResponse({ type: GroupDto })
    @Problems('group_not_found', 'version_mismatch', 'group_name_taken', 'default_group_taken')
    async update(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Body() body: UpdateGroupDto,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.groups.update(caller, id, body))
    }

    /** Delete a group without members, child groups and live quotas; it can be restored */
    @Delete(':id')
    @HttpCode(204)
    @ApiNoContentResponse({ description: 'Deleted.' })
    @Problems('group_not_found', 'version_mismatch', 'group_not_empty')
    async remove(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() { version }: DeleteQuery,
    ): Promise<void> {
      await this.groups.remove(caller, id, version)
    }

    /** Restore a deleted group */
    @Post(':id/restore')
    @HttpCode(200)
    @ApiOkResponse({ type: GroupDto })
    @Problems('group_not_found', 'group_name_taken', 'default_group_taken')
    async restore(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.groups.restore(caller, id))
    }

    /** List the changes of a group's settings and members, newest first */
    @Get(':id/changes')
    @ApiOkResponse({ type: dto.ChangePage })
    @Problems('group_not_found')
    async changes(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() query: PageQuery,
    ): Promise<Page<ChangeView>> {
      return this.groups.changes(caller, id, query)
    }

    /** Add up a group's active shared quotas */
    @Get(':id/summary')
    @ApiOkResponse({ type: GroupSummaryDto })
    @Problems('group_not_found')
    async summary(@Caller() caller: Caller, @IdParam('id') id: number): Promise<GroupSummaryView> {
      return this.groups.summary(caller, id)
    }

    /** Tell what a shared cap would have refused of a group's members in the last days; nothing changes */
    @Post(':id/caps/preview')
    @HttpCode(200)
    @ApiOkResponse({ type: CapTrialDto })
    @Problems('group_not_found')
    async capTrial(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Body() body: GroupCapTrialDto,
    ): Promise<CapTrialView> {
      return this.groups.capTrial(caller, id, body)
    }

    /** List the members of a group, ids ascending */
    @Get(':id/members')
    @ApiOkResponse({ type: dto.MembersPage })
    @Problems('group_not_found')
    async members(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() query: MembersQuery,
    ): Promise<MembersPage> {
      return this.groups.members(caller, id, query)
    }

    /** Make owners members of a group; those in another group are moved */
    @Post(':id/members')
    @HttpCode(200)
    @ApiOkResponse({ type: MembersAddedDto })
    @Problems('group_not_found')
    async addMembers(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Body() body: AddMembers,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.groups.addMembers(caller, id, body, key))
    }

    /** End the membership of an owner */
    @Delete(`:id/members/:${member}`)
    @HttpCode(204)
    @ApiNoContentResponse({ description: 'Removed.' })
    @Problems('group_not_found', 'member_not_found')
    async removeMember(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @IdParam(member) ownerId: number,
    ): Promise<void> {
      await this.groups.removeMember(caller, id, ownerId)
    }
  }

  return GroupController
}
