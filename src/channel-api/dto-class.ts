import { Body, Query } from '@nestjs/common'
import type { DtoClass } from '../http/dto.js'

/**
 * A DTO class that is made at the start: what another one has, and these fields.
 * @param name as the API document calls it
 * @param fields each with its field decorator, which describes it; the document lists them after those of `base`
 */
export function dtoClass<T extends object>(
  name: string,
  base: abstract new () => T,
  fields: Readonly<Record<string, PropertyDecorator>>,
): DtoClass<T> {
  const Base = base as unknown as DtoClass
  const made = { [name]: class extends Base {} }[name] as DtoClass<T>
  for (const [field, decorate] of Object.entries(fields)) decorate(made.prototype as object, field)
  return made
}

/** `@Body()` of a class that is made at the start, which TypeScript cannot see in the parameter's type. */
export function BodyAs(dto: DtoClass): ParameterDecorator {
  return taken(Body(), dto)
}

/** `@Query()` of a class that is made at the start. */
export function QueryAs(dto: DtoClass): ParameterDecorator {
  return taken(Query(), dto)
}

/** Names the parameter's class where TypeScript names those that it knows; Nest, pipes and the document look there. */
function taken(decorate: ParameterDecorator, dto: DtoClass): ParameterDecorator {
  return (target, method, index) => {
    decorate(target, method, index)
    const types = Reflect.getOwnMetadata('design:paramtypes', target, method ?? '') as unknown[]
    types[index] = dto
  }
}
