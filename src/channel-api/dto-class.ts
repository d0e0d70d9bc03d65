import { Body, Query } from '@nestjs/common'
import type { DtoClass } from '../http/dto.js'

/**
 * Creates a DTO class: a base class with additional fields.
 * @param name its name in the API document
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

/** `@Body()` of a created class, which TypeScript cannot see in the parameter's type. */
export function BodyAs(dto: DtoClass): ParameterDecorator {
  return taken(Body(), dto)
}

/** `@Query()` of a created class. */
export function QueryAs(dto: DtoClass): ParameterDecorator {
  return taken(Query(), dto)
}

/**
 * Sets the parameter's class in the metadata that TypeScript emits for static types, and that Nest, pipes and the API
 * document read.
 */
function taken(decorate: ParameterDecorator, dto: DtoClass): ParameterDecorator {
  return (target, method, index) => {
    decorate(target, method, index)
    const types = Reflect.getOwnMetadata('design:paramtypes', target, method ?? '') as unknown[]
    types[index] = dto
  }
}
