import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import type { Reach } from './store-watch.js'
import { UnitOfWork } from './unit-of-work.js'

/** Can this instance serve? */
@Injectable()
export class Readiness {
  constructor(
    private readonly dataSource: DataSource,
    private readonly work: UnitOfWork,
  ) {}

  /** What the store is known to be good for, without asking it. */
  get reach(): Reach {
    return this.work.reach
  }

  /**
   * Reads a row of a real table: a node outside its cluster's primary component still answers `SELECT 1`. A store that
   * is known to take no writes, as one whose disk is full, is not good enough, though reads are still answered. It
   * waits for nobody's reads.
   * @throws where the database does not answer, or is known to be away
   */
  async check(): Promise<void> {
    this.work.requireAll()
    const [entity] = this.dataSource.entityMetadatas
    if (entity === undefined) throw new Error('no entity')
    await this.work.look((transaction) => transaction.rows(`SELECT 1 FROM \`${entity.tableName}\` LIMIT 1`))
  }
}
