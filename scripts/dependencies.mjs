/**
 * Part of `npm run lint`: dependencies stay known, free to use, and run on the versions of Node that we promise.
 *
 * - docs/develop/dependencies.md has a line for each direct dependency, with its licence and its reason, and no other lines.
 * - Every shipped package, in the image or in the console's files, has a licence that we allow, requires no newer Node
 *   than `engines` and `.nvmrc` say, and runs no script when it is installed.
 *
 * package-lock.json defines what is shipped, so the packages of other platforms are checked as well.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import semver from 'semver'
import { nameOf, resolve, shippedIn } from './shipped.mjs'

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

const { packages } = json('package-lock.json')
const mistakes = []
const wrong = (text) => mistakes.push(text)

const shipped = shippedIn(packages)
checkTable()
checkShipped()
for (const mistake of mistakes) console.error(`dependencies: ${mistake}`)
process.exitCode = mistakes.length === 0 ? 0 : 1

function checkTable() {
  const direct = new Map()
  for (const folder of ['', ...packages[''].workspaces]) {
    const { dependencies, devDependencies } = packages[folder]
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      const place = resolve(packages, name, folder)
      if (packages[place].link !== true) direct.set(name, place)
    }
  }
  const rows = new Map()
  for (const [, names, licence, reason] of read(TABLE).matchAll(/^\| (`[^|]*`) \| ([^|]*) \| ([^|]*) \|$/gm)) {
    for (const [, name] of names.matchAll(/`([^`]+)`/g)) {
      if (rows.has(name)) wrong(`${TABLE} has two lines for ${name}`)
      rows.set(name, { licence: licence.trim(), reason: reason.trim() })
    }
  }
  for (const [name, place] of direct) {
    const row = rows.get(name)
    const licence = licenceOf(place)
    if (row === undefined) wrong(`${TABLE} has no line for ${name}: its licence (${licence}), and why it is here`)
    else if (row.licence !== licence) wrong(`${TABLE}: the licence of ${name} is ${licence}, not ${row.licence}`)
    else if (row.reason === '') wrong(`${TABLE} does not say why ${name} is here`)
  }
  for (const name of rows.keys())
    if (!direct.has(name)) wrong(`${TABLE} has a line for ${name}, which is no dependency`)
}

function checkShipped() {
  const least = semver.minVersion(json('package.json').engines.node)
  const ours = `${read('.nvmrc').trim()}.x`
  for (const place of shipped) {
    const { version, engines, hasInstallScript } = packages[place]
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
    if (hasInstallScript === true && !NEVER_RUN.includes(name))
      wrong(`${name}@${version} runs a script when it is installed`)
  }
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
