import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../common/clock.js'
import { TimeSlice } from '../../common/time-slice.js'
import {
  StoreUnavailable,
  type Transaction,
  type TransactionObserver,
  type TransactionRunner,
} from '../../database/transaction-runner.js'
import { ServiceError, Unavailable, type UnavailableReason } from '../../common/service-error.js'
import { FairSemaphore, type Wait } from '../../fairness/fair-semaphore.js'
import type { Instant } from '../../common/instant.js'
import { instantOfId } from '../rows/act-id.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import { groupBy } from '../../common/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { type Command, type GroupCommand, isOfGroups, type Outcome, type Request } from '../store/command.js'
import { groupOf, groupOwner } from '../rows/group.entity.js'
import { HOUR_MS } from '../rows/utc-step.js'
import { GroupChains, GroupStore } from '../store/group-store.js'
import {
  type Found,
  type FoundGroups,
  type LedgerStore,
  OPEN_HOLDS_AT_FIRST,
  OPEN_HOLDS_FACTOR,
  type Wanted,
  type WantedGroups,
} from '../store/ledger-store.js'
import { countsWanted, followedByGroup } from '../store/wanted-counts.js'
import { WorkingSet } from '../store/working-set.js'
import { expireDueHolds, loadDueHolds, loadOpenHolds, MoreHolds, MoreLocks, type OpenHoldsWanted } from './holds.js'
import type { IdSource } from './id-source.js'
import { GroupActs } from './group-acts.js'
import { Judge, replayOf, type Verdict } from './judge.js'
import { Lane, type Waiting } from './lane.js'
import { LockedOwners } from './locked-owners.js'

/** Observes the engine, for metrics. Every time is in seconds. */
export interface EngineObserver extends TransactionObserver {
  /** A batch was answered: its size, the wait of its first request, its duration. */
  batch(size: number, waitedSeconds: number, tookSeconds: number): void
  /** A request was answered: its result, or its error code, and the reason of an `unavailable`. */
  answered(kind: string, result: 'done' | 'replayed' | ServiceError['code'], reason?: UnavailableReason): void
  /** Owners were seen for the first time, through the default group. */
  firstSeen(owners: number): void
}

/** A request of a batch, for tracing. */
export interface TracedRequest {
  readonly request: Request
  /** Its arrival, on the clock of `performance.now()`. */
  readonly since: number
  /** The value of `BatchTracer.current` at its arrival. */
  readonly traced: object | undefined
}

/** Links requests to the batches that answer them. */
export interface BatchTracer {
  /** The identity of the current request; undefined if it is not traced. */
  current(): object | undefined
  /** Runs a batch's work. */
  run<T>(batch: readonly TracedRequest[], work: () => Promise<T>): Promise<T>
}

/** The configuration of the engine. */
export interface EngineOptions {
  /** The number of lanes for the requests of callers, each with at most one batch at the database; one on SQLite. */
  readonly lanes: number
  /**
   * The maximum number of requests that wait in these lanes, divided equally among them; further ones are answered
   * `unavailable`. The lane of locked owners and the background lane hold as many as one of these lanes, in addition.
   */
  readonly queueLimit: number
  /** The maximum number of one caller's requests in the engine, over all lanes; further ones wait. */
  readonly callerQueueLimit: number
  /** The maximum number of owners that one caller brings in through the default group in an hour. */
  readonly newOwnersPerHour: number
}

/** The maximum wait of a caller's requests for capacity, in milliseconds; the same as for admission. */
const CAPACITY_PATIENCE_MS = 10_000
/** The maximum weight of a caller's waiting requests, as a multiple of its capacity. */
const MAX_WAITING_FACTOR = 4

/** Owners whose lock row is known to exist; forgetting them costs one upsert. */
const MAX_KNOWN_OWNERS = 100_000

/** How long the engine tries a request whose owner another session keeps locked, in milliseconds. */
const LOCKED_OUT_PATIENCE_MS = 6_000
/** The pause between two attempts to lock such owners, in milliseconds. */
const LOCKED_OUT_PAUSE_MS = 50
/** The maximum number of requests that wait for one such owner: as many as one batch may contain. */
const MAX_LOCKED_OUT_OF_ONE = 500
/** The number of attempts that may end in a lock timeout before the batch is split. */
const MAX_LOCK_TIMEOUTS = 2
/** The maximum number of background requests in one transaction, and so of owners that it locks. */
const BACKGROUND_BATCH_SIZE = 100
/** The time after a caller's request during which the engine counts as in use, in milliseconds. */
const IN_USE_MS = 1_000
/** The longest rest of background work after a step, in milliseconds. */
const MAX_REST_MS = 4_000
/**
 * The maximum number of times that the engine creates missing lock rows for a batch; more means that they are being
 * removed.
 */
const MAX_MENDS = 3
/** The maximum number of times that a batch runs again with more locks. */
const MAX_WIDENINGS = 6

type Decision = { outcome: Outcome } | { refusal: ServiceError } | { lockedId: number }

/** Owners that have quotas, or are about to get one, but no lock row. */
class LockRowsMissing extends Error {
  constructor(readonly ownerIds: readonly number[]) {
    super(`no lock rows for ${ownerIds.length} owners`)
  }
}

/** Owners that nobody has seen draw on the default group: each needs a lock row. */
class NewOwners extends Error {
  /** @param callers who brings them in, by owner */
  constructor(readonly callers: ReadonlyMap<number, string>) {
    super(`${callers.size} new owners`)
  }
}

/** The groups of remembered chains are locked, and an owner draws on others, which would be locked out of order. */
class ChainsMoved extends Error {}

/** A batch holds the locks of its owners, and the lock of another row has timed out. */
class RowsLocked extends Error {
  /** @param lockedId the owner or group whose row it is, if known */
  constructor(readonly lockedId?: number) {
    super()
  }
}

/**
 * Group commit: while one transaction is at the database, requests are collected; the next transaction takes them
 * together. All pending requests of one owner are in the same lane, so one caller's requests keep their order; those of
 * the background are in a lane of their own.
 *
 * A batch takes its locks in the order that src/ledger/README.md ("Lock order") defines for every transaction: owners
 * by id, the gate, the unique index of acts, then rows by id.
 *
 * Waits are bounded. Callers take turns in a lane, and a lane has its share of the queue. If another session keeps an
 * owner's row locked, its lane waits for it once; then its requests use a separate lane, until the lock is free again.
 */
export class Engine<Q extends QuotaRow> {
  private readonly lanes: readonly Lane[]
  /** For owners that another session keeps locked: takes the free locks, and waits for none. */
  private readonly lockedLane: Lane
  /** Those that wait in it, by owner. */
  private readonly waitingByLockedOwner = new Map<number, { readonly lockedId: number; count: number }>()
  /** The lane of each owner with requests that wait or are at the database. */
  private readonly inLane = new Map<number, { readonly lane: Lane; count: number }>()
  private readonly knownOwners = new Set<number>()
  private readonly groups: GroupStore<Q>
  private readonly chains: GroupChains<Q>
  /** The highest group of members with shared counters, as last seen, so that their requests share a lane. */
  private readonly rootOf = new Map<number, number>()
  /** The group that an owner drew on when it was last locked, null: none; so that one packet locks both. */
  private readonly lastGroupOf = new Map<number, number | null>()
  /** The quotas of groups of which each member has a count, as last seen, so that one packet reads such counts. */
  private readonly followedOf = new Map<number, readonly number[]>()
  /** The capacity of each caller, in requests. */
  private readonly capacity: FairSemaphore
  private readonly newOwnersPerHour: number
  /** Which owners somebody else keeps locked, and since when. */
  readonly lockedOwners: LockedOwners
  /** For background requests: small batches, so that other requests need not wait long. */
  private readonly background: Lane
  /** The arrival of the last request of a caller, on the clock of `performance.now()`. */
  private askedAt = -Infinity
  private waitingCount = 0
  private closed = false
  /** An observer for metrics; at most one. */
  observer: EngineObserver | undefined
  /** Called when a batch has committed events; at most one listener, which numbers them. */
  onEvents: (() => void) | undefined
  /** The tracer of requests; at most one. */
  tracer: BatchTracer | undefined

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly ids: IdSource,
    options: EngineOptions,
  ) {
    const { callerQueueLimit: limit } = options
    this.newOwnersPerHour = options.newOwnersPerHour
    this.groups = new GroupStore(store)
    this.chains = new GroupChains(this.groups)
    this.capacity = new FairSemaphore({ weightOfOne: limit, waitingWeightOfOne: limit * MAX_WAITING_FACTOR })
    this.lockedOwners = new LockedOwners({ field: channel.subjects[0].field, channel: channel.name }, clock)
    const share = Math.ceil(options.queueLimit / options.lanes)
    this.lanes = Array.from({ length: options.lanes }, () => {
      const lane: Lane = new Lane(async (batch) => this.run(batch, lane), share)
      return lane
    })
    const lockedLane: Lane = new Lane(async (batch) => this.run(batch, lockedLane), share, LOCKED_OUT_PAUSE_MS)
    this.lockedLane = lockedLane
    const background: Lane = new Lane(async (batch) => this.run(batch, background), share, 0, BACKGROUND_BATCH_SIZE)
    this.background = background
  }

  /** Requests that wait or are at the database. */
  get depth(): number {
    return this.waitingCount
  }

  /** Requests that use capacity, by caller; those of a batch use it until the whole batch is answered. */
  get depthByCaller(): ReadonlyMap<string, number> {
    return new Map([...this.capacity.shares()].map(([caller, { weight }]) => [caller, weight]))
  }

  /**
   * Takes capacity for requests of a caller before any work is done for them, and waits if none is free. Return it
   * with `release`.
   * @returns undefined if it is free at once
   * @throws Unavailable, at once or from the promise
   */
  acquire(caller: string, count: number): Promise<void> | undefined {
    if (this.closed) throw new Unavailable('draining')
    const wait = this.capacity.acquire(caller, count, CAPACITY_PATIENCE_MS)
    return wait === undefined ? undefined : acquired(wait)
  }

  /** Returns the capacity that `acquire` took, after the requests are answered. */
  release(caller: string, count: number): void {
    this.capacity.release(caller, count)
  }

  /**
   * Decides a request and commits its effect. It must have capacity (`acquire`).
   * @throws ServiceError the refusal; `unavailable` if the database is unavailable, the queue full or the engine closed
   */
  submit(request: Request): Promise<Outcome> {
    // The sweeper sends the only requests in these lanes for which no caller waits.
    if (request.command.kind !== 'sweep') this.askedAt = performance.now()
    return this.enqueue(request, () => this.laneOf(request.ownerId))
  }

  /**
   * The same for a background request: it uses a separate lane with small batches. It needs no capacity: the caller
   * limits their number, and pauses while the engine is in use (`inUse`).
   */
  submitInBackground(request: Request): Promise<Outcome> {
    return this.enqueue(request, () => this.background)
  }

  /**
   * Has a request of a caller arrived at this instance within the last second? The instance does not know what others
   * receive.
   */
  get inUse(): boolean {
    return performance.now() - this.askedAt < IN_USE_MS
  }

  /**
   * Waits after a step of background work, if requests are arriving: so that the work takes a part of the time.
   * @param times how many times as long as the step
   */
  async rest(tookMs: number, times: number, signal?: AbortSignal): Promise<void> {
    if (!this.inUse) return
    await sleep(Math.min(MAX_REST_MS, tookMs * times), undefined, { ref: false, ...(signal && { signal }) }).catch(
      () => undefined,
    )
  }

  // Thousands of requests may wait at once, and all that each has is copied by the garbage collector: one promise.
  private enqueue(request: Request, laneOf: () => Lane): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const { callerId: caller, ownerId } = request
      if (this.closed) throw new Unavailable('draining')
      const before = this.waitingByLockedOwner.get(ownerId)
      const lane = before === undefined ? laneOf() : this.lockedLane
      if (lane.isFullFor(caller)) throw new Unavailable('queue_full')
      if (before !== undefined && before.count >= MAX_LOCKED_OUT_OF_ONE) throw this.ownerLocked(before.lockedId)
      const waiting: Waiting = {
        request,
        since: performance.now(),
        traced: this.tracer?.current(),
        lockedOutUntil: undefined,
        inLane: [],
        resolve,
        reject,
      }
      this.waitingCount += 1
      if (before !== undefined) this.putAside(waiting, before.lockedId)
      // A background request does not move its owner's other requests to the background lane.
      else if (lane === this.background) lane.push(waiting)
      else this.join(lane, waiting)
    })
  }

  /** The present number of transactions at the database. */
  get busyLanes(): number {
    return [...this.lanes, this.background, this.lockedLane].filter(({ busy }) => busy).length
  }

  /**
   * The lane for an owner's next request: that of its pending ones, so that they keep their order, or of those of its
   * root, which lock the same groups; otherwise the first
   * uncongested lane. As long as one lane keeps up, only that one is used, since larger batches cost less per request;
   * others help if the queue is deep, the disk slow or a row locked.
   */
  private laneOf(ownerId: number): Lane {
    const inHand = this.inLane.get(ownerId) ?? this.inLane.get(this.rootOf.get(ownerId) ?? ownerId)
    if (inHand !== undefined) return inHand.lane
    const [first, ...others] = this.lanes
    if (first === undefined) throw new Error('an engine without lanes')
    if (!first.congested) return first
    let best = first
    for (const lane of others) {
      if (!lane.congested) return lane
      if (lane.size < best.size) best = lane
    }
    return best
  }

  /** Accepts no further requests, and resolves when all accepted ones are answered. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.lanes.map(async (lane) => lane.idle()))
    await this.background.idle()
    await this.lockedLane.idle()
  }

  private async run(batch: readonly Waiting[], lane: Lane): Promise<void> {
    const start = performance.now()
    const answer = async (): Promise<StoreUnavailable | undefined> => this.answerBatch(batch, lane === this.lockedLane)
    const unreachable = await (this.tracer === undefined ? answer() : this.tracer.run(batch, answer))
    // Otherwise the requests behind a batch that found no database would wait equally long.
    if (unreachable !== undefined) for (const waiting of lane.clear()) this.refuse(waiting, unreachable)
    const waited = start - (batch[0]?.since ?? start)
    this.observer?.batch(batch.length, waited / 1000, (performance.now() - start) / 1000)
  }

  /**
   * Answers every request of a batch, or moves it to the lane of locked owners if another session keeps its owner
   * locked. A faulty batch is halved until the faulty request is alone.
   * @param skipLocked take only locks that are free
   * @returns the refusal of every request, if the database was unavailable
   */
  private async answerBatch(batch: readonly Waiting[], skipLocked: boolean): Promise<StoreUnavailable | undefined> {
    const alone = batch.findIndex(({ request }) => isOfGroups(request.command))
    if (alone >= 0 && batch.length > 1) return this.answerInParts(batch, alone, skipLocked)
    let decisions: Decision[]
    try {
      decisions = await this.decide(
        batch.map(({ request }) => request),
        skipLocked,
      )
    } catch (error) {
      if (error instanceof RowsLocked) return this.separate(batch, skipLocked, error.lockedId)
      if (error instanceof ServiceError || batch.length === 1) {
        for (const waiting of batch) this.refuse(waiting, error)
        return error instanceof StoreUnavailable && error.fault === 'away' ? error : undefined
      }
      const half = Math.ceil(batch.length / 2)
      const first = await this.answerBatch(batch.slice(0, half), skipLocked)
      const second = await this.answerBatch(batch.slice(half), skipLocked)
      return first ?? second
    }
    batch.forEach((waiting, place) => {
      const decision = decisions[place]
      if (decision !== undefined && 'lockedId' in decision) {
        this.putAside(waiting, decision.lockedId)
        return
      }
      this.lockedOwners.had(waiting.request.ownerId)
      if (decision !== undefined && 'outcome' in decision) {
        this.observer?.answered(waiting.request.command.kind, decision.outcome.replayed ? 'replayed' : 'done')
        this.countAnswered(waiting)
        waiting.resolve(decision.outcome)
      } else this.refuse(waiting, decision?.refusal)
    })
    return undefined
  }

  /** Answers an act on groups in a transaction of its own, between those of the requests before and after it. */
  private async answerInParts(
    batch: readonly Waiting[],
    place: number,
    skipLocked: boolean,
  ): Promise<StoreUnavailable | undefined> {
    let unreachable: StoreUnavailable | undefined
    for (const part of [batch.slice(0, place), batch.slice(place, place + 1), batch.slice(place + 1)])
      if (part.length > 0) unreachable = (await this.answerBatch(part, skipLocked)) ?? unreachable
    return unreachable
  }

  /**
   * A row of the batch stays locked, and its owner is unknown: each owner's requests are tried separately, in another
   * lane.
   */
  private async separate(
    batch: readonly Waiting[],
    skipLocked: boolean,
    lockedId: number | undefined,
  ): Promise<StoreUnavailable | undefined> {
    const byOwner = groupBy(batch, ({ request }) => request.ownerId)
    if (!skipLocked || byOwner.size === 1) {
      for (const waiting of batch) this.putAside(waiting, lockedId)
      return undefined
    }
    let unreachable: StoreUnavailable | undefined
    for (const part of byOwner.values()) unreachable = (await this.answerBatch(part, skipLocked)) ?? unreachable
    return unreachable
  }

  /**
   * Retries a request later, in the lane of locked owners, until its time limit.
   * @param lockedId the owner, or the group of its chain, that another session keeps locked
   */
  private putAside(waiting: Waiting, lockedId = waiting.request.ownerId): void {
    const now = performance.now()
    const { ownerId } = waiting.request
    if (waiting.lockedOutUntil === undefined) {
      this.leaveLane(waiting)
      waiting.lockedOutUntil = now + LOCKED_OUT_PATIENCE_MS
      this.lockedOwners.found(lockedId)
      const before = this.waitingByLockedOwner.get(ownerId)
      if (before === undefined) this.waitingByLockedOwner.set(ownerId, { lockedId, count: 1 })
      else before.count += 1
    }
    const count = this.waitingByLockedOwner.get(ownerId)?.count ?? 0
    if (now < waiting.lockedOutUntil && count <= MAX_LOCKED_OUT_OF_ONE) this.lockedLane.push(waiting)
    else this.refuse(waiting, this.ownerLocked(lockedId))
  }

  private ownerLocked(lockedId: number): Unavailable {
    this.lockedOwners.refused(lockedId)
    return new Unavailable('owner_locked')
  }

  private refuse(waiting: Waiting, error: unknown): void {
    const { kind } = waiting.request.command
    if (error instanceof ServiceError) this.observer?.answered(kind, error.code, error.reason)
    else this.observer?.answered(kind, 'internal_error')
    this.countAnswered(waiting)
    waiting.reject(error)
  }

  /** Counts a request as no longer waiting. */
  private countAnswered(waiting: Waiting): void {
    const { ownerId } = waiting.request
    this.waitingCount -= 1
    this.leaveLane(waiting)
    if (waiting.lockedOutUntil === undefined) return
    const locked = this.waitingByLockedOwner.get(ownerId)
    if (locked !== undefined && (locked.count -= 1) === 0) this.waitingByLockedOwner.delete(ownerId)
  }

  private join(lane: Lane, waiting: Waiting): void {
    const { ownerId } = waiting.request
    const root = this.rootOf.get(ownerId)
    waiting.inLane = root === undefined ? [ownerId] : [ownerId, root]
    for (const id of waiting.inLane) {
      const inHand = this.inLane.get(id)
      // Requests of a root may be in another lane, from before it was known.
      if (inHand === undefined) this.inLane.set(id, { lane, count: 1 })
      else inHand.count += 1
    }
    lane.push(waiting)
  }

  private leaveLane(waiting: Waiting): void {
    for (const id of waiting.inLane) {
      const inHand = this.inLane.get(id)
      if (inHand !== undefined && (inHand.count -= 1) === 0) this.inLane.delete(id)
    }
    waiting.inLane = []
  }

  /** Decides and commits a batch, after its owners have lock rows. */
  private async decide(requests: readonly Request[], skipLocked: boolean): Promise<Decision[]> {
    const creating = requests.flatMap(({ command, ownerId }) =>
      // A group of whose quotas each member has a count needs no lock row: consumes read it without a lock.
      command.kind === 'create' && command.place?.per !== 'member'
        ? [ownerId]
        : command.kind === 'members' && command.action === 'add'
          ? command.ownerIds
          : [],
    )
    await this.ensureOwners(creating.filter((ownerId) => !this.knownOwners.has(ownerId)))
    const also = new Set<number>()
    const unwanted = new Set<number>()
    let isMoved = false
    let limit = OPEN_HOLDS_AT_FIRST
    const short = new Set<number>()
    for (let mends = 0, widenings = 0; ;) {
      let lockTimeouts = 0
      const written = { events: false }
      try {
        const decisions = await this.transactions.write(async (transaction) => {
          written.events = false
          if (transaction.afterLockTimeout) lockTimeouts += 1
          if (lockTimeouts === MAX_LOCK_TIMEOUTS) throw new RowsLocked()
          return this.transact(transaction, requests, skipLocked || transaction.afterLockTimeout, {
            also,
            unwanted,
            written,
            isMoved,
            openHolds: { limit, short },
          })
        }, this.observer)
        if (written.events) this.onEvents?.()
        return decisions
      } catch (error) {
        if (error instanceof MoreLocks) {
          // What was asked for already is kept by another session.
          const isKept = error.ownerIds.every((ownerId) => also.has(ownerId))
          if (isKept || (widenings += 1) > MAX_WIDENINGS) throw new RowsLocked(error.ownerIds[0])
          for (const ownerId of error.ownerIds) also.add(ownerId)
          continue
        }
        // Beyond any number of holds, something else is wrong.
        if (error instanceof MoreHolds && limit < Number.MAX_SAFE_INTEGER / OPEN_HOLDS_FACTOR) {
          limit *= OPEN_HOLDS_FACTOR
          for (const ownerId of error.ownerIds) short.add(ownerId)
          continue
        }
        if (error instanceof ChainsMoved) {
          isMoved = true
          continue
        }
        if (error instanceof NewOwners && (mends += 1) <= MAX_MENDS) {
          for (const ownerId of await this.bringIn(error.callers)) unwanted.add(ownerId)
          continue
        }
        if (!(error instanceof LockRowsMissing) || (mends += 1) > MAX_MENDS) throw error
        await this.ensureOwners(error.ownerIds)
      }
    }
  }

  /** Creates the lock rows of new owners. @returns those beyond what their callers may bring in */
  private async bringIn(callers: ReadonlyMap<number, string>): Promise<number[]> {
    const at = this.clock.now()
    const refused: number[] = []
    for (const [callerId, group] of groupBy([...callers], ([, caller]) => caller)) {
      const unseen = group.map(([ownerId]) => ownerId)
      const { brought, beyond } = await this.writeRows(async (transaction) => {
        const known = await this.store.broughtSince(transaction, callerId, at - HOUR_MS, at)
        const room = Math.max(0, this.newOwnersPerHour - known)
        // Another batch may have brought some of them in meanwhile.
        const existing = new Set(await this.store.existingOwnerIds(transaction, unseen))
        const missing = unseen.filter((ownerId) => !existing.has(ownerId))
        const wanted = missing.slice(0, room)
        if (wanted.length > 0) await this.store.ensureOwners(transaction, wanted, { callerId, at })
        return { brought: wanted.length, beyond: missing.slice(room) }
      })
      refused.push(...beyond)
      this.observer?.firstSeen(brought)
    }
    return refused
  }

  /** Writes rows that a batch needs. A row that another session keeps locked delays it once. @throws RowsLocked */
  private async writeRows<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transactions.write(async (transaction) => {
      if (transaction.afterLockTimeout) throw new RowsLocked()
      return unit(transaction)
    })
  }

  /**
   * Creates missing lock rows of owners, in a separate transaction, so that it holds no lock out of order. It takes no
   * lock of an existing row: another session may keep it, and the whole batch would wait.
   */
  private async ensureOwners(ownerIds: readonly number[]): Promise<void> {
    if (ownerIds.length === 0) return
    const unique = [...new Set(ownerIds)]
    await this.writeRows(async (transaction) => {
      const existing = new Set(await this.store.existingOwnerIds(transaction, unique))
      const missing = unique.filter((ownerId) => !existing.has(ownerId))
      if (missing.length > 0) await this.store.ensureOwners(transaction, missing)
    })
    if (this.knownOwners.size > MAX_KNOWN_OWNERS) this.knownOwners.clear()
    for (const ownerId of unique) this.knownOwners.add(ownerId)
  }

  /**
   * One attempt at a batch. It reads everything under the locks; a rerun starts from nothing.
   * @param skipLocked omit the owners that another session keeps locked
   */
  private async transact(
    transaction: Transaction,
    requests: readonly Request[],
    skipLocked: boolean,
    { also, unwanted, written, isMoved, openHolds }: Attempt,
  ): Promise<Decision[]> {
    const [first] = requests
    if (first !== undefined && isOfGroups(first.command))
      return [await this.actOnGroups(transaction, first, first.command, skipLocked)]
    const ownerIds = [...new Set([...requests.map(({ ownerId }) => ownerId), ...also])].filter((ownerId) => ownerId > 0)
    const named = namedBy(requests)
    const now = this.clock.now()
    const groupsOf = { also, skipLocked, quotaIds: named.quotaIds, now, followedOf: this.followedOf }
    const expected = skipLocked || isMoved ? undefined : this.expectedChains(requests)
    const asked = expected === undefined ? undefined : groupsWanted(requests, { chains: expected, ...groupsOf })
    const found = await this.store.lockAndRead(transaction, { ownerIds, skipLocked, now, ...named }, asked)
    const locked = new Set(found.locked.keys())
    const own = await this.lockedElsewhere(transaction, requests, ownerIds, [...locked], skipLocked)
    // By owner, which row another session keeps locked: its own, or that of a group.
    const elsewhere = new Map([...own].map((id) => [id, id]))
    const chains = await this.chainsOf(transaction, requests, found)
    const drawn = drawnChains(requests, chains)
    if (asked !== undefined && !covers(asked, drawn)) throw new ChainsMoved()
    const wanted = asked ?? groupsWanted(requests, { chains, ...groupsOf })
    const ofGroups = await this.lockGroups(transaction, requests, {
      chains,
      drawn,
      also,
      wanted,
      found: found.ofGroups,
    })
    for (const id of ofGroups.lockedIds) {
      locked.add(id)
      this.lockedOwners.had(id)
    }
    for (const id of ofGroups.elsewhere) elsewhere.set(id, id)
    if (ofGroups.elsewhere.size > 0)
      for (const [ownerId, chain] of chains) {
        const groupId = chain.find((id) => ofGroups.elsewhere.has(groupOwner(id)))
        if (groupId !== undefined && !elsewhere.has(ownerId)) elsewhere.set(ownerId, groupOwner(groupId))
      }
    const judged = requests.filter(({ ownerId }) => !elsewhere.has(ownerId))
    // Of what is not judged nothing is loaded, and so nothing written: neither the quotas of a group that another
    // session keeps locked, which that one may be writing, nor the operations and holds of its members.
    const groupQuotas = ofGroups.quotas.filter(({ ownerId }) => !elsewhere.has(ownerId))
    const operations = found.operations.filter(({ row }) => !elsewhere.has(row.ownerId))
    for (const ownerId of elsewhere.keys()) locked.delete(ownerId)
    // The present time is read after the locks are taken.
    const workingSet = new WorkingSet<Q>(this.clock.now())
    for (const [ownerId, chain] of chains) workingSet.setChain(ownerId, chain)
    for (const group of ofGroups.groups) workingSet.groups.set(group.id, group)
    const loaded = { ...found, groupQuotas, operations }
    await this.load(transaction, workingSet, judged, loaded, { locked, openHolds })

    this.renewIds(judged, workingSet, found.gate.closedTo)
    const judge = new Judge(this.channel, workingSet)
    const slice = new TimeSlice()
    const decisions: Decision[] = []
    // Quotas to create, whose answers need their ids. They are inserted together, as long as later requests do not
    // depend on them.
    let creating: Creating<Q>[] = []
    const unseen = new Map<number, string>()
    const create = async (): Promise<void> => {
      const ids = await this.store.insertQuotas(
        transaction,
        creating.flatMap(({ verdict }) => verdict.insert),
      )
      for (const { place, verdict } of creating)
        decisions[place] = { outcome: verdict.admit(ids.splice(0, verdict.insert.length)) }
      creating = []
    }
    for (const [place, request] of requests.entries()) {
      if (slice.spent) await slice.next()
      const lockedId = elsewhere.get(request.ownerId)
      if (lockedId !== undefined) {
        decisions[place] = { lockedId }
        continue
      }
      if (creating.length > 0 && dependsOn(request, creating)) await create()
      try {
        const { ownerId } = request
        if (unwanted.has(ownerId) && !locked.has(ownerId)) {
          // A key that another request had is a mistake whatever the limit.
          const earlier = replayOf(workingSet, request)
          if (earlier === undefined) throw tooManyNewOwners(this.newOwnersPerHour)
          decisions[place] = { outcome: earlier }
          continue
        }
        if (isLate(request, workingSet)) throw new Unavailable('lease_over')
        const verdict = judge.decide(request)
        // Nobody has seen this owner: it draws on the default group, and its operation needs its lock.
        if (!locked.has(ownerId) && chains.has(ownerId)) unseen.set(ownerId, request.callerId)
        else if ('outcome' in verdict) decisions[place] = { outcome: verdict.outcome }
        else creating.push({ place, request, verdict })
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        decisions[place] = { refusal: error }
      }
    }
    if (creating.length > 0) await create()

    if (unseen.size > 0) throw new NewOwners(unseen)
    await expireDueHolds(transaction, this.store, workingSet, this.clock.steady, locked, async (ids) =>
      this.loadMissing(transaction, workingSet, ids, locked),
    )
    await this.store.write(transaction, workingSet, () => this.ids.next())
    if (workingSet.events.length > 0) written.events = true
    const edited = workingSet.changes.map(({ ownerId }) => ownerId)
    // On a cluster, another node may change rows that were only read here, since locks are local: every write must
    // touch a row that the other one also writes.
    const touched = transaction.clustered && workingSet.changed ? [...locked, ...edited] : edited
    if (touched.length > 0) await this.store.touchOwners(transaction, [...new Set(touched)])
    const groups = [...new Set(edited)].flatMap((ownerId) => groupOf(ownerId) ?? [])
    if (groups.length > 0) await this.store.touchGroups(transaction, groups)
    return decisions
  }

  /**
   * The chains of those owners of requests on usage, and on counts, that are in a group. Empty if the channel has no
   * groups.
   */
  private async chainsOf(
    transaction: Transaction,
    requests: readonly Request[],
    { locked, gate, quotas }: Found<Q>,
  ): Promise<Map<number, readonly number[]>> {
    const chains = new Map<number, readonly number[]>()
    let counts: ReadonlySet<number> | undefined
    const isCount = (quotaId: number): boolean => {
      counts ??= new Set(quotas.filter(({ follows }) => follows !== null).map(({ id }) => id))
      return counts.has(quotaId)
    }
    for (const { ownerId, command } of requests) {
      if (ownerId < 0 || chains.has(ownerId)) continue
      if (!DRAWS.has(command.kind) && !('quotaId' in command && isCount(command.quotaId))) continue
      const groupId = locked.get(ownerId) ?? gate.defaultGroupId
      // Without a group nothing is remembered.
      if (gate.chainsVersion > 0) this.lastGroupOf.set(ownerId, groupId)
      if (groupId === null) continue
      const known = this.chains.known(groupId, gate.chainsVersion)
      chains.set(ownerId, known ?? (await this.chains.of(transaction, groupId, gate.chainsVersion)))
    }
    return chains
  }

  /**
   * The chains of drawing owners as last seen. Owners that nobody has seen are expected in the group of the others, if
   * these have one in common; otherwise it is undefined.
   */
  private expectedChains(requests: readonly Request[]): Map<number, readonly number[]> | undefined {
    if (this.lastGroupOf.size > MAX_KNOWN_OWNERS) this.lastGroupOf.clear()
    const chains = new Map<number, readonly number[]>()
    let isComplete = true
    for (const { ownerId, command } of requests) {
      const groupId = DRAWS.has(command.kind) ? this.lastGroupOf.get(ownerId) : undefined
      if (groupId === null) continue
      const chain = groupId === undefined ? undefined : this.chains.last(groupId)
      if (chain === undefined) isComplete = false
      else chains.set(ownerId, chain)
    }
    return isComplete || new Set(chains.values()).size === 1 ? chains : undefined
  }

  /**
   * Locks and reads the groups of chains, those whose quotas requests name, and further ones, unless they have been
   * found.
   * @throws LockRowsMissing
   */
  private async lockGroups(
    transaction: Transaction,
    requests: readonly Request[],
    { chains, drawn, also, wanted, found: known }: LockingGroups<Q>,
  ): Promise<FoundGroups<Q> & { readonly elsewhere: ReadonlySet<number> }> {
    const elsewhere = new Set<number>()
    if (wanted === undefined) return { lockedIds: [], elsewhere, groups: [], quotas: [] }
    const found = known ?? (await this.store.lockGroups(transaction, wanted))
    const counts = await this.furtherCounts(transaction, chains, wanted, found)
    const locked = new Set(found.lockedIds)
    const unlocked = wanted.groupIds.map(groupOwner).filter((id) => !locked.has(id))
    if (unlocked.length > 0) {
      const shared = new Set(found.quotas.filter(({ per }) => per === 'group').map(({ ownerId }) => ownerId))
      for (const { command, ownerId } of requests)
        if (command.kind === 'create' && command.place?.per === 'group') shared.add(ownerId)
      for (const ownerId of also) shared.add(ownerId)
      const toLock = unlocked.filter((id) => shared.has(id))
      for (const id of await this.store.existingOwnerIds(transaction, toLock)) elsewhere.add(id)
      const rowless = toLock.filter((id) => !elsewhere.has(id))
      if (rowless.length > 0) throw new LockRowsMissing(rowless)
    }
    this.noteRoots(drawn, locked)
    return { ...found, quotas: [...found.quotas, ...counts], elsewhere }
  }

  /** The counts that were not read, since their groups were not known to have the quotas that they follow. */
  private async furtherCounts(
    transaction: Transaction,
    chains: GroupsOf['chains'],
    { counts, groupIds }: WantedGroups,
    { quotas }: FoundGroups<Q>,
  ): Promise<Q[]> {
    const followed = followedByGroup(quotas)
    if (this.followedOf.size > MAX_KNOWN_OWNERS) this.followedOf.clear()
    for (const groupId of groupIds) {
      const ids = followed.get(groupId)
      if (ids === undefined) this.followedOf.delete(groupId)
      else this.followedOf.set(groupId, ids)
    }
    return followed.size === 0 ? [] : this.store.counts(transaction, countsWanted(chains, followed, counts))
  }

  private noteRoots(chains: ReadonlyMap<number, readonly number[]>, locked: ReadonlySet<number>): void {
    if (this.rootOf.size > MAX_KNOWN_OWNERS) this.rootOf.clear()
    for (const [ownerId, chain] of chains) {
      const root = chain.findLast((groupId) => locked.has(groupOwner(groupId)))
      if (root === undefined) this.rootOf.delete(ownerId)
      else this.rootOf.set(ownerId, groupOwner(root))
    }
  }

  /** One attempt at an act on groups; see `GroupActs`. */
  private async actOnGroups(
    transaction: Transaction,
    request: Request,
    command: GroupCommand,
    skipLocked: boolean,
  ): Promise<Decision> {
    const ownerIds = command.kind === 'members' ? command.ownerIds : []
    const { deduplicationKey, id: actId } = request
    const exclusive = command.kind === 'group'
    const wanted = { ownerIds, skipLocked, exclusive, deduplicationKey, actId }
    const { owners, gate, acts } = await this.groups.lock(transaction, wanted)
    const missing = ownerIds.filter((ownerId) => !owners.has(ownerId))
    if (missing.length > 0) {
      const existing = new Set(await this.store.existingOwnerIds(transaction, missing))
      const [lockedId] = existing
      if (lockedId !== undefined) return { lockedId }
      if (command.kind === 'members' && command.action === 'add') throw new LockRowsMissing(missing)
    }
    const workingSet = new WorkingSet<Q>(this.clock.now())
    for (const act of acts) workingSet.addAct(act)
    this.renewIds([request], workingSet, gate.closedTo)
    try {
      const outcome =
        replayOf(workingSet, request) ??
        (await new GroupActs(transaction, this.groups, workingSet, gate, owners).decide(request, command))
      await this.store.write(transaction, workingSet, () => this.ids.next())
      return { outcome }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return { refusal: error }
    }
  }

  /**
   * Assigns new ids to requests whose acts can no longer be written under their present ids: acts up to these ids are
   * closed, and may be in the totals. No act of such a request exists or can still be committed, since the owner's lock
   * is held.
   */
  private renewIds(requests: readonly Request[], workingSet: WorkingSet<Q>, closedTo: string): void {
    for (const request of requests) {
      if (request.id > closedTo || workingSet.hasActOf(request)) continue
      this.ids.keepAfter(instantOfId(closedTo))
      request.id = this.ids.next()
    }
  }

  /**
   * Examines the owners that were not locked: another session keeps the lock, or there is no row. A missing row is
   * correct for an owner that has no quota and gets none. For others, a row is missing that should exist, for example
   * after a restore: no decision may be made without the lock.
   * @returns the owners that another session keeps locked
   * @throws LockRowsMissing
   */
  private async lockedElsewhere(
    transaction: Transaction,
    requests: readonly Request[],
    ownerIds: readonly number[],
    lockedIds: readonly number[],
    skipLocked: boolean,
  ): Promise<Set<number>> {
    if (lockedIds.length === ownerIds.length) return new Set()
    const locked = new Set(lockedIds)
    const missing = ownerIds.filter((ownerId) => !locked.has(ownerId))
    const elsewhere = new Set(skipLocked ? await this.store.existingOwnerIds(transaction, missing) : [])
    const rowless = missing.filter((ownerId) => !elsewhere.has(ownerId))
    if (rowless.length === 0) return elsewhere
    const needed = new Set(await this.store.ownersWithQuotas(transaction, rowless))
    for (const { command, ownerId } of requests) {
      if (command.kind === 'create' && ownerId > 0 && !locked.has(ownerId) && !elsewhere.has(ownerId))
        needed.add(ownerId)
    }
    if (needed.size > 0) throw new LockRowsMissing([...needed])
    return elsewhere
  }

  private async load(
    transaction: Transaction,
    workingSet: WorkingSet<Q>,
    requests: readonly Request[],
    { quotas, groupQuotas, acts, operations }: Found<Q> & { readonly groupQuotas: readonly Q[] },
    { locked, openHolds }: { readonly locked: ReadonlySet<number> } & Pick<Attempt, 'openHolds'>,
  ): Promise<void> {
    const named = new Set(requests.map(({ command }) => ('quotaId' in command ? command.quotaId : undefined)))
    const paid = new Set<number>()
    // A quota that is neither locked nor named belongs to an owner whose lock was not taken.
    // Those of groups are read again once their group is locked.
    const found = [...quotas.filter(({ ownerId }) => ownerId > 0), ...groupQuotas].filter(
      ({ id, ownerId }) => ownerId < 0 || locked.has(ownerId) || named.has(id),
    )
    await this.add(transaction, workingSet, found)
    for (const act of acts) workingSet.addAct(act)
    for (const entry of operations) {
      workingSet.addOperation(entry)
      for (const { quotaId } of entry.allocations) paid.add(quotaId)
      for (const { quotaId } of entry.caps ?? NO_CAPS) paid.add(quotaId)
    }
    // Before the holds: a due one may belong to a quota that is deleted or expired, and that an edit is about to
    // revive.
    await this.loadMissing(transaction, workingSet, paid, locked)
    await loadDueHolds(transaction, this.store, workingSet, requests, [...locked])
    await loadOpenHolds(transaction, this.store, workingSet, requests, [...locked], openHolds)
  }

  private async loadMissing(
    transaction: Transaction,
    workingSet: WorkingSet<Q>,
    quotaIds: ReadonlySet<number>,
    locked: ReadonlySet<number>,
  ): Promise<void> {
    const missing = [...quotaIds].filter((id) => workingSet.quota(id) === undefined)
    const quotas = await this.store.quotasById(transaction, missing)
    // The group of a quota that its owner has left: it was read without its lock.
    const unlocked = quotas.map(({ ownerId }) => ownerId).filter((ownerId) => ownerId < 0 && !locked.has(ownerId))
    if (unlocked.length > 0) throw new MoreLocks(unlocked)
    await this.add(transaction, workingSet, quotas)
  }

  /** Adds quotas to the working set: counts come after the quotas that they follow, which need no lock. */
  private async add(transaction: Transaction, workingSet: WorkingSet<Q>, quotas: readonly Q[]): Promise<void> {
    const counts = quotas.filter(({ follows }) => follows !== null)
    await addInSlices(workingSet, counts.length === 0 ? quotas : quotas.filter(({ follows }) => follows === null))
    if (counts.length === 0) return
    const followed = new Set(counts.flatMap(({ follows }) => follows ?? []))
    const missing = [...followed].filter((id) => workingSet.quota(id) === undefined)
    await addInSlices(workingSet, await this.store.quotasById(transaction, missing))
    await addInSlices(workingSet, counts)
  }
}

/** Five hundred owners may have two hundred quotas each. */
async function addInSlices<Q extends QuotaRow>(workingSet: WorkingSet<Q>, quotas: readonly Q[]): Promise<void> {
  const slice = new TimeSlice()
  for (const quota of quotas) {
    if (slice.spent) await slice.next()
    workingSet.addQuota(quota)
  }
}

async function acquired({ granted }: Wait): Promise<void> {
  if (!(await granted)) throw new Unavailable('principal_queue')
}

function tooManyNewOwners(most: number): ServiceError {
  const detail =
    `A principal brings in at most ${most} owners in an hour through the default group. ` +
    'Check the number of this owner, or try again later.'
  return new ServiceError('too_many_new_owners', detail)
}

/** Is it a row of a change set whose lease is over? Another instance works on it, or an erasure has changed it. */
function isLate<Q extends QuotaRow>(request: Request, workingSet: WorkingSet<Q>): boolean {
  const { changeSet } = request
  return changeSet !== undefined && workingSet.now > (changeSet.heldUntil ?? 0) && !workingSet.hasActOf(request)
}

/** The commands that draw on the chain of their owner, or answer what is left over it. */
const DRAWS: ReadonlySet<Command['kind']> = new Set(['consume', 'reserve', 'commit', 'release', 'refund', 'follow'])

/** What attempts at a batch share. */
interface Attempt {
  /** Further owners, and groups, to lock. */
  readonly also: ReadonlySet<number>
  /** New owners beyond what their callers may bring in. */
  readonly unwanted: ReadonlySet<number>
  /** Were events written? */
  readonly written: { events: boolean }
  /** Were the remembered chains of an attempt not those that its owners have? */
  readonly isMoved: boolean
  readonly openHolds: OpenHoldsWanted
}

/** The groups that a batch locks. */
interface GroupsOf {
  /** By owner. */
  readonly chains: ReadonlyMap<number, readonly number[]>
  readonly also: ReadonlySet<number>
  readonly skipLocked: boolean
  readonly quotaIds: readonly number[]
  readonly now: Instant
  /** The quotas of groups of which each member has a count, as last seen. */
  readonly followedOf: ReadonlyMap<number, readonly number[]>
}

/** What is known of them. */
interface LockingGroups<Q> extends Pick<GroupsOf, 'chains' | 'also'> {
  /** The chains of owners that draw (`drawnChains`). */
  readonly drawn: GroupsOf['chains']
  readonly wanted: WantedGroups | undefined
  /** Undefined if they are not locked. */
  readonly found: FoundGroups<Q> | undefined
}

/** The groups of chains, those whose quotas requests name, and further ones; undefined if there are none. */
function groupsWanted(
  requests: readonly Request[],
  { chains, also, followedOf, ...more }: GroupsOf,
): WantedGroups | undefined {
  const [groupIds, editedIds, following] = [new Set<number>(), new Set<number>(), new Set<number>()]
  const drawn = drawnChains(requests, chains)
  for (const chain of drawn.values()) for (const groupId of chain) groupIds.add(groupId)
  for (const { ownerId, command } of requests) {
    const edited = groupOf(ownerId)
    if (edited !== undefined) editedIds.add(edited)
    // Counts of an owner in no group have left, which is written, too.
    if (command.kind === 'follow') following.add(ownerId)
  }
  for (const groupId of editedIds) groupIds.add(groupId)
  for (const ownerId of also) {
    const groupId = groupOf(ownerId)
    if (groupId !== undefined) groupIds.add(groupId)
  }
  if (groupIds.size + following.size === 0) return undefined
  const all = following.size === 0 ? [] : [{ ownerIds: [...following], follows: undefined }]
  const counts = [...all, ...countsWanted(drawn, followedOf, all)]
  return { groupIds: [...groupIds], counts, editedIds: [...editedIds], ...more }
}

/** The chains whose groups are locked: to follow changes nothing that is shared. */
function drawnChains(
  requests: readonly Request[],
  chains: ReadonlyMap<number, readonly number[]>,
): ReadonlyMap<number, readonly number[]> {
  if (chains.size === 0 || !requests.some(({ command }) => command.kind === 'follow')) return chains
  const drawing = new Set(requests.flatMap(({ command, ownerId }) => (command.kind === 'follow' ? [] : [ownerId])))
  return new Map([...chains].filter(([ownerId]) => drawing.has(ownerId)))
}

/** Are all groups of these chains among those that were asked for? */
function covers({ groupIds }: WantedGroups, chains: ReadonlyMap<number, readonly number[]>): boolean {
  const asked = new Set(groupIds)
  for (const chain of chains.values()) if (!chain.every((groupId) => asked.has(groupId))) return false
  return true
}

/** A quota to create. */
interface Creating<Q> {
  /** The index of the request in the batch. */
  readonly place: number
  readonly request: Request
  readonly verdict: Extract<Verdict<Q>, { insert: unknown }>
}

/** Does the request depend on these new quotas, by an owner or a key? */
function dependsOn<Q>(request: Request, creating: readonly Creating<Q>[]): boolean {
  if (request.command.kind !== 'create') return true
  return creating.some(
    ({ request: { ownerId, deduplicationKey } }) =>
      ownerId === request.ownerId || (deduplicationKey !== null && deduplicationKey === request.deduplicationKey),
  )
}

/** The distinct values that requests name. */
function namedBy(
  requests: readonly Request[],
): Pick<Wanted, 'deduplicationKeys' | 'actIds' | 'operationIds' | 'quotaIds'> {
  const quotaIds = new Set<number>()
  const operationIds = new Set<string>()
  const deduplicationKeys = new Set<string>()
  const actIds: string[] = []
  for (const request of requests) {
    const { command } = request
    if ('quotaId' in command) quotaIds.add(command.quotaId)
    if ('operationId' in command) operationIds.add(command.operationId)
    if (request.deduplicationKey !== null) deduplicationKeys.add(request.deduplicationKey)
    // An earlier attempt whose answer was lost may have committed an edit without a key: it is found by its own id.
    else if (command.kind !== 'sweep' && command.kind !== 'follow') actIds.push(request.id)
  }
  return { deduplicationKeys: [...deduplicationKeys], actIds, operationIds: [...operationIds], quotaIds: [...quotaIds] }
}
