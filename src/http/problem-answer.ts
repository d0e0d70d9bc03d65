import { STATUS_CODES } from 'node:http'
import type { Request, Response } from 'express'
import { Unauthenticated } from '../auth/authenticator.js'
import type { ServiceError } from '../common/service-error.js'
import { closeAfterAnswer } from './unread-body.js'
import { type HttpProblem, type Problem, problemOf, PROBLEM_MEDIA_TYPE } from './problem.js'
import { addHeader, reply } from './reply.js'
import { bringsBody } from './request-body.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** The error of the response; for the log and the metrics. */
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

/** Answers a request with a problem. Does not read the rest of its body. */
export function sendProblem(problem: Problem | HttpProblem, request: Request, response: Response): void {
  if (response.headersSent) {
    // A response that has begun cannot become a problem; breaking the connection tells the caller that it is
    // incomplete.
    response.destroy()
    return
  }
  if (bringsBody(request) && !request.readableEnded) closeAfterAnswer(request, response)
  reply(response, problem.status, JSON.stringify(problem), PROBLEM_MEDIA_TYPE)
}

/**
 * Returns the problem as a raw HTTP response, for input that is not a request and so has no response object.
 * @param requestId generated for the answer
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
