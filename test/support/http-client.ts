import { Agent, type IncomingMessage, request } from 'node:http'
import { opened } from './opened.js'

/** One answer as received. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly replayed: boolean
  readonly type: string
  /** The Retry-After header, in seconds. */
  readonly retryAfter: number | undefined
}

/** The contents of a request. */
export interface Sending {
  readonly token: string
  readonly key?: string | undefined
  readonly body?: unknown
}

/** The connection ended before an answer was complete: whether the request took effect is unknown. */
export class NoAnswer extends Error {
  /** The system's error code, such as ECONNREFUSED: then it cannot have taken effect. */
  get code(): string {
    return (this.cause as NodeJS.ErrnoException | undefined)?.code ?? 'unknown'
  }
}

const PATIENCE_MS = 30_000
/**
 * The client closes its idle connections long before the service does (65 s), so that a request is never sent on a
 * connection that is being closed, however late the test reads that.
 */
const IDLE_MS = 20_000

/**
 * A plain client with many kept connections, and without retries, so that the test sees the fate of each
 * request.
 */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 512, timeout: IDLE_MS })
  private readonly closed = opened(() => this.close())

  /** @throws NoAnswer if there is none */
  async send(url: string, method: string, path: string, { token, key, body }: Sending): Promise<Answer> {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(new NoAnswer(`${method} ${path}: ${error.message}`, { cause: error }))
      const sent = request(
        url + path,
        {
          method,
          agent: this.agent,
          timeout: PATIENCE_MS,
          headers: {
            authorization: `Bearer ${token}`,
            ...(key === undefined ? {} : { 'idempotency-key': key }),
            ...(payload === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
          },
        },
        (response: IncomingMessage) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('error', fail)
          response.on('aborted', () => fail(new Error('cut off within the answer')))
          response.on('end', () => {
            const { headers } = response
            const retryAfter = headers['retry-after']
            resolve({
              status: response.statusCode ?? 0,
              text: Buffer.concat(parts).toString('utf8'),
              replayed: headers['idempotency-replayed'] === 'true',
              type: headers['content-type'] ?? '',
              retryAfter: retryAfter === undefined ? undefined : Number(retryAfter),
            })
          })
        },
      )
      sent.on('error', fail)
      sent.on('timeout', () => sent.destroy(new Error(`silent for ${PATIENCE_MS} ms`)))
      sent.end(payload)
    })
  }

  close(): void {
    this.agent.destroy()
    this.closed()
  }
}
