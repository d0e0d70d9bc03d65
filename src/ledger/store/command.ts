import { hash } from 'node:crypto'
import type { GroupPlace, NewSettings, SettingsPatch } from '../../domain/settings.js'
import type { Instant } from '../../common/instant.js'
import type { ActKind } from '../rows/act.entity.js'

/** The caller, and the identity of the request. */
export interface Caller {
  /** The principal's name, for display: 1 … 64 characters of ASCII. */
  readonly name: string
  /** The owner of keys and operations: for a static token its name. */
  readonly id: string
  readonly requestId: string
  /** Are others' operations invisible to it? */
  readonly ownOnly: boolean
}

/** The requested write of one caller. Amounts are 1 … 10^12. */
export type Command =
  | {
      readonly kind: 'create'
      readonly settings: NewSettings
      readonly subjects: Readonly<Record<string, number | null>>
      /** The group of which it is a quota; absent for an owner's own quota. */
      readonly place?: GroupPlace | undefined
    }
  | {
      readonly kind: 'update'
      readonly quotaId: number
      readonly patch: SettingsPatch
      readonly version: number | undefined
      /** The settings of a member's count that stay its own; undefined: those that are. */
      readonly overrides?: readonly string[] | undefined
      /** With `overrides`: the settings that the count overrides before (`ownSettings`), for a revert. */
      readonly own?: Readonly<Record<string, unknown>> | undefined
      /** The settings of a member's count that a revert makes its own again, also with the values that are shown. */
      readonly regained?: readonly string[] | undefined
      /** The cycle's anchor before a change that is reverted; undefined if it does not change or follows the patch. */
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
  /** Changes the settings of a group; `groupId` is null for a create. */
  | {
      readonly kind: 'group'
      readonly action: 'create' | 'update' | 'delete' | 'restore'
      readonly groupId: number | null
      readonly patch: GroupPatch
      readonly version: number | undefined
    }
  /** Makes owners members of a group, or ends the membership of one. */
  | {
      readonly kind: 'members'
      readonly groupId: number
      readonly action: 'add' | 'remove'
      /** Different ones, 1 … 1000; one for `remove`. */
      readonly ownerIds: readonly number[]
    }
  /** Records the expiry of the owner's due holds; only for the sweeper. */
  | { readonly kind: 'sweep' }
  /** Writes the settings of the owner's counts as they are now; only for the background. */
  | { readonly kind: 'follow' }

/** The settings of a group; absent members are unchanged. */
export interface GroupPatch {
  readonly name?: string
  readonly parentId?: number | null
  readonly isDefault?: boolean
}

/** A command on groups and their members. */
export type GroupCommand = Extract<Command, { kind: 'group' | 'members' }>

/** Is this a command on groups? It is decided in a transaction of its own (`group-acts.ts`). */
export function isOfGroups(command: Command): command is GroupCommand {
  return command.kind === 'group' || command.kind === 'members'
}

/** A command with its caller. */
export interface Request {
  /**
   * Becomes the act's id, by which a rerun recognizes its own act. If acts up to this id are closed and no act with it
   * exists, the engine assigns another one.
   */
  id: string
  readonly ownerId: number
  /** The principal's name, for display. */
  readonly caller: string
  /** The owner of the key, and of the turn. */
  readonly callerId: string
  readonly requestId: string
  readonly key: string | null
  /** The deduplication key; see ActRow. */
  readonly deduplicationKey: string | null
  /** The change set that submits it; absent for callers. */
  readonly changeSet?: WorkedOn
  readonly command: Command
}

/** A change set that this instance works on. */
export interface WorkedOn {
  readonly id: number
  /** The end of the lease, which is renewed: after it, no row takes effect. */
  readonly heldUntil: Instant | null
}

/** The answer to a request that took effect. */
export interface Outcome {
  /** The body, byte for byte the same for every replay. */
  readonly body: string
  /** Had it taken effect before this request? */
  readonly replayed: boolean
  /** The quota or operation of the act. */
  readonly subject: number | string
  /** Would an `observe` cap have refused the operation? */
  readonly observed?: true
}

function shortHash(...parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, 32)
}

/** The deduplication key of a caller's key, which belongs to its caller, and by the table to the channel. */
export function deduplicationKeyFor(callerId: string, key: string): string {
  return shortHash('key', callerId, key)
}

/** A hold is settled once, by any caller and in any way. */
export function deduplicationKeyForSettling(operationId: string): string {
  return shortHash('settle', operationId)
}

/** A row of a change set is applied once, and reverted once. */
export function deduplicationKeyForRow(step: 'apply' | 'revert', changeSetId: number, row: number): string {
  return shortHash('change set', step, changeSetId, row)
}

/** The part of a hash that a value adds. */
type Part<V> = (value: V) => readonly unknown[]
type Parts<T> = { readonly [M in keyof T]-?: Part<T[M]> }

const itself: Part<unknown> = (value) => [value]
const orNull: Part<unknown> = (value) => [value ?? null]
/** Compared separately, or part of a command without a key. */
const leftOut: Part<unknown> = () => []

/**
 * The settings of a create, by name. Those that stand for nothing are left out, since absent ones mean the same, and so
 * that a later setting changes no stored hash.
 */
const present: Part<NewSettings> = (settings) => [
  Object.entries(settings)
    .filter(([, value]) => value !== null && value !== 0 && !(Array.isArray(value) && value.length === 0))
    .sort(([a], [b]) => (a < b ? -1 : 1)),
]

/**
 * The part that each member adds, so that none is forgotten: requests that differ in a single member must not replay
 * each other's answer.
 */
const PARTS: { readonly [K in Command['kind']]: Parts<Omit<Extract<Command, { kind: K }>, 'kind'>> } = {
  create: {
    subjects: (subjects) => [Object.entries(subjects)],
    settings: present,
    place: (place) => (place === undefined ? [] : [place.groupId, place.per]),
  },
  update: {
    quotaId: itself,
    patch: leftOut,
    version: leftOut,
    overrides: leftOut,
    own: leftOut,
    regained: leftOut,
    anchorAt: leftOut,
  },
  delete: { quotaId: itself, version: leftOut },
  restore: { quotaId: itself, version: leftOut },
  reset: { quotaId: itself, version: orNull },
  consume: { amount: leftOut },
  reserve: { amount: leftOut, ttlSeconds: itself },
  commit: { operationId: itself, amount: leftOut },
  release: { operationId: itself },
  refund: { operationId: itself, amount: leftOut },
  group: {
    action: itself,
    groupId: orNull,
    patch: (patch) => [patch.name ?? null, patch.parentId ?? null, patch.isDefault ?? false],
    version: leftOut,
  },
  members: { groupId: itself, action: itself, ownerIds: (ids) => [[...ids].sort((a, b) => a - b)] },
  sweep: {},
  follow: {},
}

/** In the order of the parts, regardless of the order of the value's members. */
function partsOf<T extends object>(parts: Parts<T>, value: T): unknown[] {
  return (Object.keys(parts) as (keyof T)[]).flatMap((member) => parts[member](value[member]))
}

/**
 * The hash of the members that must be equal for two requests to be the same. Requests compare by meaning (contract,
 * §7): absent members mean their defaults, times their instants. The amount is compared separately, since an absent
 * amount means the one available at that time.
 */
export function hashRequest(command: Command, ownerId: number): string {
  const { kind } = command
  if (kind === 'sweep' || kind === 'follow') return ''
  const owner = kind === 'consume' || kind === 'reserve' ? [ownerId] : []
  return shortHash(kind, ...owner, ...partsOf<object>(PARTS[kind], command))
}

/** The amount of a command; null if it has none. */
export function amountOf(command: Command): number | null {
  return 'amount' in command ? (command.amount ?? null) : null
}

/** The kind of act that a command becomes, if any. */
export type RecordedCommand = Extract<Command, { kind: ActKind }>
