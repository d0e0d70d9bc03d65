import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common'
import { Clock } from '../clock/clock.js'
import { validationFailed } from '../error/service-error.js'
import { checkDto, type Checked, type DtoClass } from './dto.js'

/** The one global pipe: reads every body and query as its DTO class, or refuses it naming everything that is wrong. */
@Injectable()
export class DtoPipe implements PipeTransform {
  constructor(private readonly clock: Clock) {}

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' && type !== 'query') return value
    // The route table refuses to start where a body or query has no DTO class.
    const checked = checkDto(metatype as DtoClass, value, { from: type, now: () => this.clock.now() })
    if (checked.errors !== undefined) throw validationFailed(checked.errors)
    return checked.value
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
