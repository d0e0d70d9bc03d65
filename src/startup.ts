import { resolve } from 'node:path'
import { ConfigError, type DatabaseConfig, loadDatabaseConfig } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import type { Instance } from './database/instances.js'
import { Refused } from './database/migrate.js'
import { StoreUnavailable, withAdvice } from './database/store-error.js'

/**
 * A reason why a process of the service does not start, for the person who started it: without a stack, since the code
 * is not at fault. Nothing is tried again after it.
 */
export class StartError extends Refused {}

/** Runs a reader of the configuration and converts its mistakes to a StartError. */
export function configured<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError) throw new StartError(error.message)
    throw error
  }
}

/** The database of a command, from its environment. @throws StartError that names every mistake */
export function configuredDatabase(): DatabaseConfig {
  return configured(() => loadDatabaseConfig(readEnvironment()))
}

/**
 * Names the database without its password. A file has its absolute path, since a relative one depends on the working
 * directory.
 */
export function databaseName(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return `sqlite:${resolve(database.path)}`
  const { protocol, username, host, pathname } = new URL(database.url)
  return `${protocol}//${username}@${host}${pathname}`
}

/** The message of an error, in one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/** Explains that the database has migrations that this version does not know. */
export function newerSchema(names: readonly string[]): string {
  return (
    `The schema is newer than this version, which does not know ${names.join(', ')}. This version may run next to a newer ` +
    "one until the newer one's migrate --finish has run; after that, do not start this version"
  )
}

/** Uses the database; a failure becomes a StartError that names it. A StartError from within stays as it is. */
export async function using<T>(database: DatabaseConfig, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof StartError) throw error
    const reason = withAdvice(reasonOf(error instanceof StoreUnavailable ? error.cause : error), error)
    throw new StartError(`The database ${databaseName(database)} cannot be used: ${reason}`)
  }
}

/** The schema has not all migrations of this version. */
export const OTHER_SCHEMA = 'its schema is not that of this version, see node dist/src/migrate.js --status'

/**
 * Refuses work that no running instance would survive.
 * @param refused the work, and which instances hinder it: `--back changes nothing: instances of 1.0.0 or newer`
 * @throws StartError that names the instances, if there are any
 */
export function refuseBeside(instances: readonly Instance[], refused: string): void {
  if (instances.length === 0) return
  const lines = instances.map((instance) => `  ${inWords(instance)}`)
  throw new StartError(
    [`${refused} were running within the last minute.`, ...lines]
      .concat('Stop them, wait for a minute, and run this again.')
      .join('\n'),
  )
}

/** An instance in one line. */
export function inWords({ name, version, secondsAgo }: Instance): string {
  return `${version}  ${name}, ${secondsAgo} s ago`
}
