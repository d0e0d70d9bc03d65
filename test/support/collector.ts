import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { opened } from './opened.js'

/** A span as sent, with its attributes as one object. */
export interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly attributes: Record<string, string | number | boolean>
  readonly links: readonly { traceId: string; spanId: string }[]
  /** Nanoseconds. */
  readonly began: bigint
  readonly ended: bigint
  /** 2 if it failed. */
  readonly status: number
}

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number; doubleValue?: number; boolValue?: boolean }
}
interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Attribute[]
  links: { traceId: string; spanId: string }[]
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code: number }
}
interface Export {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[]
}

/** An OpenTelemetry collector that receives traces, over HTTP and as JSON, and keeps them. */
export class Collector {
  readonly spans: SentSpan[] = []
  /** The sender's resource attributes. */
  resource: SentSpan['attributes'] = {}
  headers: IncomingHttpHeaders = {}
  /** The concatenated bodies, as received. */
  text = ''
  /** The status of its answers. */
  status = 200
  /** It answers only then. */
  until: Promise<void> = Promise.resolve()

  private constructor(readonly url: string) {}

  static async start(): Promise<Collector> {
    const server = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8')
      request.on('data', (chunk: string) => (text += chunk))
      request.on('end', () => {
        if (request.url === '/v1/traces' && collector.status === 200) collector.take(text, request.headers)
        void collector.until.then(() =>
          response.writeHead(collector.status, { 'Content-Type': 'application/json' }).end('{}'),
        )
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const collector = new Collector(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    opened(() => {
      server.closeAllConnections()
      server.close()
    })
    return collector
  }

  /** The spans of a trace, in the order in which they began. */
  of(traceId: string): SentSpan[] {
    return this.spans
      .filter((span) => span.traceId === traceId)
      .sort((a, b) => (a.began < b.began ? -1 : a.began > b.began ? 1 : 0))
  }

  private take(text: string, headers: IncomingHttpHeaders): void {
    this.text += text
    this.headers = headers
    for (const { resource, scopeSpans } of (JSON.parse(text) as Export).resourceSpans) {
      this.resource = attributesOf(resource.attributes)
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          name: span.name,
          kind: span.kind,
          attributes: attributesOf(span.attributes),
          links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })),
          began: BigInt(span.startTimeUnixNano),
          ended: BigInt(span.endTimeUnixNano),
          status: span.status.code,
        })
      }
    }
  }
}

function attributesOf(attributes: readonly Attribute[]): SentSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue ?? '',
    ]),
  )
}
