/**
 * Part of `npm run lint`: dependencies stay known, free to use, and run on the versions of Node that we promise.
 *
 * - docs/develop/dependencies.md has a line for each direct dependency, with its reason, and no other lines; for those
 *   that run also with the licence, and what would replace it.
 * - Every shipped package, in the image or in the console's files, has a licence that we allow, requires no newer Node
 *   than `engines` and `.nvmrc` say, is not deprecated, and runs no script when it is installed.
 *
 * package-lock.json defines what is shipped, so the packages of other platforms are checked as well.
 *
 * `node scripts/dependencies.mjs --registry` also asks the registry about each direct dependency that runs, and
 * prints its last release, its maintainers and its size; it fails on deprecated ones.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import semver from 'semver'
import { nameOf, resolve, shippedIn, TOOLS } from './shipped.mjs'

const read = (path) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')
const json = (path) => JSON.parse(read(path))

const TABLE = 'docs/develop/dependencies.md'
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
]
/** Packages that state their licence only in prose, and the file that does. */
const IN_WORDS = { pause: { licence: 'MIT', file: 'Readme.md', words: 'The MIT License' } }
/** Packages with an install script, which never runs: `npm ci --ignore-scripts`. */
const NEVER_RUN = ['@scarf/scarf']

/** Of packages that are not shipped, one may have another licence. */
const ALLOWED_BESIDE = [...ALLOWED, 'MPL-2.0']

const { packages } = json('package-lock.json')
const mistakes = []
const wrong = (text) => mistakes.push(text)

const shipped = shippedIn(packages)
const direct = directDependencies()
checkTable()
checkShipped()
if (process.argv.includes('--registry')) await askRegistry()
for (const mistake of mistakes) console.error(`dependencies: ${mistake}`)
process.exitCode = mistakes.length === 0 ? 0 : 1

/** The path of each direct dependency, and whether the service, the console's files or the connector need it to run. */
function directDependencies() {
  const found = new Map()
  for (const folder of ['', ...packages[''].workspaces]) {
    const { dependencies, devDependencies } = packages[folder]
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      const place = resolve(packages, name, folder)
      const runs = dependencies?.[name] !== undefined || (folder === 'console' && !TOOLS.test(name))
      if (packages[place].link !== true) found.set(name, { place, runs: runs || found.get(name)?.runs === true })
    }
  }
  return found
}

function checkTable() {
  const rows = new Map()
  for (const [, names, rest] of read(TABLE).matchAll(/^\| (`@?[a-z][^|]*`) \|(.*)\|$/gm)) {
    const cells = rest.split('|').map((cell) => cell.trim())
    for (const [, name] of names.matchAll(/`([^`]+)`/g)) {
      if (rows.has(name)) wrong(`${TABLE} has two lines for ${name}`)
      rows.set(name, cells)
    }
  }
  for (const [name, { place, runs }] of direct) {
    const row = rows.get(name)
    const licence = licenceOf(place)
    const columns = runs ? ['its licence', 'why it is here', 'what would replace it'] : ['why it is here']
    if (row === undefined || row.length !== columns.length || row.includes(''))
      wrong(`${TABLE} has no line for ${name} with ${columns.join(', ')}`)
    else if (runs && row[0] !== licence) wrong(`${TABLE}: the licence of ${name} is ${licence}, not ${row[0]}`)
    if (!ALLOWED_BESIDE.includes(licence)) wrong(`${name} has the licence ${licence}`)
  }
  for (const name of rows.keys())
    if (!direct.has(name)) wrong(`${TABLE} has a line for ${name}, which is no dependency`)
}

function checkShipped() {
  const least = semver.minVersion(json('package.json').engines.node)
  const ours = `${read('.nvmrc').trim()}.x`
  for (const place of shipped) {
    const { version, engines, hasInstallScript, deprecated } = packages[place]
    const name = nameOf(place)
    const licence = licenceOf(place)
    if (!ALLOWED.includes(licence))
      wrong(`${name}@${version} has the licence ${licence}, which is none of ${ALLOWED.join(', ')}`)
    if (engines?.node !== undefined && !semver.satisfies(least, engines.node)) {
      wrong(`${name}@${version} wants Node ${engines.node}, and we promise ${least.version}`)
    }
    if (engines?.node !== undefined && !semver.intersects(ours, engines.node)) {
      wrong(`${name}@${version} wants Node ${engines.node}, and we ship on ${ours}`)
    }
    if (deprecated !== undefined) wrong(`${name}@${version} is deprecated: ${deprecated}`)
    if (hasInstallScript === true && !NEVER_RUN.includes(name))
      wrong(`${name}@${version} runs a script when it is installed`)
  }
}

/** Prints what the registry knows. What it does not say is a question mark. */
async function askRegistry() {
  let silent = false
  console.log('package\tused\tnewest\treleased\tmaintainers\tkB')
  for (const [name, { place, runs }] of direct) {
    if (!runs) continue
    const { version } = packages[place]
    const { stdout } = await promisify(execFile)('npm', ['view', `${name}@${version}`, '--json'], {
      maxBuffer: 2 ** 26,
    })
    const { time, maintainers, deprecated, 'dist-tags': tags } = JSON.parse(stdout)
    const released = time?.[tags.latest]?.slice(0, 10) ?? '?'
    const kB = Math.round(sizeOf(fileURLToPath(new URL(`../${place}`, import.meta.url))) / 1_000)
    console.log([name, version, tags.latest, released, maintainers?.length ?? '?', kB].join('\t'))
    if (deprecated !== undefined) wrong(`${name}@${version} is deprecated: ${deprecated}`)
    silent ||= maintainers === undefined
  }
  // A mirror that leaves out the one leaves out the other.
  if (silent) wrong('this registry does not say who maintains packages, so it may not say which are deprecated either')
}

/** The bytes of an installed package, without those in its own node_modules. */
function sizeOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .map((one) => (one.isDirectory() ? sizeOf(join(folder, one.name)) : statSync(join(folder, one.name)).size))
    .reduce((sum, size) => sum + size, 0)
}

/** The licence from the lock file, from the package's older field, or from its prose. */
function licenceOf(place) {
  const { license } = packages[place]
  if (license !== undefined) return license
  const { licenses } = json(`${place}/package.json`)
  if (licenses !== undefined) return licenses.map(({ type }) => type).join(' AND ')
  const { licence, file, words } = IN_WORDS[nameOf(place)] ?? {}
  return file !== undefined && read(`${place}/${file}`).includes(words) ? licence : 'unknown'
}
