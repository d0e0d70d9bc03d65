import type { QueryRunner, TableIndex } from 'typeorm'

/**
 * Returns the index over these columns, if there is one. MySQL returns the columns of an index in no defined order; no
 * two indexes of a table have the same set of columns.
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
