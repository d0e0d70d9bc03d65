import { createServer, type RequestListener, type Server } from 'node:http'
import type { Registry } from 'prom-client'
import { type Address, listenOn } from './listen.js'
import type { Readiness } from './readiness.js'

/** The maximum number of connections for probes and scrapes. */
const MAX_CONNECTIONS = 50
const REQUEST_WITHIN_MS = 5_000

/** Serves `/health/live`, `/health/ready` and `/metrics`, for operators of the connector. */
export async function serveOperations(address: Address, registry: Registry, readiness: Readiness): Promise<Server> {
  const routes: Record<string, () => Promise<{ status: number; text: string; type?: string }>> = {
    '/health/live': async () => ({ status: 200, text: 'live\n' }),
    '/health/ready': async () => {
      const trouble = await readiness()
      return trouble === undefined ? { status: 200, text: 'ready\n' } : { status: 503, text: `${trouble}\n` }
    },
    '/metrics': async () => ({ status: 200, text: await registry.metrics(), type: registry.contentType }),
  }
  const listener: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const route = request.method === 'GET' && Object.hasOwn(routes, path) ? routes[path] : undefined
    const answered = route?.() ?? Promise.resolve({ status: 404, text: 'not found\n' })
    answered.then(
      ({ status, text, type = 'text/plain; charset=utf-8' }: { status: number; text: string; type?: string }) =>
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text),
      () => response.writeHead(500).end(),
    )
  }
  const server = createServer({ requestTimeout: REQUEST_WITHIN_MS, headersTimeout: REQUEST_WITHIN_MS }, listener)
  server.maxConnections = MAX_CONNECTIONS
  await listenOn(server, address)
  return server
}
