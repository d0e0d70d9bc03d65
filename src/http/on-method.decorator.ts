import { applyDecorators } from '@nestjs/common'

/** Creates a parameter decorator that applies decorators to the method of the parameter. */
export function onMethod(...decorators: MethodDecorator[]): ParameterDecorator {
  return (target, method = '') => {
    const descriptor = Object.getOwnPropertyDescriptor(target, method)
    if (descriptor !== undefined) applyDecorators(...decorators)(target, method, descriptor)
  }
}
