import { cycleAt, type CycleUnit } from '../../src/domain/cycle.js'

/**
 * A model of the contract for one owner, as simple as possible: a list of quotas, a list of operations, and no
 * counters. It computes `used` and `reserved` from the operations at each read. Only the calendar is the
 * service's own.
 */

/** A quota's settings, and its current cycle. */
export interface ModelQuota {
  readonly id: number
  readonly type: 1 | 2
  /** The opening balance, in the first count. */
  readonly opening: number
  total: number
  disabled: boolean
  deleted: boolean
  expireAt: number | null
  unit: CycleUnit | null
  zone: string | null
  label: string | null
  anchor: number | null
  /** The next reset. */
  resetAt: number | null
  /** The previously shown reset. */
  formerReset: number | null
  /** The number of the current count; each roll and each reset by hand increments it. */
  cycle: number
  version: number
  readonly createdAt: number
  updatedAt: number
}

interface Part {
  readonly quota: ModelQuota
  readonly cycle: number
  readonly amount: number
}

/** A consume or a reserve. */
export interface ModelOperation {
  readonly id: string
  readonly kind: 'consume' | 'reserve'
  state: 'consumed' | 'reserved' | 'committed' | 'released'
  readonly amount: number
  readonly parts: readonly Part[]
  charged: number
  refunded: number
  readonly expiresAt: number | null
  readonly createdAt: number
  ownerRemaining: number
  /** The act that settled a hold. */
  settled: { kind: 'commit' | 'release'; amount: number; text: string } | undefined
}

/** A body for create or update, in wire format. */
export interface SettingsBody {
  quota_type?: number | undefined
  total?: number | undefined
  used?: number | undefined
  status?: string | undefined
  expire_at?: string | null | undefined
  cycle_unit?: string | null | undefined
  cycle_reset_at?: string | null | undefined
  cycle_time_zone?: string | null | undefined
  label?: string | null | undefined
  version?: number | undefined
  [ignored: string]: unknown
}

/** A request to the service for the owner. */
export type Ask =
  | { kind: 'create'; body: SettingsBody; key: string | undefined }
  | { kind: 'update'; quota: number; body: SettingsBody }
  | { kind: 'delete'; quota: number; version: number | undefined }
  | { kind: 'restore'; quota: number }
  | { kind: 'reset'; quota: number; version: number | undefined; key: string | undefined }
  | { kind: 'consume'; amount: number; key: string }
  | { kind: 'reserve'; amount: number; ttl: number | undefined; key: string }
  | { kind: 'batch'; items: { amount: number; key: string }[] }
  | { kind: 'commit'; operation: string; amount: number | undefined }
  | { kind: 'release'; operation: string }
  | { kind: 'refund'; operation: string; amount: number | undefined; key: string }
  | { kind: 'check'; amount: number }
  | { kind: 'get'; operation: string }
  | { kind: 'ledger'; quota: number | undefined; before: string | undefined; size: number }

/**
 * The part of an answer that the contract fixes: the code of a refusal, and further members that the contract names.
 */
export interface Answer {
  status: number
  body: unknown
  replayed: boolean
}

/** An answer of the service, with its bytes. A batch has one for each item. */
export interface Given extends Answer {
  text: string
}

interface Remembered {
  /** The request with all defaults filled in. */
  readonly request: string
  /** The default for an absent amount. */
  readonly defaultAmount: number | undefined
  readonly answer: Answer
  readonly text: string
}

const iso = (instant: number | null): string | null => (instant === null ? null : new Date(instant).toISOString())
const time = (text: string | null | undefined): number | null => (text == null ? null : Date.parse(text))
const refusal = (status: number, code: string, more: object = {}): Answer => ({
  status,
  body: { code, ...more },
  replayed: false,
})

/** One owner's world. */
export class UsageModel {
  readonly quotas: ModelQuota[] = []
  readonly operations: ModelOperation[] = []
  private readonly keys = new Map<string, Remembered>()

  constructor(
    private readonly subjects: object,
    private readonly owner: object,
    public now: number,
  ) {}

  /** Advances the time; replaces each ended cycle by the one that contains the present, once. */
  advance(now: number): void {
    this.now = now
    for (const quota of this.quotas) this.rollOn(quota)
  }

  private rollOn(quota: ModelQuota): void {
    if (quota.type === 1) return
    // An expired quota stops at its end.
    const at = quota.expireAt !== null && quota.expireAt <= this.now ? quota.expireAt - 1 : this.now
    if (at < quota.resetAt!) return
    quota.formerReset = quota.resetAt
    quota.resetAt = this.nextReset(quota, at)
    quota.cycle += 1
  }

  private nextReset(quota: ModelQuota, after: number): number {
    return cycleAt({ unit: quota.unit!, timeZone: quota.zone!, anchor: quota.anchor! }, after).end
  }

  /** Future instants at which something changes by itself. */
  events(): number[] {
    const found = [
      ...this.quotas.flatMap((quota) => [quota.resetAt, quota.expireAt]),
      ...this.operations.filter(({ state }) => state === 'reserved').map(({ expiresAt }) => expiresAt),
    ]
    return found.filter((instant): instant is number => instant !== null && instant > this.now)
  }

  stateOf(operation: ModelOperation): string {
    return operation.state === 'reserved' && operation.expiresAt! <= this.now ? 'expired' : operation.state
  }

  /**
   * Units spent in the current cycle: the units of this quota that operations keep, the first units first, and in the
   * first cycle the opening balance.
   */
  used(quota: ModelQuota): number {
    let sum = quota.cycle === 0 ? quota.opening : 0
    for (const operation of this.operations) {
      let kept = operation.charged - operation.refunded
      for (const part of operation.parts) {
        const keptHere = Math.min(kept, part.amount)
        kept -= keptHere
        if (part.quota === quota && part.cycle === quota.cycle) sum += keptHere
      }
    }
    return sum
  }

  /** Units that open holds keep in the current cycle, also at another time. */
  reserved(quota: ModelQuota, at = this.now): number {
    let sum = 0
    for (const operation of this.operations) {
      if (operation.state !== 'reserved' || operation.expiresAt! <= at) continue
      for (const part of operation.parts) if (part.quota === quota && part.cycle === quota.cycle) sum += part.amount
    }
    return sum
  }

  remaining(quota: ModelQuota): number {
    return Math.max(0, quota.total - this.used(quota) - this.reserved(quota))
  }

  status(quota: ModelQuota): string {
    if (quota.disabled) return 'disabled'
    return quota.expireAt !== null && quota.expireAt <= this.now ? 'expired' : 'active'
  }

  /** Active quotas, in the order in which most is lost soonest. */
  paying(): ModelQuota[] {
    const lost = ({ resetAt, expireAt }: ModelQuota): number => Math.min(resetAt ?? Infinity, expireAt ?? Infinity)
    return this.quotas
      .filter((quota) => !quota.deleted && this.status(quota) === 'active')
      .sort((a, b) => (lost(a) < lost(b) ? -1 : lost(a) > lost(b) ? 1 : a.createdAt - b.createdAt || a.id - b.id))
  }

  left(): number {
    return this.paying().reduce((sum, quota) => sum + this.remaining(quota), 0)
  }

  summary(): object {
    const active = this.paying()
    const sum = (of: (quota: ModelQuota) => number): number => active.reduce((total, quota) => total + of(quota), 0)
    return {
      ...this.owner,
      group_id: null,
      total: sum((quota) => quota.total),
      used: sum((quota) => this.used(quota)),
      reserved: sum((quota) => this.reserved(quota)),
      remaining: this.left(),
      quota_count: active.length,
      available: this.left(),
      caps: [],
    }
  }

  showQuota(quota: ModelQuota): object {
    return {
      id: quota.id,
      ...this.subjects,
      quota_type: quota.type,
      total: quota.total,
      used: this.used(quota),
      reserved: this.reserved(quota),
      remaining: this.remaining(quota),
      status: this.status(quota),
      expire_at: iso(quota.expireAt),
      cycle_unit: quota.unit,
      cycle_reset_at: iso(quota.resetAt),
      cycle_anchor_at: iso(quota.anchor),
      cycle_time_zone: quota.zone,
      label: quota.label,
      cap: null,
      window_seconds: null,
      thresholds: [],
      group_id: null,
      per: null,
      follows: null,
      overrides: null,
      version: quota.version,
      created_at: iso(quota.createdAt),
      updated_at: iso(quota.updatedAt),
    }
  }

  showOperation(operation: ModelOperation): object {
    return {
      id: operation.id,
      kind: operation.kind,
      state: this.stateOf(operation),
      ...this.owner,
      amount: operation.amount,
      charged: operation.charged,
      refunded: operation.refunded,
      allocations: operation.parts.map(({ quota, amount }) => ({ quota_id: quota.id, amount })),
      owner_remaining: operation.ownerRemaining,
      expires_at: iso(operation.expiresAt),
      created_at: iso(operation.createdAt),
    }
  }

  ledger(quota: number | undefined, before: string | undefined, size: number): object {
    const all = this.operations
      .filter(({ parts }) => quota === undefined || parts.some((part) => part.quota.id === quota))
      .filter(({ id }) => before === undefined || id < before)
      .reverse()
    const items = all.slice(0, size)
    return {
      items: items.map((operation) => this.showOperation(operation)),
      next_before: all.length > size ? items.at(-1)!.id : null,
    }
  }

  /** The time at which a refused request fits: each instant is tested at which units return. */
  refillsAt(amount: number): string | null {
    const quotas = this.paying()
    const comesBack = [
      ...quotas.flatMap(({ resetAt }) => (resetAt === null ? [] : [resetAt])),
      ...this.operations.flatMap((operation) => (this.stateOf(operation) === 'reserved' ? [operation.expiresAt!] : [])),
    ].sort((a, b) => a - b)
    for (const at of comesBack) {
      let capacity = 0
      for (const quota of quotas) {
        if (quota.expireAt !== null && quota.expireAt <= at) continue
        const anew = quota.resetAt !== null && quota.resetAt <= at
        capacity += anew ? quota.total : Math.max(0, quota.total - this.used(quota) - this.reserved(quota, at))
      }
      if (capacity >= amount) return iso(at)
    }
    return null
  }

  /** The expected answer of the service. The service chooses ids, so they are taken from its answer. */
  expect(ask: Ask, given: Given | Given[]): Answer | Answer[] {
    if (ask.kind === 'batch')
      return ask.items.map((item, place) => this.one({ kind: 'consume', ...item }, (given as Given[])[place]!))
    return this.one(ask, given as Given)
  }

  private one(ask: Exclude<Ask, { kind: 'batch' }>, given: Given): Answer {
    switch (ask.kind) {
      case 'create':
        return this.once(ask.key, JSON.stringify(['create', ask.body]), undefined, given, () => this.create(ask, given))
      case 'update':
        return this.update(ask)
      case 'delete':
        return this.remove(ask)
      case 'restore':
        return this.restore(ask.quota)
      case 'reset':
        return this.once(ask.key, JSON.stringify(['reset', ask.quota, ask.version ?? null]), undefined, given, () =>
          this.reset(ask),
        )
      case 'consume':
        return this.once(ask.key, JSON.stringify(['consume', ask.amount]), undefined, given, () =>
          this.spend('consume', ask.amount, undefined, given),
        )
      case 'reserve': {
        const ttl = ask.ttl ?? 600
        return this.once(ask.key, JSON.stringify(['reserve', ask.amount, ttl]), undefined, given, () =>
          this.spend('reserve', ask.amount, ttl, given),
        )
      }
      case 'commit':
      case 'release':
        return this.settle(ask, given)
      case 'refund': {
        const operation = this.find(ask.operation)
        const left = operation === undefined ? 0 : operation.charged - operation.refunded
        const request = (amount: number): string => JSON.stringify(['refund', ask.operation, amount])
        const known = this.keys.get(ask.key)
        const amount = ask.amount ?? known?.defaultAmount ?? left
        return this.once(ask.key, request(amount), left, given, () => this.refund(operation, amount, left))
      }
      case 'check': {
        const remaining = this.left()
        const allowed = ask.amount <= remaining
        const refills_at = allowed ? null : this.refillsAt(ask.amount)
        return {
          status: 200,
          body: { allowed, requested: ask.amount, remaining, payable: remaining, refills_at, caps: [] },
          replayed: false,
        }
      }
      case 'get': {
        const operation = this.find(ask.operation)
        if (operation === undefined) return refusal(404, 'operation_not_found')
        return { status: 200, body: this.showOperation(operation), replayed: false }
      }
      case 'ledger':
        return { status: 200, body: this.ledger(ask.quota, ask.before, ask.size), replayed: false }
    }
  }

  /**
   * The same key and request: the first success. The same key and another request: 422. A refusal is not remembered.
   */
  private once(
    key: string | undefined,
    request: string,
    defaultAmount: number | undefined,
    given: Given,
    act: () => Answer,
  ): Answer {
    const known = key === undefined ? undefined : this.keys.get(key)
    if (known !== undefined) {
      if (known.request !== request) return refusal(422, 'idempotency_key_reused')
      // Byte for byte: parsing could hide a difference.
      return { ...known.answer, body: known.text === given.text ? given.body : known.text, replayed: true }
    }
    const answer = act()
    if (key !== undefined && answer.status < 300)
      this.keys.set(key, { request, defaultAmount, answer, text: given.text })
    return answer
  }

  private find(id: string): ModelOperation | undefined {
    return this.operations.find((operation) => operation.id === id)
  }

  private create({ body }: Extract<Ask, { kind: 'create' }>, given: Given): Answer {
    const quota: ModelQuota = {
      id: (given.body as { id: number }).id,
      type: body.quota_type as 1 | 2,
      opening: body.used ?? 0,
      total: body.total!,
      disabled: false,
      deleted: false,
      expireAt: time(body.expire_at),
      unit: (body.cycle_unit ?? null) as CycleUnit | null,
      zone: body.quota_type === 1 ? null : (body.cycle_time_zone ?? 'UTC'),
      label: body.label ?? null,
      anchor: time(body.cycle_reset_at),
      resetAt: time(body.cycle_reset_at),
      formerReset: null,
      cycle: 0,
      version: 1,
      createdAt: this.now,
      updatedAt: this.now,
    }
    this.quotas.push(quota)
    return { status: 201, body: this.showQuota(quota), replayed: false }
  }

  private present(id: number): ModelQuota | undefined {
    return this.quotas.find((quota) => quota.id === id && !quota.deleted)
  }

  private update({ quota: id, body }: Extract<Ask, { kind: 'update' }>): Answer {
    const quota = this.present(id)
    if (quota === undefined) return refusal(404, 'quota_not_found')
    const cycleFields = [body.cycle_unit, body.cycle_reset_at, body.cycle_time_zone]
    const invalid = refusal(400, 'validation_failed')
    if (quota.type === 1 && (body.expire_at === null || cycleFields.some((field) => field != null))) return invalid
    if (quota.type === 2 && cycleFields.includes(null)) return invalid
    if (body.version !== undefined && body.version !== quota.version) return refusal(409, 'version_mismatch')
    if (body.status === 'expired' && this.status(quota) !== 'expired') return invalid

    const resetAt = time(body.cycle_reset_at)
    let anchorsAnew = quota.type === 2 && resetAt !== null && resetAt !== quota.resetAt
    if (anchorsAnew && resetAt! <= this.now) {
      const wasReset =
        cycleAt({ unit: quota.unit!, timeZone: quota.zone!, anchor: quota.anchor! }, resetAt!).start === resetAt
      if (!wasReset) return invalid
      anchorsAnew = false
    }

    const settings = (): string =>
      JSON.stringify([quota.total, quota.disabled, quota.expireAt, quota.unit, quota.zone, quota.resetAt, quota.label])
    const before = settings()
    if (body.total !== undefined) quota.total = body.total
    if (body.expire_at !== undefined) quota.expireAt = time(body.expire_at)
    if (body.label !== undefined) quota.label = body.label
    if (body.status === 'active') quota.disabled = false
    if (body.status === 'disabled') quota.disabled = true
    // A restored quota rolls before its cycle changes.
    this.rollOn(quota)
    if (quota.type === 2) {
      const unit = (body.cycle_unit ?? quota.unit) as CycleUnit
      const zone = body.cycle_time_zone ?? quota.zone
      if (anchorsAnew) quota.resetAt = resetAt
      if (anchorsAnew || unit !== quota.unit || zone !== quota.zone) quota.anchor = quota.resetAt
      quota.unit = unit
      quota.zone = zone
    }
    if (settings() !== before) {
      quota.version += 1
      quota.updatedAt = this.now
    }
    return { status: 200, body: this.showQuota(quota), replayed: false }
  }

  private remove({ quota: id, version }: Extract<Ask, { kind: 'delete' }>): Answer {
    const quota = this.present(id)
    if (quota === undefined) return refusal(404, 'quota_not_found')
    if (version !== undefined && version !== quota.version) return refusal(409, 'version_mismatch')
    quota.deleted = true
    quota.version += 1
    quota.updatedAt = this.now
    return { status: 204, body: undefined, replayed: false }
  }

  private restore(id: number): Answer {
    const quota = this.quotas.find((each) => each.id === id)
    if (quota === undefined) return refusal(404, 'quota_not_found')
    if (quota.deleted) {
      quota.deleted = false
      quota.version += 1
      quota.updatedAt = this.now
    }
    return { status: 200, body: this.showQuota(quota), replayed: false }
  }

  /** Begins a new count: earlier allocations belong to the previous one. */
  private reset({ quota: id, version }: Extract<Ask, { kind: 'reset' }>): Answer {
    const quota = this.present(id)
    if (quota === undefined) return refusal(404, 'quota_not_found')
    if (version !== undefined && version !== quota.version) return refusal(409, 'version_mismatch')
    if (this.used(quota) + this.reserved(quota) > 0) {
      quota.cycle += 1
      quota.updatedAt = this.now
    }
    return { status: 200, body: this.showQuota(quota), replayed: false }
  }

  private spend(kind: 'consume' | 'reserve', amount: number, ttl: number | undefined, given: Given): Answer {
    const quotas = this.paying()
    if (quotas.length === 0) return refusal(409, 'no_active_quota')
    const remaining = this.left()
    if (amount > remaining) {
      return refusal(409, 'quota_exceeded', {
        requested: amount,
        remaining,
        payable: remaining,
        refills_at: this.refillsAt(amount),
        caps: [],
        quotas: quotas.slice(0, 20).map((quota) => ({
          id: quota.id,
          group_id: null,
          total: quota.total,
          used: this.used(quota),
          reserved: this.reserved(quota),
          remaining: this.remaining(quota),
          refills_at:
            quota.resetAt !== null && quota.resetAt < (quota.expireAt ?? Infinity) ? iso(quota.resetAt) : null,
        })),
      })
    }
    const parts: Part[] = []
    let open = amount
    for (const quota of quotas) {
      const part = Math.min(open, this.remaining(quota))
      if (part > 0) parts.push({ quota, cycle: quota.cycle, amount: part })
      open -= part
    }
    const operation: ModelOperation = {
      id: (given.body as { id: string }).id,
      kind,
      state: kind === 'consume' ? 'consumed' : 'reserved',
      amount,
      parts,
      charged: kind === 'consume' ? amount : 0,
      refunded: 0,
      expiresAt: ttl === undefined ? null : this.now + ttl * 1000,
      createdAt: this.now,
      ownerRemaining: 0,
      settled: undefined,
    }
    this.operations.push(operation)
    operation.ownerRemaining = this.left()
    return { status: kind === 'consume' ? 200 : 201, body: this.showOperation(operation), replayed: false }
  }

  private settle(ask: Extract<Ask, { kind: 'commit' | 'release' }>, given: Given): Answer {
    const operation = this.find(ask.operation)
    if (operation === undefined) return refusal(404, 'operation_not_found')
    const amount = (ask.kind === 'commit' ? ask.amount : undefined) ?? operation.amount
    const { settled } = operation
    if (settled !== undefined) {
      if (settled.kind !== ask.kind || settled.amount !== amount) return refusal(409, 'operation_already_settled')
      return { status: 200, body: settled.text === given.text ? given.body : settled.text, replayed: true }
    }
    if (this.stateOf(operation) !== 'reserved') return refusal(409, 'operation_already_settled')
    if (amount > operation.amount) return refusal(409, 'commit_exceeds_hold')
    operation.state = ask.kind === 'commit' ? 'committed' : 'released'
    operation.charged = ask.kind === 'commit' ? amount : 0
    operation.settled = { kind: ask.kind, amount, text: given.text }
    operation.ownerRemaining = this.left()
    return { status: 200, body: this.showOperation(operation), replayed: false }
  }

  private refund(operation: ModelOperation | undefined, amount: number, left: number): Answer {
    if (operation === undefined) return refusal(404, 'operation_not_found')
    if (left === 0 || amount > left) return refusal(409, 'refund_exceeds_charge')
    operation.refunded += amount
    operation.ownerRemaining = this.left()
    return { status: 200, body: this.showOperation(operation), replayed: false }
  }
}
