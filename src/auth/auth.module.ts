import { Global, Module } from '@nestjs/common'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { MeController } from './me.controller.js'
import { Tokens } from './tokens.js'

/** Who calls. */
@Global()
@Module({
  controllers: [MeController],
  providers: [Tokens, BearerStrategy, Authenticator],
  exports: [Tokens, Authenticator],
})
export class AuthModule {}
