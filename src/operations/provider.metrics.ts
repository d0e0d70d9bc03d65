import { Inject, Injectable } from '@nestjs/common'
import { Gauge, type Registry } from 'prom-client'
import { ProviderKeys } from '../auth/provider-keys.js'
import { CONFIG, type Config } from '../config/config.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/** Exports the identity provider's availability, if one is configured. */
@Injectable()
export class ProviderMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, @Inject(CONFIG) { oidc }: Config, keys: ProviderKeys) {
    if (oidc === undefined) return
    new Gauge({
      name: 'identity_provider_available',
      help: "0 if the last read of the identity provider's keys failed, otherwise 1.",
      registers: [registry],
      collect() {
        this.set(keys.away ? 0 : 1)
      },
    })
  }
}
