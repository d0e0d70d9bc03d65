import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { ApiParam } from '@nestjs/swagger'
import type { Request } from 'express'
import { type FieldError, validationFailed } from '../common/service-error.js'
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

/** A check of one parameter in the path of a request: its mistake, or undefined. */
type Check = (request: Request) => FieldError | undefined

/** The checks of a handler's path, by handler. */
const CHECKS = new WeakMap<object, Check[]>()

/**
 * The decorator throws while Nest extracts the argument, before any pipe runs: invalid identifiers, all of them at
 * once, precede an invalid body.
 * @param parse returns undefined for an invalid value
 */
function pathParameter(
  described: { name: string; schema: object; example: unknown },
  parse: (text: string) => unknown,
  message: string,
): ParameterDecorator {
  const { name } = described
  const find = ({ params: { [name]: text } }: Request): unknown => parse(typeof text === 'string' ? text : '')
  const check: Check = (request) => (find(request) === undefined ? { field: name, message } : undefined)
  const read = (_data: unknown, context: ExecutionContext): unknown => {
    const request = context.switchToHttp().getRequest<Request>()
    const found = find(request)
    if (found !== undefined) return found
    const checks = CHECKS.get(context.getHandler()) ?? []
    throw validationFailed(checks.flatMap((one) => one(request) ?? []))
  }
  const register: MethodDecorator = (_prototype, _method, { value }) => {
    const handler = value as object
    // Parameters are decorated from the last to the first.
    CHECKS.set(handler, [check, ...(CHECKS.get(handler) ?? [])])
  }
  return createParamDecorator(read, [onMethod(ApiParam({ ...described, required: true }), register)])()
}
