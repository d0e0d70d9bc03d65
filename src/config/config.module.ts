import { type DynamicModule, Global, Module } from '@nestjs/common'
import { Config } from './config.js'

/** Hands the one configuration, read and checked before the application is made, to everybody who injects `Config`. */
@Global()
@Module({})
export class ConfigModule {
  static with(config: Config): DynamicModule {
    return { module: ConfigModule, providers: [{ provide: Config, useValue: config }], exports: [Config] }
  }
}
