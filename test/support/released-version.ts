import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { opened } from './opened.js'

/**
 * Builds the service as a commit has it, with the packages of this checkout. It is removed at the end of the test file.
 * @returns gives the path of one of its programs, such as `main.js`
 */
export async function buildReleased(commit: string): Promise<(program: string) => string> {
  const folder = await mkdtemp(join(tmpdir(), 'quota-released-'))
  opened(async () => rm(folder, { recursive: true, force: true }))
  const sources = join(folder, 'sources.tar')
  execFileSync('git', ['archive', '--output', sources, commit])
  execFileSync('tar', ['-xf', sources, '-C', folder])
  await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'), 'dir')
  execFileSync(process.execPath, ['scripts/build.mjs', 'service'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return (program) => join(folder, 'dist/src', program)
}
