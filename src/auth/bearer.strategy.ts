import { timingSafeEqual } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import { Clock } from '../clock/clock.js'
import { JwtVerifier } from './jwt.js'
import type { Principal } from './principal.js'
import { hashOf } from './token.js'
import { type KnownToken, Tokens } from './tokens.js'

/** Named in the challenge of a 401. */
export const REALM = 'quota'

/** Passport's bearer strategy over the service's tokens and the identity provider's: says whose a token is. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor(
    private readonly tokens: Tokens,
    private readonly clock: Clock,
    private readonly jwts: JwtVerifier,
  ) {
    super({ realm: REALM })
  }

  /**
   * @returns whose token it is, or false, also where its time is over. Every entry is compared, so that the time taken
   *   tells nothing about which one it is.
   */
  validate(token: string): Principal | false | Promise<Principal | false> {
    const hash = hashOf(token)
    let found: KnownToken | undefined
    for (const known of this.tokens.known) {
      if (timingSafeEqual(known.hash, hash)) found = known
    }
    if (found === undefined) return this.jwts.concerns(token) ? this.jwts.principalOf(token) : false
    const { notAfter, principal } = found
    return notAfter !== undefined && this.clock.now() > notAfter ? false : principal
  }
}
