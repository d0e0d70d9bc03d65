import { parseArgs } from 'node:util'
import { ArgumentError, command, EXIT, tell } from './command.js'
import type { DatabaseConfig } from './config/config.js'
import { compareVersions, instancesIn, runningInstances } from './database/instances.js'
import { migrate, migrateBack, migrationStates, type UnderLock } from './database/migrate.js'
import { ENTITIES } from './entities.js'
import { configuredDatabase, databaseName, inWords, newerSchema, refuseBeside, using } from './startup.js'
import { VERSION } from './common/version.js'

const USAGE = `usage: node dist/src/migrate.js [--status | --finish | --back]
  Brings the schema of DATABASE_URL up to date, as every instance does at its start. --status says what has run and which instances are there,
  and changes nothing.
  --finish runs also what instances of the version before could not stand: once none of them is left, and none is to come back. It refuses
  while one has been there within the last minute.
  --back takes back the migration that ran last, with the data in what it made, for the version before. It refuses while an instance of this
  version, or of a newer one, has been there within the last minute; each of them brings the schema up to date again at its start.
  Exit code: 0 the schema is up to date, or was taken back; 1 the database cannot be used, or --finish or --back refused; 2 wrong arguments;
  3 --status found what has not run.`

const FINISH =
  'What is to run later waits until no instance of the version before is left: then run this with --finish, and restart.'

await command(USAGE, async (args) => {
  const options = {
    status: { type: 'boolean' },
    finish: { type: 'boolean' },
    back: { type: 'boolean' },
  } as const
  const { status = false, finish = false, back = false } = parseArgs({ args, options }).values
  if ([status, finish, back].filter(Boolean).length > 1) {
    throw new ArgumentError('--status, --finish and --back exclude each other')
  }
  const database = configuredDatabase()
  // Printed first, so that readers of any later line know the database.
  tell(`Database ${databaseName(database)}`)
  if (status) return tellStatus(database)
  if (back) return takeBack(database)
  const before = finish ? await nobodyOlder(database) : undefined
  const ran = await using(database, async () => migrate(database, ENTITIES, { finish, before }))
  tell(...ran.map((name) => `ran      ${name}`))
  tell(ran.length === 0 ? 'The schema was up to date: nothing to do.' : `The schema is up to date: ${ran.length} ran.`)
  return EXIT.done
})

/** Refuses beside an instance that cannot handle the migrations to finish; undefined if there is none to finish. */
async function nobodyOlder(database: DatabaseConfig): Promise<UnderLock | undefined> {
  const states = await using(database, async () => migrationStates(database, ENTITIES))
  if (!states.some(({ ran, finishing }) => !ran && finishing)) return undefined
  return async (dataSource, runner) => {
    const here = await instancesIn(dataSource, runner)
    const older = here.filter(({ version }) => compareVersions(version, VERSION) < 0)
    refuseBeside(older, `--finish changes nothing: instances older than ${VERSION}`)
  }
}

async function takeBack(database: DatabaseConfig): Promise<number> {
  const nobodyThere: UnderLock = async (dataSource, runner) => {
    const here = await instancesIn(dataSource, runner)
    const users = here.filter(({ version }) => compareVersions(version, VERSION) >= 0)
    refuseBeside(users, `--back changes nothing: instances of ${VERSION} or newer`)
  }
  const name = await using(database, async () => migrateBack(database, ENTITIES, nobodyThere))
  tell(name === undefined ? 'No migration has run: nothing to take back.' : `taken back ${name}`)
  return EXIT.done
}

async function tellStatus(database: DatabaseConfig): Promise<number> {
  const states = await using(database, async () => migrationStates(database, ENTITIES))
  const waiting = states.filter(({ ran, finishing }) => !ran && !finishing).length
  const unknown = states.filter(({ known }) => !known).map(({ name }) => name)
  for (const { name, ran, finishing, known } of states) {
    tell(`${!known ? 'newer  ' : ran ? 'ran    ' : finishing ? 'later  ' : 'waiting'}  ${name}`)
  }
  const here = await using(database, async () => runningInstances(database, ENTITIES))
  tell(...here.map((instance) => `here     ${inWords(instance)}`))
  tell(waiting === 0 ? 'The schema is up to date.' : `The schema is not up to date: ${waiting} to run.`)
  if (unknown.length > 0) tell(newerSchema(unknown))
  if (states.some(({ ran, finishing }) => !ran && finishing)) tell(FINISH)
  return waiting === 0 ? EXIT.done : EXIT.notUpToDate
}
