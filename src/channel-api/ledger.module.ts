import { type DynamicModule, type FactoryProvider, Module } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { OwnerLinks } from '../auth/owner-link.js'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { ItemChecker } from '../http/dto.pipe.js'
import { EventReader } from '../ledger/feed/event-reader.js'
import { EventSequencer } from '../ledger/feed/event-sequencer.js'
import { CapTrialReader } from '../ledger/read/cap-trial-reader.js'
import { ChangeReader } from '../ledger/read/change-reader.js'
import { ExpiringReader } from '../ledger/read/expiring-reader.js'
import { GroupReader } from '../ledger/read/group-reader.js'
import { OwnerReader } from '../ledger/read/owner-reader.js'
import { QuotaReader } from '../ledger/read/quota-reader.js'
import { RecentCounts } from '../ledger/read/recent-counts.js'
import { RefusalReader } from '../ledger/read/refusal-reader.js'
import { SeriesReader } from '../ledger/read/series-reader.js'
import { UsageReader } from '../ledger/read/usage-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { Sweeper } from '../ledger/upkeep/sweeper.js'
import { Upkeep } from '../ledger/upkeep/upkeep.js'
import { BackgroundVerifier } from '../ledger/verify/background-verifier.js'
import { Verifier } from '../ledger/verify/verifier.js'
import { Ledger } from '../ledger/write/ledger.js'
import { METRICS_REGISTRY } from '../common/metrics.js'
import { Tracing } from '../tracing/tracing.js'
import { EventFeeds } from './event-feeds.js'
import { LinkService } from './link.service.js'
import { measureDrift, measureGroups, measureLedger } from './ledger.metrics.js'
import { GroupService } from './group.service.js'
import { ReportService } from './report.service.js'
import { OwnerViews } from './owner-view.controller.js'
import { QuotaService } from './quota.service.js'
import { measureUpkeep } from './upkeep.metrics.js'
import { UsageService } from './usage.service.js'

/** The maximum number of concurrent batches, if one lane does not keep up; on SQLite there is one write lock. */
const LANES = 2

/**
 * One channel's ledger, its readers, its sweeper and its background verification, and the services of its routes. A
 * feature imports it for its own channel, and injects the services by their classes.
 */
@Module({})
export class LedgerModule {
  /** @param Quotas the service of the channel's quotas, if it has a class of its own */
  static forChannel<Q extends QuotaRow>(
    channel: Channel<Q>,
    Quotas: typeof QuotaService<Q> = QuotaService,
  ): DynamicModule {
    return {
      module: LedgerModule,
      providers: [...engineOf(channel), ...servicesOf(channel, Quotas)],
      exports: [
        Quotas,
        UsageService,
        ReportService,
        GroupService,
        LinkService,
        ...[Ledger, QuotaReader, Upkeep].map((part) => channelToken(channel, part)),
      ],
    }
  }
}

/**
 * The token by which Nest injects a channel's instance of a class, for example `app.get(channelToken(MAIL, Ledger))`.
 * It contains the name of the class, which the build keeps, since `tsc` does not minify.
 */
export function channelToken(channel: { readonly name: string }, part: { readonly name: string }): string {
  return `${channel.name} ${part.name}`
}

function engineOf<Q extends QuotaRow>(channel: Channel<Q>): FactoryProvider[] {
  return [
    {
      provide: channelToken(channel, Ledger),
      inject: [
        DataSource,
        TransactionRunner,
        Clock,
        CONFIG,
        channelToken(channel, UsageReader),
        channelToken(channel, RecentCounts),
        METRICS_REGISTRY,
        Tracing,
      ],
      useFactory: (
        dataSource: DataSource,
        transactions: TransactionRunner,
        clock: Clock,
        config: Config,
        usage: UsageReader<Q>,
        counts: RecentCounts,
        registry: Registry,
        { tracer }: Tracing,
      ) => {
        const ledger = new Ledger(channel, dataSource, transactions, clock, {
          lanes: config.database.kind === 'sqlite' ? 1 : LANES,
          queueLimit: config.queueLimit,
          callerQueueLimit: config.principalQueueLimit,
          newOwnersPerHour: config.newOwnersPerHour,
        })
        measureLedger(registry, ledger, usage, counts)
        ledger.engine.tracer = tracer?.batchesOf(channel.name)
        return ledger
      },
    },
    {
      provide: channelToken(channel, RecentCounts),
      inject: [TransactionRunner, Clock],
      useFactory: (transactions: TransactionRunner, clock: Clock) =>
        new RecentCounts(transactions, channel.name, clock),
    },
    {
      provide: channelToken(channel, QuotaReader),
      inject: [DataSource, TransactionRunner, Clock, channelToken(channel, RecentCounts)],
      useFactory: (dataSource: DataSource, transactions: TransactionRunner, clock: Clock, counts: RecentCounts) =>
        new QuotaReader(channel, dataSource, transactions, clock, counts),
    },
    ...[UsageReader, SeriesReader, RefusalReader, CapTrialReader].map((Reader) => ({
      provide: channelToken(channel, Reader),
      inject: [DataSource, TransactionRunner, Clock],
      useFactory: (dataSource: DataSource, transactions: TransactionRunner, clock: Clock) =>
        new Reader(channel, dataSource, transactions, clock),
    })),
    {
      provide: channelToken(channel, Upkeep),
      inject: [channelToken(channel, Ledger), TransactionRunner, Clock, CONFIG, METRICS_REGISTRY],
      useFactory: (
        ledger: Ledger<Q>,
        transactions: TransactionRunner,
        clock: Clock,
        config: Config,
        registry: Registry,
      ) => {
        const { retentionDays: days, changesRetentionDays: changesDays } = config
        const upkeep = new Upkeep(ledger, transactions, clock, { days, changesDays })
        measureUpkeep(registry, channel.name, upkeep)
        return upkeep
      },
    },
    {
      provide: channelToken(channel, EventSequencer),
      inject: [channelToken(channel, Ledger), TransactionRunner],
      useFactory: (ledger: Ledger<Q>, transactions: TransactionRunner) => {
        const sequencer = new EventSequencer(channel.name, ledger.store, transactions)
        ledger.engine.onEvents = () => sequencer.written()
        return sequencer
      },
    },
    {
      provide: channelToken(channel, EventReader),
      inject: [channelToken(channel, Ledger), TransactionRunner, channelToken(channel, EventSequencer), EventFeeds],
      useFactory: (
        ledger: Ledger<Q>,
        transactions: TransactionRunner,
        sequencer: EventSequencer<Q>,
        feeds: EventFeeds,
      ) => {
        const reader = new EventReader(channel, ledger.store, transactions, sequencer)
        feeds.add(reader)
        return reader
      },
    },
    {
      provide: channelToken(channel, Sweeper),
      inject: [channelToken(channel, Ledger), TransactionRunner, Clock],
      useFactory: (ledger: Ledger<Q>, transactions: TransactionRunner, clock: Clock) =>
        new Sweeper(ledger, transactions, clock),
    },
    {
      provide: channelToken(channel, BackgroundVerifier),
      inject: [DataSource, TransactionRunner, Clock, CONFIG, METRICS_REGISTRY],
      useFactory: (
        dataSource: DataSource,
        transactions: TransactionRunner,
        clock: Clock,
        config: Config,
        registry: Registry,
      ) => {
        const verifier = new Verifier(channel, dataSource, transactions, clock)
        const watch = new BackgroundVerifier(verifier, transactions, clock, config.verifyBackground)
        measureDrift(registry, watch)
        return watch
      },
    },
  ]
}

function servicesOf<Q extends QuotaRow>(channel: Channel<Q>, Quotas: typeof QuotaService<Q>): FactoryProvider[] {
  const ledgerToken = channelToken(channel, Ledger)
  const quotasToken = channelToken(channel, QuotaReader)
  const countsToken = channelToken(channel, RecentCounts)
  const usageToken = channelToken(channel, UsageReader)
  const trialsToken = channelToken(channel, CapTrialReader)
  const seriesToken = channelToken(channel, SeriesReader)
  const refusalsToken = channelToken(channel, RefusalReader)
  return [
    {
      provide: Quotas,
      inject: [ledgerToken, quotasToken],
      useFactory: (ledger: Ledger<Q>, quotas: QuotaReader<Q>) => new Quotas(channel, ledger, quotas),
    },
    {
      provide: UsageService,
      inject: [ledgerToken, quotasToken, usageToken, seriesToken, channelToken(channel, Upkeep), Clock, ItemChecker],
      useFactory: (
        ledger: Ledger<Q>,
        quotas: QuotaReader<Q>,
        usage: UsageReader<Q>,
        series: SeriesReader<Q>,
        upkeep: Upkeep<Q>,
        clock: Clock,
        checker: ItemChecker,
      ) => new UsageService(channel, ledger, { quotas, usage, series, upkeep }, checker, clock),
    },
    {
      provide: GroupService,
      inject: [ledgerToken, quotasToken, trialsToken, DataSource, TransactionRunner, countsToken, METRICS_REGISTRY],
      useFactory: (
        ledger: Ledger<Q>,
        quotas: QuotaReader<Q>,
        trials: CapTrialReader<Q>,
        dataSource: DataSource,
        transactions: TransactionRunner,
        counts: RecentCounts,
        registry: Registry,
      ) => {
        const groups = new GroupReader(channel, dataSource, transactions, counts)
        measureGroups(registry, channel.name, groups)
        return new GroupService(channel, ledger, groups, quotas, trials)
      },
    },
    {
      provide: LinkService,
      inject: [OwnerLinks, OwnerViews, ledgerToken, quotasToken, refusalsToken, seriesToken, Clock],
      useFactory: (
        links: OwnerLinks,
        views: OwnerViews,
        { links: generations }: Ledger<Q>,
        quotas: QuotaReader<Q>,
        refusals: RefusalReader<Q>,
        series: SeriesReader<Q>,
        clock: Clock,
      ) => {
        const service = new LinkService(channel, links, generations, { quotas, refusals, series }, clock)
        views.add(channel.name, service)
        return service
      },
    },
    {
      provide: ReportService,
      inject: [
        DataSource,
        TransactionRunner,
        Clock,
        quotasToken,
        refusalsToken,
        channelToken(channel, EventReader),
        trialsToken,
      ],
      useFactory: (
        dataSource: DataSource,
        transactions: TransactionRunner,
        clock: Clock,
        quotas: QuotaReader<Q>,
        refusals: RefusalReader<Q>,
        events: EventReader<Q>,
        trials: CapTrialReader<Q>,
      ) =>
        new ReportService(
          channel,
          {
            changes: new ChangeReader(channel, dataSource, transactions),
            owners: new OwnerReader(channel, dataSource, transactions, quotas),
            expiring: new ExpiringReader(channel, dataSource, transactions, clock),
            refusals,
            events,
            trials,
          },
          clock,
        ),
    },
  ]
}
