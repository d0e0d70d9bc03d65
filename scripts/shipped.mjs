/**
 * The packages that reach operators, by package-lock.json: those of the service's image and of the connector's, and
 * those that the console's files are built from.
 */

/** Packages of the console that only build tools need. */
export const TOOLS = /^(?:@types\/|@vitejs\/|vite$)/

/** The folders of the packages that have an image: the service, and the connector. */
const WITH_IMAGE = ['', 'connectors/mail']

/**
 * @param {Record<string, object>} packages those of package-lock.json
 * @param {string[]} folders whose images; with the service's come the console's files
 * @returns {string[]} their paths in it; all platforms, not only this one
 */
export function shippedIn(packages, folders = WITH_IMAGE) {
  const installed = folders.flatMap((folder) => installedIn(packages, folder))
  return [...new Set([...installed, ...(folders.includes('') ? bundledIn(packages) : [])])]
}

/** What npm installs for one folder without the other workspaces: also optional peers that others brought here. */
export function installedIn(packages, folder) {
  const needs = ({ dependencies, optionalDependencies, peerDependencies }) =>
    Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  const isInstalled = ({ dev, link }) => dev !== true && link !== true
  return reachable(packages, folder, needs(packages[folder]), (one) => (isInstalled(one) ? needs(one) : undefined))
}

/**
 * Is the package in an image? npm installs no package of another platform, and the Dockerfile removes what only the
 * compiler or an installation needs, and binaries for another libc.
 */
export function isInAnImage(place, { os = ['linux'] }) {
  return (
    os.includes('linux') && !/(?:^|\/)node_modules\/(?:typescript|@scarf\/scarf|@libsql\/[^/]*-musl[^/]*)$/.test(place)
  )
}

/** The packages that the console's sources import, and their dependencies. */
export function bundledIn(packages) {
  const imported = Object.keys(packages.console.devDependencies).filter((name) => !TOOLS.test(name))
  return neededBy(packages, 'console', imported)
}

/** The paths of packages that a folder imports by these names, and of their dependencies. */
export function neededBy(packages, folder, names) {
  return reachable(packages, folder, names, ({ dependencies = {} }) => Object.keys(dependencies))
}

/** The paths of the named packages, and of all that they need; without those for which `needs` returns nothing. */
function reachable(packages, folder, names, needs) {
  const found = new Set()
  const add = (name, from) => {
    const place = resolve(packages, name, from)
    const next = place === undefined || found.has(place) ? undefined : needs(packages[place])
    if (next === undefined) return
    found.add(place)
    for (const one of next) add(one, place)
  }
  for (const name of names) add(name, folder)
  return [...found]
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
