import { Inject, Injectable } from '@nestjs/common'
import { Gauge, Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { Readiness } from '../database/readiness.js'
import { METRICS_REGISTRY } from './metrics.js'

/** What mysql2's pool keeps of its connections. */
interface Pool {
  readonly _allConnections: { readonly length: number }
  readonly _freeConnections: { readonly length: number }
  readonly _connectionQueue: { readonly length: number }
}

/** Shows whether the database is there, and how the pool of connections to it is used; SQLite has none, and shows nothing of it. */
@Injectable()
export class PoolMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, dataSource: DataSource, readiness: Readiness) {
    new Gauge({
      name: 'database_available',
      help: '1 as long as the database is not known to be away for reads, or for writes; 0 while such requests are refused at once.',
      labelNames: ['use'],
      registers: [registry],
      collect() {
        this.set({ use: 'read' }, readiness.reach === 'none' ? 0 : 1)
        this.set({ use: 'write' }, readiness.reach === 'all' ? 1 : 0)
      },
    })
    const driver = dataSource.driver as { readonly pool?: Pool }
    new Gauge({
      name: 'database_pool_connections',
      help: 'Connections of the pool by use: busy, idle; and waiting, which are requests for one.',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        const { pool } = driver
        if (pool === undefined) return
        const idle = pool._freeConnections.length
        this.set({ state: 'busy' }, pool._allConnections.length - idle)
        this.set({ state: 'idle' }, idle)
        this.set({ state: 'waiting' }, pool._connectionQueue.length)
      },
    })
  }
}
