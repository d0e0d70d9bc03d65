import { type ChangeSet, type RowOutcome, setsOf } from './change-sets.ts'
import { type Column, headLine, rowLines } from './csv.ts'
import { type Change, type Desk, given, type LedgerFilter, type MarkedPage, MAX_ROWS, type Operation } from './desk.ts'
import type { ChangeSetsSearch, ChangesSearch, QuotasSearch } from './search.ts'

/* Files that the service hands out. It wants the token in a header, so they are fetched here and then saved. */

/** The browser begins to save at once; then its copy may go, in milliseconds. */
const KEPT_MS = 60_000

/** Every quota that a list shows, on whichever page. */
export async function exportQuotas(desk: Desk, search: QuotasSearch): Promise<void> {
  const { page: _page, beforeId: _before, owner, person, ...rest } = search
  const stream = await setsOf(desk).exportCsv(given({ ...rest, ...desk.peopleOf({ owner, person }) }))
  save(await new Response(stream).blob(), `${desk.name}-quotas.csv`)
}

/** Every change that these filters show. */
export async function exportChanges(desk: Desk, { before: _page, ...filter }: ChangesSearch): Promise<void> {
  const columns: Column<Change>[] = [
    ['id', ({ id }) => id],
    ['at', ({ at }) => at],
    ['actor', ({ actor }) => actor],
    ['action', ({ action }) => action],
    ['quota_id', ({ quotaId }) => quotaId],
    [`${desk.owner}_id`, ({ owner }) => owner],
    ['before', ({ before }) => before],
    ['after', ({ after }) => after],
    ['change_set_id', ({ changeSetId }) => changeSetId],
    ['request_id', ({ requestId }) => requestId],
  ]
  await saveAll(`${desk.name}-changes.csv`, columns, async (before?: number) =>
    desk.changes({ ...filter, before, pageSize: MAX_ROWS }),
  )
}

/** Every operation of an owner or of a quota. */
export async function exportLedger(desk: Desk, of: LedgerFilter, name: string): Promise<void> {
  const columns: Column<Operation>[] = [
    ['id', ({ id }) => id],
    ['created_at', ({ createdAt }) => createdAt],
    ['kind', ({ kind }) => kind],
    ['state', ({ state }) => state],
    [`${desk.owner}_id`, ({ owner }) => owner],
    ['amount', ({ amount }) => amount],
    ['charged', ({ charged }) => charged],
    ['refunded', ({ refunded }) => refunded],
    ['allocations', ({ allocations }) => allocations],
    ['caps', ({ caps }) => caps],
    ['owner_remaining', ({ ownerRemaining }) => ownerRemaining],
    ['expires_at', ({ expiresAt }) => expiresAt],
    ['actor', ({ madeBy }) => madeBy?.actor],
    ['idempotency_key', ({ madeBy }) => madeBy?.idempotencyKey],
  ]
  await saveAll(`${desk.name}-ledger-${name}.csv`, columns, async (before?: string) =>
    desk.ledger({ ...of, before, pageSize: MAX_ROWS }),
  )
}

/** What was refused to an owner since then, by hour. */
export async function exportRefusals(desk: Desk, owner: number, from: string): Promise<void> {
  const items = await desk.refusals(owner, from)
  const columns: Column<(typeof items)[number]>[] = [
    ['hour', ({ hour }) => hour],
    ['code', ({ code }) => code],
    ['count', ({ count }) => count],
    ['requested', ({ requested }) => requested],
    ['last_at', ({ lastAt }) => lastAt],
  ]
  await saveAll(`${desk.name}-refusals-${desk.owner}-${owner}.csv`, columns, async () => ({ items, next: null }))
}

/** Every change set in this state. */
export async function exportSets(desk: Desk, { before: _page, ...filter }: ChangeSetsSearch): Promise<void> {
  const columns: Column<ChangeSet>[] = [
    ['id', ({ id }) => id],
    ['created_at', ({ createdAt }) => createdAt],
    ['actor', ({ actor }) => actor],
    ['source', ({ source }) => source],
    ['filter', ({ filter: found }) => found],
    ['change', ({ change }) => change],
    ['state', ({ state }) => state],
    ['applied_at', ({ appliedAt }) => appliedAt],
    ['reverted_at', ({ revertedAt }) => revertedAt],
    ['counts', ({ counts }) => counts],
  ]
  await saveAll(`${desk.name}-change-sets.csv`, columns, async (before?: number) => {
    const asked = given({ ...filter, before, pageSize: MAX_ROWS })
    const { items, nextBefore } = await setsOf(desk).list(asked).page()
    return { items, next: nextBefore }
  })
}

/** Walks a list that the service has no file of, page by page; of each only its lines are kept. */
async function saveAll<Row, Mark>(
  name: string,
  columns: readonly Column<Row>[],
  read: (mark?: Mark) => Promise<MarkedPage<Row, Mark>>,
): Promise<void> {
  const parts = [new Blob([headLine(columns)])]
  for (let mark: Mark | null | undefined; mark !== null;) {
    const { items, next } = await read(mark)
    parts.push(new Blob([rowLines(columns, items)]))
    mark = next
  }
  save(new Blob(parts), name)
}

/** Rows of a change set, of which one of these became; as a file that an import takes. */
export async function exportRows(desk: Desk, id: number, outcomes: readonly RowOutcome[], name: string): Promise<void> {
  const parts: Blob[] = []
  for (const outcome of outcomes) {
    const file = await new Response(await setsOf(desk).rowsCsv(id, { outcome })).blob()
    parts.push(parts.length === 0 ? file : file.slice((await headerOf(file)) + 1))
  }
  save(new Blob(parts), `${desk.name}-change-set-${id}-${name}.csv`)
}

/** Where the first line ends, in bytes; no name of a column has a line break. */
async function headerOf(file: Blob): Promise<number> {
  return (await file.slice(0, 4_096).text()).indexOf('\n')
}

function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(new Blob([file], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
