/**
 * Every role: those that use the API, the least first, and the one that only watches. What each may do stands in
 * src/auth/access-rule.ts.
 */
export const ROLES = ['usage', 'service', 'admin', 'metrics'] as const

/** What a token may do (contract, §5). */
export type Role = (typeof ROLES)[number]
