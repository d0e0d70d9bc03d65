import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import type { TokenEntry } from '../config/token-entries.js'
import type { Role } from '../common/role.js'
import { formatInstant, type Instant } from '../common/instant.js'
import type { Principal } from './principal.js'
import { hashOf, newToken } from './token.js'

/** A token created at startup, to be printed on the terminal once. */
export interface MadeToken {
  readonly name: string
  readonly role: Role
  readonly token: string
}

/** A token, as requests are compared with it. */
export interface KnownToken {
  readonly hash: Buffer
  readonly principal: Principal
  /** The last time at which it is valid; undefined if it does not expire. */
  readonly notAfter: Instant | undefined
}

/**
 * The static tokens: the configured ones. Outside production, if none is configured, two created for this process. The
 * list is immutable and replaced as a whole.
 */
@Injectable()
export class Tokens implements OnModuleInit {
  private readonly logger = new Logger('Tokens')
  private entries: readonly TokenEntry[]
  /** All tokens, including expired ones. */
  known: readonly KnownToken[]
  /** The tokens created for this process; empty if some are configured. */
  readonly made: readonly MadeToken[]

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly clock: Clock,
  ) {
    const roles: Role[] = config.tokens.length > 0 || config.production ? [] : ['service', 'admin']
    this.made = roles.map((role) => ({ name: role, role, token: newToken(role) }))
    const unlimited = { scopes: undefined, notAfter: undefined }
    const made = this.made.map(({ name, role, token }) => ({ name, role, hash: hashOf(token), ...unlimited }))
    this.entries = [...config.tokens, ...made]
    this.known = knownBy(this.entries)
  }

  onModuleInit(): void {
    this.warn(this.entries)
  }

  /**
   * Replaces all tokens.
   * @returns the number of added and of removed tokens
   */
  replace(entries: readonly TokenEntry[]): { readonly added: number; readonly gone: number } {
    const before = new Set(this.entries.map(textOf))
    const after = new Set(entries.map(textOf))
    const added = entries.filter((entry) => !before.has(textOf(entry)))
    const gone = this.entries.filter((entry) => !after.has(textOf(entry))).length
    if (added.length > 0 || gone > 0) {
      this.entries = entries
      this.known = knownBy(entries)
      this.warn(added)
    }
    return { added: added.length, gone }
  }

  /** Returns, by name, when the first of each principal's valid tokens expires; omits tokens that do not expire. */
  ends(): Map<string, Instant> {
    const now = this.clock.now()
    const ends = new Map<string, Instant>()
    for (const { name, notAfter } of this.entries) {
      if (notAfter !== undefined && notAfter >= now) ends.set(name, Math.min(ends.get(name) ?? notAfter, notAfter))
    }
    return ends
  }

  private warn(entries: readonly TokenEntry[]): void {
    const now = this.clock.now()
    for (const { name, notAfter } of entries) {
      if (notAfter !== undefined && notAfter < now)
        this.logger.warn(`a token of ${name} is refused: its not_after, ${formatInstant(notAfter)}, has passed`)
    }
  }
}

function knownBy(entries: readonly TokenEntry[]): readonly KnownToken[] {
  return Object.freeze(
    entries.map(({ name, role, scopes, hash, notAfter }) => ({
      hash,
      principal: Object.freeze({ name, id: name, role, scopes, source: 'token', expiresAt: notAfter ?? null }),
      notAfter,
    })),
  )
}

function textOf({ name, role, scopes, hash, notAfter }: TokenEntry): string {
  return JSON.stringify([name, role, scopes, hash.toString('hex'), notAfter])
}
