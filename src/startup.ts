import { resolve } from 'node:path'
import { ConfigError, type DatabaseConfig } from './config/config.js'
import { withAdvice } from './database/store-error.js'

/**
 * A reason why a process of the service does not start, for the person who started it: without a stack, since the code
 * is not at fault.
 */
export class StartError extends Error {}

/** Runs a reader of the configuration and converts its mistakes to a StartError. */
export function configured<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError) throw new StartError(error.message)
    throw error
  }
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

/** Uses the database; a failure becomes a StartError that names it. */
export async function using<T>(database: DatabaseConfig, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    const reason = withAdvice(reasonOf(error), error)
    throw new StartError(`The database ${databaseName(database)} cannot be used: ${reason}`)
  }
}
