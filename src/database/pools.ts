import type { Pool, PoolConnection } from 'mysql2'
import type { DataSource } from 'typeorm'
import { CONNECTING } from './data-source-options.js'
import { serverOf } from './server.js'
import { sessionDriver } from './session-settings.js'

/** How connections to the database are used at this moment. */
export interface ConnectionCounts {
  readonly busy: number
  readonly idle: number
  /** Requests for one that wait. */
  readonly waiting: number
}

/** What mysql2's pool keeps of its connections. */
interface Inside {
  readonly _allConnections: { readonly length: number }
  readonly _freeConnections: { readonly length: number; get(place: number): PoolConnection | undefined }
  readonly _connectionQueue: { readonly length: number }
}

/**
 * The connections to a server, used past TypeORM, whose runner costs as much for each statement as the statement
 * itself.
 *
 * Reads go over TypeORM's own pool. Units of work have another one, whose connections alone take several statements in
 * one packet: what is sent over them is written in src/ledger and src/database, with bound values, and holds nothing
 * else of a caller's.
 */
export class Pools {
  /** Connections for reads; two at least. */
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
      // Idle ones are given up only where this is less than all.
      maxIdle: poolSize - 1,
      multipleStatements: true,
    })
  }

  /** A connection for one unit of work, or for reads; to be released or destroyed. */
  async take(use: 'read' | 'write'): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      const pool = use === 'write' ? this.write : this.reads
      pool.getConnection((error, connection) => {
        if (error) reject(error)
        else resolve(connection)
      })
    })
  }

  /** Where one connection has died, its like may have, and none must be handed out to find that out by waiting. */
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

  /** Ends the connections for units of work; TypeORM ends its own. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.write.end(() => resolve())
    })
  }

  private inside(): Inside[] {
    return [this.reads, this.write] as unknown as Inside[]
  }
}
