import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The version in package.json; two builds of one release have the same. */
export const VERSION = versionOf(packageFile())

/** At the root of the project, relative to src/version or dist/src/version. */
function packageFile(): URL {
  const found = ['../../package.json', '../../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(fileURLToPath(url)))
  if (found === undefined) throw new Error('there is no package.json beside dist')
  return found
}

function versionOf(file: URL): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
