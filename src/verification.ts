import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandStore } from './command-store.js'
import { taken, tell } from './command.js'
import { CHANNELS } from './entities.js'
import { type Page, type Rule, RULES } from './ledger/verify/verify-check.js'
import { findingLine, type Repaired, type Verification, Verifier } from './ledger/verify/verifier.js'
import { IdSource } from './ledger/write/id-source.js'
import { Progress } from './common/progress.js'

/** The outcomes of a repair, for people. */
const REPAIRED: Readonly<Record<Repaired, string>> = {
  mended: 'mended',
  gone: 'gone by itself, nothing to mend',
  left: 'left',
}

/** The subjects, in the order of the report. */
const LOOKED = ['tables', 'acts', 'operations', 'changes', 'events', 'owners', 'totals']

/** The numbers of subjects and findings, over all channels. */
export class Tally {
  readonly looked: Record<string, number> = {}
  contradictions = 0
  notes = 0
  readonly repaired: Record<Repaired, number> = { mended: 0, gone: 0, left: 0 }
  /** The rules of the contradictions that are left. */
  readonly rules = new Set<Rule>()

  get left(): number {
    return this.contradictions - this.repaired.mended - this.repaired.gone
  }

  toJSON(): object {
    const { looked, contradictions, notes, repaired, left } = this
    return { looked, contradictions, notes, repaired, left }
  }

  /** What to do about the contradictions that are left, a line for each rule. */
  get advice(): string[] {
    return Object.entries(RULES).flatMap(([rule, advice]) =>
      this.rules.has(rule as Rule) ? [`${rule}: ${advice}`] : [],
    )
  }

  line(repair: boolean): string {
    const looked = LOOKED.flatMap((what) => (what in this.looked ? [`${this.looked[what]} ${what}`] : []))
    const notes = this.notes === 0 ? '' : `, ${counted(this.notes, 'note')}`
    const mended = repair ? `, ${this.repaired.mended} mended, ${this.left} left` : ''
    return `${looked.join(', ') || 'nothing to look at'}: ${counted(this.contradictions, 'contradiction')}${mended}${notes}`
  }
}

/** The options of a verification. */
export interface How {
  readonly repair: boolean
  readonly rest: boolean
  readonly json: boolean
}

/** Verifies a store, and prints a line for each contradiction. */
export async function verify({ dataSource, transactions, clock }: CommandStore, how: How): Promise<Tally> {
  const requestId = `verify-${new IdSource(clock).next()}`
  const tally = new Tally()
  const channels: Verification[] = CHANNELS.map(({ channel }) => new Verifier(channel, dataSource, transactions, clock))
  const about: Record<string, Record<string, number>> = {}
  for (const verification of channels) about[verification.channel] = await verification.sizes()
  const progress = new Progress(about, (line) => process.stderr.write(`${line}\n`))
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
  progress: Progress,
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
      if (finding.note !== true && (outcome ?? 'left') === 'left') tally.rules.add(finding.rule)
      if (json) {
        const { rule, where, expected, found, show, note = false } = finding
        tell(JSON.stringify({ channel, rule, where, expected, found, show, note, repaired: outcome }))
        continue
      }
      tell(`${findingLine(channel, finding)}${outcome === undefined ? '' : ` - ${REPAIRED[outcome]}`}`)
      if (outcome !== 'mended' && outcome !== 'gone') tell(`  ${finding.show}`)
    }
    // Millions of findings must not wait in memory for a pager.
    await taken()
    if (rest) await sleep(performance.now() - began)
    began = performance.now()
  }
}

/** A number with its noun. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
