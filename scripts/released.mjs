/** Finds the last released version before this commit, so that it can be built and run beside this one. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** @returns {{ version: string, commit: string } | undefined} undefined: there is none in the history of this checkout */
export function findReleased() {
  const head = git('rev-parse', '--verify', '--quiet', 'HEAD')
  if (head === undefined) return undefined
  const sections = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8').matchAll(/^## \[(\d[^\]]*)\]/gm)
  for (const [, version] of sections) {
    const commit = commitOf(version)
    if (commit !== undefined && commit !== head) return { version, commit }
  }
  return undefined
}

/** The commit of a version's tag; without a tag, the one that set its number. */
function commitOf(version) {
  const tag = git('rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`)
  if (tag !== undefined) return tag
  return git('log', '--reverse', '--format=%H', `-S"version": "${version}"`, '--', 'package.json')?.split('\n')[0]
}

/** The output of a command; undefined if it failed or printed nothing. */
function git(...args) {
  try {
    const printed = execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    return printed === '' ? undefined : printed
  } catch {
    return undefined
  }
}
