import type { AccessRule } from '../auth/access-rule.js'
import type { AnyChannel } from '../ledger/rows/channel.js'

/** The paths, rules, names and descriptions of a channel in the API, in addition to its `Channel`. */
export interface ChannelApiOptions {
  readonly channel: Pick<AnyChannel, 'subjects'>
  /** The prefix of its schema names: `Mail`. */
  readonly schema: string
  /** The path at which its quotas are created and, followed by an id, found: `/api/v1/quotas`. */
  readonly path: string
  /** The rule of its quotas' routes, which also determines who may look up others' keys. */
  readonly quotasRule: AccessRule
  readonly owner: {
    /** The noun for its owners: `account`. */
    readonly noun: string
    /** The same, with its article: `an account`. */
    readonly one: string
    /** Describes the field in a quota: `The mail account that the quota limits.` */
    readonly limited: string
  }
  /** Describes the fields of the other subjects that a quota may name, by field. */
  readonly others: Readonly<Record<string, OtherSubject>>
}

/** The descriptions of a subject that a quota may name in addition to its owner. */
export interface OtherSubject {
  readonly example: number
  /** In a create. */
  readonly create: string
  /** In the query of a list. */
  readonly list: string
  /** In a quota. */
  readonly quota: string
}
