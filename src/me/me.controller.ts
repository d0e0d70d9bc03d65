import { Controller, Get } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AnyPrincipal } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { timeOrNull } from '../common/instant.js'
import { MeDto } from './me.dto.js'

/** The route that shows callers who they are. */
@ApiTags('Access')
@Controller('api/v1/me')
@AnyPrincipal()
export class MeController {
  /** Read the principal of the token */
  @Get()
  @ApiOkResponse({ type: MeDto })
  show(@Caller() { name, role, scopes, source, expiresAt }: Caller): MeDto {
    return { name, role, scopes: scopes ?? [], expires_at: timeOrNull(expiresAt), source }
  }
}
