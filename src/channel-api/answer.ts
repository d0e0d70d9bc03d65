import type { Response } from 'express'
import type { Outcome } from '../ledger/command.js'

/**
 * Answers with a body that was rendered when the act was recorded, byte for byte.
 * @returns the body, for the handler to return
 */
export function answer(response: Response, outcome: Outcome): string {
  response.type('application/json')
  if (outcome.replayed) response.setHeader('Idempotency-Replayed', 'true')
  return outcome.body
}
