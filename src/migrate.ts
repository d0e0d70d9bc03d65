import { parseArgs } from 'node:util'
import { command, EXIT, tell } from './command.js'
import { loadDatabaseConfig } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import { migrate, migrationStates } from './database/migrate.js'
import { ENTITIES } from './entities.js'
import { configured, databaseName, using } from './startup.js'

const USAGE = `usage: node dist/src/migrate.js [--status | --finish]
  Brings the schema of DATABASE_URL up to date, as every instance does at its start. --status says what has run, and changes nothing.
  --finish runs also what instances of the version before could not stand: once none of them is left, and none is to come back.
  Exit code: 0 the schema is up to date, 1 the database cannot be used, 2 wrong arguments, 3 --status found what has not run.`

const FINISH =
  'What is to run later waits until no instance of the version before is left: then run this with --finish, and restart.'

await command(USAGE, async (args) => {
  const { status, finish = false } = parseArgs({
    args,
    options: { status: { type: 'boolean' }, finish: { type: 'boolean' } },
  }).values
  const database = configured(() => loadDatabaseConfig(readEnvironment()))
  // Told first: whoever waits, or only reads that all went well, knows for which database.
  tell(`Database ${databaseName(database)}`)
  if (status === true) {
    const states = await using(database, async () => migrationStates(database, ENTITIES))
    const waiting = states.filter(({ ran, finishing }) => !ran && !finishing).length
    tell(...states.map(({ name, ran, finishing }) => `${ran ? 'ran    ' : finishing ? 'later  ' : 'waiting'}  ${name}`))
    tell(waiting === 0 ? 'The schema is up to date.' : `The schema is not up to date: ${waiting} to run.`)
    if (states.some(({ ran, finishing }) => !ran && finishing)) tell(FINISH)
    return waiting === 0 ? EXIT.done : EXIT.notUpToDate
  }
  const ran = await using(database, async () => migrate(database, ENTITIES, { finish }))
  tell(...ran.map((name) => `ran      ${name}`))
  tell(ran.length === 0 ? 'The schema was up to date: nothing to do.' : `The schema is up to date: ${ran.length} ran.`)
  return EXIT.done
})
