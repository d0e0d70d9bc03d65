import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { ApiParam } from '@nestjs/swagger'
import type { Request } from 'express'
import { validationFailed } from '../error/service-error.js'
import { EXAMPLE_UUID } from './example.js'
import { isOperationId, MAX_ID, parseId } from './ids.js'

function pathParameter(name: string, context: ExecutionContext): string {
  const value: unknown = context.switchToHttp().getRequest<Request>().params[name]
  return typeof value === 'string' ? value : ''
}

function described(name: string, schema: object, example: unknown): ParameterDecorator {
  return (target, method) => {
    if (method === undefined) return
    const descriptor = Object.getOwnPropertyDescriptor(target, method)
    if (descriptor === undefined) return
    ApiParam({ name, required: true, schema, example })(target, method, descriptor)
  }
}

// These decorators throw while Nest extracts the argument, before any pipe runs: an invalid identifier precedes an
// invalid body.

/**
 * An identifier in the path: decimal digits without a leading zero, 1 … 2^53-1.
 * @param name the path parameter
 */
export function IdParam(name: string): ParameterDecorator {
  return createParamDecorator(
    (_data: unknown, context: ExecutionContext): number => {
      const found = parseId(pathParameter(name, context))
      if (found !== undefined) return found
      throw validationFailed([{ field: name, message: `must be an integer from 1 to ${MAX_ID} in decimal digits` }])
    },
    [described(name, { type: 'integer', minimum: 1, maximum: MAX_ID }, 12)],
  )()
}

/**
 * An operation id in the path: a UUIDv7 in any case; the argument is in lower case.
 * @param name the path parameter
 */
export function OperationIdParam(name: string): ParameterDecorator {
  return createParamDecorator(
    (_data: unknown, context: ExecutionContext): string => {
      const text = pathParameter(name, context)
      if (isOperationId(text)) return text.toLowerCase()
      throw validationFailed([{ field: name, message: 'must be an operation id (UUIDv7)' }])
    },
    [described(name, { type: 'string', format: 'uuid' }, EXAMPLE_UUID)],
  )()
}
