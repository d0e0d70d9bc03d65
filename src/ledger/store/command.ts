import { hash } from 'node:crypto'
import type { NewSettings, SettingsPatch } from '../../quota/settings.js'
import type { Instant } from '../../time/instant.js'
import type { ActKind } from '../rows/act.entity.js'

/** Who asks, and how the request is told apart from others. */
export interface Caller {
  /** The principal's name, for showing: 1 … 64 characters of ASCII. */
  readonly name: string
  /** Whom keys and operations belong to: of a static token its name. */
  readonly id: string
  readonly requestId: string
  /** Are operations that others made to it as if they did not exist? */
  readonly ownOnly: boolean
}

/** What one caller asks the ledger to write. Amounts are 1 … 10^12. */
export type Command =
  | {
      readonly kind: 'create'
      readonly settings: NewSettings
      readonly people: Readonly<Record<string, number | null>>
    }
  | {
      readonly kind: 'update'
      readonly quotaId: number
      readonly patch: SettingsPatch
      readonly version: number | undefined
      /** The cycle's anchor from before a change that is taken back; undefined where it stays or follows the patch. */
      readonly anchorAt?: Instant | undefined
    }
  | { readonly kind: 'delete'; readonly quotaId: number; readonly version: number | undefined }
  | { readonly kind: 'restore'; readonly quotaId: number; readonly version?: number | undefined }
  /** Begins a new count of the quota's units. */
  | { readonly kind: 'reset'; readonly quotaId: number; readonly version: number | undefined }
  | { readonly kind: 'consume'; readonly amount: number }
  | { readonly kind: 'reserve'; readonly amount: number; readonly ttlSeconds: number }
  | { readonly kind: 'commit'; readonly operationId: string; readonly amount: number | undefined }
  | { readonly kind: 'release'; readonly operationId: string }
  | { readonly kind: 'refund'; readonly operationId: string; readonly amount: number | undefined }
  /** Writes down the expiry of the owner's due holds; asked for by the sweeper alone. */
  | { readonly kind: 'sweep' }

/** A command with who asked for it. */
export interface Request {
  /**
   * Becomes the act's id: a rerun recognises its own act by it. The engine gives the request another one where acts up
   * to it are closed, and no act with it is there.
   */
  id: string
  readonly ownerId: number
  /** The principal's name, for showing. */
  readonly caller: string
  /** Whom the key belongs to, and whose turn it is. */
  readonly callerId: string
  readonly requestId: string
  readonly key: string | null
  /** What may happen once only; see ActRow. */
  readonly deduplicationKey: string | null
  /** The change set that asks for it; absent where a caller does. */
  readonly changeSetId?: number
  readonly command: Command
}

/** How a request that took effect is answered. */
export interface Outcome {
  /** The body, byte for byte the same for every replay. */
  readonly body: string
  /** Had it taken effect before this request came? */
  readonly replayed: boolean
  /** The quota or operation that the act was about. */
  readonly subject: number | string
  /** Would a cap that only observes have refused what has just been taken? */
  readonly observed?: true
}

function shortHash(...parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, 32)
}

/** What a caller's key stands for: a key belongs to the caller that sent it, and to the channel by its table. */
export function deduplicationKeyFor(callerId: string, key: string): string {
  return shortHash('key', callerId, key)
}

/** A hold is settled once, whoever asks and however. */
export function deduplicationKeyForSettling(operationId: string): string {
  return shortHash('settle', operationId)
}

/** A row of a change set takes effect once, and is taken back once. */
export function deduplicationKeyForRow(step: 'apply' | 'revert', changeSetId: number, row: number): string {
  return shortHash('change set', step, changeSetId, row)
}

/** What a value adds to a hash. */
type Part<V> = (value: V) => readonly unknown[]
type Parts<T> = { readonly [M in keyof T]-?: Part<T[M]> }

const itself: Part<unknown> = (value) => [value]
const orNull: Part<unknown> = (value) => [value ?? null]
/** Compared apart, or of a command that takes no key. */
const leftOut: Part<unknown> = () => []

/** The order is that of the first release, whose keys still replay. */
const SETTINGS: Parts<NewSettings> = {
  quotaType: itself,
  total: itself,
  expireAt: itself,
  cycleUnit: itself,
  cycleResetAt: itself,
  cycleTimeZone: itself,
  // Without one the hash is that of a release that knew no labels. What comes next and may be absent names itself, lest
  // it be taken for a label.
  label: (label) => (label === null ? [] : [label]),
  cap: (cap) => (cap === null ? [] : [{ cap }]),
  windowSeconds: (windowSeconds) => (windowSeconds === null ? [] : [{ windowSeconds }]),
  thresholds: (thresholds) => (thresholds === null || thresholds.length === 0 ? [] : [{ thresholds }]),
}

/**
 * What each member adds, so that none is forgotten: two requests that differ in one of them alone must not replay each
 * other's answer.
 */
const PARTS: { readonly [K in Command['kind']]: Parts<Omit<Extract<Command, { kind: K }>, 'kind'>> } = {
  create: { people: (people) => [Object.entries(people)], settings: (settings) => partsOf(SETTINGS, settings) },
  update: { quotaId: itself, patch: leftOut, version: leftOut, anchorAt: leftOut },
  delete: { quotaId: itself, version: leftOut },
  restore: { quotaId: itself, version: leftOut },
  reset: { quotaId: itself, version: orNull },
  consume: { amount: leftOut },
  reserve: { amount: leftOut, ttlSeconds: itself },
  commit: { operationId: itself, amount: leftOut },
  release: { operationId: itself },
  refund: { operationId: itself, amount: leftOut },
  sweep: {},
}

/** In the order of the parts, whatever that of the value's members. */
function partsOf<T extends object>(parts: Parts<T>, value: T): unknown[] {
  return (Object.keys(parts) as (keyof T)[]).flatMap((member) => parts[member](value[member]))
}

/**
 * What of a request must be equal for it to be the same one. Requests compare by meaning (contract, §7): absent members
 * stand for their defaults, times for their instants. The amount is compared apart, since an absent one stands for what
 * was there at the time.
 */
export function hashRequest(command: Command, ownerId: number): string {
  const { kind } = command
  if (kind === 'sweep') return ''
  const owner = kind === 'consume' || kind === 'reserve' ? [ownerId] : []
  return shortHash(kind, ...owner, ...partsOf<object>(PARTS[kind], command))
}

/** The amount a command names; null where it names none or there is none. */
export function amountOf(command: Command): number | null {
  return 'amount' in command ? (command.amount ?? null) : null
}

/** The kind of act that a command becomes, if it becomes one. */
export type RecordedCommand = Extract<Command, { kind: ActKind }>
