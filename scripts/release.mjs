/**
 * The release before this version, from the repository's history. During a rolling update it runs beside this version.
 * `node scripts/release.mjs FOLDER` builds it into an empty folder and prints the command that starts it.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const execute = promisify(execFile)

/** The last release and its commit. The repository has no tags; only this constant identifies the commit. */
export const RELEASE = { version: '0.1.0', commit: '0fd17c9b578ad4a1be7d83415816842d1ca11168' }

/** The last release without caps. It is recognized by what it writes of itself, and has plain consumes already. */
export const BEFORE_CAPS = { version: '0.2.0', commit: 'd3a199bc5469e50b2326c5728d6361c67d3393fc' }

/** Why a release cannot be built here; undefined if it can. Shallow clones and unpacked archives lack the history. */
export function missingRelease({ version, commit } = RELEASE) {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return undefined
  } catch (error) {
    const said = String(error.stderr ?? error.message)
      .trim()
      .split('\n')[0]
    return `${version} (commit ${commit.slice(0, 7)}) is not in the history here: ${said}. git fetch --unshallow brings it`
  }
}

/**
 * Builds a release's sources with the present packages: it depends on the same versions.
 * @param folder an empty folder, or one that does not exist
 * @param release the release to build
 * @returns the path of its main.js, for `node main.js`
 */
export async function buildRelease(folder, release = RELEASE) {
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`)
  const archive = join(folder, 'release.tar')
  await execute('git', ['archive', '--format=tar', '-o', archive, release.commit], { cwd: root })
  await execute('tar', ['-xf', archive], { cwd: folder })
  rmSync(archive)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  await execute(process.execPath, [join(root, 'node_modules/@nestjs/cli/bin/nest.js'), 'build'], { cwd: folder })
  return join(folder, 'dist/src/main.js')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv
  const missing = missingRelease()
  if (folder === undefined || missing !== undefined) {
    console.error(missing ?? 'usage: node scripts/release.mjs FOLDER')
    process.exitCode = 1
  } else console.log(`node ${await buildRelease(folder)}`)
}
