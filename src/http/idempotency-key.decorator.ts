import { createParamDecorator, type ExecutionContext, type PipeTransform } from '@nestjs/common'
import { ApiHeader } from '@nestjs/swagger'
import type { Request } from 'express'
import { ServiceError } from '../error/service-error.js'
import { isKey, KEY_PATTERN, MAX_KEY_LENGTH } from './field.decorator.js'
import { Problems } from './problem.decorator.js'

/**
 * Returns every value of the header, unmerged: Node joins repeated headers with a comma, and the result may be a valid
 * key.
 */
function keysSent(context: ExecutionContext): string[] {
  const { headers, rawHeaders } = context.switchToHttp().getRequest<Request>()
  const merged = headers['idempotency-key']
  if (merged === undefined) return []
  const found: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'idempotency-key') found.push(rawHeaders[at + 1] ?? '')
  }
  return found
}

function keyOf(sent: readonly string[], required: boolean): string | undefined {
  if (sent.length > 1) throw new ServiceError('idempotency_key_invalid', 'Idempotency-Key may be sent only once')
  const [key] = sent
  if (key === undefined && required) {
    throw new ServiceError(
      'idempotency_key_missing',
      'send an Idempotency-Key header; a retry with the same key repeats the answer, not the effect',
    )
  }
  if (key !== undefined && !isKey(key)) {
    throw new ServiceError(
      'idempotency_key_invalid',
      `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`,
    )
  }
  return key
}

/**
 * Refuses a key after the pipes of the other parameters have run. Nest runs the pipes of all parameters concurrently
 * and answers the first refusal, but a mistake in the body or query precedes one in the key (contract, §7). That pipe
 * is synchronous, so one turn of the event loop is enough. A valid key does not wait.
 */
async function lastInLine(refusal: unknown): Promise<never> {
  await new Promise(setImmediate)
  throw refusal
}

class KeyPipe implements PipeTransform<string[], string | undefined | Promise<never>> {
  constructor(private readonly required: boolean) {}

  transform(sent: string[]): string | undefined | Promise<never> {
    try {
      return keyOf(sent, this.required)
    } catch (refusal) {
      return lastInLine(refusal)
    }
  }
}

const sentKeys = createParamDecorator((_data: unknown, context: ExecutionContext) => keysSent(context))

function keyParameter(required: boolean): ParameterDecorator {
  return (target, method, index) => {
    sentKeys(new KeyPipe(required))(target, method, index)
    const descriptor = method === undefined ? undefined : Object.getOwnPropertyDescriptor(target, method)
    if (method === undefined || descriptor === undefined) return
    Problems(
      ...(required ? (['idempotency_key_missing'] as const) : []),
      'idempotency_key_invalid',
      'idempotency_key_reused',
    )(target, method, descriptor)
    ApiHeader({
      name: 'Idempotency-Key',
      required,
      description: 'Makes a retry safe: the same request with the same key returns the answer of its first success.',
      schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: KEY_PATTERN },
      example: 'msg-8841',
    })(target, method, descriptor)
  }
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
