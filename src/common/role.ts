/**
 * All roles: those that use the API, the least powerful first, and the one for scrapers. src/auth/access-rule.ts
 * defines the routes that each may call.
 */
export const ROLES = ['usage', 'service', 'admin', 'metrics'] as const

/** The permissions of a token (contract, §5). */
export type Role = (typeof ROLES)[number]
