import { camelName } from '@quota-service/client'
import type { ReactNode } from 'react'
import { type Part, textOf } from '../ask.ts'
import { type ChangeSet, type Counts, OUTCOMES, type RowOutcome, STATES } from '../change-sets.ts'
import { amount, withAmounts } from '../amount.ts'
import { fieldName } from '../field-name.ts'
import { sentence, Signed } from '../parts.tsx'
import { SET_OUTCOMES } from '../search.ts'

/* The parts that the screens of change sets share. */

/** A sentence; its names are isolated, since they may be written from right to left. */
export function Words({ parts }: { parts: readonly Part[] }): ReactNode {
  return (
    <span className="words">
      {parts.map((part, place) =>
        typeof part === 'string' ? part : <bdi key={`${place} ${textOf([part])}`}>{part.name}</bdi>,
      )}
    </span>
  )
}

/** The state of a change set. */
export function SetBadge({ state }: Pick<ChangeSet, 'state'>): ReactNode {
  const [sign, name] = STATES[state]
  return <Signed kind={`set-${state}`} sign={sign} name={name} />
}

/** The outcome of a row. */
export function OutcomeBadge({ outcome }: { outcome: RowOutcome }): ReactNode {
  const [sign, name] = OUTCOMES[outcome]
  return <Signed kind={`row-${outcome}`} sign={sign} name={name} />
}

/** `40 rows: 38 done, 2 in conflict`. */
export function countsText(counts: Counts): string {
  const found = SET_OUTCOMES.filter((outcome) => counts[outcome] > 0)
  const rows = `${amount(counts.rows)} ${counts.rows === 1 ? 'row' : 'rows'}`
  if (found.length === 0) return rows
  return `${rows}: ${found.map((outcome) => `${amount(counts[outcome])} ${OUTCOMES[outcome][1]}`).join(', ')}`
}

interface Problem {
  readonly code: string
  readonly detail: string
  readonly errors?: readonly { readonly field: string; readonly message: string }[] | undefined
}

const WHY: Readonly<Record<string, string>> = {
  version_mismatch: 'Somebody has changed it meanwhile.',
  quota_not_found: 'It is deleted, or there never was such a quota.',
  too_many_quotas: 'Its owner has as many quotas as one may have.',
}

/**
 * The reason why a row was not applied.
 * @param columns are fields named like the columns of a file?
 */
export function Why({ problem, columns = false }: { problem: Problem; columns?: boolean }): ReactNode {
  const { code, detail, errors = [] } = problem
  if (errors.length > 0) {
    return errors.map(({ field, message }) => (
      <span key={`${field} ${message}`} className="why-not">
        {columns ? <code>{field}</code> : fieldName(camelName(field))} {withAmounts(message)}
      </span>
    ))
  }
  return <span className="why-not">{WHY[code] ?? sentence(detail)}</span>
}
