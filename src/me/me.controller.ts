import { Controller, Get } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AnyPrincipal } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { MeDto } from './me.dto.js'

/** Who calls. */
@ApiTags('Access')
@Controller('api/v1/me')
@AnyPrincipal()
export class MeController {
  /** Whose token this is */
  @Get()
  @ApiOkResponse({ type: MeDto })
  show(@Caller() { name, role, scopes }: Caller): MeDto {
    return scopes === undefined ? { name, role } : { name, role, scopes }
  }
}
