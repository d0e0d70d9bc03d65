import { Global, Module } from '@nestjs/common'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { JwtVerifier } from './jwt.js'
import { LinkStrategy, OwnerLinks } from './owner-link.js'
import { ProviderKeys } from './provider-keys.js'
import { TokensFile } from './tokens-file.js'
import { Tokens } from './tokens.js'

/** Authentication of callers. */
@Global()
@Module({
  providers: [Tokens, TokensFile, ProviderKeys, JwtVerifier, BearerStrategy, OwnerLinks, LinkStrategy, Authenticator],
  exports: [OwnerLinks, ProviderKeys, Tokens, TokensFile, Authenticator],
})
export class AuthModule {}
