/**
 * `node scripts/compare-image.mjs FOLDER [SBOM] < LIST`, a part of try-containers.sh: compares the packages of an image,
 * lines of NAME@VERSION, with those that package-lock.json gives the package in FOLDER or, for the service's image, with
 * the list that `npm run sbom` wrote. Exit code 0: neither has a package that the other lacks.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundledIn, installedIn, isInAnImage, nameOf, shippedIn } from './shipped.mjs'

const { packages } = JSON.parse(readFileSync(fileURLToPath(new URL('../package-lock.json', import.meta.url)), 'utf8'))
const [folder, sbom] = process.argv.slice(2)

const named = (places) => new Set(places.map((place) => `${nameOf(place)}@${packages[place].version}`))
const isHere = (place) =>
  isInAnImage(place, packages[place]) && (packages[place].cpu ?? [process.arch]).includes(process.arch)
const installed = named(installedIn(packages, folder).filter(isHere))
/** What the list has and an image cannot: what only the console's files are built from, and other processors' binaries. */
const beyond = named([...bundledIn(packages), ...shippedIn(packages).filter((place) => !isHere(place))])
for (const one of installed) beyond.delete(one)

const inImage = new Set(readFileSync(0, 'utf8').trim().split('\n'))
const listed = sbom === undefined ? installed : librariesIn(sbom)
const mistakes = [
  ...[...inImage].filter((one) => !listed.has(one)).map((one) => `only in the image: ${one}`),
  ...[...listed].filter((one) => !inImage.has(one) && !beyond.has(one)).map((one) => `not in the image: ${one}`),
]
for (const mistake of mistakes) console.error(mistake)
process.exitCode = mistakes.length === 0 ? 0 : 1

function librariesIn(file) {
  const { components } = JSON.parse(readFileSync(file, 'utf8'))
  return new Set(components.filter(({ type }) => type === 'library').map((one) => one['bom-ref']))
}
