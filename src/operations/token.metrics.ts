import { Inject, Injectable } from '@nestjs/common'
import { Counter, Gauge, type Registry } from 'prom-client'
import { TokensFile } from '../auth/tokens-file.js'
import { Tokens } from '../auth/tokens.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/** Exports the results of changes of the tokens file, and when tokens expire. */
@Injectable()
export class TokenMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, tokens: Tokens, file: TokensFile) {
    const registers = [registry]
    new Gauge({
      name: 'auth_tokens_stale',
      help: '1 while the tokens file is unusable and the previous tokens stay valid, otherwise 0.',
      registers,
      collect() {
        this.set(file.stale ? 1 : 0)
      },
    })
    new Counter({
      name: 'auth_tokens_changes_total',
      help: 'Changes of the tokens file: taken, or refused because it was unusable.',
      labelNames: ['result'],
      registers,
      collect() {
        this.reset()
        for (const result of ['taken', 'refused'] as const) this.inc({ result }, file.changes[result])
      },
    })
    new Gauge({
      name: 'auth_token_ends_timestamp_seconds',
      help: 'When the first valid token of a principal expires; absent if none does.',
      labelNames: ['principal'],
      registers,
      collect() {
        this.reset()
        for (const [principal, end] of tokens.ends()) this.set({ principal }, end / 1000)
      },
    })
  }
}
