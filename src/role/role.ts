/** Every role, the least first. What each may do stands in src/auth/access-rule.ts. */
export const ROLES = ['usage', 'service', 'admin'] as const

/** What a token may do (contract, §5). */
export type Role = (typeof ROLES)[number]
