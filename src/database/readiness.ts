import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { TransactionRunner } from './transaction-runner.js'

/** Can this instance serve? */
@Injectable()
export class Readiness {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: TransactionRunner,
  ) {}

  /**
   * Makes no request. A store that is known to accept no writes, for example because its disk is full, is not ready,
   * although it still answers reads.
   * @throws StoreUnavailable if the database is known to be unavailable
   */
  require(): void {
    this.transactions.requireAll()
  }

  /**
   * Reads a row of a real table: a node outside its cluster's primary component still answers `SELECT 1`. It waits for
   * no other reads.
   * @throws if the database does not answer, or is known to be unavailable
   */
  async check(): Promise<void> {
    this.require()
    const [entity] = this.dataSource.entityMetadatas
    if (entity === undefined) throw new Error('no entity')
    await this.transactions.look((transaction) => transaction.rows(`SELECT 1 FROM \`${entity.tableName}\` LIMIT 1`))
  }
}
