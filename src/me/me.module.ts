import { Module } from '@nestjs/common'
import { MeController } from './me.controller.js'

/** Tells callers who they are. */
@Module({ controllers: [MeController] })
export class MeModule {}
