import { createHash } from 'node:crypto'
import type { NewSettings, SettingsPatch } from '../quota/settings.js'
import type { ActKind } from './act.entity.js'

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
    }
  | { readonly kind: 'delete'; readonly quotaId: number; readonly version: number | undefined }
  | { readonly kind: 'restore'; readonly quotaId: number }
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
  /** Becomes the act's id: a rerun recognises its own act by it. */
  readonly id: string
  readonly ownerId: number
  /** The principal's name. */
  readonly caller: string
  readonly requestId: string
  readonly key: string | null
  /** What may happen once only; see ActRow. */
  readonly once: string | null
  /** Digest of what was asked, amount left out. */
  readonly digest: string
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
}

function digest(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** What a caller's key stands for: a key belongs to the caller that sent it, and to the channel by its table. */
export function onceForKey(caller: string, key: string): string {
  return digest('key', caller, key)
}

/** A hold is settled once, whoever asks and however. */
export function onceForSettling(operationId: string): string {
  return digest('settle', operationId)
}

/**
 * What of a request must be equal for it to be the same one. Requests compare by meaning (contract, §7): absent members stand for their
 * defaults, times for their instants. The amount is compared apart, since an absent one stands for what was there at the time.
 */
export function digestOf(command: Command, ownerId: number): string {
  switch (command.kind) {
    case 'create': {
      const { quotaType, total, expireAt, cycleUnit, cycleResetAt, cycleTimeZone, label } = command.settings
      return digest(
        'create',
        Object.entries(command.people),
        quotaType,
        total,
        expireAt,
        cycleUnit,
        cycleResetAt,
        cycleTimeZone,
        // Without one the digest is that of a release that knew no labels, whose keys still replay.
        ...(label === null ? [] : [label]),
      )
    }
    case 'consume':
      return digest('consume', ownerId)
    case 'reserve':
      return digest('reserve', ownerId, command.ttlSeconds)
    case 'commit':
    case 'release':
    case 'refund':
      return digest(command.kind, command.operationId)
    case 'update':
    case 'delete':
    case 'restore':
      return digest(command.kind, command.quotaId)
    case 'reset':
      return digest('reset', command.quotaId, command.version ?? null)
    case 'sweep':
      return ''
  }
}

/** The amount a command names; null where it names none or there is none. */
export function amountOf(command: Command): number | null {
  return 'amount' in command ? (command.amount ?? null) : null
}

/** The kind of act that a command becomes, if it becomes one. */
export type RecordedCommand = Extract<Command, { kind: ActKind }>
