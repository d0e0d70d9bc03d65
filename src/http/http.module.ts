import { Global, Module, type Type } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { Admission } from './admission.js'
import { Connections } from './connections.js'
import { ItemChecker } from './dto.pipe.js'
import { RouteTable } from './route-table.js'

/** What every route shares. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RouteTable,
      useFactory: (discovery: DiscoveryService) =>
        new RouteTable(discovery.getControllers().map(({ metatype }) => metatype as Type)),
      inject: [DiscoveryService],
    },
    ItemChecker,
    Admission,
    Connections,
  ],
  exports: [RouteTable, ItemChecker, Admission, Connections],
})
export class HttpModule {}
