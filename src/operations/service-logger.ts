import { inspect } from 'node:util'
import type { LoggerService } from '@nestjs/common'
import { type Clock, SystemClock } from '../clock/clock.js'
import type { Config, LogLevel } from '../config/config.js'
import { formatInstant } from '../quota/instant.js'
import type { RequestLine, RequestLog } from './request-log.js'

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** Where Nest tells of every module and route that it has set up: of interest to whoever looks for a fault alone. */
const CHATTY = new Set(['InstanceLoader', 'RouterExplorer', 'RoutesResolver'])

/** Causes that are followed at most; a cause may be its own. */
const DEEPEST_CAUSE = 5

/** Where a finished line goes. */
export type Write = (line: string) => void

/**
 * The service's log: one line each, JSON or text (LOG_FORMAT), as much of it as LOG_LEVEL asks for. Nest and everything that uses
 * its `Logger` writes here. An error is told by its stack and those of its causes, never by its other properties: a driver's error holds
 * the statement and its parameters, idempotency keys among them.
 */
export class ServiceLogger implements LoggerService, RequestLog {
  private readonly severity: number
  private readonly json: boolean

  constructor(
    config: Pick<Config, 'logLevel' | 'logFormat'>,
    private readonly out: Write,
    private readonly clock: Clock = new SystemClock(),
  ) {
    this.severity = SEVERITY[config.logLevel]
    this.json = config.logFormat === 'json'
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.tell(CHATTY.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest)
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.tell('error', message, rest)
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.tell('error', message, rest)
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

  /** One line for a request; faults of the service are told at a level that LOG_LEVEL=warn still shows. */
  request(line: RequestLine): void {
    const level = line.status < 500 ? 'info' : line.status === 503 ? 'warn' : 'error'
    if (SEVERITY[level] > this.severity) return
    const time = formatInstant(this.clock.now())
    const { method, route, status, ms, principal, requestId, aborted, client } = line
    if (this.json) {
      const aborting = aborted ? { aborted } : {}
      const told = {
        time,
        level,
        context: 'Request',
        method,
        route,
        status,
        ms,
        principal,
        request_id: requestId,
        client,
        ...aborting,
      }
      this.out(`${JSON.stringify(told)}\n`)
      return
    }
    const who = principal === undefined ? '-' : principal
    const where = client === undefined ? '' : ` from ${client}`
    this.out(
      `${time} ${level.padEnd(5)} [Request] ${method} ${route} ${status} ${ms} ms ${who} ${requestId}${where}${aborted ? ' aborted' : ''}\n`,
    )
  }

  // Nest's Logger appends its context to what it was given, and error() may have a stack before that.
  private tell(level: LogLevel, message: unknown, rest: readonly unknown[]): void {
    if (SEVERITY[level] > this.severity) return
    const last = rest.at(-1)
    const context = typeof last === 'string' && !isStack(last) ? last : undefined
    const more = context === undefined ? rest : rest.slice(0, -1)
    const stack = more.find((part): part is string => typeof part === 'string' && isStack(part))
    const others = more.filter((part) => part !== undefined && part !== stack)
    const text = [message, ...others].map(textOf).join(' ')
    const trace = stackOf([message, ...others]) ?? stack
    const time = formatInstant(this.clock.now())
    if (this.json) {
      this.out(`${JSON.stringify({ time, level, context, message: text, stack: trace })}\n`)
    } else {
      const where = context === undefined ? '' : ` [${context}]`
      this.out(`${time} ${level.padEnd(5)}${where} ${text}${trace === undefined ? '' : `\n${trace}`}\n`)
    }
  }
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
  while (error instanceof Error && stacks.length < DEEPEST_CAUSE) {
    stacks.push(error.stack ?? String(error))
    error = error.cause
  }
  return stacks.length === 0 ? undefined : stacks.join('\ncaused by: ')
}
