import type { ErrorCode } from '../error/service-error.js'

/** Metadata key under which a handler lists the problems of its own. */
export const PROBLEM_CODES = 'quota:problems'

/**
 * Lists the problems that a route may answer beside those that follow from its declaration: from its access rule, its
 * parameters and its body. The API document shows each with its status and an example.
 */
export function Problems(...codes: ErrorCode[]): MethodDecorator {
  return (_target, _method, descriptor) => {
    const handler = descriptor.value as object
    // Those of its parameters are there already.
    const known = (Reflect.getMetadata(PROBLEM_CODES, handler) ?? []) as ErrorCode[]
    Reflect.defineMetadata(PROBLEM_CODES, [...known, ...codes], handler)
  }
}
