import type { Request, Response } from 'express'
import { v7 } from 'uuid'
import { pooledRandom } from '../random/pooled-random.js'
import { addHeader } from './reply.js'

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/

/** The caller's id for the request where it is one that can stand in a log, else a new UUIDv7. */
export function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : v7({ rng: pooledRandom })
}

/** Gives every request its id, and every answer tells it (contract, §2). */
export function requestId(request: Request, response: Response): void {
  request.requestId = requestIdOf(request.headers['x-request-id'])
  addHeader(response, 'X-Request-Id', request.requestId)
}
