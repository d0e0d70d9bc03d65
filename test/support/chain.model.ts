import { cycleAt, type CycleUnit } from '../../src/domain/cycle.js'

/**
 * A model of owners in groups (contract, §13), as simple as possible: lists of groups, quotas, counts and operations,
 * and no counters. Whatever is used is added up from all operations at each read. Only the calendar is the service's
 * own.
 */

/** The settings of a quota; its counts share them with it. */
export interface Rule {
  readonly type: 1 | 2 | 3
  cap: 'enforce' | 'observe' | null
  total: number
  disabled: boolean
  deleted: boolean
  expireAt: number | null
  unit: CycleUnit | null
  anchor: number | null
  /** The next reset. */
  resetAt: number | null
  windowSeconds: number | null
  /** The number of resets, and of changes of the window: units of an earlier period count no more. */
  period: number
}

/** Something with a count: an owner's quota, a quota that members share, or a member's count. */
export interface Count {
  /** Null for a member's count that does not exist yet. */
  id: number | null
  /** An owner, or a group as a negative number. */
  readonly owner: number
  readonly rule: Rule
  /** The quota that it follows. */
  readonly follows: Quota | null
  /** Settings of its own, instead of those of the rule. */
  readonly own: { total?: number; disabled?: boolean }
  deleted: boolean
  /** The number of resets by hand. */
  resets: number
  readonly createdAt: number
}

/** A row of the table: with a count, or with one for each member. */
export interface Quota {
  readonly id: number
  readonly owner: number
  readonly per: 'group' | 'member' | null
  readonly rule: Rule
  readonly count: Count | undefined
}

export interface Operation {
  readonly id: string
  readonly owner: number
  readonly amount: number
  readonly at: number
  readonly parts: readonly { readonly count: Count; readonly period: string; readonly amount: number }[]
  readonly caps: readonly { readonly count: Count; readonly period: string }[]
  readonly expiresAt: number | null
  state: 'consumed' | 'reserved' | 'committed' | 'released'
  charged: number
  refunded: number
}

interface Limits {
  readonly payers: readonly Count[]
  readonly caps: readonly Count[]
}

/** A refusal's code and members, or the expected answer's. */
export type Expected = Record<string, unknown>

const iso = (instant: number | null): string | null => (instant === null ? null : new Date(instant).toISOString())
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const never = Number.POSITIVE_INFINITY

/** Counts that do not exist yet come last, in the order of what they follow. */
const byId = (a: Count, b: Count): number => {
  if (a.id === null && b.id === null) return a.follows!.id - b.follows!.id
  return (a.id ?? never) < (b.id ?? never) ? -1 : 1
}

const periodOf = ({ rule, resets }: Count): string => `${rule.period}/${resets}`

/** The end of the slot in which units of a rolling cap stop counting. */
function countsUntil(at: number, windowSeconds: number): number {
  const slot = Math.ceil((windowSeconds * 1000) / 24)
  return Math.ceil((at + windowSeconds * 1000) / slot) * slot
}

export class ChainModel {
  readonly quotas: Quota[] = []
  readonly counts: Count[] = []
  readonly operations: Operation[] = []
  /** The parent of each group. */
  readonly parents = new Map<number, number | null>()
  readonly memberships = new Map<number, number>()
  defaultGroup: number | null = null

  constructor(public now: number) {}

  /** Advances the time: each ended cycle is replaced by the one that contains the present. */
  advance(now: number): void {
    this.now = now
    for (const { rule } of this.quotas) this.roll(rule)
  }

  roll(rule: Rule): void {
    // An expired quota stops at its end.
    const at = rule.expireAt !== null && rule.expireAt <= this.now ? rule.expireAt - 1 : this.now
    if (rule.resetAt === null || at < rule.resetAt) return
    rule.resetAt = cycleAt({ unit: rule.unit!, timeZone: 'UTC', anchor: rule.anchor! }, at).end
    rule.period += 1
  }

  /** Instants at which something changes by itself. */
  events(): number[] {
    const found = [
      ...this.quotas.flatMap(({ rule }) => [rule.resetAt, rule.expireAt]),
      ...this.operations.map(({ expiresAt }) => expiresAt),
      ...this.operations.flatMap(({ at, caps }) => caps.map(({ count }) => this.leavesAt(count, at))),
    ]
    return found.filter((at): at is number => at !== null && at > this.now && at !== never)
  }

  // --- Groups --------------------------------------------------------------------------------------------------------

  groupOf(owner: number): number | null {
    return this.memberships.get(owner) ?? this.defaultGroup
  }

  above(group: number | null): number[] {
    return group === null ? [] : [group, ...this.above(this.parents.get(group) ?? null)]
  }

  /** May the group be moved below this parent: no circle, no more than three levels? */
  fits(group: number, parent: number | null): boolean {
    const height = (of: number): number =>
      1 + Math.max(0, ...[...this.parents].filter(([, over]) => over === of).map(([below]) => height(below)))
    return !this.above(parent).includes(group) && this.above(parent).length + height(group) <= 3
  }

  // --- What is taken -------------------------------------------------------------------------------------------------

  stateOf({ state, expiresAt }: Operation, at = this.now): string {
    return state === 'reserved' && expiresAt! <= at ? 'expired' : state
  }

  private leavesAt({ rule }: Count, at: number): number {
    return rule.type === 3 ? countsUntil(at, rule.windowSeconds!) : never
  }

  /** Units used and held in the present period as it is now, or as it will be if nothing is taken any more. */
  taken(count: Count, at = this.now): { used: number; reserved: number } {
    const taken = { used: 0, reserved: 0 }
    const { resetAt } = count.rule
    // Beyond its end it does not reset: nothing of it matters there.
    if (at > this.now && resetAt !== null && resetAt <= at) return taken
    for (const operation of this.operations) {
      const kept = operation.charged - operation.refunded
      const held = this.stateOf(operation, at) === 'reserved'
      let before = 0
      for (const part of operation.parts) {
        if (part.count === count && part.period === periodOf(count)) {
          // The first units are kept, the last ones returned.
          taken.used += Math.max(0, Math.min(kept - before, part.amount))
          if (held) taken.reserved += part.amount
        }
        before += part.amount
      }
      const counted = operation.caps.some((cap) => cap.count === count && cap.period === periodOf(count))
      if (counted && this.leavesAt(count, operation.at) > at) {
        taken.used += kept
        if (held) taken.reserved += operation.amount
      }
    }
    return taken
  }

  totalOf({ own, rule }: Count): number {
    return own.total ?? rule.total
  }

  left(count: Count, at = this.now): number {
    const { used, reserved } = this.taken(count, at)
    return Math.max(0, this.totalOf(count) - used - reserved)
  }

  // --- What is in force ----------------------------------------------------------------------------------------------

  private ruleStatus(rule: Rule): string {
    if (rule.disabled) return 'disabled'
    return rule.expireAt !== null && rule.expireAt <= this.now ? 'expired' : 'active'
  }

  statusOf({ follows, owner, rule, own }: Count): string {
    if (follows === null) return this.ruleStatus(rule)
    if (rule.deleted || !this.above(this.groupOf(owner)).includes(-follows.owner)) return 'left'
    const status = this.ruleStatus(rule)
    return status === 'active' && own.disabled === true ? 'disabled' : status
  }

  private inForce(count: Count): boolean {
    return !count.deleted && (count.follows !== null || !count.rule.deleted) && this.statusOf(count) === 'active'
  }

  /** The counts that the owner's next consume creates, as they will be. */
  unborn(owner: number, chain: readonly number[]): Count[] {
    const followed = this.counts.filter((count) => count.owner === owner).map(({ follows }) => follows)
    return chain
      .flatMap((group) => this.quotas.filter((quota) => quota.per === 'member' && quota.owner === -group))
      .filter((quota) => !followed.includes(quota) && !quota.rule.deleted && this.ruleStatus(quota.rule) === 'active')
      .map((follows) => ({
        id: null,
        owner,
        rule: follows.rule,
        follows,
        own: {},
        deleted: false,
        resets: 0,
        createdAt: this.now,
      }))
  }

  limits(owner: number, group = this.groupOf(owner)): Limits {
    const chain = this.above(group)
    const lost = ({ rule }: Count): number => Math.min(rule.resetAt ?? never, rule.expireAt ?? never)
    const inOrder = (a: Count, b: Count): number => {
      if (lost(a) !== lost(b)) return lost(a) < lost(b) ? -1 : 1
      return a.createdAt - b.createdAt || byId(a, b)
    }
    const levels = [owner, ...chain.map((one) => -one)].map((level) => [
      ...this.counts.filter((count) => count.owner === level && this.inForce(count)),
      ...(level === owner ? this.unborn(owner, chain) : []),
    ])
    return {
      payers: levels.flatMap((level) => level.filter(({ rule }) => rule.cap === null).sort(inOrder)),
      caps: levels
        .flat()
        .filter(({ rule }) => rule.cap !== null)
        .sort(byId),
    }
  }

  private fitting({ payers, caps }: Limits, at = this.now): number {
    const inForce = ({ rule }: Count): boolean => rule.expireAt === null || rule.expireAt > at
    const payable = sum(payers.filter(inForce).map((count) => this.left(count, at)))
    const bounds = caps.filter(({ rule }) => rule.cap === 'enforce').filter(inForce)
    return Math.min(payable, ...bounds.map((count) => this.left(count, at)))
  }

  /** Tries each instant at which anything returns. */
  private refillsAt(limits: Limits, amount: number): string | null {
    const bounds = limits.caps.filter(({ rule }) => rule.cap === 'enforce')
    const instants = [
      ...[...limits.payers, ...bounds].map(({ rule }) => rule.resetAt),
      ...bounds.map(({ rule }) => rule.expireAt),
      ...this.operations.flatMap(({ at }) => bounds.map((count) => this.leavesAt(count, at))),
      ...this.operations.map(({ expiresAt }) => expiresAt),
    ]
    const later = instants.filter((at): at is number => at !== null && at > this.now && at !== never)
    const found = later.sort((a, b) => a - b).find((at) => this.fitting(limits, at) >= amount)
    return iso(limits.payers.length === 0 ? null : (found ?? null))
  }

  // --- What answers show ---------------------------------------------------------------------------------------------

  private groupShown({ owner, follows }: Count): number | null {
    const of = follows?.owner ?? owner
    return of < 0 ? -of : null
  }

  private nextReturn(count: Count): string | null {
    const { rule } = count
    const returns = this.operations
      .filter(({ caps }) => caps.some((cap) => cap.count === count && cap.period === periodOf(count)))
      .filter((operation) => operation.charged > operation.refunded || this.stateOf(operation) === 'reserved')
      .map(({ at }) => this.leavesAt(count, at))
      .filter((at) => at > this.now)
    const next = rule.type === 3 ? Math.min(never, ...returns) : (rule.resetAt ?? never)
    return next < (rule.expireAt ?? never) ? iso(next) : null
  }

  private limitShown(count: Count): Expected {
    return {
      id: count.id,
      group_id: this.groupShown(count),
      ...(count.rule.cap === null ? {} : { cap: count.rule.cap, quota_type: count.rule.type }),
      total: this.totalOf(count),
      ...this.taken(count),
      remaining: this.left(count),
      refills_at: this.nextReturn(count),
    }
  }

  /** A summary's members about limits. */
  summary(owner: number, group = this.groupOf(owner)): Expected {
    const limits = this.limits(owner, group)
    const payers = limits.payers.filter((count) => count.owner === owner)
    const taken = payers.map((count) => this.taken(count))
    return {
      total: sum(payers.map((count) => this.totalOf(count))),
      used: sum(taken.map(({ used }) => used)),
      reserved: sum(taken.map(({ reserved }) => reserved)),
      remaining: sum(payers.map((count) => this.left(count))),
      quota_count: payers.length,
      available: this.fitting(limits),
      caps: limits.caps.map((count) => this.limitShown(count)),
    }
  }

  /** A group's summary: about its shared quotas, and what a member without anything of its own could take. */
  groupSummary(group: number): Expected {
    // No owner is 0, so nothing is its own.
    const available = this.fitting(this.limits(0, group))
    const caps = this.limits(-group, null).caps
    return { ...this.summary(-group, null), available, caps: caps.map((count) => this.limitShown(count)) }
  }

  check(owner: number, amount: number): Expected {
    const limits = this.limits(owner)
    const remaining = this.fitting(limits)
    const allowed = amount <= remaining
    return {
      allowed,
      requested: amount,
      remaining,
      payable: sum(limits.payers.map((count) => this.left(count))),
      refills_at: allowed ? null : this.refillsAt(limits, amount),
      caps: this.refusing(limits, amount).map((count) => this.limitShown(count)),
    }
  }

  private refusing({ payers, caps }: Limits, amount: number): Count[] {
    return payers.length === 0 && amount === 0
      ? []
      : caps.filter((count) => count.rule.cap === 'enforce' && this.left(count) < amount)
  }

  quotaShown({ id, owner, per, rule, count }: Quota): Expected {
    const shown = { id, group_id: owner < 0 ? -owner : null, per, follows: null, overrides: null }
    return { ...shown, ...this.settingsShown(rule, count), status: this.ruleStatus(rule) }
  }

  countShown(count: Count): Expected {
    const overrides = [
      ...(count.own.disabled === undefined ? [] : ['status']),
      ...('total' in count.own ? ['total'] : []),
    ]
    return {
      id: count.id,
      group_id: -count.follows!.owner,
      per: 'member',
      follows: count.follows!.id,
      overrides,
      ...this.settingsShown(count.rule, count),
      status: this.statusOf(count),
    }
  }

  private settingsShown(rule: Rule, count: Count | undefined): Expected {
    const total = count === undefined ? rule.total : this.totalOf(count)
    const { used, reserved } = count === undefined ? { used: 0, reserved: 0 } : this.taken(count)
    return {
      total,
      used,
      reserved,
      remaining: Math.max(0, total - used - reserved),
      expire_at: iso(rule.expireAt),
      cycle_unit: rule.unit,
      cycle_reset_at: iso(rule.resetAt),
      cap: rule.cap,
      window_seconds: rule.windowSeconds,
    }
  }

  operationShown(operation: Operation): Expected {
    const caps = operation.caps.map(({ count }) => count.id)
    return {
      id: operation.id,
      state: this.stateOf(operation),
      amount: operation.amount,
      charged: operation.charged,
      refunded: operation.refunded,
      allocations: operation.parts.map(({ count, amount }) => ({ quota_id: count.id, amount })),
      ...(caps.length === 0 ? {} : { caps }),
      owner_remaining: this.fitting(this.limits(operation.owner)),
    }
  }

  /** The operations in which a quota, or the counts that follow it, took part; newest first. */
  usageOf({ id, count }: Pick<Quota, 'id' | 'count'>): string[] {
    const isMeant = (one: Count): boolean => one === count || (count === undefined && one.follows?.id === id)
    return this.operations
      .filter(({ parts, caps }) => [...parts, ...caps].some((one) => isMeant(one.count)))
      .map((operation) => operation.id)
      .reverse()
  }

  // --- Acts ----------------------------------------------------------------------------------------------------------

  create(id: number, owner: number, per: Quota['per'], rule: Rule): Quota {
    const count: Count | undefined =
      per === 'member'
        ? undefined
        : { id, owner, rule, follows: null, own: {}, deleted: false, resets: 0, createdAt: this.now }
    if (count !== undefined) this.counts.push(count)
    const quota = { id, owner, per, rule, count }
    this.quotas.push(quota)
    return quota
  }

  /**
   * A consume or a reserve.
   * @param idOf the id that the service gave to the count of a quota
   */
  take(
    { owner, amount, ttl }: { owner: number; amount: number; ttl: number | null },
    idOf: (follows: number) => number | undefined,
    operationId: string,
  ): Expected {
    const limits = this.limits(owner)
    const { payers } = limits
    if (payers.length === 0) return { code: 'no_active_quota' }
    if (amount > this.fitting(limits))
      return {
        code: 'quota_exceeded',
        ...Object.fromEntries(Object.entries(this.check(owner, amount)).filter(([name]) => name !== 'allowed')),
        // In paying order, but counts that do not exist yet come last.
        quotas: [...payers.filter(({ id }) => id !== null), ...payers.filter(({ id }) => id === null)]
          .slice(0, 20)
          .map((count) => this.limitShown(count)),
      }
    for (const count of this.unborn(owner, this.above(this.groupOf(owner))))
      this.counts.push({ ...count, id: idOf(count.follows!.id) ?? -1 })
    const { payers: paying, caps } = this.limits(owner)
    const parts: { count: Count; period: string; amount: number }[] = []
    let open = amount
    for (const count of paying) {
      const part = Math.min(open, this.left(count))
      if (part > 0) parts.push({ count, period: periodOf(count), amount: part })
      open -= part
    }
    const wouldRefuse = caps.filter((count) => count.rule.cap === 'observe' && this.left(count) < amount)
    const operation: Operation = {
      id: operationId,
      owner,
      amount,
      at: this.now,
      parts,
      caps: caps.map((count) => ({ count, period: periodOf(count) })),
      expiresAt: ttl === null ? null : this.now + ttl * 1000,
      state: ttl === null ? 'consumed' : 'reserved',
      charged: ttl === null ? amount : 0,
      refunded: 0,
    }
    this.operations.push(operation)
    const refusing = wouldRefuse.map(({ id }) => id)
    return { ...this.operationShown(operation), ...(refusing.length === 0 ? {} : { would_refuse: refusing }) }
  }

  settle(operation: Operation, amount: number): Expected {
    if (this.stateOf(operation) !== 'reserved') return { code: 'operation_already_settled' }
    if (amount > operation.amount) return { code: 'commit_exceeds_hold' }
    operation.state = amount === 0 ? 'released' : 'committed'
    operation.charged = amount
    return this.operationShown(operation)
  }

  refund(operation: Operation, amount: number): Expected {
    if (amount > operation.charged - operation.refunded) return { code: 'refund_exceeds_charge' }
    operation.refunded += amount
    return this.operationShown(operation)
  }
}
