import type { FactoryProvider, InjectionToken } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { Clock } from '../clock/clock.js'
import { Config } from '../config/config.js'
import { UnitOfWork } from '../database/unit-of-work.js'
import { ChangeReader } from '../ledger/change-reader.js'
import type { Channel } from '../ledger/channel.js'
import { ExpiringReader } from '../ledger/expiring-reader.js'
import { Ledger } from '../ledger/ledger.js'
import { OwnerReader } from '../ledger/owner-reader.js'
import type { QuotaRow } from '../ledger/quota.entity.js'
import { QuotaReader } from '../ledger/quota-reader.js'
import { RefusalReader } from '../ledger/refusal-reader.js'
import { Sweeper } from '../ledger/sweeper.js'
import { UsageReader } from '../ledger/usage-reader.js'
import { METRICS_REGISTRY } from '../metrics/metrics.js'
import { measureLedger } from './ledger.metrics.js'
import type { OfficeReaders } from './office.service.js'

/** Batches at the database at once, where one does not keep up; on SQLite there is one write lock. */
const LANES = 2

/** Under which tokens a channel's parts are injected. */
export interface ChannelTokens<Q extends QuotaRow> {
  readonly ledger: InjectionToken<Ledger<Q>>
  readonly quotas: InjectionToken<QuotaReader<Q>>
  readonly usage: InjectionToken<UsageReader<Q>>
  readonly sweeper: InjectionToken<Sweeper<Q>>
  readonly office: InjectionToken<OfficeReaders<Q>>
}

/** One channel's ledger, readers and sweeper. */
export function channelProviders<Q extends QuotaRow>(channel: Channel<Q>, tokens: ChannelTokens<Q>): FactoryProvider[] {
  return [
    {
      provide: tokens.ledger,
      inject: [DataSource, UnitOfWork, Clock, Config, tokens.usage, METRICS_REGISTRY],
      useFactory: (
        dataSource: DataSource,
        work: UnitOfWork,
        clock: Clock,
        config: Config,
        usage: UsageReader<Q>,
        registry: Registry,
      ) => {
        const ledger = new Ledger(channel, dataSource, work, clock, {
          lanes: config.database.kind === 'sqlite' ? 1 : LANES,
          queueLimit: config.queueLimit,
          callerQueueLimit: config.principalQueueLimit,
        })
        measureLedger(registry, ledger, usage)
        return ledger
      },
    },
    {
      provide: tokens.quotas,
      inject: [DataSource, UnitOfWork, Clock],
      useFactory: (dataSource: DataSource, work: UnitOfWork, clock: Clock) =>
        new QuotaReader(channel, dataSource, work, clock),
    },
    {
      provide: tokens.usage,
      inject: [DataSource, UnitOfWork, Clock],
      useFactory: (dataSource: DataSource, work: UnitOfWork, clock: Clock) =>
        new UsageReader(channel, dataSource, work, clock),
    },
    {
      provide: tokens.office,
      inject: [DataSource, UnitOfWork, Clock, tokens.quotas],
      useFactory: (
        dataSource: DataSource,
        work: UnitOfWork,
        clock: Clock,
        quotas: QuotaReader<Q>,
      ): OfficeReaders<Q> => ({
        changes: new ChangeReader(channel, dataSource, work),
        owners: new OwnerReader(channel, dataSource, work, quotas),
        expiring: new ExpiringReader(channel, dataSource, work, clock),
        refusals: new RefusalReader(channel, dataSource, work, clock),
      }),
    },
    {
      provide: tokens.sweeper,
      inject: [tokens.ledger, tokens.quotas, UnitOfWork, Clock],
      useFactory: (ledger: Ledger<Q>, quotas: QuotaReader<Q>, work: UnitOfWork, clock: Clock) =>
        new Sweeper(ledger, quotas, work, clock),
    },
  ]
}
