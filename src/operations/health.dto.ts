import { ShownChoice } from '../http/field.decorator.js'

/** The process lives. */
export class LiveDto {
  /** Always `ok`. */
  @ShownChoice(['ok'])
  status!: 'ok'
}

/** The service can take requests. */
export class ReadyDto {
  /** Always `ready`; a service that is not answers 503. */
  @ShownChoice(['ready'])
  status!: 'ready'
}
