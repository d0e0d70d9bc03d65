import { STATUS_CODES } from 'node:http'
import type { Request, Response } from 'express'
import { Unauthenticated } from '../auth/authenticator.js'
import type { ServiceError } from '../error/service-error.js'
import { closeAfterAnswer } from './unread-body.js'
import { type HttpProblem, type Problem, problemOf, PROBLEM_MEDIA_TYPE } from './problem.js'
import { addHeader, reply } from './reply.js'
import { bringsBody } from './request-body.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** What the request was refused with; for the log and the metrics. */
    refusal?: ServiceError
  }
}

/** Answers a request with an error. */
export function answerProblem(error: ServiceError, request: Request, response: Response): void {
  request.refusal = error
  if (!response.headersSent) {
    if (error instanceof Unauthenticated) addHeader(response, 'WWW-Authenticate', error.challenge)
    if (error.allow !== undefined) addHeader(response, 'Allow', error.allow.join(', '))
    if (error.retryAfterSeconds !== undefined) addHeader(response, 'Retry-After', String(error.retryAfterSeconds))
  }
  sendProblem(problemOf(error, request.requestId), request, response)
}

/** Answers a request with a problem, and leaves a body unread that has not been read by then. */
export function sendProblem(problem: Problem | HttpProblem, request: Request, response: Response): void {
  if (response.headersSent) {
    // Half an answer cannot be turned into a problem; a broken connection tells the caller not to trust it.
    response.destroy()
    return
  }
  if (bringsBody(request) && !request.readableEnded) closeAfterAnswer(request, response)
  reply(response, problem.status, JSON.stringify(problem), PROBLEM_MEDIA_TYPE)
}

/**
 * The same as bytes, for what is no request: there is no response to answer it with.
 * @param requestId made for it
 */
export function rawProblem(error: ServiceError, requestId: string): string {
  const problem = problemOf(error, requestId)
  const body = JSON.stringify(problem)
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
    'Connection: close',
    'Cache-Control: no-store',
    ...(error.retryAfterSeconds === undefined ? [] : [`Retry-After: ${error.retryAfterSeconds}`]),
    `X-Request-Id: ${requestId}`,
    `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}
