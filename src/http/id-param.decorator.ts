import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { ApiParam } from '@nestjs/swagger'
import type { Request } from 'express'
import { validationFailed } from '../common/service-error.js'
import { EXAMPLE_UUID } from './example.js'
import { integerSchema } from './field.decorator.js'
import { isOperationId, MAX_ID, parseId } from './ids.js'
import { onMethod } from './on-method.decorator.js'

/**
 * An identifier in the path: decimal digits without a leading zero, 1 … 2^53-1.
 * @param name the path parameter
 */
export function IdParam(name: string): ParameterDecorator {
  return pathParameter(
    { name, schema: integerSchema(1, MAX_ID), example: 12 },
    parseId,
    `must be an integer from 1 to ${MAX_ID} in decimal digits`,
  )
}

/**
 * An operation id in the path: a UUIDv7 in any case; the argument is in lower case.
 * @param name the path parameter
 */
export function OperationIdParam(name: string): ParameterDecorator {
  return pathParameter(
    { name, schema: { type: 'string', format: 'uuid' }, example: EXAMPLE_UUID },
    (text) => (isOperationId(text) ? text.toLowerCase() : undefined),
    'must be an operation id (UUIDv7)',
  )
}

/**
 * The decorator throws while Nest extracts the argument, before any pipe runs: an invalid identifier precedes an
 * invalid body.
 * @param parse returns undefined for an invalid value
 */
function pathParameter(
  described: { name: string; schema: object; example: unknown },
  parse: (text: string) => unknown,
  message: string,
): ParameterDecorator {
  const { name } = described
  const read = (_data: unknown, context: ExecutionContext): unknown => {
    const text: unknown = context.switchToHttp().getRequest<Request>().params[name]
    const found = parse(typeof text === 'string' ? text : '')
    if (found === undefined) throw validationFailed([{ field: name, message }])
    return found
  }
  return createParamDecorator(read, [onMethod(ApiParam({ ...described, required: true }))])()
}
