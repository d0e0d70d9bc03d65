/**
 * The packages that reach operators, by package-lock.json: those of the service's image and of the connector's, and
 * those that the console's files are built from.
 */

/** Packages of the console that only build tools need. */
export const TOOLS = /^(?:@types\/|@vitejs\/|vite$)/

/**
 * @param {Record<string, object>} packages those of package-lock.json
 * @returns {string[]} their paths in it; all platforms, not only this one
 */
export function shippedIn(packages) {
  const production = Object.entries(packages)
    .filter(([place, { dev, link }]) => place.startsWith('node_modules/') && dev !== true && link !== true)
    .map(([place]) => place)
  const bundled = Object.keys(packages.console.devDependencies).filter((name) => !TOOLS.test(name))
  return [...new Set([...production, ...neededBy(packages, 'console', bundled)])]
}

/**
 * Is the package in an image? npm installs no package of another platform, and the Dockerfile removes what only the
 * compiler needs, and binaries for another libc.
 */
export function isInAnImage(place, { os = ['linux'] }) {
  return os.includes('linux') && !/(?:^|\/)node_modules\/(?:typescript|@libsql\/[^/]*-musl[^/]*)$/.test(place)
}

/** The paths of packages that a folder imports by these names, and of their dependencies. */
export function neededBy(packages, folder, names) {
  const found = new Set()
  const add = (name, from) => {
    const place = resolve(packages, name, from)
    if (place === undefined || found.has(place)) return
    found.add(place)
    for (const next of Object.keys(packages[place].dependencies ?? {})) add(next, place)
  }
  for (const name of names) add(name, folder)
  return found
}

/** The path of a package, as Node resolves it: in the nearest node_modules upwards. */
export function resolve(packages, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[place] !== undefined) return place
    if (folder === '') return undefined
  }
}

/** The name of the package at a path. */
export function nameOf(place) {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
