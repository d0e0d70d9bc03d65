import type { StatementTracer } from '../database/session.js'
import type { Listener } from '../http/express.adapter.js'
import type { BatchTracer } from '../ledger/write/engine.js'

/** The facts of a completed request. */
export interface RequestEnd {
  readonly method: string
  /** The route's pattern; `unmatched` if there is none. */
  readonly route: string
  readonly status: number
  /** The token's name; undefined without a valid token. */
  readonly principal: string | undefined
  readonly requestId: string
  readonly aborted: boolean
}

/** A traced request. */
export interface FollowedRequest {
  /** The id of its trace, 32 hexadecimal digits. */
  readonly traceId: string
  /** Call it once. */
  end(end: RequestEnd): void
}

/** Traces requests from their arrival to their statements. */
export interface RequestTracer extends StatementTracer {
  /** @returns a listener that traces its requests and passes them to this one */
  following(listener: Listener): Listener
  /** The current request; undefined if it is not traced. */
  current(): FollowedRequest | undefined
  /** @param channel `mail` or `sms` */
  batchesOf(channel: string): BatchTracer
  /** Sends the remaining spans, within a time limit. */
  close(): Promise<void>
}

/** The tracer of requests, if tracing is on; otherwise OpenTelemetry is not loaded. */
export class Tracing {
  constructor(readonly tracer: RequestTracer | undefined) {}

  /** Sends the spans of the last requests before the process ends. */
  async onApplicationShutdown(): Promise<void> {
    await this.tracer?.close()
  }
}
