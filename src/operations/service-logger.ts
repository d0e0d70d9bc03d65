import { inspect } from 'node:util'
import type { LoggerService } from '@nestjs/common'
import pino from 'pino'
import { type Clock, SystemClock } from '../common/clock.js'
import type { Config, LogLevel } from '../config/config.js'
import { formatInstant, type Instant } from '../common/instant.js'
import type { RequestLine, RequestLog } from './request-log.js'
import type { Output } from './stdout.js'

/** Nest's contexts for the set-up of modules and routes; logged only at `debug`. */
const CHATTY = new Set(['InstanceLoader', 'RouterExplorer', 'RoutesResolver'])

/** The context of request lines. */
const REQUEST = 'Request'

const LARGE_BODY = 'a body of more than 1 MB begins'

/** The maximum depth of causes; a cause may be its own cause. */
const MAX_CAUSES = 5

/** Fields of logged objects, and of objects directly in them, whose values are never logged. */
const SECRET = ['authorization', 'cookie', 'token', 'password', 'idempotency_key', 'sql', 'query', 'parameters', 'body']

/**
 * The service's log: one line per entry, JSON or text (LOG_FORMAT), from the severity LOG_LEVEL on. Nest and every
 * `Logger` write here; pino builds the lines. Of an error, only its stack and those of its causes are logged, never its
 * other properties: a driver's error contains the statement and its parameters, including idempotency keys.
 */
export class ServiceLogger implements LoggerService, RequestLog {
  private readonly json: boolean
  private readonly pino: pino.Logger
  private readonly level: LogLevel

  constructor(
    config: Pick<Config, 'logLevel' | 'logFormat'>,
    private readonly out: Output,
    private readonly clock: Pick<Clock, 'now'> = new SystemClock(),
  ) {
    this.json = config.logFormat === 'json'
    this.level = config.logLevel
    this.pino = pino(
      {
        level: config.logLevel,
        // The platform adds process and host itself.
        base: null,
        messageKey: 'message',
        timestamp: timestamps(clock),
        formatters: { level: (level) => ({ level }) },
        redact: SECRET.flatMap((field) => [`details.${field}`, `details.*.${field}`]),
      },
      this.json ? out : { write: (line) => out.write(readable(line)) },
    )
    out.onRecovered = (dropped) =>
      this.warn(`${dropped} log lines were dropped because the log's reader had stopped`, 'Log')
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.tell(CHATTY.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest)
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.tell('error', message, rest)
  }

  /** Errors that end the process are written synchronously. */
  fatal(message: unknown, ...rest: unknown[]): void {
    this.tell('error', message, rest)
    this.out.flush()
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.tell('warn', message, rest)
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.tell('debug', message, rest)
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.tell('debug', message, rest)
  }

  /** Switches to `debug`, or back to LOG_LEVEL. */
  toggleDebug(): void {
    const level = this.pino.level === 'debug' ? this.level : 'debug'
    // Logged with any LOG_LEVEL, so that readers of the log know why its level changes.
    this.pino.level = 'debug'
    this.pino.info({ context: 'Log' }, `log level changed to ${level}`)
    this.pino.level = level
  }

  /** One line for a request; faults of the service have a level that LOG_LEVEL=warn includes. */
  request(line: RequestLine): void {
    const { method, route, status, code, reason, ms, principal, requestId, traceId, client, aborted } = line
    const level = status < 500 ? 'info' : status === 503 ? 'warn' : 'error'
    if (this.json) {
      const request = { method, route, status, code, reason, ms, principal, request_id: requestId, trace_id: traceId }
      this.pino[level]({ context: REQUEST, ...request, client, aborted: aborted || undefined })
    } else if (this.pino.isLevelEnabled(level)) {
      // Built by hand instead of by pino's JSON, since there are many of these lines.
      const who = principal ?? '-'
      const where = client === undefined ? '' : ` from ${client}`
      const why = [code, reason].map((word) => (word === undefined ? '' : ` ${word}`)).join('')
      const reported = `${method} ${route} ${status}${why} ${ms} ms ${who} ${requestId}${where}${aborted ? ' aborted' : ''}`
      this.out.write(textLine(formatInstant(this.clock.now()), level, REQUEST, reported))
    }
  }

  /** Written at once: the process may end before it would be written with others. */
  largeBody({ method, route, principal, requestId }: Parameters<RequestLog['largeBody']>[0]): void {
    const request = { method, route, principal, request_id: requestId }
    if (this.json) this.pino.info({ context: REQUEST, ...request }, LARGE_BODY)
    else this.pino.info({ context: REQUEST }, `${method} ${route} ${principal ?? '-'} ${requestId}: ${LARGE_BODY}`)
    this.out.flush()
  }

  // Nest's Logger appends its context to the arguments, and error() may have a stack before it.
  private tell(level: LogLevel, message: unknown, rest: readonly unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return
    const last = rest.at(-1)
    const context = typeof last === 'string' && !isStack(last) ? last : undefined
    const more = context === undefined ? rest : rest.slice(0, -1)
    const stack = more.find((part): part is string => typeof part === 'string' && isStack(part))
    const parts = [message, ...more.filter((part) => part !== undefined && part !== stack)]
    const objects = parts.filter((part) => isObject(part))
    const text = parts.filter((part) => !isObject(part)).map(textOf)
    this.pino[level](
      { context, stack: stackOf(parts) ?? stack, details: objects.length > 1 ? objects : objects[0] },
      text.length === 0 ? undefined : text.join(' '),
    )
  }
}

/** A line of pino. */
interface Line {
  readonly time: string
  readonly level: LogLevel
  readonly context?: string
  readonly message?: string
  readonly stack?: string
  readonly details?: unknown
}

/** The same line as text: LOG_FORMAT=text. */
function readable(json: string): string {
  const { time, level, context, message, stack, details } = JSON.parse(json) as Line
  const reported = [message, details].filter((part) => part !== undefined).map(textOf)
  return textLine(time, level, context, reported.join(' ') + (stack === undefined ? '' : `\n${stack}`))
}

function textLine(time: string, level: LogLevel, context: string | undefined, reported: string): string {
  return `${time} ${level.padEnd(5)}${context === undefined ? '' : ` [${context}]`} ${reported}\n`
}

/**
 * The time of each line, for pino. Many lines of a busy service have the same millisecond, which is formatted only
 * once.
 */
function timestamps(clock: Pick<Clock, 'now'>): () => string {
  let last: Instant | undefined
  let text = ''
  return () => {
    const now = clock.now()
    if (now !== last) {
      last = now
      text = `,"time":"${formatInstant(now)}"`
    }
    return text
  }
}

function isObject(part: unknown): boolean {
  return typeof part === 'object' && part !== null && !(part instanceof Error)
}

function isStack(text: string): boolean {
  return /\n[ \t]+at /.test(text)
}

function textOf(part: unknown): string {
  if (part instanceof Error) return part.message
  return typeof part === 'string' ? part : inspect(part, { breakLength: Infinity, depth: 4 })
}

function stackOf(parts: readonly unknown[]): string | undefined {
  let error: unknown = parts.find((part) => part instanceof Error)
  const stacks: string[] = []
  while (error instanceof Error && stacks.length < MAX_CAUSES) {
    stacks.push(error.stack ?? String(error))
    error = error.cause
  }
  return stacks.length === 0 ? undefined : stacks.join('\ncaused by: ')
}
