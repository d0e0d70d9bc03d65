import type { Response } from 'express'
import { addHeader } from '../http/reply.js'
import type { Outcome } from '../ledger/store/command.js'

/**
 * Answers with a body that was rendered when the act was recorded, byte for byte.
 * @returns the body, for the handler to return
 */
export function answer(response: Response, outcome: Outcome): string {
  if (outcome.replayed) addHeader(response, 'Idempotency-Replayed', 'true')
  return outcome.body
}
