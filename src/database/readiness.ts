import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { UnitOfWork } from './unit-of-work.js'

/** Can this instance serve? */
@Injectable()
export class Readiness {
  constructor(
    private readonly dataSource: DataSource,
    private readonly work: UnitOfWork,
  ) {}

  /**
   * Reads a row of a real table: a node outside its cluster's primary component still answers `SELECT 1`.
   * @throws where the database does not answer
   */
  async check(): Promise<void> {
    const [entity] = this.dataSource.entityMetadatas
    if (entity === undefined) throw new Error('no entity')
    await this.work.read((transaction) => transaction.rows(`SELECT 1 FROM \`${entity.tableName}\` LIMIT 1`))
  }
}
