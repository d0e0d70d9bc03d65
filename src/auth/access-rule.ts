import type { Role } from './principal.js'

/** Who may call a route: everybody, any principal, the roles `service` and `admin`, or `admin` alone. */
export type AccessRule = 'public' | 'any' | 'service' | 'admin'

/** May a principal of this role call a route of this rule? A route without a rule is closed to everybody. */
export function admits(rule: AccessRule | undefined, role: Role): boolean {
  switch (rule) {
    case undefined:
      return false
    case 'public':
    case 'any':
      return true
    case 'service':
      return role === 'service' || role === 'admin'
    case 'admin':
      return role === 'admin'
  }
}
