import type { LoggerService, NestApplicationOptions } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { AppModule } from './app.module.js'
import { Config } from './config/config.js'
import { Connections } from './http/connections.js'
import { soundHead } from './http/head.js'
import { parseQuery } from './http/query.js'
import { requestId } from './http/request-id.js'
import { RouteTable } from './http/route-table.js'
import { crossOrigin, securityHeaders } from './http/security.js'
import { Console, CONSOLE_PATH } from './operations/console.js'
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

/**
 * Sets up what stands before the routes. To be called once, before the application is initialised; the process and the tests share it,
 * so that both serve the same thing.
 * @param log is told of each request; without it, requests are measured alone
 */
export function configureApp(app: NestExpressApplication, log?: RequestLog): void {
  const config = app.get(Config)
  app.get(Connections).guard(app.getHttpServer(), config)
  app.disable('x-powered-by')
  app.set('etag', false)
  if (config.trustProxy !== undefined) app.set('trust proxy', config.trustProxy)
  app.set('query parser', parseQuery)
  app.use(requestId)
  app.use(requestLog(app.get(Metrics), app.get(RouteTable), { log, clients: config.trustProxy !== undefined }))
  app.use(securityHeaders())
  if (config.corsOrigins.length > 0) app.use(crossOrigin(config.corsOrigins))
  app.use(app.get(Shutdown).middleware)
  app.use(soundHead)
  const { middleware } = app.get(Console)
  if (middleware !== undefined) app.use(CONSOLE_PATH, middleware)
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
