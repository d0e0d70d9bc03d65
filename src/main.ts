import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createApp } from './app.js'
import { Tokens } from './auth/tokens.js'
import { Clock } from './clock/clock.js'
import { type Config, ConfigError, type DatabaseConfig, loadConfig } from './config/config.js'
import { migrate } from './database/migrate.js'
import { ENTITIES } from './entities.js'
import { ServiceLogger } from './operations/service-logger.js'
import { Shutdown } from './operations/shutdown.js'
import { welcome } from './operations/welcome.js'

/** Why the service does not start, in words for whoever started it: no stack, since nothing in the code is wrong. */
class StartError extends Error {}

function configured(): Config {
  // What the environment names wins over the file.
  if (existsSync('.env')) process.loadEnvFile('.env')
  try {
    return loadConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) throw new StartError(error.message)
    throw error
  }
}

/** Names the database without its password. */
function named(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.path
  const { protocol, host, pathname } = new URL(database.url)
  return `${protocol}//${host}${pathname}`
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

async function start(): Promise<void> {
  const config = configured()
  const logger = new ServiceLogger(config)
  try {
    await migrate(config.database, ENTITIES)
  } catch (error) {
    throw new StartError(`The database ${named(config.database)} cannot be used: ${reasonOf(error)}`)
  }
  const app = await createApp(config, { logger })
  await app.init()
  const server = app.getHttpServer()
  try {
    // Nest's own listen would tell of a failure in the log as well.
    server.listen(config.port, config.host)
    await once(server, 'listening')
  } catch (error) {
    await app.close()
    throw new StartError(`Cannot listen on ${config.host}, port ${config.port}: ${reasonOf(error)}`)
  }
  app.get(Shutdown).install(app, server, config)
  const { address, family, port } = server.address() as AddressInfo
  logger.log(`listening on ${family === 'IPv6' ? `[${address}]` : address}:${port}`, 'Main')
  process.stdout.write(welcome({ address, port }, app.get(Tokens).made, app.get(Clock).now()))
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
