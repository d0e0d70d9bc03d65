/** The measured processes: the service, the references, and the CPU time of each so far. */
import { execFileSync, fork, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/mariadb.mjs'

const children = new Set()

/** An administrator's token, and its entry for the service. */
export const TOKEN = randomBytes(32).toString('base64url')
/** The arguments of Node with which `npm run start:prod` starts the service. */
export const START = JSON.parse(readFileSync('package.json', 'utf8')).scripts['start:prod'].split(' ').slice(1)
const AUTH_TOKENS = `bench:admin:${createHash('sha256').update(TOKEN).digest('hex')}`

/** The built service, started like `npm run start:prod`. */
export async function service(databaseUrl, env = {}) {
  const port = await freePort()
  const began = performance.now()
  const child = keep(
    spawn(process.execPath, START, {
      env: {
        ...process.env,
        NODE_ENV: 'production',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        AUTH_TOKENS,
        ...env,
      },
      stdio: ['ignore', process.env.BENCH_LOG === undefined ? 'ignore' : 'inherit', 'inherit'],
    }),
  )
  const { readyMs } = await ready(port, began)
  return { port, pids: [child.pid], readyMs, token: TOKEN, stop: () => end(child) }
}

/** The built connector for mail servers. */
export async function connector(env) {
  const [port, metricsPort] = [await freePort(), await freePort()]
  keep(
    spawn(process.execPath, ['connectors/mail/bin/quota-postfix.mjs'], {
      env: {
        PATH: process.env.PATH,
        QUOTA_TOKEN: TOKEN,
        LISTEN: `127.0.0.1:${port}`,
        METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
        ...env,
      },
      stdio: ['ignore', process.env.BENCH_LOG === undefined ? 'ignore' : 'inherit', 'inherit'],
    }),
  )
  await ready(metricsPort, performance.now())
  return { port, metricsPort }
}

/** One of bench/references. */
export async function reference(file, env = {}) {
  const child = keep(
    fork(`bench/references/${file}`, {
      env: { ...process.env, NODE_ENV: 'production', AUTH_TOKENS, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  )
  const gone = once(child, 'exit').then(() => {
    throw new Error(`${file} ended before it could be asked`)
  })
  const [{ port }] = await Promise.race([once(child, 'message'), gone])
  gone.catch(() => undefined)
  return { port, pids: [child.pid], token: TOKEN, stop: () => end(child) }
}

/** Sends load from a separate process. @returns the result of load.mjs */
export async function load(job) {
  const child = keep(fork('bench/load.mjs'))
  child.send(job)
  // Its exit may be seen before its message; the end of the channel is not.
  const gone = once(child, 'disconnect')
  const [figure] = await Promise.race([once(child, 'message'), gone])
  await gone
  if (!(figure instanceof Object)) throw new Error('the load ended without a result')
  return figure
}

/** Stops all processes that were started here. */
export async function endAll() {
  await Promise.all([...children].map(end))
}

/** User and system time of processes so far, in microseconds; 0 without /proc. */
export function cpuOf(pids) {
  try {
    const tick = 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
    return pids.reduce((sum, pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
      return sum + (Number(fields[11]) + Number(fields[12])) * tick
    }, 0)
  } catch {
    return 0
  }
}

/**
 * An instance's metrics since the last call: the delay of its event loop, in milliseconds, the share of the time spent
 * on garbage collection, and its resident memory in megabytes.
 */
export async function healthOf({ port, token }) {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { Authorization: `Bearer ${token}` } })
  const text = await answer.text()
  const value = (name) => Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1] ?? 0)
  const sum = (name) =>
    [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))].reduce((all, [, one]) => all + Number(one), 0)
  return {
    lagP99Ms: value('nodejs_eventloop_lag_p99_seconds') * 1000,
    lagMaxMs: value('nodejs_eventloop_lag_max_seconds') * 1000,
    gcSeconds: sum('nodejs_gc_duration_seconds_sum'),
    residentMb: Math.round(value('process_resident_memory_bytes') / 1e6),
  }
}

function keep(child) {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await Promise.race([once(child, 'exit'), sleep(10_000).then(() => child.kill('SIGKILL'))])
}

async function ready(port, began) {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined)
    if (answer?.ok) return { readyMs: Math.round(performance.now() - began) }
    await sleep(20)
  }
  throw new Error('the service does not become ready')
}
