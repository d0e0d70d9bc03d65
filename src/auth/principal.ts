/** Every role, the least first. What each may do stands in access-rule.ts. */
export const ROLES = ['usage', 'service', 'admin'] as const

/** What a token may do (contract, §5). */
export type Role = (typeof ROLES)[number]

/** Who calls. */
export interface Principal {
  /** The token's name; two tokens may share it while one replaces the other. Idempotency keys belong to it. */
  readonly name: string
  readonly role: Role
}

/** Who calls, and the id of the request: what an act records of its caller. */
export interface CallerInfo {
  readonly principal: Principal
  readonly requestId: string
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The request's id, answered as X-Request-Id. */
    requestId: string
    /** Who calls; set once the token was found good. */
    principal?: Principal
  }
}
