import type { Transaction, UnitOfWork, UnitOfWorkObserver } from '../database/unit-of-work.js'
import type { Clock } from '../clock/clock.js'
import { ServiceError } from '../error/service-error.js'
import { isActive, remaining } from '../quota/quota.js'
import { Book } from './book.js'
import type { Channel } from './channel.js'
import { amountOf, type Outcome, type Request } from './command.js'
import { Judge } from './judge.js'
import type { QuotaRow } from './quota.entity.js'
import type { LedgerStore } from './store.js'

/** What happened in the engine, for metrics. Every time is in seconds. */
export interface EngineObserver extends UnitOfWorkObserver {
  /** A batch was settled: its size, how long its first request had waited, how long it took. */
  batch(size: number, waitedSeconds: number, tookSeconds: number): void
  /** A request was answered: how, or with which error code. */
  answered(kind: string, result: 'done' | 'replayed' | ServiceError['code']): void
}

/** How the engine is set up. */
export interface EngineOptions {
  /** Batches at the database at the same time; one on SQLite. */
  readonly lanes: number
  /** Requests that may wait, over all lanes; one more is answered `unavailable`. */
  readonly queueLimit: number
}

/** Requests that one transaction takes. */
const LARGEST_BATCH = 500

/** Owners whose lock row is known to exist; forgetting them costs one upsert. */
const MOST_KNOWN_OWNERS = 100_000

type Decision = { outcome: Outcome } | { refusal: ServiceError }

interface Waiting {
  readonly request: Request
  readonly since: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit: while one transaction is at the database, requests gather; the next transaction takes them together. No timer: an idle engine takes
 * the first request at once. One owner's requests all go through the same lane, so they keep their order.
 *
 * Locks are taken in one order everywhere: owners by id, then the act's unique index, then rows by id.
 */
export class Engine<Q extends QuotaRow> {
  private readonly lanes: Waiting[][]
  private readonly running: (Promise<void> | undefined)[]
  private readonly knownOwners = new Set<number>()
  private waitingCount = 0
  private closed = false
  /** Set by whoever wants to count; at most one. */
  observer: EngineObserver | undefined

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    private readonly options: EngineOptions,
  ) {
    this.lanes = Array.from({ length: options.lanes }, () => [])
    this.running = this.lanes.map(() => undefined)
  }

  /** Requests that wait or are at the database. */
  get depth(): number {
    return this.waitingCount
  }

  /**
   * Has a request decided and, where it takes effect, committed.
   * @throws ServiceError the refusal; `unavailable` where the database is away, the queue full or the engine closed
   */
  async submit(request: Request): Promise<Outcome> {
    if (this.closed) throw new ServiceError('unavailable', 'The service is shutting down.')
    if (this.waitingCount >= this.options.queueLimit) {
      throw new ServiceError(
        'unavailable',
        'Too many requests are waiting. A retry with the same Idempotency-Key is safe.',
      )
    }
    return new Promise((resolve, reject) => {
      const index = request.ownerId % this.lanes.length
      this.lanes[index]?.push({ request, since: performance.now(), resolve, reject })
      this.waitingCount += 1
      this.running[index] ??= this.run(index)
    })
  }

  /** Takes nothing new, and resolves when everything taken is answered. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.running.filter((run) => run !== undefined))
  }

  private async run(index: number): Promise<void> {
    const queue = this.lanes[index] ?? []
    // One turn of the event loop, so that what came in together goes together.
    await new Promise(setImmediate)
    while (queue.length > 0) {
      const batch = queue.splice(0, LARGEST_BATCH)
      const start = performance.now()
      const away = await this.settle(batch)
      this.waitingCount -= batch.length
      // Who waited behind a batch that found no database would only wait as long again.
      if (away !== undefined) this.refuseAll(queue.splice(0), away)
      const waited = start - (batch[0]?.since ?? start)
      this.observer?.batch(batch.length, waited / 1000, (performance.now() - start) / 1000)
    }
    this.running[index] = undefined
  }

  /**
   * Answers every request of a batch. A batch that is itself at fault is halved until the one request that breaks it stands alone.
   * @returns what every request was refused with, where the database was away
   */
  private async settle(batch: readonly Waiting[]): Promise<ServiceError | undefined> {
    const requests = batch.map(({ request }) => request)
    let decisions: Decision[]
    try {
      await this.ensureOwners(requests)
      decisions = await this.work.write(async (transaction) => this.transact(transaction, requests), this.observer)
    } catch (error) {
      if (error instanceof ServiceError || batch.length === 1) {
        for (const waiting of batch) this.refuse(waiting, error)
        return error instanceof ServiceError ? error : undefined
      }
      const half = Math.ceil(batch.length / 2)
      const first = await this.settle(batch.slice(0, half))
      const second = await this.settle(batch.slice(half))
      return first ?? second
    }
    batch.forEach((waiting, place) => {
      const decision = decisions[place]
      if (decision !== undefined && 'outcome' in decision) {
        this.observer?.answered(waiting.request.command.kind, decision.outcome.replayed ? 'replayed' : 'done')
        waiting.resolve(decision.outcome)
      } else this.refuse(waiting, decision?.refusal)
    })
    return undefined
  }

  private refuseAll(waiting: readonly Waiting[], error: ServiceError): void {
    this.waitingCount -= waiting.length
    for (const one of waiting) this.refuse(one, error)
  }

  private refuse({ request, reject }: Waiting, error: unknown): void {
    this.observer?.answered(request.command.kind, error instanceof ServiceError ? error.code : 'internal_error')
    reject(error)
  }

  /** Lock rows of owners that are about to get a quota; in a transaction of its own, so that it holds no lock out of order. */
  private async ensureOwners(requests: readonly Request[]): Promise<void> {
    const unknown = new Set<number>()
    for (const { command, ownerId } of requests) {
      if (command.kind === 'create' && !this.knownOwners.has(ownerId)) unknown.add(ownerId)
    }
    if (unknown.size === 0) return
    await this.work.write((transaction) => this.store.ensureOwners(transaction, [...unknown]))
    if (this.knownOwners.size > MOST_KNOWN_OWNERS) this.knownOwners.clear()
    for (const ownerId of unknown) this.knownOwners.add(ownerId)
  }

  /** One try at one batch. Everything it knows is read under the locks; a rerun starts from nothing. */
  private async transact(transaction: Transaction, requests: readonly Request[]): Promise<Decision[]> {
    const ownerIds = [...new Set(requests.map(({ ownerId }) => ownerId))]
    const lockedIds = await this.store.lockOwners(transaction, ownerIds)
    const book = new Book<Q>(this.clock.now())
    await this.load(transaction, book, requests, lockedIds)

    const judge = new Judge(this.channel, book)
    const decisions: Decision[] = []
    for (const request of requests) {
      try {
        const verdict = judge.decide(request)
        decisions.push({
          outcome:
            'outcome' in verdict
              ? verdict.outcome
              : verdict.admit(await this.store.insertQuota(transaction, verdict.insert)),
        })
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        decisions.push({ refusal: error })
      }
    }

    await this.store.write(transaction, book)
    const edited = book.changes
      .map(({ quotaId }) => book.quota(quotaId)?.ownerId)
      .filter((ownerId) => ownerId !== undefined)
    // On a cluster another node may change what was only read here, and no lock is in its way: whatever writes must collide.
    const touched = transaction.clustered && book.changed ? lockedIds : [...new Set(edited)]
    if (touched.length > 0) await this.store.touchOwners(transaction, touched)
    return decisions
  }

  private async load(
    transaction: Transaction,
    book: Book<Q>,
    requests: readonly Request[],
    ownerIds: readonly number[],
  ): Promise<void> {
    const quotaIds = new Set<number>()
    const operationIds = new Set<string>()
    const once = new Set<string>()
    for (const request of requests) {
      if ('quotaId' in request.command) quotaIds.add(request.command.quotaId)
      if ('operationId' in request.command) operationIds.add(request.command.operationId)
      if (request.once !== null) once.add(request.once)
    }
    for (const quota of await this.store.liveQuotas(transaction, ownerIds, book.now)) {
      book.addQuota(quota)
      quotaIds.delete(quota.id)
    }
    if (once.size > 0) for (const act of await this.store.actsByOnce(transaction, [...once])) book.addAct(act)
    // An edit without a key may have been committed by an earlier try whose answer was lost: it is known by its own id.
    const keyless = requests.filter((request) => request.once === null && request.command.kind !== 'sweep')
    for (const act of await this.store.actsById(
      transaction,
      keyless.map(({ id }) => id),
    )) {
      book.addAct(act)
    }
    for (const entry of await this.store.operationsById(transaction, [...operationIds])) {
      book.addOperation(entry)
      for (const { quotaId } of entry.allocations) quotaIds.add(quotaId)
    }

    // Before the holds: a due one may lie on a quota that is deleted or over, and that an edit is about to bring back.
    await this.loadMissing(transaction, book, quotaIds)
    const sweeping = ownersWhoseHoldsMatter(book, requests, ownerIds)
    const heldIds = new Set<number>()
    for (const { ownerId, hold } of await this.store.openHolds(transaction, sweeping)) {
      book.owner(ownerId).holds.set(hold.operationId, hold)
      for (const { quotaId } of hold.allocations) heldIds.add(quotaId)
    }
    await this.loadMissing(transaction, book, heldIds)
    for (const ownerId of sweeping) book.sweep(ownerId)
  }

  private async loadMissing(transaction: Transaction, book: Book<Q>, quotaIds: ReadonlySet<number>): Promise<void> {
    const missing = [...quotaIds].filter((id) => book.quota(id) === undefined)
    for (const quota of await this.store.quotasById(transaction, missing)) book.addQuota(quota)
  }
}

/**
 * Owners whose open holds must be known: where one may be due, where a refusal would have to say when holds return, and where a sweep is asked for.
 * Everybody else's are left alone, so that a busy owner with a thousand of them does not read them for each batch.
 */
function ownersWhoseHoldsMatter<Q extends QuotaRow>(
  book: Book<Q>,
  requests: readonly Request[],
  ownerIds: readonly number[],
): number[] {
  const wanted = new Map<number, number>()
  const edited = new Set<number>()
  const swept = new Set<number>()
  for (const { command, ownerId } of requests) {
    wanted.set(ownerId, (wanted.get(ownerId) ?? 0) + (amountOf(command) ?? 0))
    if ('quotaId' in command) edited.add(ownerId)
    if (command.kind === 'sweep') swept.add(ownerId)
  }
  return ownerIds.filter((ownerId) => {
    if (swept.has(ownerId)) return true
    let left = 0
    let reserved = false
    for (const quota of book.owner(ownerId).quotas) {
      if (quota.holdDueAt !== null && quota.holdDueAt <= book.now) return true
      if (quota.reserved > 0) reserved = true
      if (isActive(quota, book.now)) left += remaining(quota)
    }
    return reserved && (edited.has(ownerId) || (wanted.get(ownerId) ?? 0) > left)
  })
}
