import type { StatementTracer } from '../database/session.js'
import type { Listener } from '../http/express.adapter.js'
import type { BatchTracer } from '../ledger/write/engine.js'

/** What is known of a request once it is over. */
export interface RequestEnd {
  readonly method: string
  /** The route's pattern; `unmatched` where there is none. */
  readonly route: string
  readonly status: number
  /** The token's name; undefined without a good token. */
  readonly principal: string | undefined
  readonly requestId: string
  readonly aborted: boolean
}

/** A request that is followed. */
export interface FollowedRequest {
  /** Under which its trace is found, 32 hexadecimal digits. */
  readonly traceId: string
  /** To be called once. */
  end(end: RequestEnd): void
}

/** Follows requests from their arrival to the statements that they become. */
export interface RequestTracer extends StatementTracer {
  /** @returns a listener that follows the requests it is given, and gives them to this one */
  following(listener: Listener): Listener
  /** The request that is being worked on here; undefined where it is not followed. */
  current(): FollowedRequest | undefined
  /** @param channel `mail` or `sms` */
  batchesOf(channel: string): BatchTracer
  /** Sends what is left, for a short time. */
  close(): Promise<void>
}

/** Where requests are traced, if they are; otherwise nothing of OpenTelemetry is loaded, and nothing is asked. */
export class Tracing {
  constructor(readonly tracer: RequestTracer | undefined) {}

  /** The spans of the last requests are sent before the process ends. */
  async onApplicationShutdown(): Promise<void> {
    await this.tracer?.close()
  }
}
