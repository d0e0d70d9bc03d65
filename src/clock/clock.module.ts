import { Global, Module } from '@nestjs/common'
import { Clock, SystemClock } from './clock.js'

/** Hands the one clock to everybody. */
@Global()
@Module({ providers: [{ provide: Clock, useClass: SystemClock }], exports: [Clock] })
export class ClockModule {}
