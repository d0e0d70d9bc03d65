import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { principalLabel } from '../auth/principal.js'
import type { GroupReader } from '../ledger/read/group-reader.js'
import type { RecentCounts } from '../ledger/read/recent-counts.js'
import type { UsageReader } from '../ledger/read/usage-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { BackgroundVerifier } from '../ledger/verify/background-verifier.js'
import type { EngineObserver } from '../ledger/write/engine.js'
import type { Ledger } from '../ledger/write/ledger.js'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const REQUESTS = [1, 2, 5, 10, 20, 50, 100, 200, 500]

/** Returns a metric that the other channel has registered already, or creates it. */
export function metric<M>(registry: Registry, name: string, make: () => M): M {
  return (registry.getSingleMetric(name) as M | undefined) ?? make()
}

/** Measures one channel's groups. */
export function measureGroups<Q extends QuotaRow>(registry: Registry, channel: string, groups: GroupReader<Q>): void {
  const gauge = (name: string, help: string, read: () => Promise<number>): void =>
    metric(registry, name, () => new ChannelGauge(name, help, [registry])).add(channel, read)
  gauge('quota_groups', 'Live groups.', async () => groups.groupCount())
  gauge('quota_group_members', 'Owners that were added to a group by name.', async () => groups.allMembers())
  gauge(
    'quota_count_copies_behind',
    "Members' counts whose copies for lists do not show the followed settings yet.",
    async () => groups.copiesBehind(),
  )
}

/** Measures one channel's ledger. Every metric is labelled with the channel. */
export function measureLedger<Q extends QuotaRow>(
  registry: Registry,
  ledger: Ledger<Q>,
  usage: UsageReader<Q>,
  counts: RecentCounts,
): void {
  const channel = ledger.channel.name
  const registers = [registry]
  const labelNames = ['channel'] as const
  const histogram = (name: string, help: string, buckets: number[]): Histogram<'channel'> =>
    metric(registry, name, () => new Histogram({ name, help, buckets, labelNames, registers }))
  const size = histogram('quota_batch_size', 'Requests that one transaction took.', REQUESTS)
  const wait = histogram(
    'quota_lane_wait_seconds',
    'Time that the first request of a batch waited for its lane.',
    SECONDS,
  )
  const took = histogram('quota_batch_seconds', 'Duration of a batch, including failed attempts and COMMIT.', SECONDS)
  const commit = histogram('quota_commit_seconds', 'How long COMMIT took.', SECONDS)
  const gauge = (name: string, help: string): ChannelGauge =>
    metric(registry, name, () => new ChannelGauge(name, help, registers))
  const reruns = metric(
    registry,
    'quota_reruns_total',
    () =>
      new Counter({
        name: 'quota_reruns_total',
        help: "Failed attempts of batches, by kind of fault and the database's error.",
        labelNames: ['channel', 'fault', 'cause'],
        registers,
      }),
  )
  const answers = metric(
    registry,
    'quota_requests_total',
    () =>
      new Counter({
        name: 'quota_requests_total',
        help: 'Requests to the ledger, each item of a batch: done, replayed, or the code of the refusal; for unavailable with its reason.',
        labelNames: ['channel', 'kind', 'result', 'reason'],
        registers,
      }),
  )
  const depths = gauge('quota_queue_depth', 'Writes that wait or are at the database.')
  depths.add(channel, () => ledger.engine.depth)
  gauge(
    'quota_lanes_busy',
    'Batches at the database: one while it keeps up, more if the queue is deep, the disk slow or a row locked.',
  ).add(channel, () => ledger.engine.busyLanes)
  gauge(
    'quota_owner_locked_seconds',
    'How long the longest-locked owner has been locked by another session; 0 if none is.',
  ).add(channel, () => ledger.engine.lockedOwners.longestSeconds())
  const byPrincipal = metric(registry, QUEUE_BY_PRINCIPAL, () => new PrincipalGauge(registers))
  byPrincipal.add(channel, () => ledger.engine.depthByCaller)
  const holds = gauge('quota_open_holds', 'Open reservations: neither settled nor due.')
  holds.add(channel, async () => usage.openHolds(counts))

  const counter = (name: string, help: string): Counter<'channel'> =>
    metric(registry, name, () => new Counter({ name, help, labelNames, registers }))
  const strangers = counter('quota_refusals_unknown_owner_total', 'Refused attempts for owners that never had a quota.')
  const dropped = counter(
    'quota_refusals_dropped_total',
    'Refused attempts not counted because the database was unavailable or slow.',
  )
  const seen = counter(
    'quota_owners_first_seen_total',
    'Owners that a first consume or reserve brought in through the default group.',
  )
  for (const one of [strangers, dropped, seen]) one.inc({ channel }, 0)
  ledger.refusals.observer = {
    unknownOwner: (attempts) => strangers.inc({ channel }, attempts),
    dropped: (attempts) => dropped.inc({ channel }, attempts),
  }

  const observer: EngineObserver = {
    batch(requests, waitedSeconds, tookSeconds) {
      size.observe({ channel }, requests)
      wait.observe({ channel }, waitedSeconds)
      took.observe({ channel }, tookSeconds)
    },
    answered(kind, result, reason) {
      answers.inc(reason === undefined ? { channel, kind, result } : { channel, kind, result, reason })
    },
    firstSeen(owners) {
      seen.inc({ channel }, owners)
    },
    retried(fault, cause) {
      reruns.inc({ channel, fault, cause })
    },
    committed(seconds) {
      commit.observe({ channel }, seconds)
    },
  }
  ledger.engine.observer = observer
}

/** Exports the findings of one channel's background verification. */
export function measureDrift(registry: Registry, watch: BackgroundVerifier): void {
  const gauge = (name: string, help: string): ChannelGauge =>
    metric(registry, name, () => new ChannelGauge(name, help, [registry]))
  gauge(
    'quota_drift',
    'Contradictions between rows: findings of the last complete verification or of the current one, if more.',
  ).add(watch.channel, () => watch.found)
  gauge(
    'quota_drift_checked_timestamp_seconds',
    'When this instance last verified all rows, in seconds since 1970; absent before.',
  ).add(watch.channel, () => (watch.checkedAt === undefined ? undefined : watch.checkedAt / 1000))
}

const QUEUE_BY_PRINCIPAL = 'quota_principal_queue_depth'

/** Exports waiting writes by principal. Names are those of the configured tokens, a closed set. */
class PrincipalGauge extends Gauge<'channel' | 'principal'> {
  private readonly sources: Map<string, () => ReadonlyMap<string, number>>

  constructor(registers: Registry[]) {
    const sources = new Map<string, () => ReadonlyMap<string, number>>()
    super({
      name: QUEUE_BY_PRINCIPAL,
      help: 'Writes of a principal that wait or are at the database; absent if there are none.',
      labelNames: ['channel', 'principal'],
      registers,
      collect() {
        this.reset()
        for (const [channel, read] of sources) {
          for (const [id, depth] of read()) this.inc({ channel, principal: principalLabel(id) }, depth)
        }
      },
    })
    this.sources = sources
  }

  add(channel: string, read: () => ReadonlyMap<string, number>): void {
    this.sources.set(channel, read)
  }
}

type Told = number | undefined

/** A gauge that reads each channel's value when it is scraped; undefined exports nothing. */
export class ChannelGauge extends Gauge<'channel'> {
  private readonly sources: Map<string, () => Told | Promise<Told>>

  constructor(name: string, help: string, registers: Registry[]) {
    const sources = new Map<string, () => Told | Promise<Told>>()
    super({
      name,
      help,
      labelNames: ['channel'],
      registers,
      async collect() {
        // Together: while a server hangs, each waits for it.
        const told = [...sources].map(async ([channel, read]) => {
          try {
            const value = await read()
            if (value === undefined) this.remove(channel)
            else this.set({ channel }, value)
          } catch {
            // The database is unavailable: a missing value is better than an old one.
            this.remove(channel)
          }
        })
        await Promise.all(told)
      },
    })
    this.sources = sources
  }

  add(channel: string, read: () => Told | Promise<Told>): void {
    this.sources.set(channel, read)
  }
}
