import type { Type } from '@nestjs/common'
import { type Role, ROLES } from '../common/role.js'
import type { ChannelScope, Scope } from '../common/scope.js'

/**
 * The access rule of a route:
 *
 * - `public`: everybody, with or without a token.
 * - `any`: every valid token. For reading only: the caller itself, and the metrics. No such route spends or changes
 *   anything.
 * - `docs`: tokens of users of the API. For the API document.
 * - `usage`: spending, settling, and reading usage.
 * - `service`: managing mail quotas: their settings, lists, history, reports and change sets.
 * - `admin`: the same for SMS quotas, and everything for administrators that belongs to no channel, such as webhooks.
 * - `link`: no token, but the link of an owner, which opens no other rule.
 */
export type AccessRule = 'public' | 'any' | 'docs' | 'usage' | 'service' | 'admin' | 'link'

/** The roles that each rule admits. A new role compiles only after each rule admits or refuses it. */
const ADMITTED: Readonly<Record<AccessRule, Readonly<Record<Role, boolean>>>> = {
  public: { usage: true, service: true, admin: true, metrics: true },
  any: { usage: true, service: true, admin: true, metrics: true },
  docs: { usage: true, service: true, admin: true, metrics: false },
  usage: { usage: true, service: true, admin: true, metrics: false },
  service: { usage: false, service: true, admin: true, metrics: false },
  admin: { usage: false, service: false, admin: true, metrics: false },
  link: { usage: false, service: false, admin: false, metrics: false },
}

/** The properties of a route on which a scope depends. */
export interface Scoped {
  readonly access: AccessRule | undefined
  /** Undefined if the route belongs to no channel. */
  readonly channel: ChannelScope | undefined
  /** Scopes that the route denies (`@ClosedTo`). */
  readonly closedTo: readonly Scope[]
}

/** A configuration variable that opens a route to everybody. */
export type OpeningFlag = 'docsPublic' | 'metricsPublic'

/** The access declarations of a route. Without a rule (undefined), it is closed to everybody. */
export interface Guarded extends Scoped {
  readonly controller: Type
  readonly handler: string
  /** The configuration variable that opens the route to everybody, if any. */
  readonly openedBy: OpeningFlag | undefined
}

/** The routes of a rule that a scope permits: all, none, or those of its own channel. */
type Passage = 'all' | 'none' | 'own channel'

/** The routes that the scope of a channel permits. */
const OF_CHANNEL = {
  public: 'all',
  any: 'all',
  docs: 'all',
  usage: 'own channel',
  service: 'own channel',
  admin: 'own channel',
  link: 'none',
} as const

/**
 * The routes of each rule that each scope permits. A scope only narrows a role: the role is checked first. A new scope
 * or rule compiles only after all combinations are set.
 */
const LEFT: Readonly<Record<Scope, Readonly<Record<AccessRule, Passage>>>> = {
  mail: OF_CHANNEL,
  sms: OF_CHANNEL,
  // The ledger restricts this scope to the principal's own operations. Quotas have no such owner.
  own: { public: 'all', any: 'all', docs: 'all', usage: 'all', service: 'none', admin: 'none', link: 'none' },
}

/**
 * Returns whether a principal of this role may call a route of this rule. A route without a rule is closed to
 * everybody.
 */
export function admits(rule: AccessRule | undefined, role: Role): boolean {
  return rule !== undefined && ADMITTED[rule][role]
}

/** Returns whether the scope permits the route. */
export function leaves(scope: Scope, { access, channel, closedTo }: Scoped): boolean {
  if (access === undefined || closedTo.includes(scope)) return false
  const passage = LEFT[scope][access]
  return passage === 'all' || (passage === 'own channel' && channel === scope)
}

/** Returns the roles that a rule admits, in the order of ROLES. */
export function rolesOf(rule: AccessRule): Role[] {
  return ROLES.filter((role) => admits(rule, role))
}

/** Returns the message for a caller whose role the rule does not admit. */
export function neededFor(rule: AccessRule): string {
  return `this needs a token with the role ${rolesOf(rule).join(' or ')}`
}

/** Returns the message for a caller whose role is sufficient, but whose scope denies the route. */
export function keptOutBy(scope: Scope): string {
  return `a token of the scope ${scope} may not do this`
}
