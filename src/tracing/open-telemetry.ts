import { AsyncLocalStorage } from 'node:async_hooks'
import { Logger } from '@nestjs/common'
import type { Request } from 'express'
import {
  type Attributes,
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import {
  type ExportResult,
  ExportResultCode,
  parseKeyPairsIntoRecord,
  W3CTraceContextPropagator,
} from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { SystemClock } from '../common/clock.js'
import { RateLimitedLog } from '../common/rate-limited-log.js'
import { inTime } from '../common/time-limit.js'
import type { DatabaseConfig, TracesConfig } from '../config/config.js'
import type { EndOfStatements } from '../database/session.js'
import { withoutValues } from '../database/statement-text.js'
import type { Listener } from '../http/express.adapter.js'
import type { BatchTracer, TracedRequest } from '../ledger/write/engine.js'
import type { FollowedRequest, RequestEnd, RequestTracer } from './tracing.js'

/** The traced routes: those that do work. Probes and scrapes are frequent and of no interest. */
const FOLLOWED_PATHS = '/api/'
/** The number of characters of a statement in a span; a long statement consists mostly of placeholders. */
const MAX_STATEMENT_CHARACTERS = 2_000
/** The number of statements that the name of a packet's span contains. */
const MAX_NAMED_STATEMENTS = 8
/** The maximum number of requests to which a batch's span links. */
const MAX_LINKS = 128
/** The time limit for sending the remaining spans when the process ends, in milliseconds. */
const CLOSE_MS = 2_000
/** The maximum difference between the times of spans and the time of day, in milliseconds. */
const MAX_APART_MS = 20
/** The time limit for a collector's answer, in milliseconds. */
const EXPORT_MS = 5_000

/** The route of a request without a known route. */
const UNMATCHED = 'unmatched'

/**
 * Creates traces with the SDK of OpenTelemetry. A request is a span of kind `server`, a write's time in the engine is a
 * span within it, and each packet of statements is a span of kind `client`. A batch contains the work of many requests:
 * it is a child of the first traced one, and the others link to it.
 *
 * Spans contain the same names as the log: never a token, an identifier, a key, an amount or a value of a statement.
 */
export class OpenTelemetryTracer implements RequestTracer {
  /** The current span. */
  private readonly active = new AsyncLocalStorage<Span | undefined>()
  private readonly propagator = new W3CTraceContextPropagator()
  private readonly provider: TracerProvider
  private readonly tracer: Tracer

  /** @param database its kind, for the spans of statements */
  constructor(
    config: TracesConfig,
    private readonly database: DatabaseConfig['kind'],
  ) {
    tellWarnings()
    const { url, serviceName } = config
    const headers = parseKeyPairsIntoRecord(config.headers)
    const exporter = new TellingExporter(new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_MS }))
    const resource = { ...parseKeyPairsIntoRecord(config.resource), 'service.name': serviceName }
    this.provider = new TracerProvider({
      resource: defaultResource()
        .merge(detectResources({ detectors: [serviceInstanceIdDetector] }))
        .merge(resourceFromAttributes(resource)),
      sampler: samplerOf(config),
      spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_MS })],
    })
    this.tracer = this.provider.getTracer('quota-service')
  }

  following(listener: Listener): Listener {
    return (request, response) => {
      const span = request.url.startsWith(FOLLOWED_PATHS) ? this.begin(request) : undefined
      // Untraced work must not appear as part of earlier work on the same connection.
      this.active.run(span, listener, request, response)
    }
  }

  current(): FollowedRequest | undefined {
    const span = this.active.getStore()
    if (span === undefined) return undefined
    return { traceId: span.spanContext().traceId, end: (end) => endRequest(span, end) }
  }

  batchesOf(channel: string): BatchTracer {
    return {
      current: () => this.active.getStore(),
      run: async (batch, work) => this.batch(channel, batch, work),
    }
  }

  sending(sql: string): EndOfStatements | undefined {
    const parent = this.active.getStore()
    if (parent === undefined) return undefined
    const statements = sql.split(';\n')
    const name = summaryOf(statements)
    const span = this.child(parent, name, SpanKind.CLIENT, {
      'db.system.name': this.database,
      'db.query.summary': name,
      'db.query.text': withoutValues(
        sql.length > MAX_STATEMENT_CHARACTERS ? `${sql.slice(0, MAX_STATEMENT_CHARACTERS)}…` : sql,
      ),
      ...(statements.length > 1 ? { 'db.operation.batch.size': statements.length } : {}),
    })
    return (error) => {
      // Its text may contain values.
      if (error !== undefined) fail(span, codeOf(error))
      end(span)
    }
  }

  async close(): Promise<void> {
    await inTime(
      CLOSE_MS,
      this.provider.shutdown().catch(() => undefined),
    )
  }

  private begin(request: Request): Span | undefined {
    const parent = this.propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
    adjustTimeOfDay()
    const options = { kind: SpanKind.SERVER, startTime: timeOfDay() }
    const span = this.tracer.startSpan(request.method, options, parent)
    return span.isRecording() ? span : undefined
  }

  private child(parent: Span, name: string, kind: SpanKind, attributes: Attributes): Span {
    const options = { kind, attributes, startTime: timeOfDay() }
    return this.tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent))
  }

  private async batch<T>(channel: string, batch: readonly TracedRequest[], work: () => Promise<T>): Promise<T> {
    const spans = batch.map(({ traced }) => traced as Span | undefined)
    const followed = spans.filter((span) => span !== undefined)
    const [first, ...others] = followed
    // Not the context of the request that woke the lane.
    if (first === undefined) return this.active.run(undefined, work)
    const began = performance.now()
    const span = this.child(first, `${channel} batch`, SpanKind.INTERNAL, { 'quota.batch.size': batch.length })
    span.addLinks(others.slice(0, MAX_LINKS).map(linkTo))
    try {
      return await this.active.run(span, work)
    } finally {
      end(span)
      const link = linkTo(span)
      for (const [place, { request, since }] of batch.entries()) {
        const parent = spans[place]
        if (parent === undefined) continue
        const attributes = { 'quota.batch.size': batch.length, 'quota.queue.seconds': (began - since) / 1000 }
        const options = { startTime: timeOfDay(since), attributes, links: [link] }
        end(this.tracer.startSpan(`${channel} ${request.command.kind}`, options, trace.setSpan(ROOT_CONTEXT, parent)))
      }
    }
  }
}

const LOG_CONTEXT = 'Traces'

/** Logs the SDK's own warnings: the only sign of spans that were dropped because too many waited. */
function tellWarnings(): void {
  const logger = new Logger(LOG_CONTEXT)
  const log = new RateLimitedLog((line) => logger.warn(line))
  const none = (): void => undefined
  const warn = (message: string): void => log.happened('', `OpenTelemetry: ${message}`)
  diag.setLogger(
    { error: none, warn, info: none, debug: none, verbose: none },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}

/** Logs when spans begin to be lost, and when they are accepted again; spans are dropped instead of stored. */
class TellingExporter implements SpanExporter {
  private readonly logger = new Logger(LOG_CONTEXT)
  private failing = false

  constructor(private readonly exporter: SpanExporter) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      const { code, error } = result
      const failed = code !== ExportResultCode.SUCCESS
      if (failed && !this.failing)
        this.logger.warn(`spans are lost: the collector does not accept them: ${error?.message}`)
      if (!failed && this.failing) this.logger.log('the collector accepts spans again')
      this.failing = failed
      done(result)
    })
  }

  async forceFlush(): Promise<void> {
    await this.exporter.forceFlush?.()
  }

  async shutdown(): Promise<void> {
    await this.exporter.shutdown()
  }
}

function samplerOf({ sampler, ratio }: TracesConfig): Sampler {
  const parentBased = sampler.startsWith('parentbased_')
  const root = rootSampler(parentBased ? sampler.slice('parentbased_'.length) : sampler, ratio)
  return parentBased ? new ParentBasedSampler({ root }) : root
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_on') return new AlwaysOnSampler()
  return name === 'always_off' ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio)
}

function endRequest(span: Span, { method, route, status, principal, requestId, aborted }: RequestEnd): void {
  // A span that does not end is never sent: unknown callers cannot fill the collector.
  if (principal === undefined) return
  if (route !== UNMATCHED) span.updateName(`${method} ${route}`)
  span.setAttributes({
    'http.request.method': method,
    ...(route === UNMATCHED ? {} : { 'http.route': route }),
    'http.response.status_code': status,
    'quota.principal': principal,
    'quota.request_id': requestId,
    ...(aborted ? { 'quota.aborted': true } : {}),
  })
  if (status >= 500) fail(span, String(status))
  end(span)
}

// The machine's clock, as in spans of other services, and not the service's.
const clock = new SystemClock()
let origin = performance.timeOrigin

/**
 * Converts a time of `performance.now()` to a time of day. The SDK would read the time of day for each span, in whole
 * milliseconds, so that children could end after their parents.
 */
function timeOfDay(instant: number = performance.now()): number {
  return origin + instant
}

/** Follows a clock that was set, or that runs at another rate. */
function adjustTimeOfDay(): void {
  const apart = clock.now() - timeOfDay()
  if (Math.abs(apart) > MAX_APART_MS) origin += apart
}

function end(span: Span): void {
  span.end(timeOfDay())
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

function linkTo(span: Span): Link {
  return { context: span.spanContext() }
}

/** Names the statements of a packet and their tables: `START TRANSACTION; SELECT mail_owner; COMMIT`. */
function summaryOf(statements: readonly string[]): string {
  const named = statements.slice(0, MAX_NAMED_STATEMENTS).map((statement) => {
    const head = statement.slice(0, MAX_STATEMENT_CHARACTERS)
    const [, verb = ''] = /^\W*([A-Z]+(?: TRANSACTION)?)/.exec(head) ?? []
    const [, table] = /\b(?:FROM|INTO|UPDATE) `?(\w+)/.exec(head) ?? []
    return table === undefined ? verb : `${verb} ${table}`
  })
  return [...named, ...(statements.length > named.length ? ['…'] : [])].join('; ')
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  return code ?? name
}
