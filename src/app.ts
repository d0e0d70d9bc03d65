import type { Server } from 'node:http'
import { parse } from 'node:querystring'
import type { LoggerService, NestApplicationOptions } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import type { NextFunction, Request, Response } from 'express'
import { AppModule } from './app.module.js'
import { Config } from './config/config.js'
import { ServiceError } from './error/service-error.js'
import { answerClientErrors } from './http/client-error.js'
import { requestId } from './http/request-id.js'
import { crossOrigin, securityHeaders } from './http/security.js'
import { Metrics } from './operations/metrics.js'
import { type RequestLog, requestLog } from './operations/request-log.js'
import { Shutdown } from './operations/shutdown.js'

/** What Nest is told when it makes the application. */
export const APP_OPTIONS: NestApplicationOptions = {
  // Bodies are read after access, by RequestFormInterceptor.
  bodyParser: false,
  // `summary/:id` before `:id`, in whatever order the controllers are declared.
  routeResolutionStrategy: 'specificity',
  routeConflictPolicy: { duplicate: 'error' },
}

/** How long an idle connection is kept, in milliseconds: longer than balancers in front keep theirs (60 s), so that they never meet a closing one. */
const KEEP_ALIVE_MS = 65_000

/**
 * Sets up what stands before the routes. To be called once, before the application is initialised; the process and the tests share it,
 * so that both serve the same thing.
 * @param log is told of each request; without it, requests are measured alone
 */
export function configureApp(app: NestExpressApplication, log?: RequestLog): void {
  const config = app.get(Config)
  const server = app.getHttpServer() as Server & { requireHostHeader?: boolean }
  app.disable('x-powered-by')
  app.set('etag', false)
  // Node's own limit would let the thousandth parameter through unseen.
  app.set('query parser', (text: string | null | undefined) => parse(text ?? '', '&', '=', { maxKeys: 0 }))
  app.use(requestId)
  app.use(requestLog(app.get(Metrics), log))
  app.use(securityHeaders())
  if (config.corsOrigins.length > 0) app.use(crossOrigin(config.corsOrigins))
  app.use(app.get(Shutdown).middleware)
  // Node would answer a request without Host by itself, in a form of its own.
  server.requireHostHeader = false
  app.use(requireHost)
  // An expectation that is not known may be ignored (RFC 9110, section 10.1.1); Node would answer 417 in a form of its own.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.keepAliveTimeout = KEEP_ALIVE_MS
  answerClientErrors(server)
}

function requireHost(request: Request, _response: Response, next: NextFunction): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    next(
      new ServiceError('validation_failed', 'HTTP/1.1 needs a Host header', {
        fields: [{ field: 'Host', message: 'is required' }],
      }),
    )
    return
  }
  next()
}

/**
 * Makes the application: everything but listening.
 * @param options the logger Nest writes to, its own where none is given; one that also takes requests is told of each
 */
export async function createApp(
  config: Config,
  options: { logger?: LoggerService & Partial<RequestLog> } = {},
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config), {
    ...APP_OPTIONS,
    ...options,
    abortOnError: false,
  })
  const { logger } = options
  configureApp(app, logger !== undefined && takesRequests(logger) ? logger : undefined)
  return app
}

function takesRequests(logger: Partial<RequestLog>): logger is RequestLog {
  return logger.request !== undefined
}
