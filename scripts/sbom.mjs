/**
 * `npm run sbom`: writes sbom.cdx.json, the list of what is in the service's image (packages, Node, Debian) and in the
 * console's files, in CycloneDX. `npm run sbom -- FILE` writes to another file.
 *
 * npm makes a list from package-lock.json; this script selects the shipped packages: `npm sbom --omit dev` also leaves out
 * packages that development uses as well, two thirds of the list (npm 11.19). The list gets the name of the service
 * instead of the folder's, and loses members that differ from run to run, so that the same lock gives the same file.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInAnImage, nameOf, shippedIn } from './shipped.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const json = (path) => JSON.parse(readFileSync(resolve(root, path), 'utf8'))

process.exitCode = main(process.argv.slice(2))

function main(args) {
  if (args.length > 1 || args[0]?.startsWith('-')) {
    console.error('usage: npm run sbom [-- FILE]')
    return 2
  }
  const text = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const bom = JSON.parse(text)
  delete bom.serialNumber
  const { name, description } = json('package.json')
  delete bom.metadata.timestamp
  Object.assign(bom.metadata.component, { type: 'application', name, description })

  const { packages } = json('package-lock.json')
  const inImage = shippedIn(packages, ['']).filter((place) => isInAnImage(place, packages[place]))
  const shipped = new Set(inImage.map((place) => `${nameOf(place)}@${packages[place].version}`))
  bom.components = bom.components.filter((component) => shipped.has(component['bom-ref']))
  const listed = new Set(bom.components.map((component) => component['bom-ref']))
  const missing = [...shipped].filter((one) => !listed.has(one))
  if (missing.length > 0) {
    console.error(`npm's list lacks ${missing.join(', ')}`)
    return 1
  }
  const own = bom.metadata.component['bom-ref']
  bom.dependencies = bom.dependencies
    .filter(({ ref }) => ref === own || listed.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => listed.has(one)) }))

  bom.components.push(...baseOf(readFileSync(resolve(root, 'Dockerfile'), 'utf8')))

  const file = resolve(args[0] ?? resolve(root, 'sbom.cdx.json'))
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`)
  console.log(`${file}: ${bom.components.length} components`)
  return 0
}

/** Node and Debian, by the name of the base image; `dpkg-query --show` in the image lists Debian's packages. */
function baseOf(dockerfile) {
  const [, node, debian] = /^ARG BASE=node:([\d.]+)-(\w+)-slim$/m.exec(dockerfile)
  return [
    { type: 'platform', name: 'node', version: node, purl: `pkg:generic/node@${node}` },
    { type: 'operating-system', name: 'debian', version: debian },
  ]
}
