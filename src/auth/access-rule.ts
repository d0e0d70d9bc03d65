import { type Role, ROLES } from '../role/role.js'

/**
 * What a route asks of its caller:
 *
 * - `public`: nothing; open to everybody, token or not.
 * - `any`: some good token. For reading what is secret to strangers alone: who I am, the metrics, the API document.
 *   Nothing under it spends or changes.
 * - `usage`: what spends and settles, and what was spent.
 * - `service`: the settings of mail quotas.
 * - `admin`: those of SMS quotas.
 */
export type AccessRule = 'public' | 'any' | 'usage' | 'service' | 'admin'

/** Whom each rule admits. A new role compiles only once every rule has said yes or no to it. */
const ADMITTED: Readonly<Record<AccessRule, Readonly<Record<Role, boolean>>>> = {
  public: { usage: true, service: true, admin: true },
  any: { usage: true, service: true, admin: true },
  usage: { usage: true, service: true, admin: true },
  service: { usage: false, service: true, admin: true },
  admin: { usage: false, service: false, admin: true },
}

/** May a principal of this role call a route of this rule? A route without a rule is closed to everybody. */
export function admits(rule: AccessRule | undefined, role: Role): boolean {
  return rule !== undefined && ADMITTED[rule][role]
}

/** The roles that a rule admits, the least first. */
export function rolesOf(rule: AccessRule): Role[] {
  return ROLES.filter((role) => admits(rule, role))
}

/** What is said to a caller whose role a rule does not admit. */
export function neededFor(rule: AccessRule): string {
  return `this needs a token with the role ${rolesOf(rule).join(' or ')}`
}
