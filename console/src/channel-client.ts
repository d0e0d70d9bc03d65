import { isProblem } from '@quota-service/client'
import { events, type ThresholdReached } from '@quota-service/client/events'
import type {
  Act,
  Cap,
  CapTrial,
  Check,
  ChangedSettings,
  CreateGroup,
  Group,
  GroupCapTrial,
  GroupSummary,
  Link as OwnLink,
  Mail,
  MailChange,
  MailListedOperation,
  MailListedQuota,
  MailSummary,
  MailTopRefusal,
  Me,
  MembersAdded,
  Refusal,
  Series,
  UpdateGroup,
} from '@quota-service/client'
import { type CapMode, reachedThreshold } from './limits.ts'
import { client as quotaClient } from './session.ts'

/*
 * Screens do not distinguish the two channels: the account or user that owns a quota is its `owner`. Only `app.tsx`
 * names both channels, in its routes.
 */

export type ChannelName = 'mail' | 'sms'
export const CHANNELS: readonly ChannelName[] = ['mail', 'sms']

/** The channels whose quotas a token may manage: those that its role permits and its scopes do not exclude. */
export function managed({ role, scopes }: Me): readonly ChannelName[] {
  const reached = role === 'admin' ? CHANNELS : role === 'service' ? CHANNELS.slice(0, 1) : []
  return reached.filter((channel) => !CHANNELS.some((other) => other !== channel && scopes.includes(other)))
}

/** `owner` is 0 where there is none: a group's quota and its changes have `groupId` instead. */
type Owned<T> = Omit<T, 'accountId' | 'userId'> & { readonly owner: number }

/** `person` is the user of a mail account; null if the quota names none, undefined for SMS. */
export type Quota = Owned<MailListedQuota> & { readonly person: number | null | undefined }
/** From the ledger also with its maker and key. */
export type Operation = Owned<MailListedOperation>
/** A change of a quota; or of a group or its members, or the erasure of an owner: these name no quota. */
export type AnyChange = Owned<MailChange>
/** A change of a quota. */
export type Change = Omit<AnyChange, 'quotaId' | 'action'> & {
  readonly quotaId: number
  readonly action: Exclude<AnyChange['action'], 'members'>
}
export type Summary = Owned<MailSummary>
export type TopRefusal = Owned<MailTopRefusal>
export type Status = Quota['status']
export type { Act, Cap, CapTrial, Check, ChangedSettings, Group, GroupSummary, Refusal, Series }

/** A member of a group. */
export interface Member {
  readonly owner: number
  readonly since: string
}

/** How long a trial may take: that of the service, and a little. */
const TRIAL_MS = 65_000

/** Selects groups, newest first: those whose name begins so, those of a parent. */
export interface GroupFilter {
  readonly name?: string | undefined
  readonly parentId?: number | undefined
  readonly page?: number | undefined
  readonly pageSize?: number | undefined
}

/** The settings of a quota, without its owner and type. */
export type Settings = Omit<Mail['update'], 'version'>

export interface QuotaPage {
  readonly items: readonly Quota[]
  readonly total: number
  readonly totalRelation: 'exact' | 'recent'
}
/** A page of a list whose next page begins at a mark. */
export interface MarkedPage<Item, Mark = string | number> {
  readonly items: readonly Item[]
  /** The mark of the next page; null on the last. */
  readonly next: Mark | null
}

export interface QuotaFilter {
  readonly page?: number | undefined
  readonly beforeId?: number | undefined
  readonly pageSize: number
  readonly owner?: number | undefined
  /** The user of a mail account. */
  readonly person?: number | undefined
  readonly status?: Status | undefined
  readonly label?: string | undefined
  readonly cap?: 'none' | CapMode | undefined
  readonly deleted?: boolean | undefined
  /** Only a group's own quotas. */
  readonly groupId?: number | undefined
  /** Only counts that follow this quota. */
  readonly follows?: number | undefined
}

export interface ChangeFilter {
  readonly owner?: number | undefined
  readonly quotaId?: number | undefined
  readonly actor?: string | undefined
  readonly action?: AnyChange['action'] | undefined
  readonly requestId?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly before?: number | undefined
  readonly pageSize?: number | undefined
}

export interface LedgerFilter {
  /** The newest of all; without other conditions. */
  readonly all?: 'true' | undefined
  readonly owner?: number | undefined
  readonly quotaId?: number | undefined
  readonly idempotencyKey?: string | undefined
  readonly caller?: string | undefined
  readonly state?: Operation['state'] | undefined
  readonly before?: string | undefined
  readonly pageSize?: number | undefined
}

/** Selects active quotas that end within this number of days. */
export interface ExpiringFilter {
  readonly days: number
  readonly cursor?: string | undefined
  readonly pageSize?: number | undefined
}

/** Selects the owners with most refusals in the last hours. */
export interface TopRefusalsFilter {
  readonly hours: number
  readonly groupId?: number | undefined
  readonly pageSize?: number | undefined
}

/** Selects events of an owner, of a quota, or all. */
export interface PassedFilter {
  readonly owner?: number | undefined
  readonly quotaId?: number | undefined
}

/** As the caller of a key: every recent caller. */
export const ANYBODY = '*'

/** An event: a quota has passed thresholds. */
export interface Passed {
  readonly id: string
  readonly at: string
  readonly owner: number
  readonly quotaId: number
  readonly data: ThresholdReached
}

/** Passed thresholds, newest first; possibly not all. */
export interface PassedList {
  readonly items: readonly Passed[]
  /** Are there newer ones that were not read? */
  readonly more: boolean
}

/** A quota that is over a threshold now. */
export interface NearLimit {
  readonly quota: Quota
  /** The highest threshold that it has reached. */
  readonly threshold: number
  /** The time at which it last passed one. */
  readonly since: string
}

type Signal = AbortSignal | undefined
/** The maximum number of quotas that `nearLimit` reads. */
const NEAR = 20
/** The maximum number of events that `passed` reads. The feed begins with the oldest. */
const MAX_EVENTS = 2_000
const THRESHOLD_REACHED = 'quota.threshold_reached' as const
const ROWS = 50
export const MAX_ROWS = 100
/** The maximum number of disabled quotas of an owner that are read, and of expired and deleted ones. */
const LOST_ROWS = 10

/** The thresholds that were passed before a place in the feed of events. */
interface Seen {
  /** The place; undefined: the beginning. */
  readonly after: string | undefined
  /** The time at which each quota last passed one, the latest last. */
  readonly latest: ReadonlyMap<number, string>
}
const NOTHING_SEEN: Seen = { after: undefined, latest: new Map() }

/** The requests of the console to one channel. */
export class ChannelClient {
  private readonly api: (typeof quotaClient)['mail']
  private seen: Seen = NOTHING_SEEN

  constructor(readonly name: ChannelName) {
    this.api = quotaClient[name] as unknown as (typeof quotaClient)['mail']
  }

  get title(): string {
    return this.name === 'mail' ? 'Mail' : 'SMS'
  }
  /** The word for an owner, within a sentence. */
  get owner(): string {
    return this.name === 'mail' ? 'account' : 'user'
  }
  get Owner(): string {
    return this.name === 'mail' ? 'Account' : 'User'
  }
  /** Does a quota name a user in addition to its owner? */
  get namesPerson(): boolean {
    return this.name === 'mail'
  }

  /** Owner and person under their names in the client library's filters of change sets and exports. */
  peopleOf({ owner, person }: Pick<QuotaFilter, 'owner' | 'person'>): {
    accountId?: number | undefined
    userId: number | undefined
  } {
    return this.namesPerson ? { accountId: owner, userId: person } : { userId: owner }
  }

  async quotas({ owner, person, deleted, ...filter }: QuotaFilter, signal?: Signal): Promise<QuotaPage> {
    const others = this.namesPerson ? { userId: person } : {}
    const answer = await this.api.quotas
      .list(this.out({ ...filter, ...others, ...(deleted === true ? { deleted } : {}) }, owner), { signal })
      .page()
    return { ...answer, items: answer.items.map((item) => this.quotaIn(item)) }
  }

  /** All active quotas of an owner, in draw-down order. */
  async activeOf(owner: number, signal?: Signal): Promise<Quota[]> {
    return (await this.everyPage({ owner, status: 'active' }, signal)).sort(byDrawDown)
  }

  /** All quotas that match: 200 of an owner, besides its counts, or of a group. */
  private async everyPage(filter: Omit<QuotaFilter, 'page' | 'pageSize'>, signal: Signal): Promise<Quota[]> {
    const items: Quota[] = []
    for (let page = 1; ; page += 1) {
      const answer = await this.quotas({ ...filter, page, pageSize: MAX_ROWS }, signal)
      items.push(...answer.items)
      if (answer.items.length < MAX_ROWS) return items
    }
  }

  /** The disabled, expired and deleted quotas of an owner: the newest of each kind. */
  async lostOf(owner: number, signal?: Signal): Promise<Quota[]> {
    const kinds = [{ status: 'disabled' }, { status: 'expired' }, { deleted: true }] as const
    const pages = await Promise.all(kinds.map((kind) => this.quotas({ owner, ...kind, pageSize: LOST_ROWS }, signal)))
    return pages.flatMap(({ items }) => items)
  }

  async quota(id: number, signal?: Signal): Promise<Quota> {
    return this.quotaIn(await this.api.quotas.get(id, { signal }))
  }

  /** @param owner undefined for a quota of the group that `settings` names */
  async create(owner: number | undefined, settings: Omit<Mail['create'], 'accountId'>, key: string): Promise<Quota> {
    return this.quotaIn(await this.api.quotas.create(this.out(settings, owner) as never, { key }))
  }

  async update(id: number, settings: Settings, version: number): Promise<Quota> {
    return this.quotaIn(await this.api.quotas.update(id, { ...settings, version }))
  }

  async delete(id: number, version: number): Promise<void> {
    await this.api.quotas.delete(id, { version })
  }

  async restore(id: number): Promise<Quota> {
    return this.quotaIn(await this.api.quotas.restore(id))
  }

  /** @param key makes repeated requests take effect once, for example after a lost answer */
  async reset(id: number, key: string): Promise<Quota> {
    return this.quotaIn(await this.api.quotas.reset(id, {}, { key }))
  }

  async summary(owner: number, signal?: Signal): Promise<Summary> {
    return this.in(await this.api.quotas.summary(this.out({}, owner) as never, { signal }))
  }

  async changes({ owner, ...filter }: ChangeFilter, signal?: Signal): Promise<MarkedPage<AnyChange, number>> {
    const asked = this.out({ pageSize: ROWS, ...filter }, owner)
    const { items, nextBefore } = await this.api.quotas.changes(asked, { signal }).page()
    return { items: items.map((item) => this.in(item)), next: nextBefore }
  }

  async expiring({ days, cursor, pageSize = 20 }: ExpiringFilter, signal?: Signal): Promise<MarkedPage<Quota, string>> {
    const { items, nextCursor } = await this.api.quotas.expiring(given({ days, cursor, pageSize }), { signal }).page()
    return { items: items.map((item) => this.quotaIn(item)), next: nextCursor }
  }

  async topRefusals({ pageSize = 10, ...filter }: TopRefusalsFilter, signal?: Signal): Promise<TopRefusal[]> {
    return (await this.api.quotas.topRefusals(given({ ...filter, pageSize }), { signal })).map((item) => this.in(item))
  }

  async refusals(owner: number, from: string, signal?: Signal): Promise<Refusal[]> {
    return this.api.quotas.refusals(this.out({ from, amounts: 'true' }, owner) as never, { signal })
  }

  /** The usage of all owners by hour. */
  async allUsage(from: string, signal?: Signal): Promise<Series['items']> {
    return (await this.api.series({ all: 'true', step: 'hour', from }, { signal })).items
  }

  /** The refusals of all owners by hour. */
  async allRefusals(from: string, signal?: Signal): Promise<Refusal[]> {
    return this.api.quotas.refusals({ all: 'true', from }, { signal })
  }

  /**
   * Thresholds passed in the last 31 days, for which events are kept, oldest first: of an owner, of a quota, or all.
   */
  async *everyPassed({ owner, ...filter }: PassedFilter, signal?: Signal): AsyncGenerator<Passed, void, undefined> {
    const asked = this.out({ ...filter, type: THRESHOLD_REACHED, pageSize: MAX_ROWS }, owner)
    for await (const event of events(this.api, asked, { signal }))
      if (event.type === THRESHOLD_REACHED) yield this.in(event)
  }

  /** The same for display: newest first, at most MAX_EVENTS. */
  async passed(of: PassedFilter, signal?: Signal): Promise<PassedList> {
    const items: Passed[] = []
    for await (const one of this.everyPassed(of, signal)) {
      items.push(one)
      if (items.length === MAX_EVENTS) return { items: items.reverse(), more: true }
    }
    return { items: items.reverse(), more: false }
  }

  /** The quotas that recently passed a threshold and are still over it, most used first. */
  async nearLimit(signal?: Signal): Promise<{ items: readonly NearLimit[]; more: boolean }> {
    const latest = [...(await this.latestPassed(signal))]
    const found = await Promise.all(
      latest.slice(-NEAR).map(async ([quotaId, at]) => {
        const quota = await this.quota(quotaId, signal).catch((error: unknown) => {
          if (isProblem(error, 'quota_not_found')) return undefined
          throw error
        })
        const threshold = quota?.status === 'active' ? reachedThreshold(quota) : undefined
        return quota === undefined || threshold === undefined ? [] : [{ quota, threshold, since: at }]
      }),
    )
    const share = ({ quota: { used, total } }: NearLimit): number => used / total
    return { items: found.flat().sort((a, b) => share(b) - share(a)), more: latest.length > NEAR }
  }

  /**
   * The time at which each quota last passed a threshold, the latest last. The feed begins with the oldest event, so it
   * is read to its end, and each event once.
   */
  private async latestPassed(signal: Signal): Promise<Seen['latest']> {
    const { after } = this.seen
    const latest = new Map(this.seen.latest)
    const feed = events(this.api, given({ type: THRESHOLD_REACHED, pageSize: MAX_ROWS, after }), { signal })
    try {
      for await (const { type, quotaId, at } of feed) {
        if (type !== THRESHOLD_REACHED) continue
        latest.delete(quotaId)
        latest.set(quotaId, at)
      }
    } catch (error) {
      // The page was open, but did not read, for longer than events are kept.
      if (after !== undefined && isProblem(error, 'cursor_expired')) {
        this.seen = NOTHING_SEEN
        return await this.latestPassed(signal)
      }
      throw error
    } finally {
      // Also of a reading that was ended: a feed may be long. Another one at the same time keeps its own.
      if (feed.cursor !== after) this.seen = { after: feed.cursor, latest }
    }
    return latest
  }

  /** What a cap would have refused of an owner, or of a group's members together, in the last 30 days. */
  async tryCap(of: { readonly owner: number } | { readonly groupId: number }, limit: object): Promise<CapTrial> {
    const patient = { timeoutMs: TRIAL_MS }
    if ('groupId' in of) return this.api.quotas.groups.tryCap(of.groupId, limit as GroupCapTrial, patient)
    return this.api.quotas.tryCap(this.out(limit, of.owner) as never, patient)
  }

  async check(owner: number, amount: number, signal?: Signal): Promise<Check> {
    return this.api.check(this.out({ amount }, owner) as never, { signal })
  }

  async ledger({ owner, ...filter }: LedgerFilter, signal?: Signal): Promise<MarkedPage<Operation, string>> {
    const asked =
      filter.idempotencyKey === undefined
        ? this.out({ pageSize: ROWS, ...filter, madeBy: 'true' as const }, owner)
        : given({ idempotencyKey: filter.idempotencyKey, caller: filter.caller, madeBy: 'true' as const })
    const listing = this.api.operations(asked, { signal })
    const { items, nextBefore } = await listing.page()
    return { items: items.map((item) => this.in(item)), next: nextBefore }
  }

  /** The last 30 days, day by day. */
  async series(of: { owner: number } | { quotaId: number }, signal?: Signal): Promise<Series> {
    const question = 'owner' in of ? this.out({}, of.owner) : of
    return this.api.series(question, { signal })
  }

  async operation(id: string, signal?: Signal): Promise<Operation> {
    return this.in(await this.api.operation(id, { signal }))
  }

  async acts(id: string, signal?: Signal): Promise<Act[]> {
    return this.api.acts(id, { signal })
  }

  async commit(id: string, amount: number): Promise<Operation> {
    return this.in(await this.api.commit(id, { amount }))
  }

  async release(id: string): Promise<Operation> {
    return this.in(await this.api.release(id))
  }

  async refund(id: string, amount: number, key: string): Promise<Operation> {
    return this.in(await this.api.refund(id, { amount }, { key }))
  }

  async groups(
    { pageSize = ROWS, ...filter }: GroupFilter,
    signal?: Signal,
  ): Promise<{ items: Group[]; total: number }> {
    return this.api.quotas.groups.list(given({ ...filter, pageSize }), { signal }).page()
  }

  async group(id: number, signal?: Signal): Promise<Group> {
    return this.api.quotas.groups.get(id, { signal })
  }

  /** A group, its parent, and so on: three at most. */
  async chainOf(id: number, signal?: Signal): Promise<Group[]> {
    const group = await this.group(id, signal)
    return [group, ...(group.parentId === null ? [] : await this.chainOf(group.parentId, signal))]
  }

  async groupSummary(id: number, signal?: Signal): Promise<GroupSummary> {
    return this.api.quotas.groups.summary(id, { signal })
  }

  /** The live quotas of a group itself, in draw-down order: shared ones, and those of which each member has a count. */
  async quotasOfGroup(groupId: number, signal?: Signal): Promise<Quota[]> {
    const quotas = await this.everyPage({ groupId }, signal)
    return quotas.filter(({ status }) => status !== 'expired').sort(byDrawDown)
  }

  /** The newest changes of a group. */
  async groupChanges(id: number, signal?: Signal): Promise<AnyChange[]> {
    const { items } = await this.api.quotas.groups.changes(id, { pageSize: ROWS }, { signal }).page()
    return items.map((item) => this.in(item))
  }

  /** @param key makes repeated requests take effect once, for example after a lost answer */
  async createGroup(group: CreateGroup, key: string): Promise<Group> {
    return this.api.quotas.groups.create(group, { key })
  }

  async updateGroup(id: number, settings: Omit<UpdateGroup, 'version'>, version: number): Promise<Group> {
    return this.api.quotas.groups.update(id, { ...settings, version })
  }

  async deleteGroup(id: number, version: number): Promise<void> {
    await this.api.quotas.groups.delete(id, { version })
  }

  /** @param after the last owner of the page before */
  async members(id: number, after: number, pageSize: number, signal?: Signal): Promise<MarkedPage<Member, number>> {
    const { items, nextAfter } = await this.api.quotas.groups
      .members(id, after === 0 ? { pageSize } : { after, pageSize }, { signal })
      .page()
    return { items: items.map((item) => this.in(item)), next: nextAfter }
  }

  /** Makes owners members of a group; those of another group are moved. */
  async addMembers(id: number, owners: readonly number[], key: string): Promise<MembersAdded> {
    const body = this.namesPerson ? { accountIds: owners } : { userIds: owners }
    return this.api.quotas.groups.addMembers(id, body as never, { key })
  }

  /** Ends a membership. One that has ended is as wanted: an attempt without an answer may have ended it. */
  async removeMember(id: number, owner: number): Promise<void> {
    await this.api.quotas.groups.removeMember(id, this.out({}, owner) as never).catch((error: unknown) => {
      if (!isProblem(error, 'member_not_found')) throw error
    })
  }

  /** Makes a link with which an owner sees what it has left. */
  async link(owner: number, ttlSeconds: number): Promise<OwnLink> {
    return this.api.owners.link(this.out({}, owner) as never, { ttlSeconds })
  }

  /** Ends all links of an owner that were made before. */
  async revokeLinks(owner: number): Promise<void> {
    await this.api.owners.revokeLinks(this.out({}, owner) as never)
  }

  private out<T extends object>(filter: T, owner: number | undefined): Given<T> {
    return given({ ...filter, [this.name === 'mail' ? 'accountId' : 'userId']: owner })
  }

  private in<T extends { readonly accountId?: number | null }>(item: T): Owned<T> {
    const { accountId, userId, ...rest } = item as T & { userId?: number }
    return { ...rest, owner: (this.name === 'mail' ? accountId : userId) ?? 0 }
  }

  private quotaIn(item: MailListedQuota): Quota {
    return { ...this.in(item), person: this.name === 'mail' ? item.userId : undefined }
  }
}

export function isOfQuota(change: AnyChange): change is Change {
  return change.quotaId !== undefined
}

const clients = { mail: new ChannelClient('mail'), sms: new ChannelClient('sms') }

export function clientOf(channel: ChannelName): ChannelClient {
  return clients[channel]
}

/** The time at which the remaining units of a quota are lost. */
function expiresFirstAt({ cycleResetAt, expireAt }: Quota): string {
  const times = [cycleResetAt, expireAt].filter((time) => time !== null)
  return times.sort()[0] ?? '9999'
}

/** The draw-down order (contract, §4): by the time at which units are lost, then by age, then by id. */
export function byDrawDown(a: Quota, b: Quota): number {
  return compare(expiresFirstAt(a), expiresFirstAt(b)) || compare(a.createdAt, b.createdAt) || a.id - b.id
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Omits undefined members. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/**
 * Returns a new idempotency key, so that a request that is sent twice takes effect once. Not `randomUUID`, which pages
 * without TLS lack.
 */
export function newKey(): string {
  return `console-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
