import { Inject, Injectable } from '@nestjs/common'
import { Counter, Gauge, type Registry } from 'prom-client'
import { Admission } from '../http/admission.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/**
 * Exports each principal's requests in progress. Names are those of the configured tokens, a closed set, and `oidc`.
 */
@Injectable()
export class PrincipalMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, admission: Admission) {
    const registers = [registry]
    new Gauge({
      name: 'http_principal_requests',
      help: 'Requests in progress: working, or waiting for their turn with the body unread.',
      labelNames: ['principal', 'state'],
      registers,
      collect() {
        this.reset()
        for (const { principal, requests, waiting } of admission.inHand()) {
          this.inc({ principal, state: 'working' }, requests)
          this.inc({ principal, state: 'waiting' }, waiting)
        }
      },
    })
    new Counter({
      name: 'http_principal_refused_total',
      help: 'Requests answered 503 because the principal had too many in progress.',
      labelNames: ['principal'],
      registers,
      collect() {
        this.reset()
        for (const { principal, refused } of admission.inHand()) this.inc({ principal }, refused)
      },
    })
  }
}
