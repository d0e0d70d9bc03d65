import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common'
import { ApiAcceptedResponse, ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger'
import { AnyAdminAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { Problems } from '../http/problem.decorator.js'
import { ReplayDto, ReplayedDto, TestedDto, WebhookDto, WebhooksDto } from './webhook.dto.js'
import { WebhookService } from './webhook.service.js'

const NAME = {
  name: 'name',
  description: 'Its name in WEBHOOKS_FILE.',
  schema: { type: 'string' },
  example: 'ops',
} as const

/** The endpoints that events are sent to, for administrators. */
@ApiTags('Webhooks')
@Controller('api/v1/webhooks')
@AnyAdminAuth()
export class WebhookController {
  constructor(private readonly webhooks: WebhookService) {}

  /** List the endpoints */
  @Get()
  @ApiOkResponse({ type: WebhooksDto })
  async list(@Caller() { id: principalId }: Caller): Promise<WebhooksDto> {
    return { items: await this.webhooks.list(principalId) }
  }

  /** Send a test message at once */
  @Post(':name/test')
  @HttpCode(200)
  @ApiParam(NAME)
  @ApiOkResponse({ type: TestedDto })
  @Problems('webhook_not_found', 'webhook_disabled')
  async test(@Param('name') name: string): Promise<TestedDto> {
    return this.webhooks.test(name)
  }

  /** Enable a disabled endpoint */
  @Post(':name/enable')
  @HttpCode(200)
  @ApiParam(NAME)
  @ApiOkResponse({ type: WebhookDto })
  @Problems('webhook_not_found', 'webhook_disabled')
  async enable(@Param('name') name: string): Promise<WebhookDto> {
    return this.webhooks.enable(name)
  }

  /** Send the events of a period again */
  @Post(':name/replay')
  @HttpCode(202)
  @ApiParam(NAME)
  @ApiAcceptedResponse({ type: ReplayedDto })
  @Problems('webhook_not_found', 'webhook_disabled')
  async replay(@Param('name') name: string, @Body() dto: ReplayDto): Promise<ReplayedDto> {
    return { events: await this.webhooks.replay(name, dto) }
  }
}
