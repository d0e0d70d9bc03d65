import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { ApiHeader } from '@nestjs/swagger'
import type { Request } from 'express'
import { timesSent } from '../auth/raw-headers.js'
import { ServiceError } from '../common/service-error.js'
import { isKey, KEY_SCHEMA, MAX_KEY_LENGTH } from './field.decorator.js'
import { onMethod } from './on-method.decorator.js'
import { Problems } from './problem.decorator.js'

const MISSING = 'send an Idempotency-Key header; a retry with the same key repeats the answer, not the effect'
const REPEATED = 'Idempotency-Key may be sent only once'
const MALFORMED = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`

/**
 * Refuses a key after the pipes of the other parameters have run. Nest runs the pipes of all parameters concurrently
 * and answers the first refusal, but a mistake in the body or query precedes one in the key (contract, §7). Their pipe
 * is synchronous, so one turn of the event loop is enough.
 */
async function refuseLast(code: 'idempotency_key_missing' | 'idempotency_key_invalid', detail: string): Promise<never> {
  await new Promise(setImmediate)
  throw new ServiceError(code, detail)
}

function keyParameter(required: boolean): ParameterDecorator {
  /** Returns the key, or a refusal. A valid key does not wait. */
  const read = (_data: unknown, context: ExecutionContext): string | undefined | Promise<never> => {
    const { headers, rawHeaders } = context.switchToHttp().getRequest<Request>()
    const key = headers['idempotency-key']
    if (key === undefined) return required ? refuseLast('idempotency_key_missing', MISSING) : undefined
    if (timesSent(rawHeaders, 'idempotency-key') > 1) return refuseLast('idempotency_key_invalid', REPEATED)
    return isKey(key) ? key : refuseLast('idempotency_key_invalid', MALFORMED)
  }
  const missing = required ? (['idempotency_key_missing'] as const) : []
  const documented = onMethod(
    Problems(...missing, 'idempotency_key_invalid', 'idempotency_key_reused'),
    ApiHeader({
      name: 'Idempotency-Key',
      required,
      description: 'Makes a retry safe: the same request with the same key returns the answer of its first success.',
      schema: { type: 'string', ...KEY_SCHEMA },
      example: 'msg-8841',
    }),
  )
  return createParamDecorator(read, [documented])()
}

/**
 * Injects the request's Idempotency-Key as `string`. Refuses a request without a valid key with
 * `idempotency_key_missing` or `idempotency_key_invalid`. Declares these problems and `idempotency_key_reused` for the
 * route.
 */
export function IdempotencyKey(): ParameterDecorator {
  return keyParameter(true)
}

/**
 * Injects the request's Idempotency-Key as `string | undefined`. Refuses an invalid key with `idempotency_key_invalid`.
 * Declares this problem and `idempotency_key_reused` for the route.
 */
export function OptionalIdempotencyKey(): ParameterDecorator {
  return keyParameter(false)
}
