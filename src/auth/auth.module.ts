import { Global, Module } from '@nestjs/common'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { Tokens } from './tokens.js'

/** Who calls. */
@Global()
@Module({ providers: [Tokens, BearerStrategy, Authenticator], exports: [Tokens, Authenticator] })
export class AuthModule {}
