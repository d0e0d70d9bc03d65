import { parseArgs } from 'node:util'
import { Logger } from '@nestjs/common'
import { command, EXIT, tell } from './command.js'
import { withStore } from './command-store.js'
import { configuredDatabase, databaseName, using } from './startup.js'
import { verify } from './verification.js'

const USAGE = `usage: node dist/src/verify.js [--repair] [--rest] [--json]
  Holds every row of DATABASE_URL against what must hold of it, while instances serve: a line for each contradiction.
  --repair mends what one derivable value says, under the owner's lock, and writes that into the changes of the quotas.
  --rest pauses after each page for as long as it took, so that requests have at least half of the database.
  --json tells a JSON object a line.
  Exit code: 0 no contradiction is left, 1 some are, 2 it could not run.`

await command(
  USAGE,
  async (args) => {
    const how = parseArgs({
      args,
      options: {
        repair: { type: 'boolean', default: false },
        rest: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    }).values
    const { json } = how
    const database = configuredDatabase()
    if (!json) tell(`Database ${databaseName(database)}`)
    // A failure of the database ends the command, which reports it.
    Logger.overrideLogger(false)
    const tally = await using(database, async () => withStore(database, async (store) => verify(store, how)))
    if (tally.left > 0 && !json)
      tell([...tally.advice, 'docs/run/verify-and-metrics.md says more of each rule.'].join('\n'))
    tell(json ? JSON.stringify(tally) : tally.line(how.repair))
    return tally.left === 0 ? EXIT.done : EXIT.failed
  },
  EXIT.couldNotRun,
)
