import { ConfigError } from './config.js'

/**
 * The environment of the process, and what a file `.env` in its working directory adds to it; what the environment
 * names wins over the file. Every command of the service reads it here, so that all of them work on one database.
 * @throws ConfigError where there is such a file and it cannot be read
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
