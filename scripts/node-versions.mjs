/**
 * `npm run test:node`: what `npm test` runs, on Node 20, 22 and 24 one after the other. `npm run test:node -- --node 24` on these alone (names as npm takes
 * them: 22, 24.21.0, latest; several with commas). Further arguments go to Jest: `npm run test:node -- src test/usage`.
 *
 * The npm package `node` brings each binary, into a folder that goes at the end. Everything of a run is done by it: the build, Jest, and the processes that
 * suites start. Packages are those of `npm ci` for all of them; the one native module, libsql, is the same binary for all versions of Node (Node-API).
 *
 * Databases and browser are found, or asked for, as by `npm test`. The exit code is 0 only if every version passed.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const VERSIONS = '20,22,24'

let child
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopped = true
    child?.kill(signal)
  })
}

process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  const { versions, rest } = read(args)
  const folder = mkdtempSync(join(tmpdir(), 'quota-node-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const results = []
  for (const version of versions) {
    results.push(await on(version, join(folder, version), rest))
    if (stopped) break
  }
  console.log()
  for (const { name, tally, passed } of results) console.log(`Node ${name}: ${passed ? '' : 'FAILED, '}${tally}`)
  return !stopped && results.every(({ passed }) => passed) ? 0 : 1
}

/** Whatever is not `--node VERSIONS` is for Jest. */
function read(args) {
  const at = args.indexOf('--node')
  const rest = at < 0 ? args : args.toSpliced(at, 2)
  const { values } = parseArgs({
    args: at < 0 ? [] : args.slice(at, at + 2),
    options: { node: { type: 'string', default: VERSIONS } },
  })
  return { versions: values.node.split(',').map((version) => version.trim()), rest }
}

/** Fetches a version and runs the suites with it. */
async function on(version, folder, rest) {
  mkdirSync(folder, { recursive: true })
  const fetched = await run('npm', [
    'install',
    ...['--no-save', '--no-audit', '--no-fund', '--loglevel', 'error', '--prefix', folder, `node@${version}`],
  ])
  if (fetched.code !== 0) return { name: version, passed: false, tally: 'the package node did not bring it' }

  const bin = join(folder, 'node_modules/node/bin')
  const node = join(bin, 'node')
  const name = (await run(node, ['--version'])).last.replace('v', '')
  console.log(`\n== Node ${name}\n`)
  // First in the path: `npm` and whatever else starts `node` by name get this one.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  // Also where another version has just built the same.
  if ((await run(node, [join(root, 'scripts/build.mjs')], env)).code !== 0)
    return { name, passed: false, tally: 'the build failed' }
  const { code, last } = await run(node, [join(root, 'scripts/test.mjs'), ...rest], env)
  return { name, passed: code === 0, tally: last || 'no test ran' }
}

/** Runs a command in the root of the project, what it writes to this terminal; its exit code and the last line it wrote. */
function run(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    child = spawn(command, args, { cwd: root, stdio: ['inherit', 'pipe', 'inherit'], env })
    let tail = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      process.stdout.write(text)
      tail = (tail + text).slice(-1_000)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      child = undefined
      resolve({ code: code ?? 1, last: tail.trimEnd().split('\n').at(-1) })
    })
  })
}
