import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { copyTo } from './database/sqlite-file.js'
import { configuredDatabase, databaseName, reasonOf, StartError } from './startup.js'

const USAGE = `usage: node dist/src/backup.js FILE
  Copies the SQLite file of DATABASE_URL into a new file, as it is at one moment. The service may run meanwhile.`

await command(USAGE, (args) => {
  const [file, ...more] = parseArgs({ args, allowPositionals: true }).positionals
  if (file === undefined || more.length > 0) throw new ArgumentError('one FILE is required: the path of the copy')
  const database = configuredDatabase()
  if (database.kind !== 'sqlite') {
    throw new StartError(
      `${databaseName(database)} is on a server: use mariadb-dump or mysqldump, as docs/run/backup-and-upgrade.md says`,
    )
  }
  const copy = resolve(file)
  try {
    copyTo(resolve(database.path), copy)
  } catch (error) {
    throw new StartError(`${databaseName(database)} cannot be copied: ${reasonOf(error)}`)
  }
  tell(`Database ${databaseName(database)}`, `copied to ${copy}`)
  return EXIT.done
})
