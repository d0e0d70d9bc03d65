import { Counter, type Registry } from 'prom-client'
import { ChannelGauge, metric } from '../channel-api/ledger.metrics.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeSetRunner } from './change-set-runner.js'

/** Registers the metrics of one channel's change sets. */
export function measureChangeSets<Q extends QuotaRow>(
  registry: Registry,
  channel: string,
  runner: ChangeSetRunner<Q>,
): void {
  const gauge = (name: string, help: string): ChannelGauge =>
    metric(registry, name, () => new ChannelGauge(name, help, [registry]))
  gauge(
    'quota_change_sets_waiting',
    'Change sets that wait or are in progress: to be prepared, applied, reverted or removed.',
  ).add(channel, () => runner.waitingCount)
  gauge(
    'quota_change_set_lag_seconds',
    'How long no instance has made progress on the oldest waiting change set; 0 if none waits.',
  ).add(channel, () => runner.lagMs / 1000)
  const name = 'quota_change_sets_set_aside_total'
  const help = 'Change sets that failed because one step failed three times in a row; the log names each.'
  const setAside = metric(
    registry,
    name,
    () => new Counter({ name, help, labelNames: ['channel'], registers: [registry] }),
  )
  setAside.inc({ channel }, 0)
  runner.onSetAside = () => setAside.inc({ channel })
}
