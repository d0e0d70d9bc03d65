import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type SubmitEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { type ChannelClient, newKey, type Quota } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { fromLocalInput, HERE, LOCAL_TIME, now, timeMistake, timeText, toLocalInput } from '../format.tsx'
import { useCheck } from './limits.tsx'
import { announce, Dialog, Failure, Field, fieldErrors, NumberField, useStillHere } from '../parts.tsx'
import { draftOf, useDraft } from '../use-draft.ts'
import { MAX_AMOUNT, readWhole } from '../whole-number.ts'

type Until = 'cycle' | 'month' | 'other'

interface Draft {
  /** As typed or sent; undefined: what is missing, as soon as that is known. */
  readonly total: string | undefined
  readonly label: string
  readonly until: Until
  readonly other: string
  /** The end that was sent: a further attempt sends the same, also if the cycle has begun anew meanwhile. */
  readonly end?: string | undefined
  /** The idempotency key of this top-up, for every attempt. */
  readonly key: string
}

/** Midnight in this browser's zone, on the first of the next month. */
function monthEnd(): string {
  const date = new Date(now())
  return new Date(date.getFullYear(), date.getMonth() + 1, 1).toISOString()
}

/**
 * Adds units: creates a total quota, which ends with the current cycle unless the person chooses another end.
 */
export function TopUp({
  client,
  owner,
  wanted,
  active,
  onClose,
}: {
  client: ChannelClient
  owner: number
  /** The amount of the last refusal; what its quotas lack to pay it is filled in. */
  wanted: number | undefined
  active: readonly Quota[]
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const cycle = active.find(({ quotaType }) => quotaType === 2)
  const name = `${client.name}/owners/${owner}/top-up`
  const check = useCheck(client, owner, wanted ?? 1)
  const missing = wanted === undefined ? 0 : Math.max(0, wanted - (check.data?.payable ?? wanted))
  const [draft, , setDraft, clear] = useDraft<Draft>(name, () => ({
    total: undefined,
    label: 'Top-up',
    until: 'cycle',
    other: toLocalInput(monthEnd()),
    key: newKey(),
  }))
  // The running cycle may be known only later.
  const until = draft.until === 'cycle' && cycle === undefined ? 'month' : draft.until
  const chosen = { cycle: cycle?.cycleResetAt ?? null, month: monthEnd(), other: fromLocalInput(draft.other) }[until]
  const isPast = draft.end != null && Date.parse(draft.end) <= now()
  const end = isPast ? chosen : (draft.end ?? chosen)
  const here = useStillHere()
  const form = useRef<HTMLFormElement>(null)
  const [tried, setTried] = useState(false)
  const filled = draft.total ?? (missing === 0 ? '' : String(missing))
  const units = readWhole(filled, { min: 1, max: MAX_AMOUNT })
  const untouched = draft.total === undefined
  // What is typed replaces what is filled in, also if that comes while the field has the focus.
  useEffect(() => {
    const field = document.activeElement
    if (untouched && field instanceof HTMLInputElement && form.current?.querySelector('input') === field) field.select()
  }, [untouched, missing])
  const save = useMutation({
    mutationFn: async ({ total, sent }: { total: number; sent: Draft }) =>
      client.create(
        owner,
        { quotaType: 1, total, expireAt: end, label: sent.label === '' ? null : sent.label },
        sent.key,
      ),
    onSuccess: ({ id, total }, { sent }) => {
      announce(`${counted(total, 'unit is', 'units are')} given, as quota ${id}.`)
      // Later input belongs to another top-up, and a dialog that was opened later stays.
      const same = (draftOf<Draft>(name)?.key ?? sent.key) === sent.key
      if (same) clear()
      if (same && here()) onClose()
      void queries.invalidateQueries({ queryKey: [client.name] })
    },
    onError: () => {
      if (!here()) announce(`The top-up of ${client.owner} ${owner} was not given. What you typed is kept.`)
    },
  })
  const refused = fieldErrors(save.error)
  const endMistake = until === 'other' && end === null ? (timeMistake(draft.other) ?? 'when it ends') : undefined
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    setTried(true)
    if (units.value === undefined || end === null)
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    else if (!save.isPending) {
      // A further attempt sends the same, whatever is missing or known by then; until that end has passed.
      const sent = { ...draft, total: filled, until, end, ...(isPast ? { key: newKey() } : {}) }
      setDraft(sent)
      save.mutate({ total: units.value, sent })
    }
  }
  // A changed request needs a new key: the old key belongs to the old request.
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change, end: undefined, key: newKey() })
  return (
    <Dialog title={`Top up ${client.owner} ${owner}`} onClose={onClose}>
      <form onSubmit={submit} className="grid" ref={form} noValidate>
        <NumberField
          label="Units"
          text={filled}
          reading={units}
          onText={(total) => set({ total })}
          hint={wanted !== undefined && units.value === missing && `what the ${amount(wanted)} that were refused lack`}
          error={refused['total'] ?? (tried ? units.mistake : undefined)}
        />
        <Field label="Label" error={refused['label']}>
          {(ids) => <input {...ids} value={draft.label} onChange={(event) => set({ label: event.target.value })} />}
        </Field>
        <fieldset>
          <legend>Until</legend>
          {cycle?.cycleResetAt != null && (
            <Choice name="cycle" until={until} set={set}>
              the running cycle ends: {timeText(cycle.cycleResetAt)} <span className="muted">(quota {cycle.id})</span>
            </Choice>
          )}
          <Choice name="month" until={until} set={set}>
            this month ends: {timeText(monthEnd())}
          </Choice>
          <Choice name="other" until={until} set={set}>
            another time
          </Choice>
          {until === 'other' && (
            <Field
              label="Ends"
              hint={`in your zone (${HERE})`}
              error={refused['expireAt'] ?? (tried ? endMistake : undefined)}
            >
              {(ids) => (
                <input
                  {...ids}
                  {...LOCAL_TIME}
                  value={draft.other}
                  onChange={(event) => set({ other: event.target.value })}
                />
              )}
            </Field>
          )}
        </fieldset>
        {save.error !== null && <Failure error={save.error} />}
        <div className="actions">
          <button type="submit" className="primary" aria-disabled={save.isPending}>
            {save.isPending ? 'Working…' : units.value === undefined ? 'Give' : `Give ${amount(units.value)}`}
          </button>
          <button
            type="button"
            onClick={() => {
              clear()
              onClose()
            }}
          >
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function Choice({
  name,
  until,
  set,
  children,
}: {
  name: Until
  until: Until
  set: (change: Partial<Draft>) => void
  children: ReactNode
}): ReactNode {
  return (
    <label className="check">
      <input type="radio" name="until" checked={until === name} onChange={() => set({ until: name })} />
      <span>{children}</span>
    </label>
  )
}
