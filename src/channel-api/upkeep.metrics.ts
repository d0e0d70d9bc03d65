import { Counter, type Registry } from 'prom-client'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { Upkeep } from '../ledger/upkeep/upkeep.js'
import { ChannelGauge, metric } from './ledger.metrics.js'

/** Measures one channel's upkeep. Unknown values are absent. */
export function measureUpkeep<Q extends QuotaRow>(registry: Registry, channel: string, upkeep: Upkeep<Q>): void {
  const registers = [registry]
  const gauge = (name: string, help: string, milliseconds: () => number | undefined): void => {
    const made = metric(registry, name, () => new ChannelGauge(name, help, registers))
    made.add(channel, () => {
      const value = milliseconds()
      return value === undefined ? undefined : value / 1000
    })
  }
  gauge(
    'quota_totals_lag_seconds',
    'The age of the first act that is not in the totals; up to six minutes are normal.',
    () => upkeep.foldLagMs,
  )
  gauge(
    'quota_retention_lag_seconds',
    'How long the oldest operation has been due for removal; absent without RETENTION_DAYS.',
    () => upkeep.retentionLagMs,
  )
  gauge(
    'quota_ledger_begins_timestamp_seconds',
    'When the ledger begins to be complete, in seconds since 1970; absent if nothing was removed.',
    () => upkeep.beginsAt ?? undefined,
  )
  const removed = metric(
    registry,
    'quota_removed_total',
    () =>
      new Counter({
        name: 'quota_removed_total',
        help: 'Rows removed after their retention: act (operations, acts on settings), change, event.',
        labelNames: ['channel', 'what'],
        registers,
      }),
  )
  for (const what of ['act', 'change', 'event']) removed.inc({ channel, what }, 0)
  upkeep.observer = { removed: (what, count) => removed.inc({ channel, what }, count) }
}
