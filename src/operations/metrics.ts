import { Injectable } from '@nestjs/common'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** Token of the registry that `/metrics` shows; whoever has something to measure registers it here. */
export const METRICS_REGISTRY = Symbol('metrics registry')

/** Upper bounds in seconds: fine around a good answer of a store, and up to the statement timeout. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The measurements of one application; one process may hold several, in tests. */
@Injectable()
export class Metrics {
  readonly registry = new Registry()

  private readonly durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  /**
   * Counts a request.
   * @param route the pattern, never the path: each value is a time series
   */
  observe(method: string, route: string, status: number, seconds: number): void {
    this.durations.observe({ method, route, status }, seconds)
  }
}
