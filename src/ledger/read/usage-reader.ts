import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import type { Instant } from '../../common/instant.js'
import { TimeSlice } from '../../common/time-slice.js'
import { bytesToStore, idFromStore } from '../../database/bytes.js'
import type { Condition, RowCodec, Scalar } from '../../database/row-codec.js'
import { sharedMap, type SharedReads } from '../../database/shared-reads.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { isFollowed } from '../../domain/follow.js'
import { firstIdAt } from '../rows/act-id.js'
import type { Act } from '../rows/act.entity.js'
import type { Channel } from '../rows/channel.js'
import { namingCap } from '../rows/counted-caps.js'
import type { OperationKind, OperationRow, OperationState } from '../rows/operation.entity.js'
import { isEmpty, type Period } from '../rows/period.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { actView, type ActView, operationView, type OperationView } from '../store/answers.js'
import { type Caller, deduplicationKeyFor } from '../store/command.js'
import { operationNotFound } from '../store/errors.js'
import { counted, countOf } from './quota-statements.js'
import { EXACT_UP_TO, type RecentCounts } from './recent-counts.js'
import { straightJoin, LedgerStore } from '../store/ledger-store.js'
import type { OperationEntry } from '../store/working-set.js'

/** Selects the ledger of an owner, of a quota, or of the channel. */
export type LedgerOf = { readonly ownerId: number } | { readonly quotaId: number } | OfChannel

/** The operations of a channel; they have no filter. */
interface OfChannel {
  readonly all: true
}

/** The conditions on operations; absent members are no condition. The period is that of `created_at`. */
export interface LedgerFilter extends Period {
  readonly state?: OperationState | undefined
  readonly kind?: OperationKind | undefined
}

/** A page of the ledger, in the form of answers. */
export interface LedgerPage {
  items: OperationView[]
  /** The start of the next page, or null at the end. */
  next_before: string | null
  /** The time from which it is complete; absent if nothing was ever removed. */
  begins_at?: string
}

/** The reading caller. */
export type Reader = Pick<Caller, 'id' | 'name' | 'ownOnly'>

/**
 * The maximum number of operations that a page of one caller's operations skips, and of acts that one of a channel's
 * skips: there is no index by caller or by kind, since every consume would have to maintain it.
 */
const MOST_WALKED = 2_000

/** The maximum number of operations of one key in a search under every caller. */
const MOST_OF_A_KEY = 20

/** A cap whose operations are read. */
interface OfCap {
  readonly quotaId: number
  readonly ownerId: number
  /** It counted no operation with a smaller id. */
  readonly firstId: string
  /** Nor one with a larger id, if it is deleted, over or disabled. */
  readonly lastId: string | undefined
}

/** A quota of a group of which each member has a count: its operations are those of the counts. */
interface OfFollowed {
  readonly follows: number
  readonly isCap: boolean
}

/** A cap of a group: what it counted has a row. */
interface OfGroupsCap {
  readonly quotaId: number
  readonly ofGroup: true
}

/** One of these counts: its id and its owner in SQL, a column or a number. */
interface OfCount {
  readonly countId: string
  readonly countOwner: string
  readonly isCap: boolean
}

/** Whose operations are read by one statement. */
type SingleSource = LedgerOf | OfCap | OfCount | OfGroupsCap

/** Whose operations are read. */
type Source = LedgerOf | OfCap | OfFollowed | OfGroupsCap

/** The number of counts that one statement examines. */
const COUNTS_AT_ONCE = 1_000

/** The maximum time between an operation's id and its act: requests wait, and a clock may be set back. */
const WAITING_MS = 86_400_000

const ALWAYS: Condition = { sql: '1 = 1', values: [] }

/** One branch of the union that selects a page's ids, newest first. */
interface Arm {
  readonly from: string
  readonly id: string
  readonly conditions: readonly Condition[]
  /** The alias of the act that made the operation, if the source reads it. */
  readonly act?: string
}

/**
 * Reads operations without the engine; a due hold is shown as expired, whether or not that is recorded.
 */
export class UsageReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly one: SharedReads<string, OperationEntry | undefined>
  private readonly maker: SharedReads<string, string | undefined>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    const ones = transactions.readsOf(`(${channel.name} operations)`)
    this.one = sharedMap(async (ids) => {
      const entries = await ones.read((transaction) => this.entries(transaction, ids))
      return new Map(entries.map((entry) => [entry.row.id, entry]))
    })
    this.maker = sharedMap((ids) => ones.read((transaction) => this.store.makersOf(transaction, ids)))
  }

  /** One operation. @throws ServiceError operation_not_found */
  async get({ id: principalId, ownOnly }: Reader, id: string): Promise<OperationView> {
    const entry = await this.one.get(id)
    if (entry === undefined || (ownOnly && (await this.maker.get(id)) !== principalId)) throw operationNotFound(id)
    return this.view(entry)
  }

  /**
   * Operations of an owner, of a quota or of the channel, newest first, also of a deleted quota. A caller that may see
   * only its own operations gets those; the page then ends after it has examined MOST_WALKED operations, full or not,
   * and one of the channel after so many acts.
   * @param before only operations older than this id
   * @param size 1 … 100
   */
  async ledger(
    reader: Reader,
    whose: LedgerOf,
    before: string | undefined,
    size: number,
    filter: LedgerFilter = {},
  ): Promise<LedgerPage> {
    if (isEmpty(filter)) return { items: [], next_before: null }
    return this.transactions.readsOf(reader.id).read(async (transaction) => {
      const of = 'quotaId' in whose ? await this.quotaOrCap(transaction, whose.quotaId) : whose
      // Open holds are few, however long the ledger is.
      const far = 'all' in of || (reader.ownOnly && filter.state !== 'reserved')
      const end = far ? await this.endOfWalk(transaction, of, before) : undefined
      // Otherwise a page that is not full reads the ledger to its beginning: no index has the time.
      const oldest = filter.from === undefined ? undefined : firstIdAt(filter.from - WAITING_MS)
      const last = end === undefined || (oldest !== undefined && oldest > end) ? oldest : end
      const armsOf = (source: SingleSource): Arm[] =>
        this.arms(source, filter)
          .map((arm) => (reader.ownOnly ? this.madeBy(reader, arm) : arm))
          .map((arm) => within(arm, before, last))
      // One more than requested shows whether there is a next page.
      const found =
        'follows' in of
          ? await this.newestOfCounts(transaction, of, armsOf, size + 1)
          : await newestIn(transaction, armsOf(of), `LIMIT ${size + 1}`, size + 1)
      const page = found.slice(0, size)
      // Some may have been settled since their ids were read.
      const shown = await this.shown(transaction, page)
      const items = filter.state === undefined ? shown : shown.filter(({ state }) => state === filter.state)
      const next = found.length > size ? page.at(-1) : await this.nextMark(transaction, of, end)
      return { items, next_before: next ?? null }
    })
  }

  /**
   * The id, inclusive, at which a page ends that begins at `before`. It is the smallest of a millisecond, so that it
   * does not disclose the id of another caller's operation. Undefined if there are fewer operations.
   */
  private async endOfWalk(
    transaction: Transaction,
    of: Source,
    before: string | undefined,
  ): Promise<string | undefined> {
    const arms = this.walked(of).map((arm) => within(arm, before, undefined))
    const [last] = await newestIn(transaction, arms, `LIMIT 1 OFFSET ${MOST_WALKED - 1}`, MOST_WALKED)
    return last === undefined ? undefined : firstOfItsMillisecond(last)
  }

  /** Returns `end` if there are older operations. */
  private async nextMark(transaction: Transaction, of: Source, end: string | undefined): Promise<string | undefined> {
    if (end === undefined) return undefined
    const arms = this.walked(of).map((arm) => within(arm, end, undefined))
    return (await newestIn(transaction, arms, 'LIMIT 1', 1)).length > 0 ? end : undefined
  }

  /**
   * The operations of a key: made or refunded with it; at most one for each caller. None if the key belongs to an act
   * on a quota, or is unknown.
   * @param callers the possible owners of the key
   */
  async byKey(reader: Reader, callers: readonly string[], key: string): Promise<LedgerPage> {
    return this.transactions.readsOf(reader.id).read(async (transaction) => {
      const keys = callers.map((caller) => deduplicationKeyFor(caller, key))
      const acts = await this.store.actsByDeduplicationKey(transaction, keys)
      const found = acts.map(({ operationId }) => operationId).filter((id) => id !== null)
      const makers = reader.ownOnly ? await this.store.makersOf(transaction, found) : undefined
      const ids = found.filter((id) => makers === undefined || makers.get(id) === reader.id)
      const newest = [...new Set(ids)].sort((a, b) => (a < b ? 1 : -1)).slice(0, MOST_OF_A_KEY)
      return { items: await this.shown(transaction, newest), next_before: null }
    })
  }

  /** A page of the ledger with the maker and key of each operation. */
  async withMakers({ id }: Reader, page: LedgerPage): Promise<LedgerPage> {
    const made = await this.transactions.readsOf(id).read((transaction) =>
      this.store.beginningsOf(
        transaction,
        page.items.map((item) => item.id),
      ),
    )
    const items = page.items.map((item) => {
      const by = made.get(item.id)
      return by === undefined ? item : { ...item, made_by: by }
    })
    return { ...page, items }
  }

  /** The acts on an operation, oldest first. @throws ServiceError operation_not_found */
  async acts({ id: principalId, ownOnly }: Reader, id: string): Promise<ActView[]> {
    const acts = await this.transactions.readsOf(principalId).read((transaction) => this.store.actsOf(transaction, id))
    const hidden = ownOnly && !acts.some((act) => act.id === id && (act.callerId ?? act.caller) === principalId)
    if (acts.length === 0 || hidden) throw operationNotFound(id)
    // In their logical order, even if the clocks of two instances disagree.
    const rank = ({ kind }: Act): number => (kind === 'refund' ? 2 : kind === 'commit' || kind === 'release' ? 1 : 0)
    acts.sort((a, b) => rank(a) - rank(b) || a.at - b.at || (a.id < b.id ? -1 : 1))
    return acts.map(actView)
  }

  /** The number of open reservations of all owners, for a metric. */
  async openHolds(counts: RecentCounts): Promise<number> {
    const { hold } = this.store
    const count = async (limit?: number): Promise<number> => {
      const open = {
        sql: `WHERE ${hold.column('expiresAt')} > ? AND ${hold.column('ownerId')} > 0`,
        values: [hold.bind('expiresAt', this.clock.now())],
      }
      return counted(this.transactions, countOf(hold.table, [open], limit))
    }
    return (await counts.total('open holds', await count(EXACT_UP_TO + 1), count)).total
  }

  private arms(of: SingleSource, filter: LedgerFilter): Arm[] {
    if ('all' in of) return this.ofChannel()
    return [this.inRows(of, filter), ...this.plain(of, filter)]
  }

  /** What a page counts that may end before it is full: the operations, or of a channel, or of counts, all acts. */
  private walked(of: Source): Arm[] {
    return 'all' in of || 'follows' in of ? [this.everyAct(ALWAYS)] : this.arms(of, {})
  }

  /**
   * The newest operations of the counts that follow a quota. They are among those of the counts with the newest ones:
   * however many operations there are, it reads one of each count, and a page of each of these.
   */
  private async newestOfCounts(
    transaction: Transaction,
    { follows, isCap }: OfFollowed,
    armsOf: (count: OfCount) => Arm[],
    most: number,
  ): Promise<string[]> {
    const { quota } = this.store
    const [id, ownerId] = [`q.${quota.column('id')}`, `q.${quota.column('ownerId')}`]
    const arms = armsOf({ countId: id, countOwner: ownerId, isCap })
    const newest = arms.map((arm, n) => `(${selectFrom(arm)} LIMIT 1) AS newest_${n}`).join(', ')
    let counts: { of: OfCount; newest: string }[] = []
    const slice = new TimeSlice()
    for (let after: number | undefined = 0; after !== undefined;) {
      const rows = await transaction.rows(
        `SELECT ${id} AS id, ${ownerId} AS owner_id, ${newest} FROM ${quota.readBy(transaction.dialect, ['follows', 'id'], 'q')} ` +
          `WHERE q.${quota.column('follows')} = ? AND ${id} > ? ORDER BY ${id} LIMIT ${COUNTS_AT_ONCE}`,
        [...arms.flatMap(valuesOf), follows, after],
      )
      const found = rows.map((row) => ({
        of: { countId: String(Number(row['id'])), countOwner: String(Number(row['owner_id'])), isCap },
        newest: arms.reduce((last, _, n) => maxOf(last, row[`newest_${n}`]), ''),
      }))
      const used = [...counts, ...found].filter((count) => count.newest !== '')
      counts = used.sort((a, b) => (a.newest < b.newest ? 1 : -1)).slice(0, most)
      after = rows.length < COUNTS_AT_ONCE ? undefined : Number(rows.at(-1)?.['id'])
      // On SQLite, no statement waits for anything.
      if (slice.spent) await slice.next()
    }
    if (counts.length === 0) return []
    return newestIn(
      transaction,
      counts.flatMap((count) => armsOf(count.of)),
      `LIMIT ${most}`,
      most,
    )
  }

  /** The operations of the channel: those with rows of their own, and plain consumes. */
  private ofChannel(): Arm[] {
    const { operation, act } = this.store
    const from = operation.readByKey(this.transactions.dialect, 'o')
    const inRows = { from, id: `o.${operation.column('id')}`, conditions: [ALWAYS] }
    return [inRows, this.everyAct({ sql: `p.${act.column('plainOwnerId')} IS NOT NULL`, values: [] })]
  }

  private everyAct(condition: Condition): Arm {
    const { act } = this.store
    const from = act.readByKey(this.transactions.dialect, 'p')
    return { from, id: `p.${act.column('id')}`, act: 'p', conditions: [condition] }
  }

  /**
   * The sources of ids of operations with rows of their own, newest first by an index, and the condition that selects
   * the owner or the quota.
   */
  private inRows(of: Exclude<SingleSource, OfChannel>, filter: LedgerFilter): Arm {
    const { operation, allocation, hold } = this.store
    const conditions = this.conditions(filter)
    // An owner's open holds are few, however long its ledger is.
    const open =
      filter.state === 'reserved'
        ? `JOIN ${hold.table} h ON h.${hold.column('operationId')} = o.${operation.column('id')} AND h.${hold.column('ownerId')} = o.${operation.column('ownerId')}`
        : ''
    if ('ownerId' in of && !('quotaId' in of)) {
      const by = operation.readBy(this.transactions.dialect, ['ownerId', 'id'], 'o')
      const from = open === '' ? by : `${operation.table} o ${open}`
      const column = open === '' ? `o.${operation.column('ownerId')}` : `h.${hold.column('ownerId')}`
      return {
        from,
        id: `o.${operation.column('id')}`,
        conditions: [{ sql: `${column} = ?`, values: [of.ownerId] }, ...conditions],
      }
    }
    const [taken, id] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('operationId')}`]
    const from = allocation.readBy(this.transactions.dialect, ['quotaId', 'operationId'], 'a')
    const join = `JOIN ${operation.table} o ON o.${operation.column('id')} = ${id}`
    const condition =
      'quotaId' in of ? { sql: `${taken} = ?`, values: [of.quotaId] } : { sql: `${taken} = ${of.countId}`, values: [] }
    return {
      from: conditions.length === 0 ? from : `${from} ${join} ${open}`,
      id,
      conditions: [condition, ...conditions],
    }
  }

  /**
   * The sources of ids of plain consumes; none if the filter excludes them. The filter has the same meaning for a
   * consume that has its own rows by now.
   */
  private plain(of: Exclude<SingleSource, OfChannel>, { state, kind, from, to }: LedgerFilter): Arm[] {
    if ((state !== undefined && state !== 'consumed') || kind === 'reserve') return []
    const { act } = this.store
    if ('countId' in of) return [this.plainOfCount(of, { from, to })]
    const { dialect } = this.transactions
    const period = during(act, 'p', 'at', { from, to })
    if (!('ownerId' in of)) {
      const { from, id, ofQuota } = this.store.plainOf(dialect, 'ofGroup' in of)
      return [{ from, id, act: 'p', conditions: [{ sql: ofQuota, values: [of.quotaId] }, ...period] }]
    }
    const ofOwner = { sql: `p.${act.column('plainOwnerId')} = ?`, values: [of.ownerId] }
    return [
      {
        from: act.readBy(dialect, ['plainOwnerId', 'id'], 'p'),
        id: `p.${act.column('id')}`,
        act: 'p',
        conditions: [ofOwner, ...('firstId' in of ? this.countedBy(of) : []), ...period],
      },
    ]
  }

  /** Plain consumes that a count of a followed quota paid, or counted as a cap. */
  private plainOfCount({ countId, countOwner, isCap }: OfCount, period: Period): Arm {
    const { act } = this.store
    const { dialect } = this.transactions
    const property = isCap ? 'plainOwnerId' : 'plainQuotaId'
    const naming = dialect === 'mysql' ? `CONCAT('% ', ${countId}, ':%')` : `'% ' || ${countId} || ':%'`
    const isCounted = isCap ? ` AND p.${act.column('caps')} LIKE ${naming}` : ''
    const isOf = `p.${act.column(property)} = ${isCap ? countOwner : countId}${isCounted}`
    return {
      from: act.readBy(dialect, [property, 'id'], 'p'),
      id: `p.${act.column('id')}`,
      act: 'p',
      conditions: [{ sql: isOf, values: [] }, ...during(act, 'p', 'at', period)],
    }
  }

  /** Plain consumes of the cap's owner that the cap counted: nearly all of them while the cap was active. */
  private countedBy({ quotaId, firstId, lastId }: OfCap): Condition[] {
    const { act } = this.store
    const id = `p.${act.column('id')}`
    return [
      { sql: `${id} >= ? AND p.${act.column('caps')} LIKE ?`, values: [bytesToStore(firstId), namingCap(quotaId)] },
      ...(lastId === undefined ? [] : [{ sql: `${id} <= ?`, values: [bytesToStore(lastId)] }]),
    ]
  }

  private async quotaOrCap(transaction: Transaction, quotaId: number): Promise<Source> {
    const [quota] = await this.store.quotasById(transaction, [quotaId])
    if (quota !== undefined && isFollowed(quota)) return { follows: quotaId, isCap: quota.cap !== null }
    if (quota?.cap == null) return { quotaId }
    const { ownerId, createdAt, deletedAt, follows } = quota
    if (ownerId < 0) return { quotaId, ofGroup: true }
    // Edits of what a count follows leave no time in the count.
    const until = Math.min(deletedAt ?? Infinity, follows === null ? countedUntil(quota) : Infinity)
    const lastId = until < this.clock.now() ? firstIdAt(until + WAITING_MS) : undefined
    return { quotaId, ownerId, firstId: firstIdAt(createdAt - WAITING_MS), lastId }
  }

  /** The ids of a source that one caller made: a consume's or reserve's act has the operation's id. */
  private madeBy({ id: callerId, name }: Reader, { from, id, conditions, act }: Arm): Arm {
    const codec = this.store.act
    const made: ['caller' | 'callerId', string] = callerId === name ? ['caller', name] : ['callerId', callerId]
    const join = `${straightJoin(this.transactions.dialect)} ${codec.readByKey(this.transactions.dialect, 'm')} ON m.${codec.column('id')} = ${id}`
    return {
      from: act === undefined ? `${from} ${join}` : from,
      id,
      conditions: [...conditions, codec.equals(this.transactions.dialect, act ?? 'm', ...made)],
    }
  }

  /** Conditions on the operation `o`. A due hold is expired, whether or not that is recorded. */
  private conditions({ state, kind, from, to }: LedgerFilter): Condition[] {
    const { operation } = this.store
    const column = (property: keyof OperationRow): string => `o.${operation.column(property)}`
    const now = operation.bind('expiresAt', this.clock.now())
    const ofState: Condition[] =
      state === undefined
        ? []
        : state === 'reserved'
          ? [{ sql: `${column('state')} = ? AND ${column('expiresAt')} > ?`, values: [state, now] }]
          : state === 'expired'
            ? [
                {
                  sql: `(${column('state')} = ? OR (${column('state')} = 'reserved' AND ${column('expiresAt')} <= ?))`,
                  values: [state, now],
                },
              ]
            : [{ sql: `${column('state')} = ?`, values: [state] }]
    return [
      ...ofState,
      ...(kind === undefined ? [] : [{ sql: `${column('kind')} = ?`, values: [kind] }]),
      ...during(operation, 'o', 'createdAt', { from, to }),
    ]
  }

  /** Operations in the form of answers, newest first. */
  private async shown(transaction: Transaction, ids: readonly string[]): Promise<OperationView[]> {
    const entries = await this.entries(transaction, ids)
    return entries.sort((a, b) => (a.row.id < b.row.id ? 1 : -1)).map((entry) => this.view(entry))
  }

  /**
   * Operations by id. Their rows are read before their allocations: one that was removed in between has none, and is
   * omitted.
   */
  private async entries(transaction: Transaction, ids: readonly string[]): Promise<OperationEntry[]> {
    const found = await this.store.operationsById(transaction, ids)
    return found.filter(({ allocations }) => allocations.length > 0)
  }

  private view({ row, allocations, caps }: OperationEntry): OperationView {
    return operationView(this.channel, row, allocations, this.clock.now(), caps)
  }
}

/** The ids of a source that are older than `before`, and no older than `end`. */
function within(arm: Arm, before: string | undefined, end: string | undefined): Arm {
  return {
    ...arm,
    conditions: [
      ...arm.conditions,
      ...(before === undefined ? [] : [{ sql: `${arm.id} < ?`, values: [bytesToStore(before)] }]),
      ...(end === undefined ? [] : [{ sql: `${arm.id} >= ?`, values: [bytesToStore(end)] }]),
    ],
  }
}

/**
 * The newest ids of several sources.
 * @param window of all sources
 * @param most maximum from one source
 */
async function newestIn(
  transaction: Transaction,
  arms: readonly Arm[],
  window: string,
  most: number,
): Promise<string[]> {
  const newest = arms.map((arm, n) => `SELECT * FROM (${selectFrom(arm)} LIMIT ${most}) arm${n}`)
  // A union, since both sources contain a refunded consume.
  const rows = await transaction.rows(`${newest.join(' UNION ')} ORDER BY id DESC ${window}`, arms.flatMap(valuesOf))
  return rows.map((row) => idFromStore(row['id']))
}

function selectFrom({ from, id, conditions }: Arm): string {
  return `SELECT ${id} AS id FROM ${from} WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ORDER BY ${id} DESC`
}

function valuesOf({ conditions }: Arm): readonly Scalar[] {
  return conditions.flatMap(({ values }) => values)
}

/** The larger of an id and one that the store returned; null is none. */
function maxOf(id: string, stored: unknown): string {
  const other = stored === null ? '' : idFromStore(stored)
  return other > id ? other : id
}

/** The smallest UUIDv7 of an id's millisecond. */
function firstOfItsMillisecond(id: string): string {
  return `${id.slice(0, 13)}-7000-8000-000000000000`
}

/** Conditions on a time. */
function during<T extends object>(
  codec: RowCodec<T>,
  alias: string,
  property: keyof T & string,
  { from, to }: Period,
): Condition[] {
  const column = `${alias}.${codec.column(property)}`
  return [
    ...(from === undefined ? [] : [{ sql: `${column} >= ?`, values: [codec.bind(property, from)] }]),
    ...(to === undefined ? [] : [{ sql: `${column} < ?`, values: [codec.bind(property, to)] }]),
  ]
}

/** When an own cap has stopped counting. An edit may have moved its end into the past: until then it counted. */
function countedUntil({ expireAt, state, updatedAt }: QuotaRow): Instant {
  if (state === 'disabled') return updatedAt
  return expireAt === null ? Infinity : Math.max(expireAt, updatedAt)
}
