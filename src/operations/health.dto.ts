import { ResponseChoice } from '../http/field.decorator.js'

/** The process lives. */
export class LiveDto {
  /** Always `ok`. */
  @ResponseChoice(['ok'])
  status!: 'ok'
}

/** The service can take requests. */
export class ReadyDto {
  /** Always `ready`; a service that is not answers 503. */
  @ResponseChoice(['ready'])
  status!: 'ready'
}
