import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/mariadb.mjs'
import { guard } from './guard.js'
import { opened } from './opened.js'

/** The service's account, on every node. */
export const USER = 'quota'
export const PASSWORD = 'loopback'

/** A joining node first copies the data of another one; Debian's server needs a minute on a busy machine. */
const STARTED_WITHIN_MS = 120_000
const STOPPED_WITHIN_MS = 30_000
const LOOK_EVERY_MS = 100

/** Finds free ports for the nodes of one cluster. */
export async function clusterPorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}

/** One server of a cluster: a process with its own directory, in which it logs to `server.log`. */
export abstract class ClusterServer {
  private child: ChildProcess | undefined
  private release: () => void = () => undefined

  protected constructor(
    readonly name: string,
    readonly port: number,
    protected readonly directory: string,
  ) {}

  /** The URL of a database, which it does not create. */
  url(database = ''): string {
    return `mysql://${USER}:${PASSWORD}@127.0.0.1:${this.port}/${database}`
  }

  /** Crashes it. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** Shuts it down and removes its data. */
  async stop(): Promise<void> {
    await this.end('SIGTERM')
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }

  protected run(program: string, options: readonly string[]): void {
    const child = spawn(program, options, { stdio: 'ignore', detached: true })
    this.child = child
    if (child.pid !== undefined) this.release = guard(child.pid)
    const closed = opened(async () => this.stop())
    child.once('exit', () => {
      this.release()
      closed()
      if (this.child === child) this.child = undefined
    })
  }

  /** Waits for a condition of the running server. @param holds a failure counts as false */
  protected async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + STARTED_WITHIN_MS
    let last: unknown
    const tried = async (): Promise<boolean> => {
      try {
        return await holds()
      } catch (error) {
        last = error
        return false
      }
    }
    while (!(await tried())) {
      if (this.child === undefined) throw new Error(`${this.name} ended at once:\n${this.log}`)
      if (performance.now() > deadline) throw new Error(`not so: ${this.name} ${what}\n${this.log}`, { cause: last })
      await sleep(LOOK_EVERY_MS)
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.child
    if (ending === undefined) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOPPED_WITHIN_MS)
    await gone
    clearTimeout(timer)
  }

  private get log(): string {
    try {
      return readFileSync(join(this.directory, 'server.log'), 'utf8').slice(-4_000)
    } catch {
      return ''
    }
  }
}
