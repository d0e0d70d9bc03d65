import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { constants } from 'node:os'
import { DataSource } from 'typeorm'
import { createApp } from './app.js'
import { TokensFile } from './auth/tokens-file.js'
import { Tokens } from './auth/tokens.js'
import { EXIT } from './command.js'
import { Clock } from './common/clock.js'
import { loadConfig } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import { recordStart } from './database/instances.js'
import { migrate, schemaDifference } from './database/migrate.js'
import { ENTITIES } from './entities.js'
import { buildName, readBuild } from './operations/build-info.js'
import { CONSOLE_PATH, servedConsole } from './operations/console.js'
import { MetricsServer } from './operations/metrics-server.js'
import { ServiceLogger } from './operations/service-logger.js'
import { Shutdown } from './operations/shutdown.js'
import { LogMetrics } from './operations/log.metrics.js'
import { Stdout } from './operations/stdout.js'
import { welcome } from './operations/welcome.js'
import { Webhooks } from './webhook/webhooks.js'
import { configured, newerSchema, reasonOf, StartError, using } from './startup.js'

/**
 * The length of the system's queue of new connections, as large as the system permits; a caller that finds it full
 * retries a second later.
 */
const BACKLOG = 4_096

const USAGE = `usage: node dist/src/main.js
  Starts the service. It takes no arguments: environment variables, and a file .env, configure it.`

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Ends the process at a signal before it serves, while it may wait for its database. Without a listener, the system
 * would not end the first process of a container.
 */
const endAtOnce = (signal: NodeJS.Signals): void => process.exit(128 + constants.signals[signal])

async function start(): Promise<void> {
  for (const signal of SIGNALS) process.once(signal, endAtOnce)
  // Files are read at the start anyway; a signal to read them again must not end it.
  process.on('SIGHUP', () => undefined)
  const config = configured(() => loadConfig(readEnvironment()))
  const stdout = Stdout.open()
  const logger = new ServiceLogger(config, stdout)
  logger.log(`quota-service ${buildName(readBuild())} on Node ${process.versions.node}`, 'Main')
  process.on('SIGUSR2', () => logger.toggleDebug())
  const ran = await using(config.database, async () => migrate(config.database, ENTITIES, { after: recordStart }))
  if (ran.length > 0) logger.log(`the schema is up to date; migrations run: ${ran.join(', ')}`, 'Main')
  const app = await createApp(config, { logger })
  app.get(LogMetrics).watch(stdout)
  // One of them says it if there is no file to read.
  if (config.tokensFile !== undefined || config.webhooksFile === undefined) app.get(TokensFile).obey()
  if (config.webhooksFile !== undefined) app.get(Webhooks).file.obey()
  await app.init()
  const { unfinished, unknown } = await using(config.database, async () => schemaDifference(app.get(DataSource)))
  if (unknown.length > 0) logger.warn(newerSchema(unknown), 'Main')
  if (unfinished.length > 0)
    logger.log(
      `Pending migrations: ${unfinished.join(', ')}. When no instance of the previous version runs, run \`node dist/src/migrate.js --finish\`.`,
      'Main',
    )
  const server = app.getHttpServer()
  const listening = async <T>(listen: () => Promise<T>, host: string, port: string): Promise<T> => {
    try {
      return await listen()
    } catch (error) {
      await app.close()
      throw new StartError(`Cannot listen on ${host}, ${port}: ${reasonOf(error)}`)
    }
  }
  const apart = await listening(
    async () => app.get(MetricsServer).listen(),
    config.metricsHost,
    `METRICS_PORT ${config.metricsPort}`,
  )
  await listening(
    async () => {
      // Nest's own listen would also log a failure.
      server.listen({ port: config.port, host: config.host, backlog: BACKLOG })
      await once(server, 'listening')
    },
    config.host,
    `port ${config.port}`,
  )
  app.get(Shutdown).install(app, server, config, {
    on: (signal, listener) => process.on(signal, listener),
    // Writes the last lines, which report the result.
    exit: (code) => void stdout.end().finally(() => process.exit(code)),
  })
  for (const signal of SIGNALS) process.off(signal, endAtOnce)
  if (apart !== undefined) logger.log(`/metrics listens on ${nameOf(apart)}`, 'Main')
  const { address, family, port } = server.address() as AddressInfo
  logger.log(`listening on ${nameOf({ address, family, port })}`, 'Main')
  const consolePath = servedConsole(config) === undefined ? undefined : CONSOLE_PATH
  if (config.console && consolePath === undefined)
    logger.warn(`${CONSOLE_PATH} is not served, since the console was not built: npm run build`, 'Main')
  stdout.write(welcome({ address, port }, app.get(Tokens).made, app.get(Clock).now(), consolePath))
}

function nameOf({ address, family, port }: AddressInfo): string {
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

const [argument] = process.argv.slice(2)
if (argument !== undefined) {
  const isAsked = ['--help', '-h'].includes(argument)
  const stream = isAsked ? process.stdout : process.stderr
  stream.write(`${USAGE}\n`)
  process.exit(isAsked ? EXIT.done : EXIT.wrongArguments)
}
try {
  await start()
} catch (error) {
  if (error instanceof StartError) process.stderr.write(`${error.message}\n`)
  else
    process.stderr.write(
      `The service could not start: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`,
    )
  process.exit(1)
}
