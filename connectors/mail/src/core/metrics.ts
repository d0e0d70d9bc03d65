import { readFileSync } from 'node:fs'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics, in Prometheus format. */
export class Metrics {
  readonly registry = new Registry()
  readonly questions = new Counter({
    name: 'quota_postfix_questions_total',
    help: 'Questions that were answered, by what was answered and why.',
    labelNames: ['answer', 'reason'] as const,
    registers: [this.registry],
  })
  readonly seconds = new Histogram({
    name: 'quota_postfix_answer_seconds',
    help: 'From a question until its answer.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  })
  readonly connections = new Gauge({
    name: 'quota_postfix_connections',
    help: 'Connections of mail servers.',
    registers: [this.registry],
  })
  readonly closed = new Counter({
    name: 'quota_postfix_connections_closed_total',
    help: 'Connections and requests that ended without an answer, by reason: too_many, malformed, slow, failed.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  })
  readonly doubts = new Gauge({
    name: 'quota_postfix_doubts',
    help: 'Deferred messages that may have been charged, to be looked up and refunded.',
    registers: [this.registry],
  })
  readonly settled = new Counter({
    name: 'quota_postfix_doubts_settled_total',
    help: 'Doubts that ended, by outcome: refunded, not_charged, given_up.',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  })
  readonly stateFailures = new Counter({
    name: 'quota_postfix_state_failures_total',
    help: 'Writes to STATE_DIRECTORY that failed or took too long.',
    registers: [this.registry],
  })
  readonly linesDropped = new Counter({
    name: 'quota_postfix_log_lines_dropped_total',
    help: 'Lines of the log that were dropped, since nobody read them.',
    registers: [this.registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.registry })
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    new Gauge({
      name: 'quota_postfix_build_info',
      help: 'Always 1: the version of the connector.',
      labelNames: ['version'],
      registers: [this.registry],
    }).set({ version }, 1)
    // Alerts see the first of them only if there was a value before.
    for (const answer of ['pass', 'defer']) this.questions.inc({ answer, reason: 'unreachable' }, 0)
    for (const outcome of ['refunded', 'not_charged', 'given_up']) this.settled.inc({ outcome }, 0)
  }

  /** @param read called at each scrape */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }
}
