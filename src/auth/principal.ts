import type { Role } from '../role/role.js'
import type { Scope } from '../role/scope.js'

/** Who calls. */
export interface Principal {
  /** The token's name; two tokens may share it while one replaces the other. Idempotency keys belong to it. */
  readonly name: string
  readonly role: Role
  /** What narrows the role; undefined where nothing does. */
  readonly scopes: readonly Scope[] | undefined
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The request's id, answered as X-Request-Id. */
    requestId: string
    /** Who calls; set once the token was found good. */
    principal?: Principal
  }
}
