/**
 * `npm run licences`: writes THIRD-PARTY-LICENSES.txt, the licences of all packages in both images and in the console's
 * files. With `--check`, a part of `npm run lint`, it compares the file instead.
 *
 * package-lock.json says which packages are shipped; node_modules has their texts. Binaries of other platforms are not
 * installed, and have the text of the package that asks for them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generated } from './generated.mjs'
import { isInAnImage, nameOf, shippedIn } from './shipped.mjs'

const FILE = 'THIRD-PARTY-LICENSES.txt'
const INTRODUCTION = `Packages in the images of the service and of its connector for mail servers, and in the console's files,
with their licences. Written by \`npm run licences\`. The images also contain Node and Debian, whose licences are in
/usr/local/LICENSE and /usr/share/doc.
`
const RULE = '-'.repeat(80)

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
await generated(
  'npm run licences',
  FILE,
  written,
  `licences: ${FILE} does not fit package-lock.json: npm ci, then npm run licences`,
)

/** Each text once, after the packages that have it. */
function written() {
  const sharing = new Map()
  for (const place of shippedIn(packages).filter((one) => isInAnImage(one, packages[one]))) {
    const { version, license = 'see below' } = packages[place]
    const text = textOf(place)
    if (!sharing.has(text)) sharing.set(text, new Set())
    sharing.get(text).add(`${nameOf(place)} ${version} (${license})`)
  }
  const parts = [...sharing].map(([text, names]) => `${[...names].sort().join('\n')}\n\n${text}\n`).sort()
  return [INTRODUCTION, ...parts].join(`\n${RULE}\n\n`)
}

function textOf(place) {
  const from = packages[place].cpu === undefined ? place : (dependentOn(nameOf(place)) ?? place)
  const names = readdirSync(from).sort()
  const files = names.filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
  if (files.length > 0) return files.map((name) => tidy(readFileSync(join(from, name), 'utf8'))).join('\n\n')
  const readme = names.find((name) => /^readme\.md$/i.test(name))
  const [section] = /^#+ *licen[cs]e\b.*Copyright.*/ims.exec(readFileSync(join(from, readme), 'utf8')) ?? []
  return section === undefined ? 'The package contains no text of its licence.' : tidy(section)
}

function dependentOn(name) {
  return Object.keys(packages).find((place) => packages[place].optionalDependencies?.[name] !== undefined)
}

function tidy(text) {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[ \t]+$/gm, '')
    .trim()
}
