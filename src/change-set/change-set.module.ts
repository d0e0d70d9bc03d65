import { type DynamicModule, Module } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { channelToken } from '../channel-api/ledger.module.js'
import { Clock } from '../common/clock.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { QuotaReader } from '../ledger/read/quota-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { Upkeep } from '../ledger/upkeep/upkeep.js'
import { Ledger } from '../ledger/write/ledger.js'
import { METRICS_REGISTRY } from '../common/metrics.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import { ChangeSetKeys } from './change-set-keys.js'
import { ChangeSetRunner } from './change-set-runner.js'
import { ChangeSetStore } from './change-set-store.js'
import { measureChangeSets } from './change-set.metrics.js'
import { ChangeSetService } from './change-set.service.js'
import type { Dependencies } from './preparer.js'

const DEPENDENCIES = Symbol('dependencies of change sets')

/** One channel's change sets: the service of its routes, and its background work. */
@Module({})
export class ChangeSetModule {
  /** @param ledger of the channel */
  static forChannel<Q extends QuotaRow>(kind: ChangeSetChannel<Q>, ledger: DynamicModule): DynamicModule {
    const { channel } = kind
    return {
      module: ChangeSetModule,
      imports: [ledger],
      providers: [
        {
          provide: DEPENDENCIES,
          inject: [
            channelToken(channel, Ledger),
            channelToken(channel, QuotaReader),
            DataSource,
            TransactionRunner,
            Clock,
          ],
          useFactory: (
            engine: Ledger<Q>,
            reader: QuotaReader<Q>,
            dataSource: DataSource,
            transactions: TransactionRunner,
            clock: Clock,
          ): Dependencies<Q> => {
            const store = new ChangeSetStore(dataSource, kind)
            const keys = new ChangeSetKeys(store, transactions)
            engine.keysElsewhere = keys
            return { kind, ledger: engine, reader, store, keys, transactions, clock }
          },
        },
        {
          provide: ChangeSetRunner,
          inject: [DEPENDENCIES, channelToken(channel, Upkeep), METRICS_REGISTRY],
          useFactory: (dependencies: Dependencies<Q>, upkeep: Upkeep<Q>, registry: Registry) => {
            const runner = new ChangeSetRunner(dependencies)
            upkeep.removals.push(async () => runner.removeOld())
            measureChangeSets(registry, channel.name, runner)
            return runner
          },
        },
        {
          provide: ChangeSetService,
          inject: [DEPENDENCIES, ChangeSetRunner],
          useFactory: (dependencies: Dependencies<Q>, runner: ChangeSetRunner<Q>) =>
            new ChangeSetService(dependencies, runner),
        },
      ],
      exports: [ChangeSetService],
    }
  }
}
