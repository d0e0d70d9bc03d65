import { Global, Module } from '@nestjs/common'
import { CONFIG, type Config } from '../config/config.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { Tracing } from './tracing.js'

/** Traces of requests, for OpenTelemetry collectors. */
@Global()
@Module({
  providers: [
    {
      provide: Tracing,
      inject: [CONFIG, TransactionRunner],
      useFactory: async ({ traces, database }: Config, transactions: TransactionRunner) => {
        if (traces === undefined) return new Tracing(undefined)
        // Imported only here, so that a service without traces does not load it.
        const { OpenTelemetryTracer } = await import('./open-telemetry.js')
        const tracer = new OpenTelemetryTracer(traces, database.kind)
        transactions.tracer = tracer
        return new Tracing(tracer)
      },
    },
  ],
  exports: [Tracing],
})
export class TracingModule {}
