/**
 * `npm run build`: compiles into dist. With `--if-changed` only where dist is missing, or was built from other sources.
 *
 * The compiler writes into a folder of its own, which takes dist's place when it is whole. So who runs from dist, or starts meanwhile, never meets half
 * a build, and a build that fails leaves the last one as it was.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...path) => join(root, ...path)
const IF_CHANGED = '--if-changed'
/** In dist: what it was built from, as a digest. */
const STAMP = '.built-from'

process.exitCode = main(process.argv.slice(2))

function main(args) {
  if (args.some((arg) => arg !== IF_CHANGED)) {
    console.error(`usage: npm run build [-- ${IF_CHANGED}]`)
    return 2
  }
  const sources = digestOfSources()
  if (args.includes(IF_CHANGED) && builtFrom() === sources) return 0
  const next = mkdtempSync(at('.build-'))
  // Beside it and not in it, since the compiler empties it first.
  const settings = `${next}.json`
  try {
    writeFileSync(
      settings,
      JSON.stringify({ extends: './tsconfig.build.json', compilerOptions: { outDir: basename(next) } }),
    )
    const { status, error } = spawnSync(
      process.execPath,
      [at('node_modules/@nestjs/cli/bin/nest.js'), 'build', '--path', basename(settings)],
      { cwd: root, stdio: 'inherit' },
    )
    if (error !== undefined) throw error
    if (status !== 0) return status ?? 1
    writeFileSync(join(next, STAMP), sources)
    takePlace(next, at('dist'))
    return 0
  } finally {
    rmSync(next, { recursive: true, force: true })
    rmSync(settings, { force: true })
  }
}

/** Of everything that the compiler's output depends on. */
function digestOfSources() {
  const files = [
    'package-lock.json',
    'nest-cli.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'ormconfig.ts',
    ...readdirSync(at('src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .sort(),
  ]
  const digest = createHash('sha256')
  for (const file of files)
    digest.update(`${file}\n`).update(
      createHash('sha256')
        .update(readFileSync(at(file)))
        .digest(),
    )
  return digest.digest('hex')
}

function builtFrom() {
  try {
    return readFileSync(at('dist', STAMP), 'utf8')
  } catch {
    return undefined
  }
}

/** Puts a folder where another one is, or is not. Others may be doing the same at this moment. */
function takePlace(next, place) {
  const old = []
  for (;;) {
    try {
      renameSync(next, place)
      break
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    }
    const aside = `${next}-old-${old.length}`
    old.push(aside)
    try {
      renameSync(place, aside)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }
  // Not before: until then there is no dist.
  for (const aside of old) rmSync(aside, { recursive: true, force: true })
}
