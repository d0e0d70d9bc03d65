import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { amount, counted } from '../amount.ts'
import type { CapTrial, ChannelClient } from '../channel-client.ts'
import { dayText, now } from '../format.tsx'
import type { QuotaType } from '../limits.ts'
import { announce, Failure, Table } from '../parts.tsx'
import { wholeCycles } from '../resets.ts'
import { type Editable, settingsOf, type Typed } from '../settings.ts'

/** What makes the limit of a form, without its end: a cap is tried until now. */
const LIMIT: Readonly<Record<QuotaType, readonly Editable[]>> = {
  1: ['total'],
  2: ['total', 'cycleUnit', 'cycleResetAt', 'cycleTimeZone'],
  3: ['total', 'windowSeconds'],
}

/**
 * Tells what the cap in a form would have refused in the last 30 days.
 * @param of whose operations
 * @param isReady has the form no mistake? Otherwise it shows them
 */
export function TryCap({
  client,
  of,
  typed,
  quotaType,
  isReady,
}: {
  client: ChannelClient
  of: { readonly owner: number } | { readonly groupId: number }
  typed: Typed
  quotaType: QuotaType
  isReady: () => boolean
}): ReactNode {
  const trial = useMutation({
    mutationFn: async () => {
      const { cycleResetAt, ...limit } = settingsOf(typed, LIMIT[quotaType])
      const { cycleUnit, cycleTimeZone } = limit
      const whole =
        cycleResetAt == null || cycleUnit == null
          ? {}
          : { cycleResetAt: await wholeCycles(cycleResetAt, cycleUnit, cycleTimeZone ?? 'UTC', now()) }
      return client.tryCap(of, { ...limit, ...whole, quotaType })
    },
    onSuccess: (tried) => announce(sentenceOf(tried)),
  })
  return (
    <div className="trial">
      <button
        type="button"
        aria-disabled={trial.isPending}
        onClick={() => isReady() && !trial.isPending && trial.mutate()}
      >
        {trial.isPending ? 'Trying…' : 'Try it'}
      </button>{' '}
      <span className="muted">on what happened in the last 30 days; nothing changes</span>
      {trial.error !== null && <Failure error={trial.error} />}
      {trial.data !== undefined && <Tried trial={trial.data} />}
    </div>
  )
}

function Tried({ trial }: { trial: CapTrial }): ReactNode {
  return (
    <div role="group" aria-label="Trial">
      <p>
        <b>{sentenceOf(trial)}</b> It counts what it would have refused, as a cap that only watches.
      </p>
      {!trial.complete && (
        <p className="notice">
          This is not about all of them: there are too many, or some have been removed after their retention.
        </p>
      )}
      {trial.byDay.length > 0 && (
        <Table
          caption="What it would have refused, by day in UTC"
          rows={trial.byDay.toReversed()}
          idOf={({ day }) => day}
          columns={[
            { head: 'Day', cell: ({ day }) => dayText(day) },
            { head: 'Operations', cell: ({ count }) => amount(count), className: 'number' },
            { head: 'Units', cell: ({ requested }) => amount(requested), className: 'number' },
          ]}
        />
      )}
    </div>
  )
}

/** `In the last 30 days this cap would have refused 17 of 812 operations (204 units).` */
function sentenceOf({ days, operations, wouldRefuse: { count, requested } }: CapTrial): string {
  const all = counted(operations, 'operation')
  return count === 0
    ? `In the last ${days} days this cap would have refused none of ${all}.`
    : `In the last ${days} days this cap would have refused ${amount(count)} of ${all} (${counted(requested, 'unit')}).`
}
