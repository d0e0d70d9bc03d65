import { Inject, Injectable } from '@nestjs/common'
import { Counter, type Registry } from 'prom-client'
import { principalLabel } from '../auth/principal.js'
import { type ServiceError, UNAVAILABLE_REASONS } from '../common/service-error.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/**
 * Counts refused requests by principal and code. Every label is of a closed set: codes, reasons, and the names of the
 * configured tokens.
 */
@Injectable()
export class RefusalMetrics {
  private readonly refusals: Counter<'principal' | 'code'>
  private readonly unavailable: Counter<'reason'>

  constructor(@Inject(METRICS_REGISTRY) registry: Registry) {
    const registers = [registry]
    this.refusals = new Counter({
      name: 'http_refusals_total',
      help: 'Requests answered with a problem; the principal is absent if the caller is unknown.',
      labelNames: ['principal', 'code'],
      registers,
    })
    this.unavailable = new Counter({
      name: 'http_unavailable_total',
      help: 'Requests answered 503, by reason.',
      labelNames: ['reason'],
      registers,
    })
    for (const reason of UNAVAILABLE_REASONS) this.unavailable.inc({ reason }, 0)
  }

  /** Counts a request that was refused. */
  refused(principal: string | undefined, { code, reason }: Pick<ServiceError, 'code' | 'reason'>): void {
    this.refusals.inc(principal === undefined ? { code } : { principal: principalLabel(principal), code })
    if (reason !== undefined) this.unavailable.inc({ reason })
  }
}
