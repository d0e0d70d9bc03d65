import { randomBytes } from 'node:crypto'
import type { Response } from 'supertest'
import { type As, TestApp } from './app.js'
import type { Collector } from './collector.js'
import type { Store } from './store.js'

/** The caller's span, the parent of every traced request. */
export const CALLER = '00f067aa0ba902b7'

/** Sends a request as part of a new trace. */
export type Call = (
  method: string,
  path: string,
  sent?: { body?: unknown; key?: string; as?: As; sampled?: boolean },
) => Promise<{ traceId: string; answer: Response }>

export type Use = (app: TestApp, call: Call) => Promise<unknown>

/** Serves with a collector, and shuts down, so that all spans have been sent. */
export async function servedTraced(
  store: Store,
  collector: Collector,
  env: Record<string, string>,
  use: Use,
): Promise<void> {
  const app = await TestApp.start(store, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } })
  const call: Call = async (method, path, { body, key, as = 'admin', sampled = true } = {}) => {
    const traceId = randomBytes(16).toString('hex')
    const headers = { traceparent: `00-${traceId}-${CALLER}-0${Number(sampled)}` }
    const sent = { as, headers, ...(key === undefined ? {} : { key }), ...(body === undefined ? {} : { body }) }
    return { traceId, answer: await app.send(method, path, sent) }
  }
  try {
    await use(app, call)
  } finally {
    await app.stop()
  }
}
