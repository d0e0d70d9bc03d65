import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core'
import { AuthModule } from './auth/auth.module.js'
import { CallerGuard } from './auth/caller.guard.js'
import { EventFeedsModule } from './channel-api/event-feeds.js'
import { OwnerViewsModule } from './channel-api/owner-view.controller.js'
import type { Config } from './config/config.js'
import { ConfigModule } from './config/config.module.js'
import { DatabaseModule } from './database/database.module.js'
import { ENTITIES } from './entities.js'
import { DtoPipe } from './http/dto.pipe.js'
import { HttpModule } from './http/http.module.js'
import { ProblemFilter } from './http/problem.filter.js'
import { RequestPipeline } from './http/request-pipeline.js'
import { MailQuotaModule } from './mail-quota/mail-quota.module.js'
import { MeModule } from './me/me.module.js'
import { MetricsModule } from './common/metrics.module.js'
import { OperationsModule } from './operations/operations.module.js'
import { SmsQuotaModule } from './sms-quota/sms-quota.module.js'
import { TracingModule } from './tracing/tracing.module.js'
import { WebhookModule } from './webhook/webhook.module.js'

/** The pipeline, guard, pipe and filter of every route. */
const GLOBAL_PROVIDERS = [
  ProblemFilter,
  RequestPipeline,
  { provide: APP_GUARD, useClass: CallerGuard },
  { provide: APP_PIPE, useClass: DtoPipe },
  { provide: APP_FILTER, useExisting: ProblemFilter },
]

/** The composition root. */
@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        HttpModule,
        AuthModule,
        MetricsModule,
        TracingModule,
        DatabaseModule.for(ENTITIES),
        EventFeedsModule,
        OwnerViewsModule,
        MeModule,
        MailQuotaModule,
        SmsQuotaModule,
        WebhookModule,
        OperationsModule,
      ],
      providers: GLOBAL_PROVIDERS,
    }
  }
}
