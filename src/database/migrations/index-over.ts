import type { QueryRunner, TableIndex } from 'typeorm'

/**
 * The index over these columns, if there is one. MySQL tells an index's columns in no certain order, and no two of a table
 * have the same.
 */
export async function indexOver(
  runner: QueryRunner,
  table: string,
  columns: readonly string[],
): Promise<TableIndex | undefined> {
  const wanted = [...columns].sort().join()
  const known = await runner.getTable(table)
  return known?.indices.find(({ columnNames }) => [...columnNames].sort().join() === wanted)
}
