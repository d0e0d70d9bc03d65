import { ConfigError } from './config.js'

/**
 * The environment of the process, and the variables of a file `.env` in its working directory; the environment takes
 * precedence. Every command of the service uses it, so that all of them use one database.
 * @throws ConfigError if such a file exists and cannot be read
 */
export function readEnvironment(): NodeJS.ProcessEnv {
  try {
    process.loadEnvFile('.env')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw new ConfigError([`.env cannot be read: ${message}`])
  }
  return process.env
}
