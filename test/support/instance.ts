import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/mariadb.mjs'
import { hashOf, newToken } from '../../src/auth/token.js'
import { guard } from './guard.js'
import { type Answer, HttpClient, NoAnswer } from './http-client.js'
import { opened } from './opened.js'

/** Valid tokens of two callers; a key belongs to the caller that sent it. */
export const ADMIN = newToken('admin')
export const OTHER = newToken('admin')

const AUTH_TOKENS = Object.entries({ admin: ADMIN, other: OTHER })
  .map(([name, token]) => `${name}:admin:${hashOf(token).toString('hex')}`)
  .join(',')

const ENTRY = join(process.cwd(), 'dist/src/main.js')
/** Stops a hanging start: on a busy machine a start takes twenty times as long as on an idle one. */
const READY_WITHIN_MS = 300_000
const KEPT_OUTPUT = 20_000

/** The options of a request to an instance; the default token is the admin's. */
export interface Sent {
  readonly token?: string
  readonly key?: string | undefined
  readonly body?: unknown
}

/** The built service in a separate process, on a separate port. */
export class Instance {
  private readonly client = new HttpClient()
  private child: ChildProcess | undefined
  private output = ''
  /** Resolves to the exit code of the running process; null after a signal. */
  exited: Promise<number | null> = Promise.resolve(null)

  private constructor(
    readonly url: string,
    private readonly env: Record<string, string>,
    private readonly entry: string,
  ) {}

  /**
   * Starts an instance and waits until it is ready.
   * @param databaseUrl the DATABASE_URL
   * @param entry the program, if it is not the present version
   */
  static async start(databaseUrl: string, env: Record<string, string> = {}, entry = ENTRY): Promise<Instance> {
    if (!existsSync(entry)) throw new Error(`${entry} is missing: npm run build`)
    const port = await freePort()
    const all = {
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      AUTH_TOKENS,
      LOG_LEVEL: 'error',
      PORT: String(port),
      SHUTDOWN_DELAY_SECONDS: '0',
      VERIFY_BACKGROUND: 'false',
      ...env,
    }
    const instance = new Instance(`http://127.0.0.1:${port}`, all, entry)
    await instance.start()
    return instance
  }

  /** Starts the process again, on the same port. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.entry], {
      // The caller's own configuration must not leak in.
      env: { PATH: process.env['PATH'] ?? '', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    const release = child.pid === undefined ? undefined : guard(child.pid)
    const closed = opened(async () => this.kill())
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk.toString('utf8')).slice(-KEPT_OUTPUT)
      })
    }
    this.exited = once(child, 'exit').then(([code]) => {
      release?.()
      closed()
      if (this.child === child) this.child = undefined
      return code as number | null
    })
    const deadline = performance.now() + READY_WITHIN_MS
    while (!(await this.ready())) {
      if (this.child !== child) throw new Error(`the service ended at once:\n${this.output}`)
      if (performance.now() > deadline) throw new Error(`the service is not ready:\n${this.output}`)
      await sleep(50)
    }
  }

  get pid(): number | undefined {
    return this.child?.pid
  }

  /** The end of the process's output. */
  get log(): string {
    return this.output
  }

  /** Stops or resumes reading the process's output. */
  readLog(reads: boolean): void {
    if (reads) this.child?.stdout?.resume()
    else this.child?.stdout?.pause()
  }

  /** Sends one request to this instance. @throws NoAnswer */
  async send(method: string, path: string, { token = ADMIN, ...sent }: Sent = {}): Promise<Answer> {
    return this.client.send(this.url, method, path, { token, ...sent })
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path)
  }

  post(path: string, body: unknown, key?: string): Promise<Answer> {
    return this.send('POST', path, { body, key })
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.send('PUT', path, { body })
  }

  delete(path: string): Promise<Answer> {
    return this.send('DELETE', path)
  }

  /** Crashes it. */
  async kill(): Promise<void> {
    this.child?.kill('SIGKILL')
    await this.exited
  }

  /** Shuts it down with SIGTERM. @returns the exit code */
  async terminate(): Promise<number | null> {
    this.child?.kill('SIGTERM')
    return this.exited
  }

  private async ready(): Promise<boolean> {
    try {
      return (await this.get('/health/ready')).status === 200
    } catch (error) {
      if (error instanceof NoAnswer) return false
      throw error
    }
  }
}
