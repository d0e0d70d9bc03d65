import { Global, Module, type Type } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { Admission } from './admission.js'
import { BodyReader, readBodyLast } from './body.guard.js'
import { Connections } from './connections.js'
import { ItemChecker } from './dto.pipe.js'
import { RouteTable } from './route-table.js'

/** The providers that all routes share. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RouteTable,
      useFactory: (discovery: DiscoveryService) => {
        const table = new RouteTable(discovery.getControllers().map(({ metatype }) => metatype as Type))
        table.routes.forEach(readBodyLast)
        return table
      },
      inject: [DiscoveryService],
    },
    ItemChecker,
    Admission,
    BodyReader,
    Connections,
  ],
  exports: [RouteTable, ItemChecker, Admission, BodyReader, Connections],
})
export class HttpModule {}
