import type { IncomingHttpHeaders } from 'node:http'
import { Injectable } from '@nestjs/common'
import type { Handler, Request } from 'express'
import passport, { type AuthenticateCallback } from 'passport'
import { ServiceError } from '../common/service-error.js'
import { BearerStrategy, REALM } from './bearer.strategy.js'
import { LinkStrategy } from './owner-link.js'
import type { LinkHolder, Principal } from './principal.js'
import { timesSent } from './raw-headers.js'

/** The caller sent no valid token. */
export class Unauthenticated extends ServiceError {
  /** @param challenge value of the WWW-Authenticate header (RFC 6750, section 3) */
  constructor(
    detail: string,
    readonly challenge: string,
  ) {
    super('unauthenticated', detail)
    this.name = 'Unauthenticated'
  }
}

const TOKEN = 'token'
const LINK = 'link'
const REPEATED = 'Authorization may be sent only once'
const NEEDED = 'send Authorization: Bearer TOKEN'
const UNKNOWN = 'the token is unknown or has expired'
const INVALID_REQUEST = `Bearer realm="${REALM}", error="invalid_request"`

/**
 * Authenticates callers: passport runs the strategy. It gets only the headers, since a token in the query or body is
 * not accepted (contract, §5).
 */
@Injectable()
export class Authenticator {
  /** A separate instance for each application. Passport creates an object of a named strategy for each attempt. */
  private readonly passport = new passport.Passport()

  constructor(tokens: BearerStrategy, links: LinkStrategy) {
    this.passport.use(TOKEN, tokens)
    this.passport.use(LINK, links)
  }

  /**
   * @param headers of the request
   * @param rawHeaders of the request: of several Authorization headers, `headers` contains only the first
   * @throws Unauthenticated without a valid token
   */
  authenticate(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Promise<Principal> {
    return this.attempt<Principal>(TOKEN, headers, rawHeaders)
  }

  /** The same for a route that takes links of owners instead of tokens. Every link that does not open is one error. */
  openLink(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Promise<LinkHolder> {
    return this.attempt<LinkHolder>(LINK, headers, rawHeaders)
  }

  private attempt<T>(strategy: string, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Promise<T> {
    return new Promise((resolve, reject) => {
      if (headers.authorization !== undefined && timesSent(rawHeaders, 'authorization') > 1) {
        reject(new Unauthenticated(REPEATED, INVALID_REQUEST))
        return
      }
      const decided: AuthenticateCallback = (error, principal, challenge) => {
        if (error !== null && error !== undefined) reject(error as Error)
        else if (principal === false) reject(refusal(challenge))
        else resolve(principal as unknown as T)
      }
      const attempt = { headers }
      const run = this.passport.authenticate(strategy, { session: false }, decided) as Handler
      run(attempt as Request, undefined as never, reject)
    })
  }
}

/**
 * If the header has another form, the strategy's challenge is 400; the contract requires 401 whenever there is no valid
 * token.
 */
function refusal(challenge: unknown): Unauthenticated {
  const text = typeof challenge === 'string' ? challenge : INVALID_REQUEST
  return new Unauthenticated(text.includes('invalid_token') ? UNKNOWN : NEEDED, text)
}
