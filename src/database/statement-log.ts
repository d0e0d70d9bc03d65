import { Logger } from '@nestjs/common'
import type { Logger as TypeOrmLogger } from 'typeorm'
import { withoutValues } from './statement-text.js'

/** The maximum logged length of a statement; the rest consists of lists of columns and placeholders. */
const MAX_STATEMENT_LENGTH = 200

/**
 * Writes TypeORM's messages to the service's own log. TypeORM's logger writes directly to the terminal, including
 * parameters, among them idempotency keys, names of callers and answers. Here, statements are logged without any value;
 * their callers log their errors.
 */
export class StatementLog implements TypeOrmLogger {
  private readonly logger = new Logger('Database')

  logQuerySlow(milliseconds: number, statement: string): void {
    const reported = withoutValues(statement).replace(/\s+/g, ' ').slice(0, MAX_STATEMENT_LENGTH)
    this.logger.warn(`a statement took ${Math.round(milliseconds)} ms: ${reported}`)
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.logger.warn(String(message))
  }

  logQuery(): void {
    // Every statement: too many to be useful.
  }

  logQueryError(): void {
    // Thrown to `TransactionRunner`, which handles it.
  }

  logMigration(): void {
    // The migrating code logs this.
  }

  logSchemaBuild(): void {
    // As above.
  }
}
