import { ResponseChoice } from '../http/field.decorator.js'

/** The process is running. */
export class LiveDto {
  /** Always `ok`. */
  @ResponseChoice(['ok'])
  status!: 'ok'
}

/** The service can accept requests. */
export class ReadyDto {
  /** Always `ready`; otherwise the answer is 503. */
  @ResponseChoice(['ready'])
  status!: 'ready'
}
