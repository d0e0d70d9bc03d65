import type { NextFunction, Request, Response } from 'express'
import { v7 } from 'uuid'

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/

/** The caller's id for the request where it is one that can stand in a log, else a new UUIDv7. */
export function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : v7()
}

/** Gives every request its id, and every answer the two headers that all answers have (contract, §2). */
export function requestId(request: Request, response: Response, next: NextFunction): void {
  request.requestId = requestIdOf(request.headers['x-request-id'])
  response.setHeader('X-Request-Id', request.requestId)
  response.setHeader('Cache-Control', 'no-store')
  next()
}
