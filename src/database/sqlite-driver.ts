import { closeSync, openSync, statSync } from 'node:fs'
import { Logger } from '@nestjs/common'
import Database from 'libsql'

/** Only the service's account may read and write it; the -wal and -shm files next to it get its mode. */
const OWNER_ALONE = 0o600

/**
 * libsql's database for TypeORM, as a file that no other account may read, and that is complete when it is closed: the
 * -wal file is merged, so that a copy of the one file is a copy of everything.
 */
export class SqliteFile extends Database {
  private readonly logger = new Logger('Database')

  constructor(path: string, options?: Database.Options) {
    // SQLite would create it readable for everyone. An existing file is not changed, and not opened here: closing it
    // again would release the locks that another connection of this process has on it. Another process would then be
    // the last to close the file, and remove the -wal that is still in use.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) closeSync(openSync(path, 'a', OWNER_ALONE))
    super(path, options)
  }

  /** libsql would take the bytes of an only value for named values, and end the process: it gets values as a list. */
  override prepare(sql: string): never {
    const statement = super.prepare(sql)
    const [all, run] = [statement.all.bind(statement), statement.run.bind(statement)]
    statement.all = (...values) => all(values)
    statement.run = (...values) => run(values)
    // Its declared type depends on a type parameter, which no subclass can state.
    return statement as never
  }

  override close(): this {
    try {
      const [result] = this.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
      if (result?.busy !== 0)
        this.logger.warn('another process reads the file: part of the data stays in the -wal file next to it')
    } catch (error) {
      this.logger.warn(`part of the data stays in the -wal file next to it: ${String(error)}`)
    }
    return super.close()
  }
}
