import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type SubmitEvent, type ReactNode } from 'react'
import { type Desk, newKey, type Quota } from '../desk.ts'
import { amount, fromLocalInput, HERE, now, timeText, toLocalInput } from '../format.tsx'
import { announce, Dialog, Failure, Field, fieldErrors } from '../parts.tsx'
import { MOST } from '../settings.ts'
import { useDraft } from '../use-draft.ts'

type Until = 'cycle' | 'month' | 'other'

interface Draft {
  readonly total: string
  readonly label: string
  readonly until: Until
  readonly other: string
  /** Of this top-up, however often it is sent. */
  readonly key: string
}

/** Midnight in this browser's zone, on the first of the next month. */
function monthEnd(): string {
  const date = new Date(now())
  return new Date(date.getFullYear(), date.getMonth() + 1, 1).toISOString()
}

/**
 * Gives units on top of what there is: a total quota, which ends with the running cycle unless another end is chosen.
 */
export function TopUp({
  desk,
  owner,
  active,
  onClose,
}: {
  desk: Desk
  owner: number
  active: readonly Quota[]
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const cycle = active.find(({ quotaType }) => quotaType === 2)
  const [draft, , setDraft, clear] = useDraft<Draft>(`${desk.name}/owners/${owner}/top-up`, () => ({
    total: '',
    label: 'Top-up',
    until: cycle === undefined ? 'month' : 'cycle',
    other: toLocalInput(monthEnd()),
    key: newKey(),
  }))
  const until = draft.until === 'cycle' && cycle === undefined ? 'month' : draft.until
  const end = { cycle: cycle?.cycleResetAt ?? null, month: monthEnd(), other: fromLocalInput(draft.other) }[until]
  const save = useMutation({
    mutationFn: async (total: number) =>
      desk.create(
        owner,
        { quotaType: 1, total, expireAt: end, label: draft.label === '' ? null : draft.label },
        draft.key,
      ),
    onSuccess: async ({ id, total }) => {
      clear()
      announce(`${amount(total)} units are given, as quota ${id}.`)
      onClose()
      await queries.invalidateQueries({ queryKey: [desk.name] })
    },
  })
  const total = draft.total.trim() === '' ? NaN : Number(draft.total)
  const good = Number.isInteger(total) && total >= 1 && total <= MOST && end !== null
  const told = fieldErrors(save.error)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (good && !save.isPending) save.mutate(total)
  }
  // A changed wish is another one: the old key stands for the old one.
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change, key: newKey() })
  return (
    <Dialog title={`Top up ${desk.owner} ${owner}`} onClose={onClose}>
      <form onSubmit={submit} className="grid">
        <Field
          label="Units"
          error={told['total'] ?? (draft.total !== '' && !(total >= 1) ? 'a whole number from 1' : undefined)}
        >
          {(ids) => (
            <input
              {...ids}
              inputMode="numeric"
              value={draft.total}
              onChange={(event) => set({ total: event.target.value })}
            />
          )}
        </Field>
        <Field label="Label" error={told['label']}>
          {(ids) => (
            <input
              {...ids}
              maxLength={120}
              value={draft.label}
              onChange={(event) => set({ label: event.target.value })}
            />
          )}
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
            <Field label="Ends" hint={`in your zone (${HERE})`} error={told['expireAt']}>
              {(ids) => (
                <input
                  {...ids}
                  type="datetime-local"
                  value={draft.other}
                  onChange={(event) => set({ other: event.target.value })}
                />
              )}
            </Field>
          )}
        </fieldset>
        {save.error !== null && <Failure error={save.error} />}
        <div className="actions">
          <button type="submit" className="primary" disabled={!good} aria-disabled={save.isPending}>
            {save.isPending ? 'Working…' : good ? `Give ${amount(total)}` : 'Give'}
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
