import type { ErrorCode } from '../common/service-error.js'

/** Metadata key of a handler's own problems. */
export const PROBLEM_CODES = 'quota:problems'

/**
 * Declares the problems of a route, besides those that follow from its access rule, its parameters and its body. The
 * API document shows each with its status and an example.
 */
export function Problems(...codes: ErrorCode[]): MethodDecorator {
  return (_target, _method, descriptor) => {
    const handler = descriptor.value as object
    // The decorators of its parameters have run before.
    const known = (Reflect.getMetadata(PROBLEM_CODES, handler) ?? []) as ErrorCode[]
    Reflect.defineMetadata(PROBLEM_CODES, [...known, ...codes], handler)
  }
}
