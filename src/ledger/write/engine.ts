import type { Clock } from '../../clock/clock.js'
import { TimeSlice } from '../../clock/time-slice.js'
import {
  StoreUnavailable,
  type Transaction,
  type UnitOfWork,
  type UnitOfWorkObserver,
} from '../../database/unit-of-work.js'
import { ServiceError, Unavailable, type UnavailableReason } from '../../error/service-error.js'
import { FairSemaphore } from '../../fairness/fair-semaphore.js'
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

/** What happened in the engine, for metrics. Every time is in seconds. */
export interface EngineObserver extends UnitOfWorkObserver {
  /** A batch was answered: its size, how long its first request had waited, how long it took. */
  batch(size: number, waitedSeconds: number, tookSeconds: number): void
  /** A request was answered: how, or with which error code, and for `unavailable` why. */
  answered(kind: string, result: 'done' | 'replayed' | ServiceError['code'], reason?: UnavailableReason): void
}

/** A request of a batch, as it is traced. */
export interface TracedRequest {
  readonly request: Request
  /** When it came, on the clock of `performance.now()`. */
  readonly since: number
  /** What `BatchTracer.current` gave when it came. */
  readonly traced: object | undefined
}

/** Follows requests into the batches that answer them. */
export interface BatchTracer {
  /** What the request that is being worked on here is known by; undefined where it is not followed. */
  current(): object | undefined
  /** Runs a batch's work. */
  run<T>(batch: readonly TracedRequest[], work: () => Promise<T>): Promise<T>
}

/** How the engine is set up. */
export interface EngineOptions {
  /** Batches at the database at the same time, at most; one on SQLite. */
  readonly lanes: number
  /** Requests that may wait, in each lane an equal share of them; one more is answered `unavailable`. */
  readonly queueLimit: number
  /** Requests of one caller that may be in hand, over all lanes; what is beyond waits for room. */
  readonly callerQueueLimit: number
}

/** How long requests of a caller wait for room, in milliseconds; as long as for being let in (Admission). */
const ROOM_PATIENCE_MS = 10_000
/** Requests of a caller that may wait for room, as a multiple of those that it may have in hand. */
const MAX_WAITING_FOR_ROOM = 4

/** Owners whose lock row is known to exist; forgetting them costs one upsert. */
const MAX_KNOWN_OWNERS = 100_000

/** How long a request is tried whose owner somebody else keeps locked, in milliseconds. */
const LOCKED_OUT_PATIENCE_MS = 6_000
/** Between two tries to get the locks of owners that somebody else kept locked, in milliseconds. */
const LOCKED_OUT_PAUSE_MS = 50
/** Requests that may wait for one such owner: as many as one batch may find there. */
const MAX_LOCKED_OUT_OF_ONE = 500
/** Tries that may end in waiting for a row, before the batch is taken apart. */
const MAX_LOCK_TIMEOUTS = 2
/** Requests of the background that one transaction takes: so many owners are locked for a moment at most. */
const BACKGROUND_BATCH_SIZE = 100
/** For how long after a request somebody is reckoned to use the engine, in milliseconds. */
const IN_USE_MS = 1_000
/** Times that lock rows which a batch found missing are made for it; more says that something takes them away again. */
const MAX_MENDS = 3

type Decision = { outcome: Outcome } | { refusal: ServiceError } | 'locked out'

/** Owners have quotas, or are about to get one, and no row that could be locked. */
class LockRowsMissing extends Error {
  constructor(readonly ownerIds: readonly number[]) {
    super(`no lock rows for ${ownerIds.length} owners`)
  }
}

/** A batch holds the locks of its owners, and waits in vain for another row. */
class RowsLocked extends Error {}

/**
 * Group commit: while one transaction is at the database, requests gather; the next transaction takes them together.
 * One owner's requests in hand are all in the same lane, so those of one caller keep their order.
 *
 * Locks are taken in one order everywhere: owners by id, then the act's unique index, then rows by id.
 *
 * Who waits for whom is bounded. Callers take turns in a lane, and a lane has its share of the queue. An owner whose
 * row somebody else keeps locked is waited for once; from then on its requests have a lane of their own, until the lock
 * was had again.
 */
export class Engine<Q extends QuotaRow> {
  private readonly lanes: readonly Lane[]
  /** For owners that somebody else keeps locked: takes the locks that are free, and waits for none. */
  private readonly lockedOut: Lane
  /** How many requests wait in it, by owner. */
  private readonly lockedOwners = new Map<number, number>()
  /** Where an owner's requests are that wait or are at the database. */
  private readonly inLane = new Map<number, { readonly lane: Lane; count: number }>()
  private readonly knownOwners = new Set<number>()
  /** Of callers, for what the engine has in hand of each. */
  private readonly rooms: FairSemaphore
  /** Which owners somebody else keeps locked, and since when. */
  readonly locks: LockedOwners
  /** For requests that nobody waits for: small batches, so that those which somebody does wait for come in between. */
  private readonly background: Lane
  /** When a request came last that somebody waits for, on the clock of `performance.now()`. */
  private askedAt = -Infinity
  private waitingCount = 0
  private closed = false
  /** Set by whoever wants to count; at most one. */
  observer: EngineObserver | undefined
  /** Called when a batch has committed events; set by whoever numbers them, at most one. */
  onEvents: (() => void) | undefined
  /** Set by whoever traces requests; at most one. */
  tracer: BatchTracer | undefined

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    private readonly ids: IdSource,
    options: EngineOptions,
  ) {
    const { callerQueueLimit: limit } = options
    this.rooms = new FairSemaphore({ weightOfOne: limit, waitingWeightOfOne: limit * MAX_WAITING_FOR_ROOM })
    this.locks = new LockedOwners({ field: channel.people[0].field, channel: channel.name }, clock)
    const share = Math.ceil(options.queueLimit / options.lanes)
    this.lanes = Array.from({ length: options.lanes }, () => {
      const lane: Lane = new Lane(async (batch) => this.run(batch, lane), share)
      return lane
    })
    const lockedOut: Lane = new Lane(async (batch) => this.run(batch, lockedOut), share, LOCKED_OUT_PAUSE_MS)
    this.lockedOut = lockedOut
    const background: Lane = new Lane(async (batch) => this.run(batch, background), share, 0, BACKGROUND_BATCH_SIZE)
    this.background = background
  }

  /** Requests that wait or are at the database. */
  get depth(): number {
    return this.waitingCount
  }

  /** Requests by caller that have room, those of a batch until the whole batch is answered. */
  get depthByCaller(): ReadonlyMap<string, number> {
    return new Map([...this.rooms.shares()].map(([caller, { weight }]) => [caller, weight]))
  }

  /**
   * Takes room for requests of a caller before anything is done for them, and waits where there is none yet. `leave`
   * gives it back.
   * @returns undefined where there is room at once
   * @throws Unavailable at once or by the promise
   */
  enter(caller: string, count: number): Promise<void> | undefined {
    if (this.closed) throw new Unavailable('draining')
    return this.rooms.tryAcquire(caller, count) ? undefined : this.waitForRoom(caller, count)
  }

  /** Gives back the room that `enter` took, once the requests are answered. */
  leave(caller: string, count: number): void {
    this.rooms.release(caller, count)
  }

  /**
   * Has a request decided and, where it takes effect, committed. There must be room for it (`enter`).
   * @throws ServiceError the refusal; `unavailable` where the database is away, the queue full or the engine closed
   */
  async submit(request: Request): Promise<Outcome> {
    this.askedAt = performance.now()
    return this.enqueue(request, () => this.laneOf(request.ownerId))
  }

  /**
   * The same for a request that nobody waits for: in a lane of its own, which takes few at a time. It needs no room:
   * who submits it bounds how many there are, and rests while the engine is in use (`inUse`).
   */
  async submitInBackground(request: Request): Promise<Outcome> {
    return this.enqueue(request, () => this.background)
  }

  /** Has somebody asked for something lately who waits for it? */
  get inUse(): boolean {
    return performance.now() - this.askedAt < IN_USE_MS
  }

  private async waitForRoom(caller: string, count: number): Promise<void> {
    const { granted } = this.rooms.wait(caller, count, ROOM_PATIENCE_MS)
    if (!(await granted)) throw new Unavailable('principal_queue')
  }

  private async enqueue(request: Request, laneOf: () => Lane): Promise<Outcome> {
    const { callerId: caller, ownerId } = request
    if (this.closed) throw new Unavailable('draining')
    const lockedOut = this.lockedOwners.get(ownerId)
    const lane = lockedOut === undefined ? laneOf() : this.lockedOut
    if (lane.isFullFor(caller)) throw new Unavailable('queue_full')
    if (lockedOut !== undefined && lockedOut >= MAX_LOCKED_OUT_OF_ONE) throw this.ownerLocked(ownerId)
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
      if (lane === this.lockedOut) this.putAside(waiting)
      // What is in the background does not lead its owner's other requests there.
      else if (lane === this.background) lane.push(waiting)
      else this.join(lane, waiting)
    })
  }

  /** Transactions at the database at this moment. */
  get busyLanes(): number {
    return [...this.lanes, this.background, this.lockedOut].filter(({ busy }) => busy).length
  }

  /**
   * The lane for an owner's next request: that of its others, so that they keep their order; else the first that is not
   * congested. As long as one lane keeps up there is one, since the larger its batches the less each request costs;
   * others help where the queue is deep, the disk slow or somebody's lock in the way.
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

  /** Takes nothing new, and resolves when everything taken is answered. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.lanes.map(async (lane) => lane.idle()))
    await this.background.idle()
    await this.lockedOut.idle()
  }

  private async run(batch: readonly Waiting[], lane: Lane): Promise<void> {
    const start = performance.now()
    const answer = async (): Promise<StoreUnavailable | undefined> => this.answerBatch(batch, lane === this.lockedOut)
    const unreachable = await (this.tracer === undefined ? answer() : this.tracer.run(batch, answer))
    // Who waited behind a batch that found no database would only wait as long again.
    if (unreachable !== undefined) for (const waiting of lane.clear()) this.refuse(waiting, unreachable)
    const waited = start - (batch[0]?.since ?? start)
    this.observer?.batch(batch.length, waited / 1000, (performance.now() - start) / 1000)
  }

  /**
   * Answers every request of a batch, or puts it aside where somebody else keeps its owner locked. A batch that is
   * itself at fault is halved until the one request that breaks it stands alone.
   * @param lockedOut take those locks alone that are free
   * @returns what every request was refused with, where the database was away
   */
  private async answerBatch(batch: readonly Waiting[], lockedOut: boolean): Promise<StoreUnavailable | undefined> {
    let decisions: Decision[]
    try {
      decisions = await this.decide(
        batch.map(({ request }) => request),
        lockedOut,
      )
    } catch (error) {
      if (error instanceof RowsLocked) return this.separate(batch, lockedOut)
      if (error instanceof ServiceError || batch.length === 1) {
        for (const waiting of batch) this.refuse(waiting, error)
        return error instanceof StoreUnavailable && error.fault === 'away' ? error : undefined
      }
      const half = Math.ceil(batch.length / 2)
      const first = await this.answerBatch(batch.slice(0, half), lockedOut)
      const second = await this.answerBatch(batch.slice(half), lockedOut)
      return first ?? second
    }
    batch.forEach((waiting, place) => {
      const decision = decisions[place]
      if (decision === 'locked out') {
        this.putAside(waiting)
        return
      }
      this.locks.had(waiting.request.ownerId)
      if (decision !== undefined && 'outcome' in decision) {
        this.observer?.answered(waiting.request.command.kind, decision.outcome.replayed ? 'replayed' : 'done')
        this.answered(waiting)
        waiting.resolve(decision.outcome)
      } else this.refuse(waiting, decision?.refusal)
    })
    return undefined
  }

  /**
   * Some row of a batch stays locked, and nothing tells whose it is: each owner's requests are tried by themselves, off
   * the others' lane.
   */
  private async separate(batch: readonly Waiting[], lockedOut: boolean): Promise<StoreUnavailable | undefined> {
    const byOwner = groupBy(batch, ({ request }) => request.ownerId)
    if (!lockedOut || byOwner.size === 1) {
      for (const waiting of batch) this.putAside(waiting)
      return undefined
    }
    let unreachable: StoreUnavailable | undefined
    for (const part of byOwner.values()) unreachable = (await this.answerBatch(part, lockedOut)) ?? unreachable
    return unreachable
  }

  /**
   * Tries a request again later, in the lane of those whose owner is locked, unless that has gone on for long enough.
   */
  private putAside(waiting: Waiting): void {
    const now = performance.now()
    const { ownerId } = waiting.request
    if (waiting.lockedOutUntil === undefined) {
      this.leaveLane(waiting)
      waiting.lockedOutUntil = now + LOCKED_OUT_PATIENCE_MS
      this.locks.found(ownerId)
      this.lockedOwners.set(ownerId, (this.lockedOwners.get(ownerId) ?? 0) + 1)
    }
    const others = (this.lockedOwners.get(ownerId) ?? 0) - 1
    if (now < waiting.lockedOutUntil && others < MAX_LOCKED_OUT_OF_ONE) this.lockedOut.push(waiting)
    else this.refuse(waiting, this.ownerLocked(ownerId))
  }

  private ownerLocked(ownerId: number): Unavailable {
    this.locks.refused(ownerId)
    return new Unavailable('owner_locked')
  }

  private refuse(waiting: Waiting, error: unknown): void {
    const { kind } = waiting.request.command
    if (error instanceof ServiceError) this.observer?.answered(kind, error.code, error.reason)
    else this.observer?.answered(kind, 'internal_error')
    this.answered(waiting)
    waiting.reject(error)
  }

  /** Counts a request as no longer waiting. */
  private answered(waiting: Waiting): void {
    const { ownerId } = waiting.request
    this.waitingCount -= 1
    this.leaveLane(waiting)
    if (waiting.lockedOutUntil !== undefined) countDown(this.lockedOwners, ownerId)
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

  /** Has a batch decided and committed, once its owners have lock rows. */
  private async decide(requests: readonly Request[], lockedOut: boolean): Promise<Decision[]> {
    const creating = requests.filter(({ command }) => command.kind === 'create').map(({ ownerId }) => ownerId)
    await this.ensureOwners(creating.filter((ownerId) => !this.knownOwners.has(ownerId)))
    for (let mends = 0; ; mends += 1) {
      let lockTimeouts = 0
      const written = { events: false }
      try {
        const decisions = await this.work.write(async (transaction) => {
          written.events = false
          if (transaction.afterLockTimeout) lockTimeouts += 1
          if (lockTimeouts === MAX_LOCK_TIMEOUTS) throw new RowsLocked()
          return this.transact(transaction, requests, lockedOut || transaction.afterLockTimeout, written)
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
   * Makes the owners' lock rows where there are none; in a transaction of its own, so that it holds no lock out of
   * order.
   */
  private async ensureOwners(ownerIds: readonly number[]): Promise<void> {
    if (ownerIds.length === 0) return
    const unique = [...new Set(ownerIds)]
    await this.work.write((transaction) => this.store.ensureOwners(transaction, unique))
    if (this.knownOwners.size > MAX_KNOWN_OWNERS) this.knownOwners.clear()
    for (const ownerId of unique) this.knownOwners.add(ownerId)
  }

  /**
   * One try at one batch. Everything it knows is read under the locks; a rerun starts from nothing.
   * @param skipLocked leave alone the owners that somebody else keeps locked
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
    // The present is what it is once the locks are had.
    const workingSet = new WorkingSet<Q>(this.clock.now())
    await this.load(transaction, workingSet, judged, found)

    this.renewIds(judged, workingSet, found.closedTo)
    const judge = new Judge(this.channel, workingSet)
    const slice = new TimeSlice()
    const decisions: Decision[] = []
    // Quotas that are to be made, and whose answers need their ids. They are made together, as long as what follows
    // does not depend on them.
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
    // On a cluster another node may change what was only read here, and no lock is in its way: whatever writes must
    // collide.
    const touched = transaction.clustered && workingSet.changed ? lockedIds : [...new Set(edited)]
    if (touched.length > 0) await this.store.touchOwners(transaction, touched)
    return decisions
  }

  /**
   * Gives those requests other ids whose acts may be written no more under theirs: acts up to these are closed, and may
   * be in the totals. Nothing of such a request is there, nor can be on its way, since its owner's lock is had.
   */
  private renewIds(requests: readonly Request[], workingSet: WorkingSet<Q>, closedTo: string): void {
    for (const request of requests) {
      if (request.id > closedTo || workingSet.hasActOf(request)) continue
      this.ids.keepAfter(instantOfId(closedTo))
      request.id = this.ids.next()
    }
  }

  /**
   * Sorts out the owners whose lock was not had: somebody else keeps it, or there is no row to lock. The latter is
   * right for whoever has no quota and gets none. For others a row is missing that was there or thought to be there, as
   * after a backup was put back: nothing may be decided without the lock.
   * @returns the owners that somebody else keeps locked
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
    const elsewhere = new Set(skipLocked ? await this.store.standingOwners(transaction, missing) : [])
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
    // A quota that is neither locked nor named is somebody's whose lock was not had.
    for (const quota of quotas) if (locked.has(quota.ownerId) || named.has(quota.id)) workingSet.addQuota(quota)
    for (const act of acts) workingSet.addAct(act)
    for (const entry of operations) {
      workingSet.addOperation(entry)
      for (const { quotaId } of entry.allocations) paid.add(quotaId)
      for (const { quotaId } of entry.caps ?? NO_CAPS) paid.add(quotaId)
    }
    // Before the holds: a due one may lie on a quota that is deleted or over, and that an edit is about to bring back.
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

/** A quota that is to be made. */
interface Creating<Q> {
  /** The request's, among those of the batch. */
  readonly place: number
  readonly request: Request
  readonly verdict: Extract<Verdict<Q>, { insert: unknown }>
}

/** Does it matter to a request that these have been made: for their owners' sake, or a key's? */
function dependsOn<Q>(request: Request, creating: readonly Creating<Q>[]): boolean {
  if (request.command.kind !== 'create') return true
  return creating.some(
    ({ request: { ownerId, deduplicationKey } }) =>
      ownerId === request.ownerId || (deduplicationKey !== null && deduplicationKey === request.deduplicationKey),
  )
}

/** What requests name, without doubles. */
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
    // An edit without a key may have been committed by an earlier try whose answer was lost: it is known by its own id.
    else if (command.kind !== 'sweep') actIds.push(request.id)
  }
  return { deduplicationKeys: [...deduplicationKeys], actIds, operationIds: [...operationIds], quotaIds: [...quotaIds] }
}

function countDown<K>(counts: Map<K, number>, key: K): void {
  const left = (counts.get(key) ?? 0) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}
