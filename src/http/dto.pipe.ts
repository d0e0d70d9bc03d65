import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common'
import { Clock } from '../clock/clock.js'
import { validationFailed } from '../error/service-error.js'
import { checkDto, type Checked, type DtoClass, type FieldsTogether } from './dto.js'

/**
 * The one global pipe: reads every body and query as its DTO class, or refuses it naming everything that is wrong,
 * unless the DTO holds its errors for the handler.
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  constructor(private readonly clock: Clock) {}

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' && type !== 'query') return value
    // The route table refuses to start where a body or query has no DTO class.
    const { value: found, errors } = checkDto<FieldsTogether>(metatype as DtoClass, value, {
      from: type,
      now: () => this.clock.now(),
    })
    if (errors === undefined) return found
    if (found === undefined || !('errors' in found)) throw validationFailed(errors)
    return Object.assign(found, { errors })
  }
}

/** Reads one item of a list as its DTO class; the fields of a broken one are named `items[3].amount`. */
@Injectable()
export class ItemChecker {
  constructor(private readonly clock: Clock) {}

  check<T extends object>(dto: DtoClass<T>, item: unknown, place: string): Checked<T> {
    return checkDto(dto, item, { from: 'body', prefix: `${place}.`, now: () => this.clock.now() })
  }
}
