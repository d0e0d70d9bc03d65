import { Injectable } from '@nestjs/common'
import { Config, type TokenEntry } from '../config/config.js'
import type { Role } from '../role/role.js'
import { hashOf, newToken } from './token.js'

/** A token made at start, to be printed on the terminal once. */
export interface MadeToken {
  readonly name: string
  readonly role: Role
  readonly token: string
}

/** The good tokens: the configured ones, or outside production, where none is configured, two made for this run. */
@Injectable()
export class Tokens {
  readonly entries: readonly TokenEntry[]
  /** The tokens made for this run; empty where some are configured. */
  readonly made: readonly MadeToken[]

  constructor(config: Config) {
    const roles: Role[] = config.tokens.length > 0 || config.production ? [] : ['service', 'admin']
    this.made = roles.map((role) => ({ name: role, role, token: newToken(role) }))
    this.entries = [
      ...config.tokens,
      ...this.made.map(({ name, role, token }) => ({ name, role, scopes: undefined, hash: hashOf(token) })),
    ]
  }
}
