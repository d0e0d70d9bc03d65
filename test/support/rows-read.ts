import type { DataSource } from 'typeorm'
import type { StoreKind } from './store.js'

/** The rows that the server has read for this database alone, since others use it, too; 0 on SQLite. */
export async function rowsRead(kind: StoreKind, dataSource: DataSource, ...tables: string[]): Promise<number> {
  if (kind.name !== 'MariaDB') return 0
  await dataSource.query('SET GLOBAL userstat = 1')
  const [read] = await dataSource.query<{ n: string | null }[]>(
    `SELECT SUM(ROWS_READ) AS n FROM information_schema.TABLE_STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (${tables.map((table) => `'${table}'`).join(', ')})`,
  )
  return Number(read?.n ?? 0)
}
