import { Global, Module } from '@nestjs/common'
import { Metrics, METRICS_REGISTRY } from './metrics.js'

/** Provides the registry of all metrics. */
@Global()
@Module({
  providers: [
    Metrics,
    { provide: METRICS_REGISTRY, useFactory: (metrics: Metrics) => metrics.registry, inject: [Metrics] },
  ],
  exports: [Metrics, METRICS_REGISTRY],
})
export class MetricsModule {}
