import { Global, Module } from '@nestjs/common'
import { Config } from '../config/config.js'
import { UnitOfWork } from '../database/unit-of-work.js'
import { Tracing } from './tracing.js'

/** Traces of requests, for OpenTelemetry's collectors. */
@Global()
@Module({
  providers: [
    {
      provide: Tracing,
      inject: [Config, UnitOfWork],
      useFactory: async ({ traces, database }: Config, work: UnitOfWork) => {
        if (traces === undefined) return new Tracing(undefined)
        // Here alone, so that a service that sends no traces loads nothing of it.
        const { OpenTelemetryTracer } = await import('./open-telemetry.js')
        const tracer = new OpenTelemetryTracer(traces, database.kind)
        work.tracer = tracer
        return new Tracing(tracer)
      },
    },
  ],
  exports: [Tracing],
})
export class TracingModule {}
