import { createHash } from 'node:crypto'
import type { StoredRow, StoredTable } from './stored-table.js'
import type { Transaction, TransactionRunner } from './transaction-runner.js'

const SUM_DIGITS = 16

/** One side of a copy. */
export type CopySide = Pick<TransactionRunner, 'read' | 'write'>

/** The result of comparing a table. */
export interface ComparedTable {
  readonly rows: number
  /** The beginning of the SHA-256 of all rows, in hex; the same for equal rows on every kind of store. */
  readonly sum: string
  /** The first place where the two differ; undefined: they are equal. */
  readonly difference: string | undefined
}

/**
 * Copies rows of a store that nobody writes into an empty one, page by page in the order of the primary key. What the
 * target has tells where to go on, so a copy that ended anywhere can be begun again.
 */
export class StoreCopy {
  /** @param onPage called after each page, with the number of its rows; a failure ends the copy */
  constructor(
    private readonly source: CopySide,
    private readonly target: CopySide,
    private readonly onPage: (table: StoredTable, what: 'copied' | 'compared', rows: number) => void | Promise<void>,
  ) {}

  /** Copies the rows after the target's last one, and the number by which ids are generated. @returns their number */
  async copy(table: StoredTable): Promise<number> {
    let copied = 0
    let last = await this.target.read(async (transaction) => table.last(transaction))
    for (let more = true; more;) {
      const after = last
      const page = await this.source.read(async (transaction) => table.page(transaction, after))
      if (page.length > 0) await this.write(table, page)
      copied += page.length
      await this.onPage(table, 'copied', page.length)
      last = page.at(-1)
      more = page.length === table.pageRows
    }
    if (table.generatesIds) {
      const id = await this.source.read(async (transaction) => table.lastId(transaction))
      await this.target.write(async (transaction) => table.setLastId(transaction, id))
    }
    return copied
  }

  /** Compares every value of both stores. */
  async compare(table: StoredTable): Promise<ComparedTable> {
    const sum = createHash('sha256')
    let rows = 0
    let difference: string | undefined
    let after: StoredRow | undefined
    for (let more = true; more && difference === undefined;) {
      const last = after
      const [page, copied] = await this.both(async (transaction) => table.page(transaction, last))
      difference = firstDifference(table, page, copied)
      for (const row of page) sum.update(`${JSON.stringify(row)}\n`)
      rows += page.length
      await this.onPage(table, 'compared', page.length)
      after = page.at(-1)
      more = page.length === table.pageRows
    }
    if (table.generatesIds) difference ??= await this.differentIds(table)
    return { rows, sum: sum.digest('hex').slice(0, SUM_DIGITS), difference }
  }

  private async write(table: StoredTable, page: readonly StoredRow[]): Promise<void> {
    const last = table.nameOf(page.at(-1) as StoredRow)
    await this.target.write(async (transaction) => {
      // If the answer to COMMIT was lost, the unit runs again, and finds its page.
      const present = await table.last(transaction)
      if (present === undefined || table.nameOf(present) !== last) await table.insert(transaction, page)
    })
  }

  /** A server may go on with a later id than the source would. */
  private async differentIds(table: StoredTable): Promise<string | undefined> {
    const [last, copied] = await this.both(async (transaction) => table.lastId(transaction))
    return copied < last
      ? `${table.name}: the source has generated ids up to ${last}, the target up to ${copied}`
      : undefined
  }

  /** Reads from the source and the target. */
  private async both<T>(unit: (transaction: Transaction) => Promise<T>): Promise<[T, T]> {
    return Promise.all([this.source.read(unit), this.target.read(unit)])
  }
}

function firstDifference(
  table: StoredTable,
  source: readonly StoredRow[],
  target: readonly StoredRow[],
): string | undefined {
  for (let place = 0; place < Math.max(source.length, target.length); place += 1) {
    const [one, other] = [source[place], target[place]]
    if (one === undefined) return `${table.name} ${table.nameOf(other as StoredRow)}: only the target has this row`
    if (other === undefined) return `${table.name} ${table.nameOf(one)}: only the source has this row`
    const columns = table.differing(one, other)
    if (columns.length === 0) continue
    return table.nameOf(one) === table.nameOf(other)
      ? `${table.name} ${table.nameOf(one)}: ${columns.join(', ')} differ`
      : `${table.name}: the source has ${table.nameOf(one)} where the target has ${table.nameOf(other)}`
  }
  return undefined
}
