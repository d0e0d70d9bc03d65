import { stringify } from 'csv-stringify/sync'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { QuotaView } from '../ledger/store/answers.js'
import type { Command } from '../ledger/store/command.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ManyChangeDto } from './change-set.dto.js'
import type { ChangeSetRow } from './change-set.entity.js'
import type { RowProblem } from './change-set.view.js'
import { requestedCell, exportedCell, givenCell } from './csv-cells.js'

/** Returns records as lines of a file, each with its delimiter. */
export function csvLines(records: readonly (readonly string[])[]): string {
  return stringify(records as string[][], { record_delimiter: 'windows', quoted_match: /[\r\n]/ })
}

/** Returns a quota as a record. */
export function exportedRecord(columns: readonly string[], quota: QuotaView): string[] {
  const members = quota as unknown as Record<string, unknown>
  return columns.map((column) => exportedCell(members[column]))
}

/**
 * Returns a row of a change set as a record of an import: the result if the row is planned or was applied, otherwise
 * the requested values. A record whose number of cells differs from the header keeps such a number, so that an import
 * of this file refuses it again and does not read it with values missing.
 */
export function rowRecord<Q extends QuotaRow>(
  channel: Channel<Q>,
  columns: readonly string[],
  set: ChangeSetRow,
  item: ChangeSetItemRow,
): string[] {
  const problem = item.problem === null ? undefined : (JSON.parse(item.problem) as RowProblem)
  const cells: Record<string, string> = {
    ...cellsOf(channel, set, item),
    outcome: item.outcome,
    problem: problem === undefined ? '' : exportedCell(`${problem.code}: ${problem.detail}`),
  }
  return [...columns.map((column) => cells[column] ?? ''), ...surplusCells(set, item)]
}

/** Returns the cells of a record for which its header has no column; an empty one if cells are missing. */
function surplusCells(set: ChangeSetRow, item: ChangeSetItemRow): string[] {
  if (item.given === null || item.outcome !== 'invalid') return []
  const { length } = JSON.parse(set.columns ?? '[]') as string[]
  const cells = JSON.parse(item.given) as string[]
  return cells.length < length ? [''] : cells.slice(length).map(givenCell)
}

const SHOWS_REQUEST: readonly ChangeSetItemRow['outcome'][] = ['unchanged', 'invalid', 'conflict']

function cellsOf<Q extends QuotaRow>(
  channel: Channel<Q>,
  set: ChangeSetRow,
  item: ChangeSetItemRow,
): Record<string, string> {
  const id = item.quotaId === null ? {} : { id: String(item.quotaId) }
  if (item.action === 'delete' || item.action === 'reset') return id
  const command = item.command === null ? undefined : (JSON.parse(item.command) as Command)
  if (SHOWS_REQUEST.includes(item.outcome)) return { ...id, ...requestedCells(set, item, command) }
  const after = JSON.parse(item.after ?? '{}') as Record<string, unknown>
  const subjects: Record<string, unknown> = {}
  if (command?.kind === 'create') {
    // The owner of a group's quota is the group, which no column names so.
    if (command.place !== undefined)
      Object.assign(subjects, { group_id: command.place.groupId, per: command.place.per })
    else for (const { field, property } of channel.subjects) subjects[field] = command.subjects[property]
    subjects['quota_type'] = command.settings.quotaType
  }
  const cells = Object.entries({ ...subjects, ...after }).map(([name, value]) => [name, requestedCell(value)])
  return { ...id, ...(Object.fromEntries(cells) as Record<string, string>) }
}

/** Returns the requested values of a row: the cells of its record, or the settings of the change. */
function requestedCells(
  set: ChangeSetRow,
  item: ChangeSetItemRow,
  command: Command | undefined,
): Record<string, string> {
  if (item.given !== null) {
    const names = JSON.parse(set.columns ?? '[]') as string[]
    const cells = JSON.parse(item.given) as string[]
    return Object.fromEntries(names.map((name, place) => [name, givenCell(cells[place] ?? '')]))
  }
  const { update = {} } = JSON.parse(set.change ?? '{}') as Pick<ManyChangeDto, 'update'>
  // A total may be requested as a difference, which no cell can hold.
  const { total: asked } = update as { readonly total?: unknown }
  const known = typeof asked === 'number' ? asked : undefined
  const total = command?.kind === 'update' ? (command.patch.total ?? known) : known
  const requested = Object.entries({ ...update, total }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(requested.map(([name, value]) => [name, requestedCell(value)]))
}
