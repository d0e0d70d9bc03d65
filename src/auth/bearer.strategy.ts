import { timingSafeEqual } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import type { Principal } from './principal.js'
import { hashOf } from './token.js'
import { Tokens } from './tokens.js'

/** Named in the challenge of a 401. */
export const REALM = 'quota'

/** Passport's bearer strategy over the service's tokens: says whose a token is. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  private readonly entries: readonly { readonly hash: Buffer; readonly principal: Principal }[]

  constructor(tokens: Tokens) {
    super({ realm: REALM })
    this.entries = tokens.entries.map(({ name, role, scopes, hash }) => ({
      hash,
      principal: Object.freeze({ name, role, scopes }),
    }))
  }

  /**
   * @returns whose token it is, or false. Every entry is compared, so that the time taken tells nothing about which one
   *   it is.
   */
  validate(token: string): Principal | false {
    const hash = hashOf(token)
    let found: Principal | false = false
    for (const { hash: known, principal } of this.entries) {
      if (timingSafeEqual(known, hash)) found = principal
    }
    return found
  }
}
