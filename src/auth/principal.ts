import { OIDC_PREFIX } from '../role/principal-name.js'
import type { Role } from '../role/role.js'
import type { Scope } from '../role/scope.js'
import type { Instant } from '../time/instant.js'

/** Where the service knows a principal from: its own list of tokens, or the identity provider. */
export const PRINCIPAL_SOURCES = ['token', 'oidc'] as const
export type PrincipalSource = (typeof PRINCIPAL_SOURCES)[number]

/** Who calls. */
export interface Principal {
  /** For showing: the token's name, or `oidc:` and a name that the identity provider tells. */
  readonly name: string
  /**
   * What belongs to a principal belongs to this: idempotency keys, operations of its own, its turn. The token's name,
   * which two tokens may share while one replaces the other; of the identity provider's principals a digest of `iss`
   * and `sub`, since their names may change and be given to others.
   */
  readonly id: string
  readonly role: Role
  /** What narrows the role; undefined where nothing does. */
  readonly scopes: readonly Scope[] | undefined
  readonly source: PrincipalSource
  /** When the token ends; null where it has no end. */
  readonly expiresAt: Instant | null
}

/** A principal in a metric: those of the identity provider, of whom there may be any number, are one. */
export function principalLabel(nameOrId: string): string {
  return nameOrId.startsWith(OIDC_PREFIX) ? 'oidc' : nameOrId
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The request's id, answered as X-Request-Id. */
    requestId: string
    /** Who calls; set once the token was found good. */
    principal?: Principal
    /** Does configuration open the route to everybody? */
    opened?: boolean
  }
}
