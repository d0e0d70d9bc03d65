import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json: the root of the project, relative to src/common or dist/src/common. */
export const ROOT = rootFolder()

/** The version in package.json; two builds of one release have the same. */
export const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

function rootFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const found = ['../..', '../../..'].map((up) => join(here, up)).find((one) => existsSync(join(one, 'package.json')))
  if (found === undefined) throw new Error('there is no package.json beside dist')
  return found
}
