import { Controller, Get } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AnyPrincipal } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { Config } from '../config/config.js'
import { formatInstant } from '../common/instant.js'
import { MeDto } from './me.dto.js'

/** The route that shows callers who they are. */
@ApiTags('Access')
@Controller('api/v1/me')
@AnyPrincipal()
export class MeController {
  constructor(private readonly config: Config) {}

  /** Read the principal of the token */
  @Get()
  @ApiOkResponse({ type: MeDto })
  show(@Caller() { name, role, scopes, source, expiresAt }: Caller): MeDto {
    // Without an identity provider there is only one source, and the answer has its previous form.
    if (this.config.oidc === undefined) return { name, role, ...(scopes === undefined ? {} : { scopes }) }
    return {
      name,
      role,
      scopes: scopes ?? [],
      expires_at: expiresAt === null ? null : formatInstant(expiresAt),
      source,
    }
  }
}
