import { Global, Module } from '@nestjs/common'
import { Access } from './access.js'
import { AdminGuard } from './admin.guard.js'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { JwtVerifier } from './jwt.js'
import { ProviderKeys } from './provider-keys.js'
import { ServiceAuthGuard } from './service-auth.guard.js'
import { TokensFile } from './tokens-file.js'
import { Tokens } from './tokens.js'

/** Who calls. */
@Global()
@Module({
  providers: [
    Tokens,
    TokensFile,
    ProviderKeys,
    JwtVerifier,
    BearerStrategy,
    Authenticator,
    ServiceAuthGuard,
    AdminGuard,
    Access,
  ],
  exports: [ProviderKeys, Tokens, TokensFile, Authenticator, Access],
})
export class AuthModule {}
