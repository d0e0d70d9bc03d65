import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type INestApplicationContext, Injectable, Logger } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Config } from '../config/config.js'
import { Unavailable } from '../common/service-error.js'
import { Connections } from '../http/connections.js'
import { type Gate, pathOf } from '../http/request-pipeline.js'
import { addHeader } from '../http/reply.js'

/**
 * Paths that are answered until the end: a draining process is alive, and killing it would abort requests; it reports
 * that it is not ready; and monitoring may continue. None of them is work.
 */
export const STAY_OPEN: readonly string[] = ['/health/live', '/health/ready', '/metrics']

declare module 'express-serve-static-core' {
  interface Request {
    /** Arrived after the shutdown began; set only then. */
    draining?: true
  }
}

/**
 * The same signal again within this time is the same request: Ctrl-C signals every process of the terminal, and a
 * parent such as npm passes it on.
 */
const SAME_SIGNAL_MS = 1_000

/** The interval between checks for connections that have become idle. */
const LOOK_EVERY_MS = 50

/** The parts of the process that the shutdown uses. */
export interface Host {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
  exit(code: number): unknown
}

/**
 * The orderly shutdown (docs/run/operations.md). At the first signal, the service is *draining*: it is not ready, new
 * requests get 503, requests in progress finish. After SHUTDOWN_DELAY_SECONDS, within which balancers notice (no delay
 * after SIGINT, which comes from a terminal), the socket closes. After the last answer, the application closes, so that
 * the ledger finishes before the database closes, and the process exits with 0. Work that has not ended by
 * SHUTDOWN_GRACE_SECONDS after the signal is aborted and the process exits with 1, as after a second signal.
 */
@Injectable()
export class Shutdown {
  private readonly logger = new Logger('Shutdown')
  private signalled = false

  constructor(private readonly connections: Connections) {}

  /** Has the shutdown begun? */
  get draining(): boolean {
    return this.signalled
  }

  /**
   * Refuses new requests once the shutdown has begun. It comes after the request id, the log and the headers of every
   * answer, and before all work.
   */
  readonly gate: Gate = (request: Request, response: Response) => {
    if (!this.signalled) return
    request.draining = true
    addHeader(response, 'Connection', 'close')
    if (STAY_OPEN.includes(pathOf(request))) return
    throw new Unavailable('draining')
  }

  /**
   * Handles the signals. Call it after the server listens.
   * @param now milliseconds of a monotonic clock
   */
  install(
    app: Pick<INestApplicationContext, 'close'>,
    server: Server,
    config: Pick<Config, 'shutdownDelaySeconds' | 'shutdownGraceSeconds'>,
    host: Host = process,
    now: () => number = () => performance.now(),
  ): void {
    let first: { readonly signal: string; readonly at: number } | undefined
    const begin = (signal: 'SIGTERM' | 'SIGINT') => {
      if (first !== undefined) {
        if (signal === first.signal && now() - first.at < SAME_SIGNAL_MS) return
        this.logger.warn(`${signal} again: exiting at once, ${this.connections.busy} requests unanswered`)
        host.exit(1)
        return
      }
      first = { signal, at: now() }
      this.signalled = true
      const delaySeconds = signal === 'SIGTERM' ? config.shutdownDelaySeconds : 0
      this.logger.log(`${signal}: shutting down, ${this.connections.busy} requests in progress`)
      const grace = setTimeout(() => {
        this.logger.error(
          `not done after ${config.shutdownGraceSeconds} s, exiting with ${this.connections.busy} requests unanswered`,
        )
        host.exit(1)
      }, config.shutdownGraceSeconds * 1000)
      this.end(app, server, delaySeconds)
        .then(
          () => {
            this.logger.log('shut down')
            return 0
          },
          (error: unknown) => {
            this.logger.error(error)
            return 1
          },
        )
        .then(
          (code) => {
            clearTimeout(grace)
            host.exit(code)
          },
          () => host.exit(1),
        )
    }
    host.on('SIGTERM', () => begin('SIGTERM'))
    host.on('SIGINT', () => begin('SIGINT'))
  }

  private async end(app: Pick<INestApplicationContext, 'close'>, server: Server, delaySeconds: number): Promise<void> {
    // A kept-alive connection would be idle after its answer and could send another request: it closes with its present
    // request.
    for (const answer of this.connections.owed()) if (!answer.headersSent) addHeader(answer, 'Connection', 'close')
    await sleep(delaySeconds * 1000)
    await closeServer(server, this.connections)
    await app.close()
  }
}

/** Closes a socket: accepts no new connection, and ends after the last answer. */
export async function closeServer(server: Server, connections: Pick<Connections, 'busy'>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const looking = setInterval(() => {
    server.closeIdleConnections()
    // The remaining connections have sent no complete request; Node counts an unused new connection as busy.
    if (connections.busy === 0) server.closeAllConnections()
  }, LOOK_EVERY_MS)
  await closed
  clearInterval(looking)
}
