import { closeSync, openSync, statSync } from 'node:fs'
import { Logger } from '@nestjs/common'
import Database from 'libsql'

/** Read and written by the service's account alone; the -wal and -shm files beside it take its mode. */
const OWNER_ALONE = 0o600

/**
 * libsql's database for TypeORM, as a file that nobody else may read, and that is whole when it is closed: what lies in
 * the -wal file is brought over, so that a copy of the one file is a copy of everything.
 */
export class SqliteFile extends Database {
  private readonly logger = new Logger('Database')

  constructor(path: string, options?: Database.Options) {
    // SQLite would make it for everybody to read. One that is there is left as it is, and not opened by us: closing it
    // again would take away the locks that another connection of this process has on it. Somebody else would then be
    // the last to close the file, and take the -wal away from under us.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) closeSync(openSync(path, 'a', OWNER_ALONE))
    super(path, options)
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
