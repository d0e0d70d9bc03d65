import { createParamDecorator, type ExecutionContext, type PipeTransform } from '@nestjs/common'
import { ApiHeader } from '@nestjs/swagger'
import type { Request } from 'express'
import { ServiceError } from '../error/service-error.js'
import { isKey, KEY_PATTERN, MAX_KEY_LENGTH } from './field.decorator.js'
import { Problems } from './problem.decorator.js'

/**
 * Every value that the request sent for the header, unmerged: Node joins repeated ones with a comma, which is itself a
 * fine key.
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
      'send an Idempotency-Key header; repeating it repeats the answer and not the act',
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
 * Refuses a key only after the other parameters had their turn: Nest runs the pipes of all parameters side by side and
 * answers the first refusal, and that of a broken body or query is to come first (contract, §7). Their pipe is
 * synchronous, so one turn of the event loop is enough; a good key waits for nothing.
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
      description: 'Makes a retry safe: the same key with the same request answers what the first success answered.',
      schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: KEY_PATTERN },
      example: 'msg-8841',
    })(target, method, descriptor)
  }
}

/**
 * The request's Idempotency-Key, `string`; `idempotency_key_missing` or `idempotency_key_invalid` without a good one.
 * Lists these problems, and that of a reused key, for the route.
 */
export function IdempotencyKey(): ParameterDecorator {
  return keyParameter(true)
}

/**
 * The request's Idempotency-Key, `string | undefined`; `idempotency_key_invalid` where a bad one was sent. Lists its
 * problems for the route.
 */
export function OptionalIdempotencyKey(): ParameterDecorator {
  return keyParameter(false)
}
