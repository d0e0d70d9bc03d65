/**
 * `npm run build`: compiles the service into dist, the client into client/dist, the console into console/dist, and the
 * connector for mail servers into connectors/mail/dist, all at the same time.
 * `npm run build -- service` builds only the service. `--if-changed` builds only parts that are missing, or were built
 * from other sources.
 *
 * The compiler writes into a temporary folder, which replaces the target when it is complete. Processes that run from
 * dist, or start during a build, never see half a build; a failed build leaves the previous one in place.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...path) => join(root, ...path)
const IF_CHANGED = '--if-changed'
/** A file in each built folder: the digest of the sources that it was built from. */
const STAMP = '.built-from'

/**
 * The parts to build: the target folder, all sources that its contents depend on, and the function that fills it. That
 * function gets the path of the new folder and returns whether it succeeded.
 */
const PARTS = {
  service: {
    target: at('dist'),
    sources: () => [
      'package.json',
      'package-lock.json',
      'nest-cli.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'ormconfig.ts',
      ...modulesIn('src'),
    ],
    fill: buildService,
  },
  client: {
    target: at('client/dist'),
    sources: () => [
      'package-lock.json',
      'tsconfig.json',
      'client/package.json',
      'client/tsconfig.json',
      'client/tsconfig.build.json',
      ...modulesIn('client/src'),
    ],
    fill: buildClient,
  },
  console: {
    target: at('console/dist'),
    // The client's sources and not its build, so that neither waits for the other.
    sources: () => [
      'package-lock.json',
      ...['package.json', 'index.html', 'view.html', 'tsconfig.json', 'vite.config.ts'].map(
        (file) => `console/${file}`,
      ),
      ...filesIn('console/src'),
      ...modulesIn('client/src'),
    ],
    fill: buildConsole,
  },
  mail: {
    target: at('connectors/mail/dist'),
    sources: () => ['package-lock.json', ...modulesIn('connectors/mail/src')],
    fill: buildMail,
  },
}

process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  const named = args.filter((arg) => arg !== IF_CHANGED)
  if (named.some((name) => !Object.hasOwn(PARTS, name))) {
    console.error(`usage: npm run build [-- ${IF_CHANGED}] [${Object.keys(PARTS).join('] [')}]`)
    return 2
  }
  const wanted = Object.entries(PARTS).filter(([name]) => named.length === 0 || named.includes(name))
  const stale = wanted
    .map(([name, part]) => ({ name, part, sources: digestOf(part.sources()) }))
    .filter(({ part, sources }) => !args.includes(IF_CHANGED) || builtFrom(part) !== sources)
  // Somebody who starts the service for the first time would wait before an empty screen.
  if (stale.length > 0) console.error(`building: ${stale.map(({ name }) => name).join(', ')} …`)
  const built = await Promise.all(stale.map(({ part, sources }) => build(part, sources)))
  return built.includes(false) ? 1 : 0
}

async function build({ target, fill }, sources) {
  const next = mkdtempSync(join(target, '../.build-'))
  try {
    if (!(await fill(next))) return false
    writeFileSync(join(next, STAMP), sources)
    // A temporary folder is accessible to its user only.
    chmodSync(next, 0o755)
    takePlace(next, target)
    return true
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}

async function buildService(next) {
  // Beside the folder and not in it, since the compiler empties the folder first.
  const settings = `${next}.json`
  try {
    writeFileSync(
      settings,
      JSON.stringify({ extends: './tsconfig.build.json', compilerOptions: { outDir: basename(next) } }),
    )
    if (!(await run(at('node_modules/@nestjs/cli/bin/nest.js'), 'build', '--path', basename(settings)))) return false
    const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
    writeFileSync(join(next, 'build.json'), `${JSON.stringify({ version, commit: commit() })}\n`)
    return true
  } finally {
    rmSync(settings, { force: true })
  }
}

/** The commit that is built, if git or COMMIT knows it; a build needs neither. */
function commit() {
  const { COMMIT } = process.env
  if (COMMIT !== undefined && COMMIT !== '') return COMMIT
  const { status, stdout } = spawnSync('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return status === 0 ? stdout.trim() : ''
}

/** Comments are for readers of the types; browsers get the code without them. */
async function buildClient(next) {
  const checked = await run(
    at('node_modules/typescript/bin/tsc'),
    '-p',
    at('client/tsconfig.build.json'),
    '--outDir',
    next,
  )
  if (!checked) return false
  await transpile('client/src', next)
  return true
}

/** Only `npm run typecheck` checks types: those of the client may not be built yet. */
async function buildMail(next) {
  await transpile('connectors/mail/src', next)
  return true
}

/** Writes the modules of a folder as JavaScript. */
async function transpile(folder, next) {
  const { default: ts } = await import('typescript')
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    removeComments: true,
  }
  for (const file of modulesIn(folder)) {
    const { outputText } = ts.transpileModule(readFileSync(at(file), 'utf8'), { compilerOptions, fileName: file })
    // Only types: no module imports it.
    if (outputText.trim() === 'export {};') continue
    const module = join(next, relative(folder, file).replace(/\.ts$/, '.js'))
    mkdirSync(dirname(module), { recursive: true })
    writeFileSync(module, outputText)
  }
}

/** Builds the console, and below it the page of an owner's link. */
async function buildConsole(next) {
  return (await buildPages(next)) && buildPages(join(next, 'view'), '--mode', 'view')
}

/** Only `npm run typecheck` checks types. Writes a compressed copy beside each asset. */
async function buildPages(next, ...more) {
  const options = ['--outDir', next, '--emptyOutDir', '--logLevel', 'warn', ...more]
  if (!(await run(at('node_modules/vite/bin/vite.js'), 'build', at('console'), ...options))) return false
  // The service sends these copies to browsers that accept gzip.
  const assets = join(next, 'assets')
  for (const file of readdirSync(assets).map((name) => join(assets, name)))
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }))
  return true
}

/** Runs a command of a package in the root of the project. Returns whether it succeeded. */
async function run(command, ...args) {
  const child = spawn(process.execPath, [command, ...args], { cwd: root, stdio: 'inherit' })
  const [code] = await once(child, 'close')
  return code === 0
}

/** The sources in a folder, without tests. */
function modulesIn(folder) {
  return filesIn(folder).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
}

function filesIn(folder) {
  return readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

/** The digest of the names and contents of files. */
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

function builtFrom({ target }) {
  try {
    return readFileSync(join(target, STAMP), 'utf8')
  } catch {
    return undefined
  }
}

/** Moves a folder to a place that may be occupied. Other processes may do the same at this moment. */
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
  // Not earlier: until the rename there is no dist.
  for (const aside of old) rmSync(aside, { recursive: true, force: true })
}
