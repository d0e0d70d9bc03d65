import { type RowOutcome, setsOf } from './change-sets.ts'
import { type Desk, given } from './desk.ts'
import type { QuotasSearch } from './search.ts'

/* Files that the service hands out. It wants the token in a header, so they are fetched here and then saved. */

/** The browser begins to save at once; then its copy may go, in milliseconds. */
const KEPT_MS = 60_000

/** Every quota that a list shows, on whichever page. */
export async function exportQuotas(desk: Desk, search: QuotasSearch): Promise<void> {
  const { page: _page, beforeId: _before, owner, person, ...rest } = search
  const stream = await setsOf(desk).exportCsv(given({ ...rest, ...desk.peopleOf({ owner, person }) }))
  save(await new Response(stream).blob(), `${desk.name}-quotas.csv`)
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
