import { validationFailed } from '../common/service-error.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import { quotaNotFound } from '../ledger/store/errors.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import { ITEMS_AT_ONCE } from './change-set-store.js'
import { noCounts } from './change-set.entity.js'
import { importsColumn } from './csv-cells.js'
import type { CsvRecord } from './csv-reader.js'
import { type Dependencies, newItem, refuse } from './preparer.js'
import { RecordReader, type RequestedChange } from './requested-change.js'

/** The maximum size of an invalid record that is kept, in bytes. */
const MAX_KEPT_BYTES = 1_000

/**
 * Stores the records of a file as rows while they arrive, and decides those that are invalid whatever the quotas are.
 * So no row that is stored whole exceeds what a valid record needs.
 */
export class ArrivingRows<Q extends QuotaRow> {
  /** The rows that are decided. */
  readonly counts = noCounts()
  /** The number of records. */
  count = 0
  private readonly records: RecordReader<Q>
  private readonly kept: readonly boolean[]
  private waiting: { item: ChangeSetItemRow; requested: RequestedChange | undefined }[] = []

  constructor(
    private readonly dependencies: Dependencies<Q>,
    private readonly setId: number,
    private readonly columns: readonly string[],
  ) {
    this.records = new RecordReader(dependencies.kind, columns, dependencies.clock)
    this.kept = columns.map((column) => importsColumn(dependencies.kind, column))
  }

  /** Takes a record, and writes rows from time to time. */
  async add({ line, cells }: CsvRecord): Promise<void> {
    this.count += 1
    const { action, quotaId, ownerId, ...read } = this.records.read(cells)
    const known = cells.map((cell, place) => (this.kept[place] === false ? '' : cell))
    const whole = storedJson(known)
    const errors = read.requested?.kind === 'update' ? (read.requested.errors ?? []) : []
    // Too large to be kept until the mistakes that its quota adds are known.
    const isLarge = errors.length > 0 && whole.length > MAX_KEPT_BYTES
    const refusal = isLarge ? validationFailed(errors) : read.refusal
    const requested = isLarge ? undefined : read.requested
    const given = refusal === undefined ? whole : storedJson(keptCells(known, this.columns.length))
    const item = newItem({ setId: this.setId, row: this.count, line, given, action, quotaId, ownerId })
    if (refusal !== undefined) refuse(item, refusal, this.counts)
    item.command = requested === undefined ? null : storedJson(requested)
    this.waiting.push({ item, requested })
    if (this.waiting.length === ITEMS_AT_ONCE) await this.flush()
  }

  /** Writes the rows that are not written yet. */
  async flush(): Promise<void> {
    const { store, transactions, ledger } = this.dependencies
    const { waiting, setId, count } = this
    this.waiting = []
    const ids = waiting.flatMap(({ item }) => item.quotaId ?? [])
    const owners =
      ids.length === 0
        ? new Map<number, number>()
        : await transactions.read((transaction) => ledger.store.ownersOfQuotas(transaction, ids))
    for (const { item, requested } of waiting) {
      if (item.quotaId === null) continue
      const ownerId = owners.get(item.quotaId)
      if (ownerId !== undefined) item.ownerId = ownerId
      if (ownerId !== undefined || requested === undefined) continue
      const errors = requested.kind === 'update' ? (requested.errors ?? []) : []
      refuse(item, errors.length > 0 ? validationFailed(errors) : quotaNotFound(item.quotaId), this.counts)
      item.command = null
    }
    // A rerun after a COMMIT without an answer finds the rows.
    await transactions.write(async (transaction) => {
      await store.lockArriving(transaction, setId)
      await store.writeItems(
        transaction,
        waiting.map(({ item }) => item),
      )
      await store.update(transaction, setId, { waitingRows: count })
    })
  }
}

/**
 * Returns the first cells of a record that fit. Their number then differs from that of the header, so that an import of
 * the exported row refuses it again, and does not read it with values missing.
 */
function keptCells(cells: readonly string[], columns: number): readonly string[] {
  let bytes = 2
  const fitting = cells.findIndex((cell) => (bytes += storedJson([cell]).length - 1) > MAX_KEPT_BYTES)
  if (fitting === -1) return cells
  return cells.slice(0, fitting === columns ? columns - 1 : fitting)
}
