import type { Registry } from 'prom-client'
import { ChannelGauge, metric } from '../channel-api/ledger.metrics.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeSetRunner } from './change-set-runner.js'

/** Measures what one channel's change sets are behind with. */
export function measureChangeSets<Q extends QuotaRow>(
  registry: Registry,
  channel: string,
  runner: ChangeSetRunner<Q>,
): void {
  const gauge = (name: string, help: string): ChannelGauge =>
    metric(registry, name, () => new ChannelGauge(name, help, [registry]))
  gauge(
    'quota_change_sets_waiting',
    'Change sets that are yet to be prepared, applied, reverted or cleared away, those worked on at present included.',
  ).add(channel, () => runner.waitingCount)
  gauge(
    'quota_change_set_lag_seconds',
    'For how long no instance has done a step of the oldest change set that waits; 0 where none does.',
  ).add(channel, () => runner.lagMs / 1000)
}
