import { bytesToStore, idFromStore } from '../../src/database/bytes.js'

/** Values for a statement of a test: ids as the tables contain them (16 bytes). */
export function stored(values: readonly unknown[]): unknown[] {
  return values.map((value) =>
    typeof value === 'string' && /^[\da-f-]{36}$/.test(value) ? bytesToStore(value) : value,
  )
}

/** Rows that a test selected, with ids as text; the result of any other statement as it is. */
export function readable<T>(rows: T[]): T[] {
  if (!Array.isArray(rows)) return rows
  return rows.map(
    (row) =>
      Object.fromEntries(
        Object.entries(row as object).map(([name, value]: [string, unknown]) => [
          name,
          value instanceof Uint8Array || value instanceof ArrayBuffer ? idFromStore(value) : value,
        ]),
      ) as T,
  )
}
