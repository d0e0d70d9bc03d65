import { Inject, Injectable } from '@nestjs/common'
import { Gauge, Histogram, Registry } from 'prom-client'
import { TransactionRunner } from '../database/transaction-runner.js'
import { BUCKETS_SECONDS, METRICS_REGISTRY } from '../common/metrics.js'

/**
 * Exports the database's availability and the use of its connection pool; SQLite has no pool.
 */
@Injectable()
export class PoolMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, transactions: TransactionRunner) {
    new Gauge({
      name: 'database_available',
      help: '0 while the database is known to be unavailable for reads or writes, which are refused at once; otherwise 1.',
      labelNames: ['use'],
      registers: [registry],
      collect() {
        this.set({ use: 'read' }, transactions.reach === 'none' ? 0 : 1)
        this.set({ use: 'write' }, transactions.reach === 'all' ? 1 : 0)
      },
    })
    new Gauge({
      name: 'database_pool_connections',
      help: 'Connections of the pool: busy and idle ones; waiting: requests for a connection.',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        const counts = transactions.connections()
        if (counts === undefined) return
        this.set({ state: 'busy' }, counts.busy)
        this.set({ state: 'idle' }, counts.idle)
        this.set({ state: 'waiting' }, counts.waiting)
      },
    })
    new Gauge({
      name: 'background_failures_in_row',
      help: 'Failures in a row of work in the background.',
      labelNames: ['task'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { name, failures } of transactions.tasks) this.set({ task: name }, failures)
      },
    })
    const waits = new Histogram({
      name: 'database_pool_wait_seconds',
      help: 'Time that a read or a unit of work waited for a connection.',
      labelNames: ['use'],
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    })
    const waited = { read: waits.labels({ use: 'read' }), write: waits.labels({ use: 'write' }) }
    const statements = new Histogram({
      name: 'database_statement_seconds',
      help: "The database's time for a statement, or for several that were sent together.",
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    })
    transactions.storeObserver = {
      waited: (use, seconds) => waited[use].observe(seconds),
      answered: (seconds) => statements.observe(seconds),
    }
  }
}
