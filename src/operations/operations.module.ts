import { Global, Module } from '@nestjs/common'
import { BuildMetrics } from './build-info.js'
import { ClockMetrics } from './clock.metrics.js'
import { ConnectionWatch } from './connection-watch.js'
import { DocsController } from './docs.controller.js'
import { HealthController } from './health.controller.js'
import { LogMetrics } from './log.metrics.js'
import { MetricsController } from './metrics.controller.js'
import { MetricsServer } from './metrics-server.js'
import { PoolMetrics } from './pool.metrics.js'
import { InstanceHeartbeat } from './instance-heartbeat.js'
import { PrincipalMetrics } from './principal.metrics.js'
import { ProviderMetrics } from './provider.metrics.js'
import { RefusalMetrics } from './refusal.metrics.js'
import { Shutdown } from './shutdown.js'
import { TokenMetrics } from './token.metrics.js'

/**
 * Runs, monitors and documents the service. src/app.ts installs its gates: `requestLog` directly after the request id,
 * so that it measures everything and logs every refusal; `Shutdown.gate` after it.
 */
@Global()
@Module({
  controllers: [HealthController, MetricsController, DocsController],
  providers: [
    BuildMetrics,
    ClockMetrics,
    LogMetrics,
    PoolMetrics,
    InstanceHeartbeat,
    PrincipalMetrics,
    ProviderMetrics,
    RefusalMetrics,
    TokenMetrics,
    ConnectionWatch,
    MetricsServer,
    Shutdown,
  ],
  exports: [LogMetrics, MetricsServer, RefusalMetrics, Shutdown],
})
export class OperationsModule {}
