/**
 * A throwaway MariaDB on loopback, with its own directory and port, removed when it is stopped.
 * TEST_SERVER_ARGS: further options of every server, such as `--character-set-server=latin1`.
 * `node scripts/mariadb.mjs` starts one for development and stops it at Ctrl-C.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { constants as os, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import mysql from 'mysql2/promise'
import { programNamed } from './programs.mjs'

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 30_000
const USER = 'quota'

/** The running servers; emptied by stop(). */
const live = new Set()

/** The paths of the server and of its installer; undefined if one of them is missing. */
export function findMariaDb() {
  const server = programNamed('mariadbd') ?? programNamed('mysqld')
  const installer = programNamed('mariadb-install-db') ?? programNamed('mysql_install_db')
  return server !== undefined && installer !== undefined ? { server, installer } : undefined
}

/**
 * Starts a server on an empty directory and waits until it answers.
 * @param {object} [options]
 * @param {string} [options.host] the loopback address to listen on, `127.0.0.1` or `::1`
 * @param {string[]} [options.args] additional server options, such as `--max-statement-time=5`
 * @param {string} [options.folder] the parent of its directory; default: the folder for temporary files
 * @returns {Promise<{
 *   port: number,
 *   version: string,
 *   url: (database?: string) => string,
 *   pid: () => number | undefined,
 *   kill: () => Promise<void>,
 *   start: () => Promise<void>,
 *   stop: () => Promise<void>,
 * }>} `url` names a database, which it does not create; `kill` is a crash (SIGKILL), after which `start` restores the same
 *   data on the same port; `stop` shuts down the server and removes its directory
 */
export async function startMariaDb({ host = '127.0.0.1', args = [], folder = tmpdir() } = {}) {
  const binaries = findMariaDb()
  if (binaries === undefined) throw new Error('no MariaDB server found: install mariadb-server')

  const directory = mkdtempSync(join(folder, 'quota-db-'))
  const data = join(directory, 'data')
  const log = join(directory, 'server.log')
  const init = join(directory, 'init.sql')
  const password = randomBytes(12).toString('hex')
  const asRoot = process.getuid?.() === 0
  const userOption = asRoot ? ['--user=mysql'] : []
  let child

  const handle = { destroy }
  live.add(handle)
  onExit()

  try {
    writeFileSync(
      init,
      `CREATE USER IF NOT EXISTS '${USER}'@'${host}' IDENTIFIED BY '${password}';\n` +
        `GRANT ALL PRIVILEGES ON *.* TO '${USER}'@'${host}' WITH GRANT OPTION;\n`,
    )
    if (asRoot) {
      for (const path of [directory, init]) chownSync(path, id('-u'), id('-g'))
    }
    await promisify(execFile)(binaries.installer, [
      '--no-defaults',
      ...userOption,
      `--datadir=${data}`,
      `--tmpdir=${directory}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ])
    const port = await freePort()
    const place = host.includes(':') ? `[${host}]` : host
    const url = (database = '') => `mysql://${USER}:${password}@${place}:${port}/${database}`

    await start()
    const version = await ask(url(), 'SELECT VERSION() AS value')
    return { port, version, url, pid: () => child?.pid, kill, start, stop }

    async function start() {
      if (child !== undefined) throw new Error('the server is running')
      // A separate process group: Ctrl-C in the terminal reaches only the tests, which then shut down the server.
      const started = spawn(
        binaries.server,
        [
          '--no-defaults',
          ...userOption,
          `--datadir=${data}`,
          // A starting server deletes other servers' temporary tables in a shared folder, even while they are in use.
          `--tmpdir=${directory}`,
          `--port=${port}`,
          `--bind-address=${host}`,
          '--skip-name-resolve',
          `--socket=${join(directory, 's.sock')}`,
          `--pid-file=${join(directory, 'server.pid')}`,
          `--log-error=${log}`,
          `--init-file=${init}`,
          '--character-set-server=utf8mb4',
          '--max-connections=500',
          '--innodb-flush-log-at-trx-commit=1',
          ...(process.env.TEST_SERVER_ARGS ?? '').split(' ').filter((argument) => argument !== ''),
          ...args,
        ],
        { stdio: 'ignore', detached: true },
      )
      child = started
      started.once('exit', () => {
        if (child === started) child = undefined
      })
      started.once('error', () => {
        if (child === started) child = undefined
      })
      const deadline = Date.now() + START_TIMEOUT_MS
      for (;;) {
        try {
          await ask(url(), 'SELECT 1 AS value')
          return
        } catch (error) {
          if (child !== started) throw new Error(`the server ended at once, see ${keepLog()}`, { cause: error })
          if (Date.now() > deadline) throw new Error(`the server does not answer, see ${keepLog()}`, { cause: error })
          await sleep(50)
        }
      }
    }
  } catch (error) {
    destroy()
    throw error
  }

  async function kill() {
    await end('SIGKILL')
  }

  async function stop() {
    await end('SIGTERM')
    destroy()
  }

  async function end(signal) {
    const ending = child
    if (ending === undefined) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await gone
    clearTimeout(timer)
  }

  /** Cleans up when there is no time to wait. */
  function destroy() {
    live.delete(handle)
    child?.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }

  function keepLog() {
    const kept = join(tmpdir(), `quota-db-${process.pid}.log`)
    try {
      execFileSync('cp', [log, kept], { stdio: 'ignore' })
    } catch {
      return 'its output (it wrote none)'
    }
    return kept
  }
}

/** Returns the first value of the first row, over a connection of its own. */
export async function ask(url, sql) {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 5_000 })
  try {
    const [rows] = await connection.query(sql)
    return String(Object.values(rows[0])[0])
  } finally {
    connection.destroy()
  }
}

/**
 * Below the ports that the system gives to outgoing connections and to servers that ask for any. One of those can be
 * taken between the search and the start of the server for which it was meant.
 */
const FIRST_PORT = 10_000
/** Each worker of Jest has its own ports. */
const PORTS = 1_000
const WORKERS = 10
let searched = Math.floor(Math.random() * PORTS)

/** Finds a free TCP port of 127.0.0.1, the next of this worker's. */
export async function freePort() {
  const first = FIRST_PORT + PORTS * (Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS)
  for (let attempt = 0; attempt < PORTS; attempt++) {
    const port = first + (searched++ % PORTS)
    const server = createServer()
    try {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      return server.address().port
    } catch (error) {
      if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error
    } finally {
      server.close()
    }
  }
  throw new Error(`no free port from ${first} to ${first + PORTS - 1}`)
}

function id(option) {
  return Number(execFileSync('id', [option, 'mysql'], { encoding: 'utf8' }))
}

let watching = false

/** No server outlives this process, however it ends, except by SIGKILL. */
function onExit() {
  if (watching) return
  watching = true
  process.on('exit', () => {
    for (const handle of [...live]) handle.destroy()
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => process.exit(128 + os.signals[signal]))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await startMariaDb()
  await ask(server.url(), 'CREATE DATABASE quota CHARACTER SET utf8mb4').catch(() => undefined)
  console.log(`MariaDB ${server.version}`)
  console.log(`DATABASE_URL=${server.url('quota').replace('mysql:', 'mariadb:')}`)
  console.log(`TEST_DATABASE_URL=${server.url()}`)
  console.log('Ctrl-C stops it and removes its data.')
  process.on('exit', () => console.log('stopped'))
  setInterval(() => undefined, 60_000)
}
