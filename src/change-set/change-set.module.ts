import { type DynamicModule, Module } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { partOf } from '../channel-api/ledger.module.js'
import { Clock } from '../clock/clock.js'
import { UnitOfWork } from '../database/unit-of-work.js'
import { QuotaReader } from '../ledger/read/quota-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { Upkeep } from '../ledger/upkeep/upkeep.js'
import { Ledger } from '../ledger/write/ledger.js'
import { METRICS_REGISTRY } from '../metrics/metrics.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import { ChangeSetRunner } from './change-set-runner.js'
import { ChangeSetStore } from './change-set-store.js'
import { measureChangeSets } from './change-set.metrics.js'
import { ChangeSetService } from './change-set.service.js'
import type { Tools } from './preparer.js'

const TOOLS = Symbol('tools of change sets')

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
          provide: TOOLS,
          inject: [partOf(channel, Ledger), partOf(channel, QuotaReader), DataSource, UnitOfWork, Clock],
          useFactory: (
            engine: Ledger<Q>,
            reader: QuotaReader<Q>,
            dataSource: DataSource,
            work: UnitOfWork,
            clock: Clock,
          ): Omit<Tools<Q>, 'rest'> => ({
            kind,
            ledger: engine,
            reader,
            store: new ChangeSetStore(dataSource, kind),
            work,
            clock,
          }),
        },
        {
          provide: ChangeSetRunner,
          inject: [TOOLS, partOf(channel, Upkeep), METRICS_REGISTRY],
          useFactory: (tools: Omit<Tools<Q>, 'rest'>, upkeep: Upkeep<Q>, registry: Registry) => {
            const runner = new ChangeSetRunner(tools)
            upkeep.removals.push(async () => runner.removeOld())
            measureChangeSets(registry, channel.name, runner)
            return runner
          },
        },
        {
          provide: ChangeSetService,
          inject: [TOOLS, ChangeSetRunner],
          useFactory: (tools: Omit<Tools<Q>, 'rest'>, runner: ChangeSetRunner<Q>) =>
            new ChangeSetService(tools, runner),
        },
      ],
      exports: [ChangeSetService],
    }
  }
}
