import { shownOwner } from '../ledger/store/answers.js'
import type { ErrorCode, FieldError, ServiceError } from '../common/service-error.js'
import type { AnyChannel } from '../ledger/rows/channel.js'
import { nameOf } from '../common/principal-name.js'
import { formatInstant, timeOrNull } from '../common/instant.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import { type ChangeSetRow, countsOf, rowsIn } from './change-set.entity.js'

/** The reason why a change set failed, or a row was not applied or reverted. */
export interface RowProblem {
  readonly code: ErrorCode | 'csv_malformed'
  readonly detail: string
  readonly errors?: readonly FieldError[]
}

/** A row of a change set, as answered; the owner follows `quota_id`. */
export interface ItemView {
  row: number
  line: number | null
  quota_id: number | null
  /** Present only if it was asked for. */
  label?: string | null
  action: string
  outcome: string
  before: object
  after: object
  problem: RowProblem | null
}

const objectOrNull = (json: string | null): object | null => (json === null ? null : (JSON.parse(json) as object))

/** A change set, as answered. */
export type ChangeSetView = ReturnType<typeof changeSetView>

/** Returns a change set, as answered. */
export function changeSetView(set: ChangeSetRow) {
  return {
    id: set.id,
    state: set.state,
    source: set.source,
    filter: objectOrNull(set.filter),
    change: objectOrNull(set.change),
    actor: nameOf(set.actor, set.actorName),
    version: set.version,
    created_at: formatInstant(set.createdAt),
    applied_at: timeOrNull(set.appliedAt),
    reverted_at: timeOrNull(set.revertedAt),
    counts: { rows: rowsIn(set), ...countsOf(set) },
    // Only in state `failed`.
    ...(set.state === 'failed' && set.problem !== null ? { problem: JSON.parse(set.problem) as RowProblem } : {}),
  }
}

/** Returns a row, as answered. @param label of its quota; undefined: not asked for */
export function itemView(channel: AnyChannel, item: ChangeSetItemRow, label?: string | null): ItemView {
  return {
    row: item.row,
    line: item.line,
    quota_id: item.quotaId,
    [channel.subjects[0].field]: item.ownerId === null ? null : shownOwner(item.ownerId),
    ...(label === undefined ? {} : { label }),
    action: item.action,
    outcome: item.outcome,
    before: objectOrNull(item.before) ?? {},
    after: objectOrNull(item.after) ?? {},
    problem: objectOrNull(item.problem) as RowProblem | null,
  }
}

/** Returns the problem of a row from a refusal. */
export function rowProblem({ code, detail, fields }: ServiceError): RowProblem {
  return { code, detail, ...(fields === undefined ? {} : { errors: fields }) }
}
