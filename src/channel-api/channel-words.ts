import type { AccessRule } from '../auth/access-rule.js'
import type { AnyChannel } from '../ledger/rows/channel.js'

/** How a channel is spoken of on the wire and in the API document, beside what its `Channel` says. */
export interface ChannelWords {
  readonly channel: Pick<AnyChannel, 'people'>
  /** What the names of its schemas begin with: `Mail`. */
  readonly schema: string
  /** Where its quotas are made and, followed by an id, reached: `/api/v1/quotas`. */
  readonly path: string
  /** The rule of its quotas' routes, which also says who may look for keys of others. */
  readonly quotasRule: AccessRule
  readonly owner: {
    /** Whom its quotas limit: `account`. */
    readonly noun: string
    /** The same, with its article: `an account`. */
    readonly one: string
    /** Describes the field in a quota: `The mail account that the quota limits.` */
    readonly limited: string
  }
  /** Describes the fields of the others whom a quota may name, by field. */
  readonly others: Readonly<Record<string, OtherPerson>>
}

/** What is said of somebody whom a quota may name beside its owner. */
export interface OtherPerson {
  readonly example: number
  /** In a create. */
  readonly create: string
  /** In the query of a list. */
  readonly list: string
  /** In a quota. */
  readonly quota: string
}
