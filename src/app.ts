import type { LoggerService, NestApplicationOptions } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { AppModule } from './app.module.js'
import { ProviderKeys } from './auth/provider-keys.js'
import { isOfLinks } from './channel-api/link.controller.js'
import { CONFIG, type Config } from './config/config.js'
import { Connections } from './http/connections.js'
import { NativeExpressAdapter } from './http/express.adapter.js'
import { checkRequestHead } from './http/request-head.js'
import { parseQuery } from './http/query.js'
import { requestId } from './http/request-id.js'
import { type Gate, RequestPipeline } from './http/request-pipeline.js'
import { RouteTable } from './http/route-table.js'
import { crossOrigin } from './http/security.js'
import { Metrics } from './common/metrics.js'
import { consoleSite, servedConsole, servedView, signInOf, siteGate } from './operations/console.js'
import { isMetrics, MetricsServer } from './operations/metrics-server.js'
import { RefusalMetrics } from './operations/refusal.metrics.js'
import { type RequestLog, requestLog } from './operations/request-log.js'
import { Shutdown } from './operations/shutdown.js'
import { Tracing } from './tracing/tracing.js'

/** The options with which Nest creates the application. */
export const APP_OPTIONS: NestApplicationOptions = {
  // The last guard of each route reads the body.
  bodyParser: false,
  routeConflictPolicy: { duplicate: 'error' },
}

/**
 * Installs everything that runs before the routes. Call it once, before the application is initialised; the process and
 * the tests share it, so that both serve the same.
 * @param log receives each request; if absent, requests are only measured
 */
export function configureApp(app: NestExpressApplication, log?: RequestLog): void {
  const config = app.get<Config>(CONFIG)
  app.disable('x-powered-by')
  app.set('etag', false)
  if (config.trustProxy !== undefined) app.set('trust proxy', config.trustProxy)
  app.set('query parser', parseQuery)
  const folder = servedConsole(config)
  const console = folder === undefined ? undefined : consoleSite(folder, signInOf(config, app.get(ProviderKeys)))
  const sites = [console, servedView(config)].filter((site) => site !== undefined)
  const adapter = app.getHttpAdapter() as unknown as NativeExpressAdapter
  const pipeline = app.get(RequestPipeline)
  const connections = app.get(Connections)
  const table = app.get(RouteTable)
  const all = config.linkSecret.length > 0 ? table : table.only((route) => !isOfLinks(route))
  const { tracer } = app.get(Tracing)
  const logged = (routes: RouteTable): Gate =>
    requestLog(app.get(Metrics), routes, {
      log,
      tracer,
      clients: config.trustProxy !== undefined,
      refusals: app.get(RefusalMetrics),
    })
  const { gate } = app.get(Shutdown)
  const routes = config.metricsPort === undefined ? all : all.only((route) => !isMetrics(route))
  const gates = [
    requestId,
    logged(routes),
    ...(config.corsOrigins.length > 0 ? [crossOrigin(config.corsOrigins)] : []),
    gate,
    checkRequestHead,
    ...sites.map(siteGate),
  ]
  const listener = pipeline.listener(gates, routes)
  adapter.listenWith(tracer?.following(listener) ?? listener)
  connections.guard(app.getHttpServer(), config)
  if (config.metricsPort === undefined) return
  const apart = all.only(isMetrics)
  const server = adapter.serverFor(pipeline.listener([requestId, logged(apart), gate, checkRequestHead], apart))
  app.get(MetricsServer).prepare(server, config, connections.observer)
}

/**
 * Creates the application, without listening.
 * @param options the logger for Nest, otherwise its own; one that also accepts requests receives each of them
 */
export async function createApp(
  config: Config,
  options: { logger?: LoggerService & Partial<RequestLog> } = {},
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config), new NativeExpressAdapter(), {
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
