import { parseArgs } from 'node:util'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { type DatabaseConfig, loadDatabaseConfig } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import { migrate, migrationStates, rehearse } from './database/migrate.js'
import { ENTITIES } from './entities.js'
import { configured, databaseName, newerSchema, using } from './startup.js'

const USAGE = `usage: node dist/src/migrate.js [--status | [--dry-run] [--finish]]
  Brings the schema of DATABASE_URL up to date, as every instance does at its start. --status says what has run, and changes nothing.
  --dry-run prints the SQL that would run now, and changes nothing.
  --finish runs also what instances of the version before could not stand: once none of them is left, and none is to come back.
  Exit code: 0 the schema is up to date, or would be made so by what --dry-run printed; 1 the database cannot be used, 2 wrong arguments,
  3 --status found what has not run.`

const FINISH =
  'What is to run later waits until no instance of the version before is left: then run this with --finish, and restart.'

await command(USAGE, async (args) => {
  const options = { status: { type: 'boolean' }, 'dry-run': { type: 'boolean' }, finish: { type: 'boolean' } } as const
  const { status = false, 'dry-run': dryRun = false, finish = false } = parseArgs({ args, options }).values
  if (status && (dryRun || finish)) throw new ArgumentError('--status goes alone')
  const database = configured(() => loadDatabaseConfig(readEnvironment()))
  // Told first: whoever waits, or only reads that all went well, knows for which database.
  tell(`${dryRun ? '-- ' : ''}Database ${databaseName(database)}`)
  if (status) return tellStatus(database)
  if (dryRun) {
    const script = await using(database, async () => rehearse(database, ENTITIES, { finish }))
    tell(...script)
    if (script.length === 0) tell('-- The schema is up to date: nothing would run.')
    return EXIT.done
  }
  const ran = await using(database, async () => migrate(database, ENTITIES, { finish }))
  tell(...ran.map((name) => `ran      ${name}`))
  tell(ran.length === 0 ? 'The schema was up to date: nothing to do.' : `The schema is up to date: ${ran.length} ran.`)
  return EXIT.done
})

async function tellStatus(database: DatabaseConfig): Promise<number> {
  const states = await using(database, async () => migrationStates(database, ENTITIES))
  const waiting = states.filter(({ ran, finishing }) => !ran && !finishing).length
  const unknown = states.filter(({ known }) => !known).map(({ name }) => name)
  for (const { name, ran, finishing, known } of states) {
    tell(`${!known ? 'newer  ' : ran ? 'ran    ' : finishing ? 'later  ' : 'waiting'}  ${name}`)
  }
  tell(waiting === 0 ? 'The schema is up to date.' : `The schema is not up to date: ${waiting} to run.`)
  if (unknown.length > 0) tell(newerSchema(unknown))
  if (states.some(({ ran, finishing }) => !ran && finishing)) tell(FINISH)
  return waiting === 0 ? EXIT.done : EXIT.notUpToDate
}
