import { Module } from '@nestjs/common'
import { WebhookController } from './webhook.controller.js'
import { WebhookService } from './webhook.service.js'
import { Webhooks } from './webhooks.js'

/** Sends events to endpoints, and shows administrators the results. */
@Module({ controllers: [WebhookController], providers: [Webhooks, WebhookService] })
export class WebhookModule {}
