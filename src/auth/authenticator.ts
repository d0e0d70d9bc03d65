import type { IncomingHttpHeaders } from 'node:http'
import { Injectable } from '@nestjs/common'
import type { Handler, Request } from 'express'
import passport, { type AuthenticateCallback } from 'passport'
import { ServiceError } from '../error/service-error.js'
import { BearerStrategy, REALM } from './bearer.strategy.js'
import type { Principal } from './principal.js'

/** Nobody, or somebody who cannot prove it. */
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

const STRATEGY = 'bearer'
const REPEATED = 'Authorization may be sent only once'
const NEEDED = 'send Authorization: Bearer TOKEN'
const UNKNOWN = 'the token is not known here, or its time is over'
const INVALID_REQUEST = `Bearer realm="${REALM}", error="invalid_request"`

/**
 * Finds out who calls: passport runs the strategy, on an object made for the request. It is given the headers alone,
 * since a token in the query or in the body is none (contract, §5).
 */
@Injectable()
export class Authenticator {
  /** Of this application alone; under a name passport makes an object of the strategy for each attempt. */
  private readonly passport = new passport.Passport()

  constructor(strategy: BearerStrategy) {
    this.passport.use(STRATEGY, strategy)
  }

  /**
   * @param headers of the request; a token anywhere else is none
   * @param rawHeaders as they came, since Node keeps the first of several Authorization headers and drops the others
   * @throws Unauthenticated without a good token
   */
  authenticate(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Promise<Principal> {
    return new Promise((resolve, reject) => {
      if (headers.authorization !== undefined && isRepeated(rawHeaders)) {
        reject(new Unauthenticated(REPEATED, INVALID_REQUEST))
        return
      }
      const decided: AuthenticateCallback = (error, principal, challenge) => {
        if (error !== null && error !== undefined) reject(error as Error)
        else if (principal === false) reject(refusal(challenge))
        else resolve(principal as unknown as Principal)
      }
      const attempt = { headers }
      const run = this.passport.authenticate(STRATEGY, { session: false }, decided) as Handler
      run(attempt as Request, undefined as never, reject)
    })
  }
}

/** The strategy says 400 for a header of another form; the contract's answer without a good token is 401. */
function refusal(challenge: unknown): Unauthenticated {
  const text = typeof challenge === 'string' ? challenge : INVALID_REQUEST
  return new Unauthenticated(text.includes('invalid_token') ? UNKNOWN : NEEDED, text)
}

function isRepeated(rawHeaders: readonly string[]): boolean {
  let seen = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (seen) return true
    seen = true
  }
  return false
}
