import { Injectable } from '@nestjs/common'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** The token of the registry that `/metrics` shows; all metrics are registered in it. */
export const METRICS_REGISTRY = Symbol('metrics registry')

/** Upper bounds in seconds: fine around a typical answer of a store, and up to the statement timeout. */
export const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The methods that are distinguished; any other method counts as one more. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** The metrics of requests of one application; a process may have several, in tests. */
@Injectable()
export class Metrics {
  readonly registry = new Registry()

  private readonly durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer; draining is true if it was refused because of a shutdown.',
    labelNames: ['method', 'route', 'status', 'draining'],
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  })

  private readonly firstBytes = new Histogram({
    name: 'http_time_to_first_byte_seconds',
    help: 'Time from the arrival of a request to the beginning of its answer.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS_SECONDS,
    registers: [this.registry],
  })

  /** A cache of observers, by labels; as many as there are time series. */
  private readonly cells = new Map<string, Histogram.Internal<string>>()
  private readonly firstByteCells = new Map<string, Histogram.Internal<string>>()

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  /**
   * Counts a request. Each value of a label is a time series, so callers must not be able to choose any.
   * @param method as sent
   * @param route the pattern, never the path
   * @param draining was it refused because of a shutdown?
   */
  observe(method: string, route: string, status: number, seconds: number, draining: boolean): void {
    const known = METHODS.has(method) ? method : 'other'
    const cell = `${known} ${route} ${status} ${draining}`
    let child = this.cells.get(cell)
    if (child === undefined) {
      const labels = { method: known, route, status }
      child = this.durations.labels(draining ? { ...labels, draining: 'true' } : labels)
      this.cells.set(cell, child)
    }
    child.observe(seconds)
  }

  /** Measures the time to the beginning of an answer; the labels are those of `observe`. */
  observeFirstByte(method: string, route: string, seconds: number): void {
    const known = METHODS.has(method) ? method : 'other'
    const cell = `${known} ${route}`
    let child = this.firstByteCells.get(cell)
    if (child === undefined) {
      child = this.firstBytes.labels({ method: known, route })
      this.firstByteCells.set(cell, child)
    }
    child.observe(seconds)
  }
}
