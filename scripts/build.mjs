/**
 * `npm run build`: compiles into dist. With `--if-changed` only where dist is missing, or was built from other sources.
 *
 * The compiler writes into a folder of its own, which takes dist's place when it is whole. So who runs from dist, or starts meanwhile, never meets half
 * a build, and a build that fails leaves the last one as it was.
 *
 * The service and the console are built beside each other, and each has a stamp of its own: whoever changes the one does not wait for the other.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...path) => join(root, ...path)
const IF_CHANGED = '--if-changed'
/** In dist, and in the console's folder there: what it was built from, as a digest. */
const STAMP = '.built-from'
const DIST = 'dist'
const PAGES = join(DIST, 'console')
/** Below the packages' folders: what is installed or made there, and is no source. */
const MADE = /[\\/](?:node_modules|dist)[\\/]/

process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  if (args.some((arg) => arg !== IF_CHANGED)) {
    console.error(`usage: npm run build [-- ${IF_CHANGED}]`)
    return 2
  }
  const service = digestOf(serviceSources())
  const pages = digestOf(consoleSources())
  const keeps = (folder, sources) => args.includes(IF_CHANGED) && builtFrom(folder) === sources
  const keepsService = keeps(DIST, service)
  const keepsPages = keeps(PAGES, pages) || !existsSync(at('console'))
  if (keepsService && keepsPages) return 0
  const next = mkdtempSync(at('.build-'))
  // Beside it and not in it, since the compiler empties it first.
  const settings = `${next}.json`
  const nextPages = `${next}-console`
  try {
    writeFileSync(
      settings,
      JSON.stringify({ extends: './tsconfig.build.json', compilerOptions: { outDir: basename(next) } }),
    )
    const codes = await Promise.all([
      keepsService ? take(DIST, next) : run('@nestjs/cli/bin/nest.js', 'build', '--path', basename(settings)),
      keepsPages ? take(PAGES, nextPages) : buildConsole(nextPages),
    ])
    const failed = codes.find((code) => code !== 0)
    if (failed !== undefined) return failed
    writeFileSync(join(next, STAMP), service)
    if (existsSync(nextPages)) {
      writeFileSync(join(nextPages, STAMP), pages)
      renameSync(nextPages, join(next, basename(PAGES)))
    }
    takePlace(next, at(DIST))
    return 0
  } finally {
    for (const made of [next, nextPages, settings]) rmSync(made, { recursive: true, force: true })
  }
}

/** Compiles and packs the console. */
function buildConsole(folder) {
  return run('vite/bin/vite.js', 'build', 'console', '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn')
}

/** Takes over what need not be built again, if it is there: a checkout may go without the console. The console goes its own way. */
function take(folder, to) {
  if (!existsSync(at(folder))) return 0
  const filter = (source) => folder === PAGES || source !== at(PAGES)
  cpSync(at(folder), to, { recursive: true, filter })
  return 0
}

/** Runs a program of a package; its exit code. */
async function run(program, ...args) {
  const child = spawn(process.execPath, [at('node_modules', program), ...args], { cwd: root, stdio: 'inherit' })
  const [code] = await once(child, 'close')
  return code ?? 1
}

/** Everything that the compiler's output depends on. */
function serviceSources() {
  return [
    'package-lock.json',
    'nest-cli.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'ormconfig.ts',
    ...filesBelow('src').filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts')),
  ]
}

/** Everything that the console is made of; the client is part of it. */
function consoleSources() {
  const folders = ['console', 'client']
  return ['package-lock.json', ...folders.flatMap(filesBelow).filter((file) => !MADE.test(file))]
}

/** None where there is no such folder. */
function filesBelow(folder) {
  if (!existsSync(at(folder))) return []
  return readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

function digestOf(files) {
  const digest = createHash('sha256')
  for (const file of files)
    digest.update(`${file}\n`).update(
      createHash('sha256')
        .update(readFileSync(at(file)))
        .digest(),
    )
  return digest.digest('hex')
}

function builtFrom(folder) {
  try {
    return readFileSync(at(folder, STAMP), 'utf8')
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
