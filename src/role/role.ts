/**
 * All roles: those that use the API, the least powerful first, and the one for scrapers. src/auth/access-rule.ts
 * defines what each may do.
 */
export const ROLES = ['usage', 'service', 'admin', 'metrics'] as const

/** What a token may do (contract, §5). */
export type Role = (typeof ROLES)[number]
