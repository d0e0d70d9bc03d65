import type { Type } from '@nestjs/common'
import { type Role, ROLES } from '../role/role.js'
import type { ChannelScope, Scope } from '../role/scope.js'

/**
 * What a route asks of its caller:
 *
 * - `public`: nothing; open to everybody, token or not.
 * - `any`: some good token. For reading what is secret to strangers alone: who I am, the metrics. Nothing under it
 *   spends or changes.
 * - `docs`: a token of whoever uses the API: its document.
 * - `usage`: what spends and settles, and what was spent.
 * - `service`: the settings of mail quotas.
 * - `admin`: those of SMS quotas.
 */
export type AccessRule = 'public' | 'any' | 'docs' | 'usage' | 'service' | 'admin'

/** Whom each rule admits. A new role compiles only once every rule has said yes or no to it. */
const ADMITTED: Readonly<Record<AccessRule, Readonly<Record<Role, boolean>>>> = {
  public: { usage: true, service: true, admin: true, metrics: true },
  any: { usage: true, service: true, admin: true, metrics: true },
  docs: { usage: true, service: true, admin: true, metrics: false },
  usage: { usage: true, service: true, admin: true, metrics: false },
  service: { usage: false, service: true, admin: true, metrics: false },
  admin: { usage: false, service: false, admin: true, metrics: false },
}

/** What a scope may depend on: a route's rule, and its own word where it has one. */
export interface Scoped {
  readonly access: AccessRule | undefined
  /** Undefined where the route belongs to no channel. */
  readonly channel: ChannelScope | undefined
  /** Scopes that the route itself keeps out. */
  readonly closedTo: readonly Scope[]
}

/** Configuration that opens a route to everybody. */
export type OpeningFlag = 'docsPublic' | 'metricsPublic'

/** What a route declares about access: its rule (undefined: closed to everybody) and what it says of scopes. */
export interface Guarded extends Scoped {
  readonly controller: Type
  /** The handler's name. */
  readonly handler: string
  /** Configuration that opens the route to everybody. */
  readonly openedBy: OpeningFlag | undefined
}

/** What of a rule's routes a scope lets through: all, none, or those of its own channel. */
type Passage = 'all' | 'none' | 'own channel'

/**
 * What each scope leaves of each rule. It takes away and never gives: the role is asked first. A new scope compiles
 * only once it has an answer to every rule, and a new rule once every scope has one to it.
 */
const LEFT: Readonly<Record<Scope, Readonly<Record<AccessRule, Passage>>>> = {
  mail: { public: 'all', any: 'all', docs: 'all', usage: 'own channel', service: 'own channel', admin: 'own channel' },
  sms: { public: 'all', any: 'all', docs: 'all', usage: 'own channel', service: 'own channel', admin: 'own channel' },
  // Which operations are seen is for the ledger to say; quotas are nobody's own.
  own: { public: 'all', any: 'all', docs: 'all', usage: 'all', service: 'none', admin: 'none' },
}

/** May a principal of this role call a route of this rule? A route without a rule is closed to everybody. */
export function admits(rule: AccessRule | undefined, role: Role): boolean {
  return rule !== undefined && ADMITTED[rule][role]
}

/** Does the scope let its principal through to the route? */
export function leaves(scope: Scope, { access, channel, closedTo }: Scoped): boolean {
  if (access === undefined || closedTo.includes(scope)) return false
  const passage = LEFT[scope][access]
  return passage === 'all' || (passage === 'own channel' && channel === scope)
}

/** The roles that a rule admits, in the order of ROLES. */
export function rolesOf(rule: AccessRule): Role[] {
  return ROLES.filter((role) => admits(rule, role))
}

/** What is said to a caller whose role a rule does not admit. */
export function neededFor(rule: AccessRule): string {
  return `this needs a token with the role ${rolesOf(rule).join(' or ')}`
}

/** What is said to a caller whose role would do, but whose scope does not. */
export function keptOutBy(scope: Scope): string {
  return `a token of the scope ${scope} may not do this`
}
