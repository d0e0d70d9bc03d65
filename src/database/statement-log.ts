import { Logger } from '@nestjs/common'
import type { Logger as TypeOrmLogger } from 'typeorm'

/** So much of a statement is told; the rest is lists of columns and placeholders. */
const MAX_STATEMENT_LENGTH = 200

/**
 * What TypeORM has to tell, on the service's own log. Its own logger writes to the terminal past that, and writes
 * parameters: idempotency keys, names of callers and answers are among them. Statements have placeholders alone, so
 * they may be told; their errors are told by whoever gets them.
 */
export class StatementLog implements TypeOrmLogger {
  private readonly logger = new Logger('Database')

  logQuerySlow(milliseconds: number, statement: string): void {
    const reported = statement.replace(/\s+/g, ' ').slice(0, MAX_STATEMENT_LENGTH)
    this.logger.warn(`a statement took ${Math.round(milliseconds)} ms: ${reported}`)
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.logger.warn(String(message))
  }

  logQuery(): void {
    // Every statement: too many to be of use.
  }

  logQueryError(): void {
    // Thrown to the unit of work, which knows what it means.
  }

  logMigration(): void {
    // Whoever migrates says so.
  }

  logSchemaBuild(): void {
    // As above.
  }
}
