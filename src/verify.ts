import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Logger } from '@nestjs/common'
import { command, EXIT, tell } from './command.js'
import { type CommandStore, withStore } from './command-store.js'
import { loadDatabaseConfig } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import { CHANNELS } from './entities.js'
import { findingLine, type Page, type Repaired, type Verification, Verifier } from './ledger/verify/verifier.js'
import { IdSource } from './ledger/write/id-source.js'
import { configured, databaseName, using } from './startup.js'
import { VerifyProgress } from './verify-progress.js'

const USAGE = `usage: node dist/src/verify.js [--repair] [--rest] [--json]
  Holds every row of DATABASE_URL against what must hold of it, while instances serve: a line for each contradiction.
  --repair mends what one derivable value says, under the owner's lock, and writes that into the changes of the quotas.
  --rest pauses after each page for as long as it took, so that requests have at least half of the database.
  --json tells a JSON object a line.
  Exit code: 0 no contradiction is left, 1 some are, 2 it could not run.`

/** The outcomes of a repair, for people. */
const REPAIRED: Readonly<Record<Repaired, string>> = {
  mended: 'mended',
  gone: 'gone by itself, nothing to mend',
  left: 'left',
}

/** The subjects, in the order of the report. */
const LOOKED = ['tables', 'acts', 'operations', 'changes', 'events', 'owners']

/** The numbers of subjects and findings, over all channels. */
class Tally {
  readonly looked: Record<string, number> = {}
  contradictions = 0
  notes = 0
  readonly repaired: Record<Repaired, number> = { mended: 0, gone: 0, left: 0 }

  get left(): number {
    return this.contradictions - this.repaired.mended - this.repaired.gone
  }

  toJSON(): object {
    const { looked, contradictions, notes, repaired, left } = this
    return { looked, contradictions, notes, repaired, left }
  }

  line(repair: boolean): string {
    const looked = LOOKED.flatMap((what) => (what in this.looked ? [`${this.looked[what]} ${what}`] : []))
    const notes = this.notes === 0 ? '' : `, ${counted(this.notes, 'note')}`
    const mended = repair ? `, ${this.repaired.mended} mended, ${this.left} left` : ''
    return `${looked.join(', ') || 'nothing to look at'}: ${counted(this.contradictions, 'contradiction')}${mended}${notes}`
  }
}

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
    const database = configured(() => loadDatabaseConfig(readEnvironment()))
    if (!json) tell(`Database ${databaseName(database)}`)
    // A failure of the database ends the command, which reports it.
    Logger.overrideLogger(false)
    const tally = await using(database, async () => withStore(database, async (store) => verify(store, how)))
    if (tally.left > 0 && !json) tell('docs/run/operations.md, Verifying, says for each rule what to do.')
    tell(json ? JSON.stringify(tally) : tally.line(how.repair))
    return tally.left === 0 ? EXIT.done : EXIT.failed
  },
  EXIT.couldNotRun,
)

/** The options that the arguments select. */
interface How {
  readonly repair: boolean
  readonly rest: boolean
  readonly json: boolean
}

async function verify({ dataSource, transactions, clock }: CommandStore, how: How): Promise<Tally> {
  const requestId = `verify-${new IdSource(clock).next()}`
  const tally = new Tally()
  const channels: Verification[] = CHANNELS.map(({ channel }) => new Verifier(channel, dataSource, transactions, clock))
  const about: Record<string, Record<string, number>> = {}
  for (const verification of channels) about[verification.channel] = await verification.sizes()
  const progress = new VerifyProgress(about, (line) => process.stderr.write(`${line}\n`))
  for (const verification of channels) {
    // Repairs run in order: counters are derived from a repaired ledger.
    const parts = how.repair || how.rest ? [verification.pages()] : verification.parts()
    await Promise.all(
      parts.map(async (pages) =>
        verifyPages(verification, pages, how, how.repair ? requestId : undefined, tally, progress),
      ),
    )
  }
  return tally
}

async function verifyPages(
  verification: Verification,
  pages: AsyncGenerator<Page>,
  { rest, json }: How,
  requestId: string | undefined,
  tally: Tally,
  progress: VerifyProgress,
): Promise<void> {
  const { channel } = verification
  let began = performance.now()
  for await (const { what, count, findings } of pages) {
    progress.read(channel, what, count)
    tally.looked[what] = (tally.looked[what] ?? 0) + count
    const wrong = findings.filter(({ note }) => note !== true)
    const repaired = requestId === undefined ? undefined : await verification.repair(wrong, requestId)
    for (const finding of findings) {
      const outcome = repaired?.get(finding)
      if (finding.note === true) tally.notes += 1
      else tally.contradictions += 1
      if (outcome !== undefined) tally.repaired[outcome] += 1
      if (json) {
        const { rule, where, expected, found, show, note = false } = finding
        tell(JSON.stringify({ channel, rule, where, expected, found, show, note, repaired: outcome }))
        continue
      }
      tell(`${findingLine(channel, finding)}${outcome === undefined ? '' : ` - ${REPAIRED[outcome]}`}`)
      if (outcome !== 'mended' && outcome !== 'gone') tell(`  ${finding.show}`)
    }
    if (rest) await sleep(performance.now() - began)
    began = performance.now()
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
