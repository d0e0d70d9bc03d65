import type { Request, Response } from 'express'
import { v7 } from 'uuid'
import { pooledRandom } from '../common/pooled-random.js'
import { addHeader } from './reply.js'

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/

/** Returns the caller's request id if it is safe to log, otherwise a new UUIDv7. */
export function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : v7({ rng: pooledRandom })
}

/** A gate that sets the request's id and adds it to the response (contract, §2). */
export function requestId(request: Request, response: Response): void {
  request.requestId = requestIdOf(request.headers['x-request-id'])
  addHeader(response, 'X-Request-Id', request.requestId)
}
