import type { Request, Response } from 'express'
import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import { addHeader } from './reply.js'

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/

/** Random bytes for so many ids are asked of the system at once: asking costs more than all else about an id. */
const POOL_BYTES = 16 * 256
const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

function pooledRandom(): Uint8Array {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += 16
  return pool.subarray(used - 16, used)
}

/** The caller's id for the request where it is one that can stand in a log, else a new UUIDv7. */
export function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : v7({ rng: pooledRandom })
}

/** Gives every request its id, and every answer tells it (contract, §2). */
export function requestId(request: Request, response: Response): void {
  request.requestId = requestIdOf(request.headers['x-request-id'])
  addHeader(response, 'X-Request-Id', request.requestId)
}
