import { Controller, Get } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AnyPrincipal } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { Config } from '../config/config.js'
import { formatInstant } from '../time/instant.js'
import { MeDto } from './me.dto.js'

/** Who calls. */
@ApiTags('Access')
@Controller('api/v1/me')
@AnyPrincipal()
export class MeController {
  constructor(private readonly config: Config) {}

  /** Whose token this is */
  @Get()
  @ApiOkResponse({ type: MeDto })
  show(@Caller() { name, role, scopes, source, expiresAt }: Caller): MeDto {
    // Without an identity provider there is one source, and the answer stays what it was.
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
