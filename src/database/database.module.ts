import { type DynamicModule, Global, Module } from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { DataSource, type EntityTarget } from 'typeorm'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import { dataSourceOptions } from './data-source-options.js'
import { Readiness } from './readiness.js'
import { StoreClock } from './store-clock.js'
import { TransactionRunner } from './transaction-runner.js'

/** The connection to the store, whose schema `migrate` has updated, its only accessor, and its time. */
@Global()
@Module({
  providers: [
    {
      provide: TransactionRunner,
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => new TransactionRunner(dataSource),
    },
    {
      provide: Clock,
      inject: [TransactionRunner],
      useFactory: async (transactions: TransactionRunner) => StoreClock.of(transactions),
    },
    Readiness,
  ],
  exports: [TransactionRunner, Clock, Readiness],
})
export class DatabaseModule {
  /** @param entities every entity of the service */
  static for(entities: readonly EntityTarget<unknown>[]): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [CONFIG],
          useFactory: (config: Config) => ({
            ...dataSourceOptions(config.database, [...entities], 'service'),
            // `migrate` runs before and retries often enough; later failures are reported at once.
            retryAttempts: 0,
          }),
          dataSourceFactory: async (options) => {
            if (options === undefined) throw new Error('no data source options')
            return new DataSource(options).initialize()
          },
        }),
      ],
    }
  }
}
