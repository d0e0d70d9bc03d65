import type { Request } from 'express'
import { OIDC_PREFIX } from '../common/principal-name.js'
import type { Role } from '../common/role.js'
import type { Scope } from '../common/scope.js'
import type { Instant } from '../common/instant.js'

/** How a principal is authenticated: by the service's own list of tokens, or by the identity provider. */
export const PRINCIPAL_SOURCES = ['token', 'oidc'] as const
export type PrincipalSource = (typeof PRINCIPAL_SOURCES)[number]

/** An authenticated caller. */
export interface Principal {
  /** For display: the token's name, or `oidc:` and a name from the identity provider. */
  readonly name: string
  /**
   * Identifies the principal: idempotency keys, its own operations and its turns refer to this. For a static token its
   * name, which two tokens may share while one replaces the other. For the identity provider a digest of `iss` and
   * `sub`, since names can change and be reassigned.
   */
  readonly id: string
  readonly role: Role
  /** The scopes that narrow the role; undefined if none does. */
  readonly scopes: readonly Scope[] | undefined
  readonly source: PrincipalSource
  /** When the token expires; null if it does not. */
  readonly expiresAt: Instant | null
}

/** The prefix of the ids of links' holders; no static token's name contains a colon. */
export const LINK_PREFIX = 'link:'

/** Whoever holds an owner's link. It is no principal: it has no role, and calls one route. */
export interface LinkHolder {
  /** The same for all, in the log and in metrics. */
  readonly name: 'link'
  /** Identifies channel and owner: the links of one owner take turns as one caller. */
  readonly id: string
  readonly channel: string
  readonly ownerId: number
  readonly expiresAt: Instant
}

/** Returns who takes a turn with a request; undefined for anonymous callers. */
export function whoCalls({ principal, link }: Pick<Request, 'principal' | 'link'>): Principal | LinkHolder | undefined {
  return principal ?? link
}

/**
 * Returns the label of a principal in metrics. All principals of the identity provider share one, and so do all holders
 * of links, since their number is unlimited.
 */
export function principalLabel(nameOrId: string): string {
  if (nameOrId.startsWith(LINK_PREFIX)) return 'link'
  return nameOrId.startsWith(OIDC_PREFIX) ? 'oidc' : nameOrId
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The request's id, sent in X-Request-Id. */
    requestId: string
    /** The caller; set after authentication. */
    principal?: Principal
    /** The holder of an owner's link; set after authentication on the route that links open. */
    link?: LinkHolder
    /** Whether configuration opens the route to everybody. */
    opened?: boolean
  }
}
