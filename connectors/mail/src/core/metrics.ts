import { readFileSync } from 'node:fs'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics, in Prometheus format. */
export class Metrics {
  readonly registry = new Registry()
  readonly questions = this.counter('questions_total', 'Questions that were answered, by what was answered and why.', [
    'answer',
    'reason',
  ])
  readonly recipients = this.counter(
    'recipients_total',
    'Recipients of messages, each at the last answer about its message, by what was answered and why.',
    ['answer', 'reason'],
  )
  readonly seconds = new Histogram({
    name: 'quota_postfix_answer_seconds',
    help: 'From a question until its answer.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  })
  readonly connections = this.gauge('connections', 'Connections of mail servers.')
  readonly closed = this.counter(
    'connections_closed_total',
    'Connections and requests that ended without an answer, by reason: too_many, malformed, slow, failed.',
    ['reason'],
  )
  readonly doubts = this.gauge('doubts', 'Deferred messages that may have been charged, to be looked up and refunded.')
  readonly settled = this.counter(
    'doubts_settled_total',
    'Doubts that ended, by outcome: refunded, not_charged, given_up.',
    ['outcome'],
  )
  readonly stateFailures = this.counter(
    'state_failures_total',
    'Writes to STATE_DIRECTORY that failed or took too long.',
  )
  readonly linesDropped = this.counter(
    'log_lines_dropped_total',
    'Lines of the log that were dropped, since nobody read them.',
  )

  constructor() {
    collectDefaultMetrics({ register: this.registry })
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    this.gauge('build_info', 'Always 1: the version of the connector.', ['version']).set({ version }, 1)
    // Alerts see the first of them only if there was a value before.
    for (const answer of ['pass', 'defer'])
      for (const reason of ['unreachable', 'no_quota']) this.questions.inc({ answer, reason }, 0)
    this.questions.inc({ answer: 'reject', reason: 'no_quota' }, 0)
    for (const outcome of ['refunded', 'not_charged', 'given_up']) this.settled.inc({ outcome }, 0)
  }

  private counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name: `quota_postfix_${name}`, help, labelNames, registers: [this.registry] })
  }

  private gauge<Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name: `quota_postfix_${name}`, help, labelNames, registers: [this.registry] })
  }

  /** @param read called at each scrape */
  read(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `quota_postfix_${name}`,
      help,
      registers: [this.registry],
      collect: () => gauge.set(read()),
    })
  }
}
