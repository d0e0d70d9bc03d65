import { Logger } from '@nestjs/common'
import type { Clock } from '../../common/clock.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import { groupOf } from '../rows/group.entity.js'

/** The minimum time between two log lines about one owner, in milliseconds. */
const LOG_AGAIN_MS = 60_000
/** The time without requests after which an owner is forgotten: whether its lock is free is then unknown. */
const FORGOTTEN_MS = 5 * 60_000
/** The maximum number of owners to remember; with more, the cause is a common one. */
const MAX_REMEMBERED = 1_000

interface Locked {
  /** The time when its lock was first missed. */
  readonly since: Instant
  seen: Instant
  loggedAt: Instant | undefined
}

/**
 * Remembers which owners, or groups as owners, another session keeps locked, and since when, across the requests that
 * were refused for it, so that the log can point to a forgotten transaction.
 */
export class LockedOwners {
  private readonly owners = new Map<number, Locked>()
  private readonly logger = new Logger('Engine')

  /** @param who the owner's field and the channel, for the log: `account_id of mail` */
  constructor(
    private readonly who: { readonly field: string; readonly channel: string },
    private readonly clock: Clock,
  ) {}

  /** An owner's lock could not be taken. */
  found(ownerId: number): void {
    const now = this.clock.now()
    const locked = this.owners.get(ownerId)
    if (locked !== undefined) locked.seen = now
    else if (this.owners.size < MAX_REMEMBERED) this.owners.set(ownerId, { since: now, seen: now, loggedAt: undefined })
  }

  /** A request of the owner was refused because of the lock: logs it, once a minute for each owner. */
  refused(ownerId: number): void {
    this.found(ownerId)
    const locked = this.owners.get(ownerId)
    if (locked === undefined) return
    const now = this.clock.now()
    if (locked.loggedAt !== undefined && now - locked.loggedAt < LOG_AGAIN_MS) return
    locked.loggedAt = now
    this.logger.warn(
      `${this.nameOf(ownerId)} has been kept locked by another session of the database since ` +
        `${formatInstant(locked.since)}; its writes are refused. docs/run/runbook.md, "A locked owner", says how to ` +
        'find that session',
    )
  }

  /** An owner's lock was taken. */
  had(ownerId: number): void {
    if (this.owners.size === 0) return
    const locked = this.owners.get(ownerId)
    if (locked === undefined) return
    this.owners.delete(ownerId)
    if (locked.loggedAt === undefined) return
    const seconds = ((this.clock.now() - locked.since) / 1000).toFixed(0)
    this.logger.warn(`${this.nameOf(ownerId)} is no longer locked, after ${seconds} s`)
  }

  /** How long the longest-locked owner has been locked, in seconds; 0 if none is. */
  longestSeconds(): number {
    const now = this.clock.now()
    let longest = 0
    for (const [ownerId, { since, seen }] of this.owners) {
      if (now - seen > FORGOTTEN_MS) this.owners.delete(ownerId)
      else longest = Math.max(longest, now - since)
    }
    return longest / 1000
  }

  private nameOf(ownerId: number): string {
    const groupId = groupOf(ownerId)
    const { field, channel } = this.who
    return groupId === undefined ? `${field} ${ownerId} of ${channel}` : `group ${groupId} of ${channel}`
  }
}
