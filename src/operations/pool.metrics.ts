import { Inject, Injectable } from '@nestjs/common'
import { Gauge, Histogram, Registry } from 'prom-client'
import { Readiness } from '../database/readiness.js'
import { UnitOfWork } from '../database/unit-of-work.js'
import { BUCKETS_SECONDS, METRICS_REGISTRY } from '../metrics/metrics.js'

/**
 * Exports the database's availability and the use of its connection pool; SQLite has no pool.
 */
@Injectable()
export class PoolMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, work: UnitOfWork, readiness: Readiness) {
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
    new Gauge({
      name: 'database_pool_connections',
      help: 'Connections of the pool by use: busy, idle; and waiting, which are requests for one.',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        const counts = work.connections()
        if (counts === undefined) return
        this.set({ state: 'busy' }, counts.busy)
        this.set({ state: 'idle' }, counts.idle)
        this.set({ state: 'waiting' }, counts.waiting)
      },
    })
    const waits = new Histogram({
      name: 'database_pool_wait_seconds',
      help: 'How long a read or a unit of work waited for a connection.',
      labelNames: ['use'],
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    })
    const waited = { read: waits.labels({ use: 'read' }), write: waits.labels({ use: 'write' }) }
    const statements = new Histogram({
      name: 'database_statement_seconds',
      help: 'How long the database took to answer a statement, or the several that were sent together.',
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    })
    work.storeObserver = {
      waited: (use, seconds) => waited[use].observe(seconds),
      answered: (seconds) => statements.observe(seconds),
    }
  }
}
