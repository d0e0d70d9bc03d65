/**
 * The order in which Jest runs the test files: longest first, so that at the end no worker has a long file left while the
 * others are idle. On a machine that has run them before, Jest knows each duration. Elsewhere, as in CI, it is estimated
 * from the size of the file and of the contracts and suites that it imports, which Jest does not know, and from WAITING.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createRequire } from 'node:module'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

const CONTRACT = /(?:from|import) '(\.[^']*\.(?:contract|e2e-spec))\.js'/g
/** Suites that take longer than their size suggests, since they wait or use a browser: approximate seconds. */
const WAITING = {
  'console.full': 140,
  'event-faults.slow': 360,
  'abuse-http.slow': 180,
  'outage.slow': 150,
  'migrate-command.slow': 140,
  'abuse-callers.slow': 120,
  'fault.slow': 120,
  'galera.slow': 110,
  'caps.slow': 100,
  'clocks.slow': 100,
  'abuse-reads.slow': 75,
  'console-work.slow': 70,
  'groups-scale.slow': 60,
  'stopped-instance.slow': 60,
}
/** The time for a line of a spec without an application, relative to other lines. */
const SPEC_SHARE = 0.1

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const lasts = new Map(tests.map((test) => [test, this.time(test) ?? guess(test.path)]))
    return [...tests].sort((one, other) => lasts.get(other) - lasts.get(one))
  }
}

/** A rough estimate in milliseconds: a byte of a suite that starts the service takes one. */
function guess(path) {
  const [subject] = basename(path).split('-spec')
  if (Object.hasOwn(WAITING, subject)) return WAITING[subject] * 1000
  return sizeWithContracts(path) * (/\/test\//.test(path) ? 1 : SPEC_SHARE)
}

function sizeWithContracts(path) {
  const source = readFileSync(path, 'utf8')
  const contracts = [...source.matchAll(CONTRACT)].map(([, imported]) => `${join(dirname(path), imported)}.ts`)
  return contracts.reduce((sum, contract) => sum + sizeWithContracts(contract), source.length)
}
