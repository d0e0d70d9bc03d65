import type { AccessRule } from '../auth/access-rule.js'
import type { AnyChannel } from '../ledger/rows/channel.js'

/** The paths, rules and names of a channel in the API, in addition to its `Channel`. */
export interface ChannelApi {
  readonly channel: Pick<AnyChannel, 'subjects'>
  /** The path at which its quotas are created and, followed by an id, found: `/api/v1/quotas`. */
  readonly path: string
  /** The rule of its quotas' routes, which also determines who may look up others' keys. */
  readonly quotasRule: AccessRule
  readonly owner: {
    /** The noun for its owners: `account`. */
    readonly noun: string
    /** The same, with its article: `an account`. */
    readonly one: string
  }
}
