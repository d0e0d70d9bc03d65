import { Module } from '@nestjs/common'
import { MeController } from './me.controller.js'

/** Shows callers who they are. */
@Module({ controllers: [MeController] })
export class MeModule {}
