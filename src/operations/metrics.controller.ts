import { Controller, Get, Inject, Res } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import type { Response } from 'express'
import { Registry } from 'prom-client'
import { AnyPrincipal } from '../auth/access.decorator.js'
import { SharedReads } from '../database/shared-reads.js'
import { reply } from '../http/reply.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/** The maximum number of renderings per second, so that frequent scrapes cost little. */
const RENDERINGS_PER_SECOND = 5

/** The metrics, for Prometheus. */
@ApiTags('Operations')
@Controller('metrics')
@AnyPrincipal('metricsPublic')
export class MetricsController {
  private readonly text = new SharedReads<void, Buffer>(async () => [Buffer.from(await this.registry.metrics())], {
    alone: true,
    perSecond: RENDERINGS_PER_SECOND,
  })

  constructor(@Inject(METRICS_REGISTRY) private readonly registry: Registry) {}

  /** Read the metrics, for Prometheus */
  @Get()
  @ApiOkResponse({
    description: 'The text format of Prometheus.',
    content: { 'text/plain': { schema: { type: 'string' } } },
  })
  async show(@Res() response: Response): Promise<void> {
    const text = await this.text.get()
    reply(response, 200, text, this.registry.contentType)
  }
}
