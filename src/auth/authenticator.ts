import type { IncomingHttpHeaders } from 'node:http'
import { Injectable } from '@nestjs/common'
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

/** What passport adds to a strategy for the length of one request. */
interface Attempt {
  authenticate(request: { headers: IncomingHttpHeaders }): void
  success(principal: Principal): void
  fail(challenge: string | number): void
  error(error: unknown): void
}

const REPEATED = 'Authorization may be sent only once'
const NEEDED = 'send Authorization: Bearer TOKEN'

/**
 * Finds out who calls.
 *
 * The strategy is run as passport's own middleware runs it, on an object made for the request, but without that
 * middleware and its AuthGuard: they add about half to the time of an empty handler, where this adds a tenth; they hand
 * the strategy the query and the body, where no token may be (contract, §5); and they find strategies by name in one
 * registry per process.
 */
@Injectable()
export class Authenticator {
  constructor(private readonly strategy: BearerStrategy) {}

  /**
   * @param headers of the request; a token anywhere else is none
   * @param rawHeaders as they came, since Node keeps the first of several Authorization headers and drops the others
   * @throws Unauthenticated without a good token
   */
  authenticate(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Promise<Principal> {
    return new Promise((resolve, reject) => {
      const { authorization } = headers
      if (authorization !== undefined && isRepeated(rawHeaders)) {
        reject(new Unauthenticated(REPEATED, `Bearer realm="${REALM}", error="invalid_request"`))
        return
      }
      const attempt = Object.create(this.strategy) as Attempt
      attempt.success = resolve
      attempt.error = reject
      attempt.fail = (challenge) => {
        // The strategy says 400 for a header of another form; the contract's answer to every request without a good
        // token is 401.
        const text = typeof challenge === 'string' ? challenge : `Bearer realm="${REALM}", error="invalid_request"`
        reject(
          new Unauthenticated(
            text.includes('invalid_token') ? 'the token is not known here, or its time is over' : NEEDED,
            text,
          ),
        )
      }
      attempt.authenticate({ headers })
    })
  }
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
