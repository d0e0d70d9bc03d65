import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Desk } from '../core/desk.js'
import type { Verdict } from '../core/judge.js'
import { type Address, type Front, listenOn } from '../core/listen.js'
import type { Question } from '../core/question.js'
import { JsonShortener, TooLarge } from './http-body.js'
import { questionOfHook, questionOfMessage } from './http-question.js'

const HEADERS_WITHIN_MS = 10_000
/** The maximum time for a request to arrive. */
const ARRIVE_WITHIN_MS = 60_000

/** What a mail server tells its client. */
const REPLIES = { defer: { status: 451, code: '4.7.1' }, reject: { status: 550, code: '5.7.1' } } as const

const ROUTES: Readonly<Record<string, typeof questionOfMessage>> = {
  '/message': questionOfMessage,
  '/mta-hook': questionOfHook,
}

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/**
 * Listens for questions as JSON, and answers as MTA Hooks do: `{"action": "accept"}`, or `reject` with a reply of SMTP.
 * @param token callers send it as a bearer token
 * @throws Error if listening on the address fails
 */
export async function serveHttp(address: Address, token: string, maxConnections: number, desk: Desk): Promise<Front> {
  const expected = hashOf(`Bearer ${token}`)
  /** Questions that have arrived, until their answers are sent. */
  const pending = new Set<Promise<void>>()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { socket } = request
    let question: Question | undefined
    try {
      if (!timingSafeEqual(hashOf(request.headers.authorization ?? ''), expected))
        throw new Refusal(401, 'the bearer token is not HTTP_TOKEN')
      const route = (request.url ?? '').split('?', 1)[0] ?? ''
      const read = Object.hasOwn(ROUTES, route) ? ROUTES[route] : undefined
      if (read === undefined) throw new Refusal(404, `there is only ${Object.keys(ROUTES).join(' and ')}`)
      if (request.method !== 'POST') throw new Refusal(405, 'only POST is answered')
      const body = new JsonShortener()
      for await (const chunk of request.iterator({ destroyOnReturn: false })) body.read(chunk as Buffer)
      question = read(body.value(), (address) => desk.isLocal(address))
      const answered = desk.answer(question, (verdict) => {
        const heard = !socket.destroyed
        send(response, 200, bodyOf(verdict))
        return heard
      })
      pending.add(answered)
      await answered.finally(() => pending.delete(answered))
    } catch (error) {
      // The caller has gone.
      if (socket.destroyed) return
      desk.gaveUp(question === undefined ? 'malformed' : 'failed', error as Error, question?.queueId)
      const status = error instanceof Refusal ? error.status : error instanceof TooLarge ? 413 : 400
      refuse(response, status, (error as Error).message)
    }
  }
  const timeouts = { headersTimeout: HEADERS_WITHIN_MS, requestTimeout: ARRIVE_WITHIN_MS }
  const server = createServer(timeouts, (request, response) => void answer(request, response))
  server.maxConnections = maxConnections
  server.on('connection', (socket) => {
    desk.metrics.connections.inc()
    socket.once('close', () => desk.metrics.connections.dec())
  })
  await listenOn(server, address)
  return {
    address: server.address(),
    async close() {
      const closed = once(server, 'close')
      server.close()
      while (pending.size > 0) await Promise.allSettled(pending)
      // Answers are with the system; what has not arrived is not waited for.
      server.closeAllConnections()
      await closed
    },
  }
}

function bodyOf({ answer, text }: Verdict): object {
  if (answer === 'pass') return { action: 'accept' }
  const { status, code } = REPLIES[answer]
  // Within the message: readers do not agree on the name of a field for the code.
  return { action: 'reject', response: { status, message: `${code} ${text}` } }
}

/** Closes the connection, too: the rest of the request is not read. */
function refuse(response: ServerResponse, status: number, error: string): void {
  response.setHeader('connection', 'close')
  send(response, status, { error })
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
