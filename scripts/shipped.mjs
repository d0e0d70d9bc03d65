/**
 * What reaches those who run the service, by package-lock.json: the packages of its image and of the connector's, and those of which the console's files are made.
 */

/** Packages of the console that only help to build it. */
const TOOLS = /^(?:@types\/|@vitejs\/|vite$)/

/**
 * @param {Record<string, object>} packages those of package-lock.json
 * @returns {string[]} where they stand in it; all platforms, not only this one
 */
export function shippedIn(packages) {
  const production = Object.entries(packages)
    .filter(([place, { dev, link }]) => place.startsWith('node_modules/') && dev !== true && link !== true)
    .map(([place]) => place)
  return [...new Set([...production, ...bundled(packages)])]
}

/** What the console's sources import, and what that needs. */
function bundled(packages) {
  const found = new Set()
  const add = (name, from) => {
    const place = resolve(packages, name, from)
    if (place === undefined || found.has(place)) return
    found.add(place)
    for (const next of Object.keys(packages[place].dependencies ?? {})) add(next, place)
  }
  for (const name of Object.keys(packages.console.devDependencies)) if (!TOOLS.test(name)) add(name, 'console')
  return found
}

/** Where a package stands, as Node finds it: in the nearest node_modules upwards. */
export function resolve(packages, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[place] !== undefined) return place
    if (folder === '') return undefined
  }
}

/** The name of the package at a place. */
export function nameOf(place) {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
