import type { BeforeApplicationShutdown } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { sharedMap, type SharedReads } from '../../database/shared-reads.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import { ServiceError } from '../../common/service-error.js'
import type { GroupPlace, NewSettings, SettingsPatch } from '../../domain/settings.js'
import type { Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import { groupOwner } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { OBSERVED } from '../rows/refusal.entity.js'
import {
  type Caller,
  type Command,
  deduplicationKeyFor,
  deduplicationKeyForSettling,
  type GroupPatch,
  type Outcome,
  type Request,
  type WorkedOn,
} from '../store/command.js'
import { keyReused, operationNotFound, quotaNotFound } from '../store/errors.js'
import { LedgerStore } from '../store/ledger-store.js'
import { Callers } from './callers.js'
import { Engine, type EngineOptions } from './engine.js'
import { IdSource } from './id-source.js'
import { LinkGenerations } from './link-generations.js'
import { isCounted, RefusalCounter } from './refusal-counter.js'
import { Spells } from './spells.js'

/** The members of a caller that a request has. */
type Sender = Pick<Caller, 'name' | 'id' | 'requestId'>

/** The cached data of a hold. */
interface Remembered {
  readonly ownerId: number
  /** The caller that reserved it. */
  readonly maker: string
}

/** The commands whose keys can be looked up under every caller. */
const SPENDING: ReadonlySet<Command['kind']> = new Set(['consume', 'reserve', 'refund'])

/**
 * Owners and makers of operations that this instance created or settled recently; saves the look-up before a
 * settlement.
 */
const MAX_REMEMBERED = 50_000

/** Callers' keys that something other than an act has taken: a key belongs to one of its caller's requests (§4). */
export interface KeysElsewhere {
  /** Is the key taken? Undefined if the caller has no such keys at all: that costs nothing. */
  has(callerId: string, key: string): Promise<boolean> | undefined
}

/**
 * Every write of one channel: the settings of its quotas and their usage. Each method resolves after its effect is
 * committed, and throws a ServiceError if the request is refused or the database stays unavailable.
 */
export class Ledger<Q extends QuotaRow> implements BeforeApplicationShutdown {
  readonly engine: Engine<Q>
  readonly store: LedgerStore<Q>
  readonly refusals: RefusalCounter<Q>
  readonly spells: Spells<Q>
  readonly callers: Callers<Q>
  readonly links: LinkGenerations<Q>
  private readonly ids: IdSource
  private readonly ownerOfQuota: SharedReads<number, number | undefined>
  private readonly ownerOfOperation: SharedReads<string, number | undefined>
  private readonly makerOfOperation: SharedReads<string, string | undefined>
  private readonly remembered = new Map<string, Remembered>()
  /** What else uses the callers' keys; undefined: nothing. */
  keysElsewhere: KeysElsewhere | undefined

  constructor(
    readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    clock: Clock,
    options: EngineOptions,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.ids = new IdSource(clock)
    this.engine = new Engine(channel, this.store, transactions, clock, this.ids, options)
    this.spells = new Spells(channel.name, this.store, transactions, clock, this.ids)
    this.refusals = new RefusalCounter(channel.name, this.store, transactions, clock, this.spells)
    this.callers = new Callers(this.store, transactions, clock)
    this.links = new LinkGenerations(this.store, transactions, channel.name)
    // The owner and the maker of a quota or an operation never change, so they may be read without locks. The owner
    // determines which lock to take.
    const reads = transactions.readsOf(`(${channel.name} owners)`)
    const { store } = this
    this.ownerOfQuota = sharedMap((ids) => reads.read((transaction) => store.ownersOfQuotas(transaction, ids)))
    this.ownerOfOperation = sharedMap((ids) => reads.read((transaction) => store.ownersOfOperations(transaction, ids)))
    this.makerOfOperation = sharedMap((ids) => reads.read((transaction) => store.makersOf(transaction, ids)))
  }

  /**
   * Creates a quota.
   * @param subjects the accounts and users that it names, by property, including the owner
   * @param key the caller's Idempotency-Key, if any: a retry then gets the first answer
   * @param place its group; the owner is then that of the group (`groupOwner`)
   */
  async create(
    caller: Caller,
    ownerId: number,
    subjects: Record<string, number | null>,
    settings: NewSettings,
    key: string | null,
    place?: GroupPlace,
  ): Promise<Outcome> {
    return this.submit(caller, ownerId, { kind: 'create', settings, subjects, place }, key)
  }

  /**
   * Changes settings; `version`, if given, must be the current one.
   * @param overrides of a member's count: the settings that stay its own; undefined: those that are
   */
  async update(
    caller: Caller,
    quotaId: number,
    patch: SettingsPatch,
    version: number | undefined,
    overrides?: readonly string[],
  ): Promise<Outcome> {
    const command = { kind: 'update', quotaId, patch, version, overrides } as const
    return this.submit(caller, await this.quotaOwner(quotaId), command)
  }

  /** Soft-deletes. */
  async remove(caller: Caller, quotaId: number, version: number | undefined): Promise<void> {
    await this.submit(caller, await this.quotaOwner(quotaId), { kind: 'delete', quotaId, version })
  }

  /** Reverts a soft delete; a live quota does not change. */
  async restore(caller: Caller, quotaId: number): Promise<Outcome> {
    return this.submit(caller, await this.quotaOwner(quotaId), { kind: 'restore', quotaId })
  }

  /**
   * Changes the settings of a group.
   * @param groupId null for a create
   * @param key the caller's Idempotency-Key, if any
   */
  async changeGroup(
    caller: Caller,
    action: Extract<Command, { kind: 'group' }>['action'],
    groupId: number | null,
    { patch = {}, version, key = null }: { patch?: GroupPatch; version?: number | undefined; key?: string | null } = {},
  ): Promise<Outcome> {
    const ownerId = groupId === null ? 0 : groupOwner(groupId)
    return this.submit(caller, ownerId, { kind: 'group', action, groupId, patch, version }, key)
  }

  /** Makes owners members of a group, from no group or another one; all of them, or none. */
  async addMembers(caller: Caller, groupId: number, ownerIds: readonly number[], key: string | null): Promise<Outcome> {
    return this.submit(caller, groupOwner(groupId), { kind: 'members', groupId, action: 'add', ownerIds }, key)
  }

  /** Ends the membership of an owner. */
  async removeMember(caller: Caller, groupId: number, ownerId: number): Promise<void> {
    const command = { kind: 'members', groupId, action: 'remove', ownerIds: [ownerId] } as const
    await this.submit(caller, groupOwner(groupId), command)
  }

  /**
   * Begins a new count: `used` and `reserved` become 0, the next reset does not change.
   * @param version if given, must be the current one
   * @param key the caller's Idempotency-Key, if any: a retry then resets nothing again
   */
  async reset(caller: Caller, quotaId: number, version: number | undefined, key: string | null): Promise<Outcome> {
    const ownerId = await this.ownerUnlessReused(caller, key, quotaId, async () => this.quotaOwner(quotaId))
    return this.submit(caller, ownerId, { kind: 'reset', quotaId, version }, key)
  }

  /**
   * Spends `amount` units at once, or nothing.
   * @param inBatch has `withCapacity` already taken capacity for it?
   */
  consume(caller: Caller, ownerId: number, amount: number, key: string, inBatch = false): Promise<Outcome> {
    return this.spend(caller, ownerId, { kind: 'consume', amount }, key, inBatch)
  }

  /**
   * Waits for capacity for several requests of a caller, then runs them: none of them is refused for lack of it.
   * @throws Unavailable if none becomes free in time; nothing has then begun
   */
  async withCapacity<T>({ id }: Caller, count: number, work: () => Promise<T>): Promise<T> {
    // Do not wait for capacity while the database is known to be unavailable.
    this.transactions.requireWrites()
    const granted = this.engine.acquire(id, count)
    if (granted !== undefined) await granted
    try {
      return await work()
    } finally {
      this.engine.release(id, count)
    }
  }

  /** Holds `amount` units for `ttlSeconds`, or nothing. */
  async reserve(caller: Caller, ownerId: number, amount: number, ttlSeconds: number, key: string): Promise<Outcome> {
    const outcome = await this.spend(caller, ownerId, { kind: 'reserve', amount, ttlSeconds }, key)
    // This includes replays: a key belongs to its caller, and so does the operation.
    this.remember(String(outcome.subject), { ownerId, maker: caller.id })
    return outcome
  }

  /** Spends the hold, or `amount` of it; the rest returns. */
  async commit(caller: Caller, operationId: string, amount: number | undefined): Promise<Outcome> {
    return this.submit(caller, await this.operationOwner(caller, operationId), { kind: 'commit', operationId, amount })
  }

  /** Returns the whole hold. */
  async release(caller: Caller, operationId: string): Promise<Outcome> {
    return this.submit(caller, await this.operationOwner(caller, operationId), { kind: 'release', operationId })
  }

  /** Refunds the charge, or `amount` of it. */
  async refund(caller: Caller, operationId: string, amount: number | undefined, key: string): Promise<Outcome> {
    const ownerId = await this.ownerUnlessReused(caller, key, operationId, async () =>
      this.operationOwner(caller, operationId),
    )
    return this.submit(caller, ownerId, { kind: 'refund', operationId, amount }, key)
  }

  /**
   * Applies a row of a change set, once for any number of calls, in the background.
   * @param actor the principal that had the change set applied or reverted
   * @param changeSet whoever ends the lease on it need only wait until it would have expired
   * @param deduplicationKey identifies this row and step
   */
  async inBackground(
    actor: Sender,
    changeSet: WorkedOn,
    ownerId: number,
    command: Command,
    deduplicationKey: string,
  ): Promise<Outcome> {
    this.transactions.requireWrites()
    const request = this.request(actor, ownerId, command, null)
    return this.engine.submitInBackground({ ...request, deduplicationKey, changeSet })
  }

  /** All later ids are greater than this instant; see `IdSource`. */
  keepIdsAfter(instant: Instant): void {
    this.ids.keepAfter(instant)
  }

  /** Records that the owner's due holds have expired. */
  async sweep(ownerId: number): Promise<void> {
    await this.submit(serviceItself('(sweeper)'), ownerId, { kind: 'sweep' })
  }

  /** Writes the settings of the owner's counts as they are now, in the background. */
  async follow(ownerId: number): Promise<void> {
    await this.engine.submitInBackground(this.request(serviceItself('(counts)'), ownerId, { kind: 'follow' }, null))
  }

  /** Answers pending requests before the database closes. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.engine.close()
    await this.refusals.close()
  }

  private async spend(
    caller: Caller,
    ownerId: number,
    command: Extract<Command, { kind: 'consume' | 'reserve' }>,
    key: string,
    inBatch = false,
  ): Promise<Outcome> {
    try {
      const outcome = inBatch
        ? await this.submitted(caller, ownerId, command, key)
        : await this.withCapacity(caller, 1, () => this.submitted(caller, ownerId, command, key))
      if (outcome.observed === true) this.refusals.count(ownerId, OBSERVED, command.amount)
      return outcome
    } catch (error) {
      if (error instanceof ServiceError && isCounted(error.code))
        this.refusals.count(ownerId, error.code, command.amount)
      throw error
    }
  }

  private async submit(caller: Caller, ownerId: number, command: Command, key: string | null = null): Promise<Outcome> {
    return this.withCapacity(caller, 1, () => this.submitted(caller, ownerId, command, key))
  }

  /** @throws StoreUnavailable at once; whatever follows rejects the promise */
  private submitted(caller: Caller, ownerId: number, command: Command, key: string | null): Promise<Outcome> {
    // Otherwise the request waits behind a batch that was in progress when the database failed, and that still waits
    // for it.
    this.transactions.requireWrites()
    // Before the act, so that a look-up under all callers finds the key as soon as the request is answered.
    const noting = SPENDING.has(command.kind) ? this.callers.note(caller) : undefined
    const taken = key === null ? undefined : this.keysElsewhere?.has(caller.id, key)
    const submit = (): Promise<Outcome> => this.engine.submit(this.request(caller, ownerId, command, key))
    if (noting === undefined && taken === undefined) return submit()
    return Promise.all([taken, noting]).then(([isTaken]) => {
      if (isTaken === true) throw keyReused()
      return submit()
    })
  }

  private request(caller: Sender, ownerId: number, command: Command, key: string | null): Request {
    const settling = command.kind === 'commit' || command.kind === 'release'
    return {
      id: this.ids.next(),
      ownerId,
      caller: caller.name,
      callerId: caller.id,
      requestId: caller.requestId,
      key,
      deduplicationKey: settling
        ? deduplicationKeyForSettling(command.operationId)
        : key === null
          ? null
          : deduplicationKeyFor(caller.id, key),
      command,
    }
  }

  private remember(operationId: string, hold: Remembered): void {
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear()
    this.remembered.set(operationId, hold)
  }

  private async quotaOwner(quotaId: number): Promise<number> {
    const ownerId = await this.ownerOfQuota.get(quotaId)
    if (ownerId === undefined) throw this.absent(quotaNotFound(quotaId))
    return ownerId
  }

  /**
   * Returns the refusal of an act on what was not found.
   * @throws StoreUnavailable if the store accepts no writes: it may lack what others have committed
   */
  private absent(refusal: ServiceError): ServiceError {
    this.transactions.requireWrites()
    return refusal
  }

  /** @throws ServiceError operation_not_found, also if the caller may not see the operation */
  private async operationOwner({ id, ownOnly }: Caller, operationId: string): Promise<number> {
    const known = this.remembered.get(operationId)
    const ownerId = known?.ownerId ?? (await this.ownerOfOperation.get(operationId))
    if (ownerId === undefined) throw this.absent(operationNotFound(operationId))
    if (!ownOnly) return ownerId
    const maker = known?.maker ?? (await this.makerOfOperation.get(operationId))
    if (maker !== id) throw operationNotFound(operationId)
    return ownerId
  }

  /**
   * The service checks for key reuse before it returns `quota_not_found` or `operation_not_found`. The exception is a
   * replay whose subject the caller may no longer see: it gets the latter.
   * @param subject the quota or operation that the key is for
   */
  private async ownerUnlessReused(
    caller: Caller,
    key: string | null,
    subject: number | string,
    find: () => Promise<number>,
  ): Promise<number> {
    try {
      return await find()
    } catch (error) {
      // The time for a request whose store is away is over.
      if (key === null || (error as ServiceError).code === 'unavailable') throw error
      const deduplicationKeys = [deduplicationKeyFor(caller.id, key)]
      const acts = await this.transactions
        .readsOf(caller.id)
        .read(async (transaction) => this.store.actsByDeduplicationKey(transaction, deduplicationKeys))
      if ((await this.keysElsewhere?.has(caller.id, key)) === true) throw keyReused()
      throw acts.some(({ operationId, quotaId }) => (operationId ?? quotaId) !== subject) ? keyReused() : error
    }
  }
}

/** The service as the caller of its own requests. @param name in brackets, as no principal's is */
function serviceItself(name: string): Caller {
  return { name, id: name, requestId: name, ownOnly: false }
}
