import { Global, Module } from '@nestjs/common'
import { Metrics, METRICS_REGISTRY } from './metrics.js'

/** Where everybody registers what there is to measure. */
@Global()
@Module({
  providers: [
    Metrics,
    { provide: METRICS_REGISTRY, useFactory: (metrics: Metrics) => metrics.registry, inject: [Metrics] },
  ],
  exports: [Metrics, METRICS_REGISTRY],
})
export class MetricsModule {}
