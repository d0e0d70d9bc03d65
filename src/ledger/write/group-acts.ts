import { ServiceError, validationFailed } from '../../common/service-error.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { storedForSearch } from '../../domain/label.js'
import { formatInstant } from '../../common/instant.js'
import type { ChangeAction } from '../rows/change.entity.js'
import { groupOwner, type Group } from '../rows/group.entity.js'
import type { LedgerGateRow } from '../rows/ledger-gate.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { storedJson } from '../rows/stored-json.js'
import { groupView } from '../store/answers.js'
import type { GroupCommand, GroupPatch, Outcome, Request } from '../store/command.js'
import { groupNotFound, versionMismatch } from '../store/errors.js'
import type { GroupStore } from '../store/group-store.js'
import type { WorkingSet } from '../store/working-set.js'
import { actOf, changeOf } from './judge.js'

/** What a change of a group's members did, as its history shows it: ids of owners; of moved ones, the group before. */
export interface MembersChanged {
  readonly added?: readonly number[]
  readonly moved?: readonly (readonly [ownerId: number, from: number])[]
  readonly removed?: readonly number[]
}

type Of<K extends GroupCommand['kind']> = Extract<GroupCommand, { kind: K }>

/**
 * Decides acts on groups and their members, each in a transaction of its own. For settings of a group, the transaction
 * has locked the gate exclusively: nothing else changes a group or a member, and no batch runs. For members, it has
 * locked their owners, and the gate as a batch does.
 */
export class GroupActs<Q extends QuotaRow> {
  constructor(
    private readonly transaction: Transaction,
    private readonly store: GroupStore<Q>,
    /** Collects the act and the change to write. */
    private readonly workingSet: WorkingSet<Q>,
    private readonly gate: Pick<LedgerGateRow, 'defaultGroupId' | 'chainsVersion'>,
    /** The locked owners, with the groups that they are members of; null: none. */
    private readonly owners: ReadonlyMap<number, number | null>,
  ) {}

  /** @throws ServiceError if the request is refused; nothing is then written */
  async decide(request: Request, command: GroupCommand): Promise<Outcome> {
    if (command.kind === 'members') return this.members(request, command)
    if (command.groupId === null) return this.create(request, command.patch)
    const group = await this.store.changingGroup(this.transaction, command.groupId)
    if (group === undefined || (group.deletedAt !== null && command.action !== 'restore'))
      throw groupNotFound(command.groupId)
    const { version } = command
    if (command.action === 'update') return this.update(request, group, command)
    if (version !== undefined && version !== group.version) throw versionMismatch('group', group.version, version)
    return command.action === 'delete' ? this.remove(request, group) : this.restore(request, group)
  }

  private async create(
    request: Request,
    { name = '', parentId = null, isDefault = false }: GroupPatch,
  ): Promise<Outcome> {
    const { now } = this.workingSet
    const draft: Omit<Group, 'id'> = {
      name,
      liveName: storedForSearch(name),
      parentId,
      isDefault: isDefault ? 1 : 0,
      version: 1,
      edits: 0,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    }
    await this.checkParent(undefined, parentId)
    await this.checkName(draft)
    this.checkDefault(draft)
    const group = { ...draft, id: await this.store.insertGroup(this.transaction, draft) }
    const { defaultGroupId, chainsVersion } = this.gate
    // From the first group on, batches remember the groups of owners.
    if (chainsVersion === 0) await this.store.setGate(this.transaction, { defaultGroupId, chainsVersion: 1 })
    if (isDefault) await this.setDefault(group.id, group)
    return this.recorded({ ...request, ownerId: groupOwner(group.id) }, group, 'create', {}, settingsOf(group))
  }

  private async update(request: Request, group: Group, { patch, version }: Of<'group'>): Promise<Outcome> {
    const changed = { ...group }
    if (patch.name !== undefined) changed.name = patch.name
    if (patch.parentId !== undefined) changed.parentId = patch.parentId
    if (patch.isDefault !== undefined) changed.isDefault = patch.isDefault ? 1 : 0
    const moves = changed.parentId !== group.parentId
    if (moves) await this.liveParent(changed.parentId)
    if (version !== undefined && version !== group.version) throw versionMismatch('group', group.version, version)
    const [before, after] = differing(settingsOf(group), settingsOf(changed))
    if (Object.keys(after).length === 0) return shown(group)
    if (moves) await this.checkParent(group, changed.parentId)
    changed.liveName = storedForSearch(changed.name)
    if (changed.liveName !== group.liveName) await this.checkName(changed)
    const turns = changed.isDefault !== group.isDefault
    if (turns) this.checkDefault(changed)
    if (moves || turns) {
      await this.store.setGate(this.transaction, {
        ...this.gate,
        defaultGroupId: turns ? (changed.isDefault === 1 ? group.id : null) : this.gate.defaultGroupId,
        chainsVersion: this.gate.chainsVersion + 1,
      })
      await this.outdateCounts(group.id, group.parentId, changed.parentId)
    }
    return this.edited(request, changed, 'update', before, after)
  }

  private async remove(request: Request, group: Group): Promise<Outcome> {
    const kept = await this.store.contentsOf(this.transaction, group.id, this.workingSet.now)
    if (kept.length > 0) throw new ServiceError('group_not_empty', `Group ${group.id} still has ${kept.join(', ')}.`)
    const { now } = this.workingSet
    if (group.isDefault === 1) await this.setDefault(null, group)
    const after = { deleted_at: formatInstant(now) }
    return this.edited(request, { ...group, deletedAt: now, liveName: null }, 'delete', { deleted_at: null }, after)
  }

  private async restore(request: Request, group: Group): Promise<Outcome> {
    if (group.deletedAt === null) return shown(group)
    const restored = { ...group, deletedAt: null, liveName: storedForSearch(group.name) }
    await this.checkParent(group, group.parentId)
    await this.checkName(restored)
    this.checkDefault(restored)
    if (group.isDefault === 1) await this.setDefault(group.id, group)
    const before = { deleted_at: formatInstant(group.deletedAt) }
    return this.edited(request, restored, 'restore', before, { deleted_at: null })
  }

  private async members(request: Request, { groupId, action, ownerIds }: Of<'members'>): Promise<Outcome> {
    const group = await this.store.changingGroup(this.transaction, groupId)
    if (group === undefined || group.deletedAt !== null) throw groupNotFound(groupId)
    const groupNow = (ownerId: number): number | null => this.owners.get(ownerId) ?? null
    const sorted = [...ownerIds].sort((a, b) => a - b)
    const { now } = this.workingSet
    if (action === 'remove') {
      const [ownerId = 0] = sorted
      if (groupNow(ownerId) !== groupId)
        throw new ServiceError('member_not_found', `Owner ${ownerId} is not a member of group ${groupId}.`)
      await this.store.setMembers(this.transaction, sorted, null, null)
      return this.recordedMembers(request, groupId, { removed: sorted }, '')
    }
    const added = sorted.filter((ownerId) => groupNow(ownerId) === null)
    const moved = sorted.flatMap((ownerId) => {
      const from = groupNow(ownerId)
      return from === null || from === groupId ? [] : [[ownerId, from] as const]
    })
    const coming = [...added, ...moved.map(([ownerId]) => ownerId)].sort((a, b) => a - b)
    const unchanged = sorted.length - coming.length
    const body = storedJson({ added: added.length, moved: moved.length, unchanged })
    if (coming.length > 0) await this.store.setMembers(this.transaction, coming, groupId, now)
    // Another node may delete the group: both must write its row.
    if (coming.length > 0 && this.transaction.clustered) await this.store.touchGroup(this.transaction, groupId)
    const after = { ...(added.length === 0 ? {} : { added }), ...(moved.length === 0 ? {} : { moved }) }
    return this.recordedMembers(request, groupId, after, body)
  }

  /** @param group the one that becomes the default group, or was it */
  private async setDefault(defaultGroupId: number | null, { id, parentId }: Group): Promise<void> {
    const chainsVersion = Math.max(1, this.gate.chainsVersion)
    await this.store.setGate(this.transaction, { defaultGroupId, chainsVersion })
    // The chain of a deleted group is empty.
    await this.outdateCounts(id, parentId)
  }

  /** Chains through these groups have changed. */
  private async outdateCounts(...groupIds: (number | null)[]): Promise<void> {
    const affected = new Set<number>()
    for (const groupId of groupIds) {
      if (groupId === null) continue
      affected.add(groupId)
      for (const id of await this.store.chainOf(this.transaction, groupId)) affected.add(id)
    }
    await this.store.outdateCounts(this.transaction, [...affected])
  }

  /** @throws ServiceError group_not_found */
  private async liveParent(parentId: number | null): Promise<void> {
    if (parentId === null) return
    const parent = await this.store.group(this.transaction, parentId)
    if (parent === undefined || parent.deletedAt !== null) throw groupNotFound(parentId)
  }

  /** @param group undefined for a new group */
  private async checkParent(group: Group | undefined, parentId: number | null): Promise<void> {
    await this.liveParent(parentId)
    if (parentId === null) return
    const message = await this.store.parentMistake(this.transaction, group?.id, parentId)
    if (message !== undefined) throw validationFailed([{ field: 'parent_id', message }])
  }

  private async checkName({ liveName, name }: Pick<Group, 'liveName' | 'name'>): Promise<void> {
    if (await this.store.hasName(this.transaction, liveName ?? ''))
      throw new ServiceError('group_name_taken', `Another group is named ${JSON.stringify(name)}.`)
  }

  private checkDefault({ isDefault }: Pick<Group, 'isDefault'>): void {
    const { defaultGroupId } = this.gate
    if (isDefault === 1 && defaultGroupId !== null)
      throw new ServiceError('default_group_taken', `Group ${defaultGroupId} is the default group.`)
  }

  private async edited(
    request: Request,
    group: Group,
    action: ChangeAction,
    before: object,
    after: object,
  ): Promise<Outcome> {
    const written = { ...group, version: group.version + 1, updatedAt: this.workingSet.now }
    await this.store.updateGroup(this.transaction, written)
    return this.recorded(request, written, action, before, after)
  }

  private async recorded(
    request: Request,
    group: Group,
    action: ChangeAction,
    before: object,
    after: object,
  ): Promise<Outcome> {
    // The gate is locked on this node alone: changes of groups on two nodes collide in its row, which each must write.
    if (this.transaction.clustered) await this.store.touchGate(this.transaction)
    this.recordChange(request, group.id, action, before, after)
    return this.answered(request, shown(group))
  }

  /** A call that changes nothing leaves no change; its key is remembered. */
  private recordedMembers(request: Request, groupId: number, after: MembersChanged, body: string): Outcome {
    if (Object.keys(after).length > 0) this.recordChange(request, groupId, 'members', {}, after)
    return this.answered(request, { body, replayed: false, subject: groupId })
  }

  private recordChange(request: Request, groupId: number, action: ChangeAction, before: object, after: object): void {
    const of = { quotaId: null, groupId, ownerId: groupOwner(groupId) }
    this.workingSet.changes.push(changeOf(request, of, action, this.workingSet.now, { before, after }))
  }

  private answered(request: Request, outcome: Outcome): Outcome {
    const none = { quotaId: null, operationId: null, amount: null, defaultAmount: null }
    this.workingSet.record(actOf(request, this.workingSet.now, { ...none, answer: outcome.body }))
    return outcome
  }
}

function shown(group: Group): Outcome {
  return { body: storedJson(groupView(group)), replayed: false, subject: group.id }
}

type Settings = Record<'name' | 'parent_id' | 'default', string | number | boolean | null>

/** The settings of a group, in the format of the history of changes. */
function settingsOf({ name, parentId, isDefault }: Group): Settings {
  return { name, parent_id: parentId, default: isDefault === 1 }
}

function differing(before: Settings, after: Settings): [Partial<Settings>, Partial<Settings>] {
  const names = (Object.keys(before) as (keyof Settings)[]).filter((name) => before[name] !== after[name])
  const pick = (from: Settings): Partial<Settings> => Object.fromEntries(names.map((name) => [name, from[name]]))
  return [pick(before), pick(after)]
}
