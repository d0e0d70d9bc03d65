/**
 * `npm run test:node`: runs `npm test` on Node 20, 22 and 24 in sequence. `npm run test:node -- --node 24` runs it only
 * on these versions (names as npm accepts them: 22, 24.21.0, latest; separate several with commas). Other arguments go to
 * Jest: `npm run test:node -- src test/usage`.
 *
 * The npm package `node` provides each binary, in a folder that is removed at the end. That binary runs everything: the
 * build, Jest, and the processes that suites start. All versions use the packages of `npm ci`; the one native module,
 * libsql, is the same binary for all versions of Node (Node-API).
 *
 * Databases and browser are found, or required, as by `npm test`. The exit code is 0 only if every version passed.
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

/** Arguments other than `--node VERSIONS` go to Jest. */
function read(args) {
  const at = args.indexOf('--node')
  const rest = at < 0 ? args : args.toSpliced(at, 2)
  const { values } = parseArgs({
    args: at < 0 ? [] : args.slice(at, at + 2),
    options: { node: { type: 'string', default: VERSIONS } },
  })
  return { versions: values.node.split(',').map((version) => version.trim()), rest }
}

/** Downloads a version and runs the suites with it. */
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
  // First in the path: `npm` and other programs that start `node` by name get this version.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  // Even if another version has just built the same sources.
  if ((await run(node, [join(root, 'scripts/build.mjs')], env)).code !== 0)
    return { name, passed: false, tally: 'the build failed' }
  const { code, last } = await run(node, [join(root, 'scripts/test.mjs'), ...rest], env)
  return { name, passed: code === 0, tally: last || 'no test ran' }
}

/** Runs a command in the root of the project, with output to this terminal. Returns its exit code and last line. */
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
