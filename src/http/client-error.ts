import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { ServiceError } from '../error/service-error.js'
import { problemOf, PROBLEM_MEDIA_TYPE } from './problem.js'
import { requestIdOf } from './request-id.js'

const DETAILS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'the request line and headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request did not arrive in time',
}

/** Answers what is no HTTP request, where no request and no middleware exist, with the same problem+json as everything else. */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (
      error.code === 'ECONNRESET' ||
      !socket.writable ||
      (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent
    ) {
      socket.destroy()
      return
    }
    const requestId = requestIdOf(undefined)
    const detail = DETAILS[error.code ?? ''] ?? 'this is not HTTP'
    const problem = problemOf(new ServiceError('validation_failed', detail, { fields: [] }), requestId)
    const body = JSON.stringify(problem)
    socket.end(
      [
        'HTTP/1.1 400 Bad Request',
        'Connection: close',
        'Cache-Control: no-store',
        `X-Request-Id: ${requestId}`,
        `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\r\n'),
    )
  })
}
