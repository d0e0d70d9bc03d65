import { Inject, Injectable } from '@nestjs/common'
import { Counter, type Registry } from 'prom-client'
import { METRICS_REGISTRY } from '../common/metrics.js'
import type { Stdout } from './stdout.js'

/** Measures lost log lines. */
@Injectable()
export class LogMetrics {
  private stdout: Pick<Stdout, 'dropped'> = { dropped: 0 }

  constructor(@Inject(METRICS_REGISTRY) registry: Registry) {
    const dropped = () => this.stdout.dropped
    new Counter({
      name: 'log_lines_dropped_total',
      help: "Log lines that were dropped because the log's reader had stopped.",
      registers: [registry],
      collect() {
        this.reset()
        this.inc(dropped())
      },
    })
  }

  /** Sets the output to measure. */
  watch(stdout: Pick<Stdout, 'dropped'>): void {
    this.stdout = stdout
  }
}
