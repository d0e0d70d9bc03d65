import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common'
import { Clock } from '../common/clock.js'
import { validationFailed } from '../common/service-error.js'
import { checkDto, type Checked, type DtoClass, type FieldsTogether } from './dto.js'

/**
 * The only global pipe: converts every body and query to its DTO class. Refuses one with mistakes, naming all of them,
 * unless the DTO declares `errors`; then the handler gets them.
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  constructor(private readonly clock: Clock) {}

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' && type !== 'query') return value
    // The start fails if a body or query has no DTO class (`RouteTable`).
    const { value: found, errors } = checkDto<FieldsTogether>(metatype as DtoClass, value, {
      from: type,
      now: () => this.clock.now(),
    })
    if (errors === undefined) return found
    if (found === undefined || !('errors' in found)) throw validationFailed(errors)
    return Object.assign(found, { errors })
  }
}

/** Converts one item of a list to its DTO class. Mistakes name its fields as `items[3].amount`. */
@Injectable()
export class ItemChecker {
  constructor(private readonly clock: Clock) {}

  check<T extends object>(dto: DtoClass<T>, item: unknown, place: string): Checked<T> {
    return checkDto(dto, item, { from: 'body', prefix: `${place}.`, now: () => this.clock.now() })
  }
}
