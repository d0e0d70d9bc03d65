import { type DynamicModule, Global, Module } from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { DataSource, type EntityTarget } from 'typeorm'
import { Config } from '../config/config.js'
import { dataSourceOptions } from './data-source-options.js'
import { Readiness } from './readiness.js'
import { UnitOfWork } from './unit-of-work.js'

/** The connection to the store, whose schema `migrate` has brought up to date, and the one way to use it. */
@Global()
@Module({
  providers: [
    { provide: UnitOfWork, inject: [DataSource], useFactory: (dataSource: DataSource) => new UnitOfWork(dataSource) },
    Readiness,
  ],
  exports: [UnitOfWork, Readiness],
})
export class DatabaseModule {
  /** @param entities every entity of the service */
  static for(entities: readonly EntityTarget<unknown>[]): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Config],
          useFactory: (config: Config) => ({
            ...dataSourceOptions(config.database, [...entities], 'service'),
            // Migrating comes before and tries often enough; what fails after it is to be heard at once.
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
