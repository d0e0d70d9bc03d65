import type { Clock } from '../../clock/clock.js'
import { TimeSlice } from '../../clock/time-slice.js'
import {
  StoreUnavailable,
  type Transaction,
  type TransactionObserver,
  type TransactionRunner,
} from '../../database/transaction-runner.js'
import { ServiceError, Unavailable, type UnavailableReason } from '../../error/service-error.js'
import { FairSemaphore, type Wait } from '../../fairness/fair-semaphore.js'
import { instantOfId } from '../rows/act-id.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import { groupBy } from '../rows/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { Outcome, Request } from '../store/command.js'
import type { Found, LedgerStore, Wanted } from '../store/ledger-store.js'
import { WorkingSet } from '../store/working-set.js'
import { loadHolds, expireDueHolds } from './holds.js'
import type { IdSource } from './id-source.js'
import { Judge, type Verdict } from './judge.js'
import { Lane, type Waiting } from './lane.js'
import { LockedOwners } from './locked-owners.js'

/** Observes the engine, for metrics. Every time is in seconds. */
export interface EngineObserver extends TransactionObserver {
  /** A batch was answered: its size, the wait of its first request, its duration. */
  batch(size: number, waitedSeconds: number, tookSeconds: number): void
  /** A request was answered: its result, or its error code, and the reason of an `unavailable`. */
  answered(kind: string, result: 'done' | 'replayed' | ServiceError['code'], reason?: UnavailableReason): void
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
  /** The maximum number of one caller's requests in the engine, over all lanes; further ones wait for room. */
  readonly callerQueueLimit: number
}

/** How long requests of a caller wait for room, in milliseconds; as long as for being let in (Admission). */
const ROOM_PATIENCE_MS = 10_000
/** Requests of a caller that may wait for room, as a multiple of those that it may have in hand. */
const MAX_WAITING_FOR_ROOM = 4

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
/**
 * The maximum number of times that the engine creates missing lock rows for a batch; more means that they are being
 * removed.
 */
const MAX_MENDS = 3

type Decision = { outcome: Outcome } | { refusal: ServiceError } | 'locked out'

/** Owners that have quotas, or are about to get one, but no lock row. */
class LockRowsMissing extends Error {
  constructor(readonly ownerIds: readonly number[]) {
    super(`no lock rows for ${ownerIds.length} owners`)
  }
}

/** A batch holds the locks of its owners, and the lock of another row has timed out. */
class RowsLocked extends Error {}

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
  /** The number of requests that wait in it, by owner. */
  private readonly waitingByLockedOwner = new Map<number, number>()
  /** The lane of each owner with requests that wait or are at the database. */
  private readonly inLane = new Map<number, { readonly lane: Lane; count: number }>()
  private readonly knownOwners = new Set<number>()
  /** Of callers, for what the engine has in hand of each. */
  private readonly rooms: FairSemaphore
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
    this.rooms = new FairSemaphore({ weightOfOne: limit, waitingWeightOfOne: limit * MAX_WAITING_FOR_ROOM })
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

  /** Requests with room, by caller; those of a batch keep theirs until the whole batch is answered. */
  get depthByCaller(): ReadonlyMap<string, number> {
    return new Map([...this.rooms.shares()].map(([caller, { weight }]) => [caller, weight]))
  }

  /**
   * Takes room for requests of a caller before any work is done for them, and waits if there is none. Return it with
   * `leave`.
   * @returns undefined if there is room at once
   * @throws Unavailable, at once or from the promise
   */
  enter(caller: string, count: number): Promise<void> | undefined {
    if (this.closed) throw new Unavailable('draining')
    const wait = this.rooms.acquire(caller, count, ROOM_PATIENCE_MS)
    return wait === undefined ? undefined : roomOf(wait)
  }

  /** Returns the room that `enter` took, after the requests are answered. */
  leave(caller: string, count: number): void {
    this.rooms.release(caller, count)
  }

  /**
   * Decides a request and commits its effect. It must have room (`enter`).
   * @throws ServiceError the refusal; `unavailable` if the database is unavailable, the queue full or the engine closed
   */
  async submit(request: Request): Promise<Outcome> {
    // The sweeper sends the only requests in these lanes for which no caller waits.
    if (request.command.kind !== 'sweep') this.askedAt = performance.now()
    return this.enqueue(request, () => this.laneOf(request.ownerId))
  }

  /**
   * The same for a background request: it uses a separate lane with small batches. It needs no room: the caller limits
   * their number, and pauses while the engine is in use (`inUse`).
   */
  async submitInBackground(request: Request): Promise<Outcome> {
    return this.enqueue(request, () => this.background)
  }

  /**
   * Has a request of a caller arrived at this instance within the last second? The instance does not know what others
   * receive.
   */
  get inUse(): boolean {
    return performance.now() - this.askedAt < IN_USE_MS
  }

  private async enqueue(request: Request, laneOf: () => Lane): Promise<Outcome> {
    const { callerId: caller, ownerId } = request
    if (this.closed) throw new Unavailable('draining')
    const waitingForOwner = this.waitingByLockedOwner.get(ownerId)
    const lane = waitingForOwner === undefined ? laneOf() : this.lockedLane
    if (lane.isFullFor(caller)) throw new Unavailable('queue_full')
    if (waitingForOwner !== undefined && waitingForOwner >= MAX_LOCKED_OUT_OF_ONE) throw this.ownerLocked(ownerId)
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        request,
        since: performance.now(),
        traced: this.tracer?.current(),
        lockedOutUntil: undefined,
        inLane: false,
        resolve,
        reject,
      }
      this.waitingCount += 1
      if (lane === this.lockedLane) this.putAside(waiting)
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
   * The lane for an owner's next request: that of its pending ones, so that they keep their order; otherwise the first
   * uncongested lane. As long as one lane keeps up, only that one is used, since larger batches cost less per request;
   * others help if the queue is deep, the disk slow or a row locked.
   */
  private laneOf(ownerId: number): Lane {
    const inHand = this.inLane.get(ownerId)
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
    let decisions: Decision[]
    try {
      decisions = await this.decide(
        batch.map(({ request }) => request),
        skipLocked,
      )
    } catch (error) {
      if (error instanceof RowsLocked) return this.separate(batch, skipLocked)
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
      if (decision === 'locked out') {
        this.putAside(waiting)
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

  /**
   * A row of the batch stays locked, and its owner is unknown: each owner's requests are tried separately, in another
   * lane.
   */
  private async separate(batch: readonly Waiting[], skipLocked: boolean): Promise<StoreUnavailable | undefined> {
    const byOwner = groupBy(batch, ({ request }) => request.ownerId)
    if (!skipLocked || byOwner.size === 1) {
      for (const waiting of batch) this.putAside(waiting)
      return undefined
    }
    let unreachable: StoreUnavailable | undefined
    for (const part of byOwner.values()) unreachable = (await this.answerBatch(part, skipLocked)) ?? unreachable
    return unreachable
  }

  /**
   * Retries a request later, in the lane of locked owners, until its time limit.
   */
  private putAside(waiting: Waiting): void {
    const now = performance.now()
    const { ownerId } = waiting.request
    if (waiting.lockedOutUntil === undefined) {
      this.leaveLane(waiting)
      waiting.lockedOutUntil = now + LOCKED_OUT_PATIENCE_MS
      this.lockedOwners.found(ownerId)
      this.waitingByLockedOwner.set(ownerId, (this.waitingByLockedOwner.get(ownerId) ?? 0) + 1)
    }
    const others = (this.waitingByLockedOwner.get(ownerId) ?? 0) - 1
    if (now < waiting.lockedOutUntil && others < MAX_LOCKED_OUT_OF_ONE) this.lockedLane.push(waiting)
    else this.refuse(waiting, this.ownerLocked(ownerId))
  }

  private ownerLocked(ownerId: number): Unavailable {
    this.lockedOwners.refused(ownerId)
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
    if (waiting.lockedOutUntil !== undefined) countDown(this.waitingByLockedOwner, ownerId)
  }

  private join(lane: Lane, waiting: Waiting): void {
    const { ownerId } = waiting.request
    const inHand = this.inLane.get(ownerId)
    if (inHand === undefined) this.inLane.set(ownerId, { lane, count: 1 })
    else inHand.count += 1
    waiting.inLane = true
    lane.push(waiting)
  }

  private leaveLane(waiting: Waiting): void {
    const { ownerId } = waiting.request
    const inHand = waiting.inLane ? this.inLane.get(ownerId) : undefined
    if (inHand === undefined) return
    waiting.inLane = false
    inHand.count -= 1
    if (inHand.count === 0) this.inLane.delete(ownerId)
  }

  /** Decides and commits a batch, after its owners have lock rows. */
  private async decide(requests: readonly Request[], skipLocked: boolean): Promise<Decision[]> {
    const creating = requests.filter(({ command }) => command.kind === 'create').map(({ ownerId }) => ownerId)
    await this.ensureOwners(creating.filter((ownerId) => !this.knownOwners.has(ownerId)))
    for (let mends = 0; ; mends += 1) {
      let lockTimeouts = 0
      const written = { events: false }
      try {
        const decisions = await this.transactions.write(async (transaction) => {
          written.events = false
          if (transaction.afterLockTimeout) lockTimeouts += 1
          if (lockTimeouts === MAX_LOCK_TIMEOUTS) throw new RowsLocked()
          return this.transact(transaction, requests, skipLocked || transaction.afterLockTimeout, written)
        }, this.observer)
        if (written.events) this.onEvents?.()
        return decisions
      } catch (error) {
        if (!(error instanceof LockRowsMissing) || mends === MAX_MENDS) throw error
        await this.ensureOwners(error.ownerIds)
      }
    }
  }

  /**
   * Creates missing lock rows of owners, in a separate transaction, so that it holds no lock out of order.
   */
  private async ensureOwners(ownerIds: readonly number[]): Promise<void> {
    if (ownerIds.length === 0) return
    const unique = [...new Set(ownerIds)]
    await this.transactions.write((transaction) => this.store.ensureOwners(transaction, unique))
    if (this.knownOwners.size > MAX_KNOWN_OWNERS) this.knownOwners.clear()
    for (const ownerId of unique) this.knownOwners.add(ownerId)
  }

  /**
   * One attempt at a batch. It reads everything under the locks; a rerun starts from nothing.
   * @param skipLocked omit the owners that another session keeps locked
   * @param written is told whether events were written
   */
  private async transact(
    transaction: Transaction,
    requests: readonly Request[],
    skipLocked: boolean,
    written: { events: boolean },
  ): Promise<Decision[]> {
    const ownerIds = [...new Set(requests.map(({ ownerId }) => ownerId))]
    const found = await this.store.lockAndRead(transaction, {
      ownerIds,
      skipLocked,
      now: this.clock.now(),
      ...namedBy(requests),
    })
    const { lockedIds } = found
    const elsewhere = await this.lockedElsewhere(transaction, requests, ownerIds, lockedIds, skipLocked)
    const judged = requests.filter(({ ownerId }) => !elsewhere.has(ownerId))
    // The present time is read after the locks are taken.
    const workingSet = new WorkingSet<Q>(this.clock.now())
    await this.load(transaction, workingSet, judged, found)

    this.renewIds(judged, workingSet, found.closedTo)
    const judge = new Judge(this.channel, workingSet)
    const slice = new TimeSlice()
    const decisions: Decision[] = []
    // Quotas to create, whose answers need their ids. They are inserted together, as long as later requests do not
    // depend on them.
    let creating: Creating<Q>[] = []
    const create = async (): Promise<void> => {
      const ids = await this.store.insertQuotas(
        transaction,
        creating.map(({ verdict }) => verdict.insert),
      )
      for (const [n, { place, verdict }] of creating.entries()) {
        decisions[place] = { outcome: verdict.admit(ids[n] ?? 0) }
      }
      creating = []
    }
    for (const [place, request] of requests.entries()) {
      if (slice.spent) await slice.next()
      if (elsewhere.has(request.ownerId)) {
        decisions[place] = 'locked out'
        continue
      }
      if (creating.length > 0 && dependsOn(request, creating)) await create()
      try {
        const verdict = judge.decide(request)
        if ('outcome' in verdict) decisions[place] = { outcome: verdict.outcome }
        else creating.push({ place, request, verdict })
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        decisions[place] = { refusal: error }
      }
    }
    if (creating.length > 0) await create()

    await expireDueHolds(transaction, this.store, workingSet, this.clock.steady, async (ids) =>
      this.loadMissing(transaction, workingSet, ids),
    )
    await this.store.write(transaction, workingSet, () => this.ids.next())
    if (workingSet.events.length > 0) written.events = true
    const edited = workingSet.changes
      .map(({ quotaId }) => workingSet.quota(quotaId)?.ownerId)
      .filter((ownerId) => ownerId !== undefined)
    // On a cluster, another node may change rows that were only read here, since locks are local: every write must
    // touch a row that the other one also writes.
    const touched = transaction.clustered && workingSet.changed ? lockedIds : [...new Set(edited)]
    if (touched.length > 0) await this.store.touchOwners(transaction, touched)
    return decisions
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
  ): Promise<ReadonlySet<number>> {
    if (lockedIds.length === ownerIds.length) return new Set()
    const locked = new Set(lockedIds)
    const missing = ownerIds.filter((ownerId) => !locked.has(ownerId))
    const elsewhere = new Set(skipLocked ? await this.store.existingOwnerIds(transaction, missing) : [])
    const rowless = missing.filter((ownerId) => !elsewhere.has(ownerId))
    if (rowless.length === 0) return elsewhere
    const needed = new Set(await this.store.ownersWithQuotas(transaction, rowless))
    for (const { command, ownerId } of requests) {
      if (command.kind === 'create' && !locked.has(ownerId) && !elsewhere.has(ownerId)) needed.add(ownerId)
    }
    if (needed.size > 0) throw new LockRowsMissing([...needed])
    return elsewhere
  }

  private async load(
    transaction: Transaction,
    workingSet: WorkingSet<Q>,
    requests: readonly Request[],
    { lockedIds, quotas, acts, operations }: Found<Q>,
  ): Promise<void> {
    const locked = new Set(lockedIds)
    const named = new Set(requests.map(({ command }) => ('quotaId' in command ? command.quotaId : undefined)))
    const paid = new Set<number>()
    // A quota that is neither locked nor named belongs to an owner whose lock was not taken.
    for (const quota of quotas) if (locked.has(quota.ownerId) || named.has(quota.id)) workingSet.addQuota(quota)
    for (const act of acts) workingSet.addAct(act)
    for (const entry of operations) {
      workingSet.addOperation(entry)
      for (const { quotaId } of entry.allocations) paid.add(quotaId)
      for (const { quotaId } of entry.caps ?? NO_CAPS) paid.add(quotaId)
    }
    // Before the holds: a due one may belong to a quota that is deleted or expired, and that an edit is about to
    // revive.
    await this.loadMissing(transaction, workingSet, paid)
    await loadHolds(transaction, this.store, workingSet, requests, lockedIds)
  }

  private async loadMissing(
    transaction: Transaction,
    workingSet: WorkingSet<Q>,
    quotaIds: ReadonlySet<number>,
  ): Promise<void> {
    const missing = [...quotaIds].filter((id) => workingSet.quota(id) === undefined)
    for (const quota of await this.store.quotasById(transaction, missing)) workingSet.addQuota(quota)
  }
}

async function roomOf({ granted }: Wait): Promise<void> {
  if (!(await granted)) throw new Unavailable('principal_queue')
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
    else if (command.kind !== 'sweep') actIds.push(request.id)
  }
  return { deduplicationKeys: [...deduplicationKeys], actIds, operationIds: [...operationIds], quotaIds: [...quotaIds] }
}

function countDown<K>(counts: Map<K, number>, key: K): void {
  const left = (counts.get(key) ?? 0) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}
