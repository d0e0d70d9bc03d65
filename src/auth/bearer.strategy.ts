import { timingSafeEqual } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import { Clock } from '../common/clock.js'
import { JwtVerifier } from './jwt.js'
import type { Principal } from './principal.js'
import { hashOf } from './token.js'
import { type KnownToken, Tokens } from './tokens.js'

/** The realm in the challenge of a 401. */
export const REALM = 'quota'

/** Passport's bearer strategy: looks up the principal of a static token, or of a token of the identity provider. */
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
   * @returns the principal, or false if the token is unknown or has expired. Compares all entries, so that the duration
   *   does not reveal which one matches.
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
