import type { Pool, PoolConnection } from 'mysql2'
import type { DataSource } from 'typeorm'
import { CONNECTING } from './data-source-options.js'
import { serverOf } from './server.js'
import { sessionDriver } from './session-settings.js'

/** The present use of connections to the database. */
export interface ConnectionCounts {
  readonly busy: number
  readonly idle: number
  /** Requests that wait for one. */
  readonly waiting: number
}

/** The internal state of mysql2's pool. */
interface Inside {
  readonly _allConnections: { readonly length: number }
  readonly _freeConnections: { readonly length: number; get(place: number): PoolConnection | undefined }
  readonly _connectionQueue: { readonly length: number }
}

/**
 * The connections to a server. They bypass TypeORM, whose query runner costs as much for each statement as the
 * statement itself.
 *
 * Reads use TypeORM's own pool. Units of work have another one; only its connections accept several statements in one
 * packet. All statements sent over them are written in src/ledger and src/database, with bound values, and contain
 * nothing else from a caller.
 */
export class Pools {
  /** Connections for reads; at least two. */
  readonly readers: number
  private readonly write: Pool
  private readonly reads: Pool

  constructor(dataSource: DataSource) {
    const { poolSize = 1 } = dataSource.options
    this.readers = poolSize
    this.reads = (dataSource.driver as unknown as { pool: Pool }).pool
    this.write = sessionDriver('service').createPool({
      ...serverOf(dataSource),
      ...CONNECTING,
      connectionLimit: poolSize,
      // mysql2 closes idle ones only if this is less than all.
      maxIdle: poolSize - 1,
      multipleStatements: true,
    })
  }

  /** A connection for one transaction, or for reads; it must be released or destroyed. */
  async take(use: 'read' | 'write'): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      const pool = use === 'write' ? this.write : this.reads
      pool.getConnection((error, connection) => {
        if (error) reject(error)
        else resolve(connection)
      })
    })
  }

  /**
   * If one connection has died, others may have, too: none of them is handed out, since its next user would have to
   * wait.
   */
  dropIdle(): void {
    for (const { _freeConnections: free } of this.inside()) {
      const idle = Array.from({ length: free.length }, (_, place) => free.get(place))
      for (const connection of idle) connection?.destroy()
    }
  }

  counts(): ConnectionCounts {
    const counts = { busy: 0, idle: 0, waiting: 0 }
    for (const pool of this.inside()) {
      counts.busy += pool._allConnections.length - pool._freeConnections.length
      counts.idle += pool._freeConnections.length
      counts.waiting += pool._connectionQueue.length
    }
    return counts
  }

  /** Closes the connections for transactions; TypeORM closes its own. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.write.end(() => resolve())
    })
  }

  private inside(): Inside[] {
    return [this.reads, this.write] as unknown as Inside[]
  }
}
