import type { Server } from 'node:http'
import { type INestApplicationContext, Injectable, Logger } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Config } from '../config/config.js'
import { Unavailable } from '../error/service-error.js'
import { Connections } from '../http/connections.js'
import type { Gate } from '../http/request-pipeline.js'
import { addHeader } from '../http/reply.js'

/**
 * Paths that are answered to the end: a draining process is alive, and killing it would cut work off; it is not ready,
 * and says so; and whoever watches it may see it through. None of them is work.
 */
export const STAY_OPEN: readonly string[] = ['/health/live', '/health/ready', '/metrics']

declare module 'express-serve-static-core' {
  interface Request {
    /** Came after the end had begun; set by then alone. */
    draining?: true
  }
}

/** Between two looks for connections that have become idle. */
const LOOK_EVERY_MS = 50

/** What of the process the end of a service concerns. */
export interface Host {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
  exit(code: number): unknown
}

/**
 * The orderly end (contract, §6). At the first signal the service is *draining*: it is not ready, new requests are
 * answered 503, requests in hand finish. After SHUTDOWN_DELAY_SECONDS, within which balancers notice (none after
 * SIGINT: somebody waits at a terminal), the socket closes; after the last answer the application closes, which lets
 * the ledger finish before the database goes, and the process exits with 0. What has not ended by
 * SHUTDOWN_GRACE_SECONDS after the signal is cut off with 1, as everything is by a second signal.
 */
@Injectable()
export class Shutdown {
  private readonly logger = new Logger('Shutdown')
  private signalled = false

  constructor(private readonly connections: Connections) {}

  /** Has the end begun? */
  get draining(): boolean {
    return this.signalled
  }

  /**
   * Refuses what is new once the end has begun. Its place is after the request id, the log and the headers that every
   * answer has, and before everything that works.
   */
  readonly gate: Gate = (request: Request, response: Response) => {
    if (!this.signalled) return
    request.draining = true
    addHeader(response, 'Connection', 'close')
    if (STAY_OPEN.includes(request.path)) return
    throw new Unavailable('draining')
  }

  /** Listens for the signals. To be called once the server listens. */
  install(
    app: Pick<INestApplicationContext, 'close'>,
    server: Server,
    config: Pick<Config, 'shutdownDelaySeconds' | 'shutdownGraceSeconds'>,
    host: Host = process,
  ): void {
    const begin = (signal: 'SIGTERM' | 'SIGINT') => {
      if (this.signalled) {
        this.logger.warn(`${signal} again: exiting at once, ${this.connections.busy} requests unanswered`)
        host.exit(1)
        return
      }
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
    // A connection kept alive would be idle after its answer and asked again: it ends with the request that it is busy
    // with.
    for (const answer of this.connections.owed()) if (!answer.headersSent) addHeader(answer, 'Connection', 'close')
    await sleep(delaySeconds * 1000)
    await closeServer(server, this.connections)
    await app.close()
  }
}

/** Closes a socket: takes nothing new, and ends after the last answer. */
export async function closeServer(server: Server, connections: Pick<Connections, 'busy'>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const looking = setInterval(() => {
    server.closeIdleConnections()
    // What is open now has sent no whole request; Node counts a connection as busy that was made and never used.
    if (connections.busy === 0) server.closeAllConnections()
  }, LOOK_EVERY_MS)
  await closed
  clearInterval(looking)
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
