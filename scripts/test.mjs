/**
 * `npm test`: builds what has changed, finds the databases, runs each contract once, and prints at the end what ran.
 * `npm run test:all` runs every suite, also `*.full-spec.ts` and `*.slow-spec.ts`, on each database for both channels.
 * Further arguments go to Jest: `npm test -- -t "draw-down"`.
 *
 * AFTER_NPM_TEST     1: `npm run test:all` leaves out what `npm test` runs: of its suites, the other stores and channels
 *                    run, and the loads that it shortens
 * TEST_DATABASE_URL  a MariaDB or MySQL server on which suites may create databases; default: a throwaway MariaDB, if one is installed
 * TEST_SERVER_ARGS   further options of the throwaway MariaDB, such as `--character-set-server=latin1`
 * REQUIRE_DATABASES  such as `sqlite,mariadb`: fail if one of these cannot be tested
 * REQUIRE_BROWSER    1: fail if there is no Chromium, in which the console is tested
 * EXIM               the path of Exim's program, if its package is not installed, since it conflicts with that of Postfix
 * CHROMIUM           the path of its executable, if it is not found automatically
 * TMPDIR             the folder for databases and files of the suites; default: in memory if there is room, since no
 *                    suite cuts the power, and a flush to a disk may take milliseconds for each of a million commits
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask, findMariaDb, startMariaDb } from './mariadb.mjs'
import {
  findAccountSources,
  findCalc,
  findChromium,
  findExim,
  findGalera,
  findGroupReplication,
  findInterpreters,
  findPostfix,
} from './programs.mjs'
import { findReleased } from './released.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const KNOWN = ['sqlite', 'mariadb', 'mysql']
const ALL = '--all'
/** The number of slowest files to print. */
const SLOWEST = 10
const MEMORY = '/dev/shm'
/** The largest databases of three suites at a time, and the other files. */
const ROOM_BYTES = 4 * 1024 ** 3
const all = process.argv.includes(ALL)
const jestArguments = process.argv.slice(2).filter((argument) => argument !== ALL)

let child
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal))

process.exitCode = await main()

async function main() {
  const required = (process.env.REQUIRE_DATABASES ?? '').split(',').map((name) => name.trim())
  const missing = new Set(required.filter((name) => name !== ''))
  for (const name of missing) {
    if (!KNOWN.includes(name)) return refuse(`REQUIRE_DATABASES: unknown database "${name}", use ${KNOWN.join(', ')}`)
  }

  if (!process.env.TMPDIR && hasRoomInMemory()) process.env.TMPDIR = MEMORY

  const chromium = findChromium()
  if (chromium === undefined && process.env.REQUIRE_BROWSER === '1') {
    return refuse('REQUIRE_BROWSER: there is no Chromium (install chromium or set CHROMIUM)')
  }

  const built = await run('npm', ['run', '--silent', 'build', '--', '--if-changed'])
  if (built !== 0) return refuse('the build failed')

  const libsql = JSON.parse(readFileSync(join(root, 'node_modules/libsql/package.json'), 'utf8')).version
  const used = [`SQLite (libsql ${libsql})`]
  missing.delete('sqlite')

  let server
  let url = process.env.TEST_DATABASE_URL
  if (url) {
    let version
    try {
      version = await ask(url, 'SELECT VERSION() AS value')
    } catch (error) {
      return refuse(`TEST_DATABASE_URL: no answer (${error.code ?? error.message})`)
    }
    used.push(`${describe(version, missing)} (TEST_DATABASE_URL)`)
  } else if (findMariaDb() !== undefined) {
    server = await startMariaDb()
    url = server.url()
    used.push(`${describe(server.version, missing)} (throwaway)`)
  }
  if (missing.size > 0) {
    await server?.stop()
    return refuse(`required, but not there: ${[...missing].join(', ')}`)
  }

  const scratch = mkdtempSync(join(tmpdir(), 'quota-test-'))
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
  const file = join(scratch, 'results.json')
  const code = await run(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      join(root, 'node_modules/jest/bin/jest.js'),
      '--json',
      `--outputFile=${file}`,
      ...jestArguments,
    ],
    {
      QUOTA_SUITES: !all ? 'guard' : process.env.AFTER_NPM_TEST === '1' ? 'rest' : 'all',
      // Whoever names suites or tests gets them one by one.
      ...(!all && jestArguments.every((argument) => argument.startsWith('--')) ? { QUOTA_AREAS: '1' } : {}),
      ...(url ? { TEST_DATABASE_URL: url } : {}),
    },
  )
  await server?.stop()

  console.log()
  console.log(`Databases: ${used.join(', ')}`)
  if (!url) {
    console.log('MariaDB: not found, suites ran on SQLite alone (install mariadb-server or set TEST_DATABASE_URL)')
  }
  say(
    chromium,
    `Browser: ${chromium}`,
    'Browser: not found, the console was not tried (install chromium or set CHROMIUM)',
  )
  if (all) {
    say(findGalera(), 'Galera: two of three nodes written to, two of them killed', 'Galera: not installed, not tried')
    say(
      findGroupReplication(),
      'Group Replication: two of three nodes written to, one and two of them killed',
      'Group Replication: no MySQL server with the plug-in, not tried (MYSQLD names one)',
    )
    say(
      findPostfix(),
      'Postfix: in front of the service, by way of the connector',
      'Postfix: not installed, or not run as root; the connector was not tried with it',
    )
    say(
      findCalc(),
      'LibreOffice Calc: opened and saved exports',
      'LibreOffice Calc: not installed; exports were not opened and saved in it',
    )
    say(
      findExim(),
      'Exim: in front of the service, by way of the connector',
      'Exim: not installed (EXIM names its program), or not run as root; not tried',
    )
    say(
      findPostfix() && findAccountSources(),
      'PostgreSQL and slapd: sources of accounts, each away for a while',
      'PostgreSQL, slapd or Postfix: not installed; accounts from PostgreSQL and LDAP were not tried',
    )
    say(
      findInterpreters(),
      'Python and PHP: ran the senders in examples',
      'Python or PHP: not installed; the senders in examples were not run',
    )
    const released = findReleased()
    say(
      released,
      `Released version: ${released?.version} (${released?.commit.slice(0, 12)}), updated to this one`,
      'Released version: none in the history of this checkout; no update of it was tried',
    )
  }
  const results = resultsIn(file)
  if (results !== undefined) console.log(`Slowest files: ${slowest(results).join(', ')}`)
  console.log(results === undefined ? 'no results' : tally(results))
  return code
}

/** Prints what was tried with something, or that it was not found. */
function say(found, tried, notTried) {
  console.log(found === undefined ? notTried : tried)
}

/** The results that Jest wrote; undefined if it wrote none. */
function resultsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** The slowest files, each with its seconds. */
function slowest({ testResults }) {
  return testResults
    .map(({ name, startTime, endTime }) => [relative(root, name), Math.round((endTime - startTime) / 1000)])
    .sort(([, one], [, other]) => other - one)
    .slice(0, SLOWEST)
    .map(([name, seconds]) => `${name} ${seconds} s`)
}

/** Is there an in-memory file system with room for the suites' files? */
function hasRoomInMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES && freemem() >= ROOM_BYTES
  } catch {
    return false
  }
}

/** `N passed, N failed[, N skipped]`; a suite that fails to load counts as one failure. */
function tally(results) {
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
  const skipped = results.numPendingTests + results.numTodoTests
  return `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** Turns `10.11.19-MariaDB-0+deb12u1` into `MariaDB 10.11.19`; removes the database from the missing ones. */
function describe(version, missing) {
  const mariadb = /mariadb/i.test(version)
  missing.delete(mariadb ? 'mariadb' : 'mysql')
  return `${mariadb ? 'MariaDB' : 'MySQL'} ${version.split('-')[0]}`
}

function refuse(why) {
  console.error(`npm test: ${why}`)
  return 1
}

/** Runs a command in the root of the project, in this terminal. Returns its exit code, 128 + n after a signal. */
function run(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
    child.once('error', reject)
    child.once('close', (code) => {
      child = undefined
      resolve(code ?? 1)
    })
  })
}
