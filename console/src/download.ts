import { wireName } from '@quota-service/client'
import { wholeOf } from './arriving.ts'
import { type ChangeSet, type RowOutcome, setsOf } from './change-sets.ts'
import { type Column, headLine, rowLines } from './csv.ts'
import {
  type AnyChange,
  type ChannelClient,
  given,
  type LedgerFilter,
  type MarkedPage,
  MAX_ROWS,
  type NearLimit,
  type Operation,
  type Passed,
  type Quota,
  type Refusal,
  type Series,
  type TopRefusal,
} from './channel-client.ts'
import type { ChangeSetsSearch, ChangesSearch, QuotasSearch } from './search.ts'

/* Downloads. The service requires the token in a header, so files are fetched here and then saved. */

/** The time until the copy of a file is released, in milliseconds: the browser begins to save at once. */
const KEPT_MS = 60_000
/** The approximate number of characters in one part of a file. */
const PIECE = 65_536

/** Selects an owner or a quota. */
type Whose = { readonly owner: number } | { readonly quotaId: number }

/** Every quota of a list, on all pages. */
export async function exportQuotas(client: ChannelClient, search: QuotasSearch): Promise<void> {
  const { page: _page, beforeId: _before, owner, person, ...rest } = search
  const stream = await setsOf(client).exportCsv(given({ ...rest, ...client.peopleOf({ owner, person }) }))
  save(await wholeOf(stream), `${client.name}-quotas.csv`)
}

/** Every quota that ends within this number of days, soonest first, in the columns of `exportQuotas`. */
export async function exportExpiring(client: ChannelClient, days: number): Promise<void> {
  const read = async (cursor?: string) => client.expiring({ days, cursor, pageSize: MAX_ROWS })
  await saveAll(
    `${client.name}-quotas-ending.csv`,
    quotaColumns(client, (quota: Quota) => quota),
    everyRow(read),
  )
}

/** The quotas that are over a threshold now, in the columns of `exportQuotas`, with the threshold. */
export async function exportNearLimit(client: ChannelClient): Promise<void> {
  const columns: Column<NearLimit>[] = [
    ...quotaColumns(client, ({ quota }: NearLimit) => quota),
    ['over', ({ threshold }) => threshold],
    ['passed_at', ({ since }) => since],
  ]
  await saveAll(`${client.name}-quotas-near-the-limit.csv`, columns, (await client.nearLimit()).items)
}

/** Every threshold that an owner's quotas, or one quota, passed in the last 31 days, oldest first. */
export async function exportPassed(client: ChannelClient, of: Whose): Promise<void> {
  const columns: Column<Passed>[] = [
    ...plain<Passed>('id', 'at', 'quotaId'),
    [`${client.owner}_id`, ownerOrNone],
    ['label', ({ data }) => data.label],
    ['crossed', ({ data }) => inOneCell(data.crossed)],
    ['used', ({ data }) => data.used],
    ['total', ({ data }) => data.total],
    ['cycle_reset_at', ({ data }) => data.cycleResetAt],
    ['operation_id', ({ data }) => data.operationId],
  ]
  await saveAll(`${client.name}-thresholds-${nameOf(client, of)}.csv`, columns, client.everyPassed(of))
}

/** Every change that these filters show. */
export async function exportChanges(client: ChannelClient, { before: _page, ...filter }: ChangesSearch): Promise<void> {
  const columns: Column<AnyChange>[] = [
    ...plain<AnyChange>('id', 'at', 'actor', 'action', 'quotaId', 'groupId'),
    [`${client.owner}_id`, ownerOrNone],
    ...plain<AnyChange>('before', 'after', 'changeSetId', 'requestId'),
  ]
  const read = async (before?: number) => client.changes({ ...filter, before, pageSize: MAX_ROWS })
  await saveAll(`${client.name}-changes.csv`, columns, everyRow(read))
}

/** Every operation of an owner or of a quota. */
export async function exportLedger(client: ChannelClient, of: LedgerFilter & Whose): Promise<void> {
  const columns: Column<Operation>[] = [
    ...plain<Operation>('id', 'createdAt', 'kind', 'state'),
    [`${client.owner}_id`, ({ owner }) => owner],
    ...plain<Operation>('amount', 'charged', 'refunded', 'allocations', 'caps', 'ownerRemaining', 'expiresAt'),
    ['actor', ({ madeBy }) => madeBy?.actor],
    ['idempotency_key', ({ madeBy }) => madeBy?.idempotencyKey],
  ]
  const read = async (before?: string) => client.ledger({ ...of, before, pageSize: MAX_ROWS })
  await saveAll(`${client.name}-ledger-${nameOf(client, of)}.csv`, columns, everyRow(read))
}

/** The usage of an owner or a quota by day. */
export async function exportSeries(client: ChannelClient, of: Whose): Promise<void> {
  const columns = plain<Series['items'][number]>('beganAt', 'charged', 'refunded', 'refused', 'refusals')
  await saveAll(`${client.name}-usage-by-day-${nameOf(client, of)}.csv`, columns, (await client.series(of)).items)
}

/** The refusals of an owner since a time, by hour. */
export async function exportRefusals(client: ChannelClient, owner: number, from: string): Promise<void> {
  const columns = plain<Refusal>('hour', 'code', 'count', 'requested', 'lastAt')
  await saveAll(`${client.name}-refusals-${nameOf(client, { owner })}.csv`, columns, await client.refusals(owner, from))
}

/** The owners with most refusals in the last hours: as many as one page contains. */
export async function exportTopRefusals(client: ChannelClient, hours: number): Promise<void> {
  const columns: Column<TopRefusal>[] = [
    [`${client.owner}_id`, ({ owner }) => owner],
    ...plain<TopRefusal>('code', 'count', 'requested', 'lastAt'),
  ]
  const rows = await client.topRefusals({ hours, pageSize: MAX_ROWS })
  await saveAll(`${client.name}-refused-most.csv`, columns, rows)
}

/** Every change set in this state. */
export async function exportSets(client: ChannelClient, { before: _page, ...filter }: ChangeSetsSearch): Promise<void> {
  const columns = [
    ...plain<ChangeSet>('id', 'createdAt', 'actor', 'source', 'filter', 'change', 'state'),
    ...plain<ChangeSet>('appliedAt', 'revertedAt', 'counts'),
  ]
  const read = async (before?: number) => {
    const asked = given({ ...filter, before, pageSize: MAX_ROWS })
    const { items, nextBefore } = await setsOf(client).list(asked).page()
    return { items, next: nextBefore }
  }
  await saveAll(`${client.name}-change-sets.csv`, columns, everyRow(read))
}

/** The rows of a change set with one of these outcomes, as a file for an import. */
export async function exportRows(
  client: ChannelClient,
  id: number,
  outcomes: readonly RowOutcome[],
  name: string,
): Promise<void> {
  const parts: Blob[] = []
  for (const outcome of outcomes) {
    const file = await wholeOf(await setsOf(client).rowsCsv(id, { outcome }))
    parts.push(parts.length === 0 ? file : file.slice((await headerEnd(file)) + 1))
  }
  save(new Blob(parts), `${client.name}-change-set-${id}-${name}.csv`)
}

/** The end of the first line, in bytes; no column name has a line break. */
async function headerEnd(file: Blob): Promise<number> {
  return (await file.slice(0, 4_096).text()).indexOf('\n')
}

/** The columns of a quota in the service's exports, which an import accepts. */
function quotaColumns<Row>(client: ChannelClient, quotaOf: (row: Row) => Quota): Column<Row>[] {
  const columns: Column<Quota>[] = [
    ...plain<Quota>('id'),
    [`${client.owner}_id`, ownerOrNone],
    ...(client.namesPerson ? [['user_id', ({ person }: Quota) => person] as const] : []),
    ...plain<Quota>('quotaType', 'total', 'used', 'reserved', 'remaining', 'status'),
    ...plain<Quota>('expireAt', 'cycleUnit', 'cycleResetAt', 'cycleAnchorAt', 'cycleTimeZone'),
    ...plain<Quota>('label', 'cap', 'windowSeconds'),
    ['thresholds', ({ thresholds }) => thresholds && inOneCell(thresholds)],
    ...plain<Quota>('groupId', 'per', 'follows'),
    ['overrides', ({ overrides }) => overrides && inOneCell(overrides)],
    ...plain<Quota>('version', 'createdAt', 'updatedAt'),
  ]
  return columns.map(([head, value]) => [head, (row) => value(quotaOf(row))])
}

/** The owner; what belongs to a group has none. */
function ownerOrNone({ owner }: { readonly owner: number }): number | null {
  return owner === 0 ? null : owner
}

/** Columns with the values of fields, under the service's names of these. */
function plain<Row>(...fields: readonly (keyof Row & string)[]): Column<Row>[] {
  return fields.map((field) => [wireName(field), (row) => row[field]])
}

/** Integers, or names, in one cell, in the service's format. */
function inOneCell(list: readonly (number | string)[]): string {
  return list.length === 0 ? 'none' : list.join(' ')
}

function nameOf(client: ChannelClient, of: Whose): string {
  return 'owner' in of ? `${client.owner}-${of.owner}` : `quota-${of.quotaId}`
}

/** Reads all pages of a list. */
async function* everyRow<Row, Mark>(read: (mark?: Mark) => Promise<MarkedPage<Row, Mark>>): AsyncGenerator<Row> {
  for (let mark: Mark | null | undefined; mark !== null;) {
    const { items, next } = await read(mark)
    yield* items
    mark = next
  }
}

/** Saves a list that the service does not export. Only the line of each row stays in memory. */
async function saveAll<Row>(
  name: string,
  columns: readonly Column<Row>[],
  rows: Iterable<Row> | AsyncIterable<Row>,
): Promise<void> {
  const parts: Blob[] = []
  let lines = headLine(columns)
  for await (const row of rows) {
    lines += rowLines(columns, [row])
    if (lines.length < PIECE) continue
    parts.push(new Blob([lines]))
    lines = ''
  }
  save(new Blob([...parts, lines]), name)
}

function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(new Blob([file], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
