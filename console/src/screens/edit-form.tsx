import { isProblem } from '@quota-service/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import type { ChannelClient, Quota } from '../channel-client.ts'
import { fieldName } from '../field-name.ts'
import { LOCAL_TIME } from '../format.tsx'
import { announce, Failure, Field, fieldErrors, isHalfTyped, NumberField, Panel, useStillHere } from '../parts.tsx'
import { answered } from '../refresh.ts'
import { exampleOf, type QuotaType, readThresholds, thresholdsText } from '../limits.ts'
import { UNITS } from '../resets.ts'
import {
  changedFields,
  type Editable,
  editableOf,
  limitOf,
  mistakes,
  readTotal,
  settingsOf,
  type SettingValue,
  settingText,
  type Typed,
  typedOf,
} from '../settings.ts'
import { draftOf, isOpen, keepDraft, useDraft } from '../use-draft.ts'
import { WindowInput } from './window-input.tsx'
import { ZoneInput } from './zone-input.tsx'

interface Draft {
  readonly typed: Typed
  /** The record at the beginning of the draft; its version is sent. */
  readonly base: Quota
  /** The record after another person's change, if the service has reported one. */
  readonly theirs?: { readonly quota: Quota; readonly actor: string | undefined }
}

/** The name of the draft of a quota's form. */
export function draftName(client: ChannelClient, id: number): string {
  return `${client.name}/quotas/${id}`
}

/** The rest of a draft after a part of it is saved: the later input, on the saved record. */
function rebased(saved: Quota, typed: Typed, sent: Typed): Draft {
  const shown = typedOf(saved)
  const fields = editableOf(saved).filter((field) => typed[field] !== sent[field])
  return { base: saved, typed: { ...shown, ...Object.fromEntries(fields.map((field) => [field, typed[field]])) } }
}

/**
 * Changes a quota's settings, and only the edited ones. It never silently overwrites another person's change: it shows
 * the person who saves second both versions and the original.
 */
export function EditForm({
  client,
  quota,
  onDone,
}: {
  client: ChannelClient
  quota: Quota
  onDone: () => void
}): ReactNode {
  const queries = useQueryClient()
  const [draft, found, setDraft, clear] = useDraft<Draft>(draftName(client, quota.id), () => ({
    typed: typedOf(quota),
    base: quota,
  }))
  const { theirs } = draft
  // A draft of an earlier version of the console has fewer settings.
  const base = { ...quota, ...draft.base }
  const typed = { ...typedOf(quota), ...draft.typed }
  const here = useStillHere()
  const name = draftName(client, quota.id)
  // When the answer arrives, the form may be closed, reopened or edited: it settles only the sent values.
  const save = useMutation({
    mutationFn: async (sent: Draft) =>
      client.update(sent.base.id, settingsOf(sent.typed, changedFields(sent.typed, sent.base)), sent.base.version),
    onSuccess: async (saved, sent) => {
      await answered(queries, [client.name, 'quota', saved.id], saved)
      const since = draftOf<Draft>(name)
      const left = since === undefined ? undefined : rebased(saved, since.typed, sent.typed)
      const done = left === undefined || changedFields(left.typed, left.base).length === 0
      announce(`Quota ${saved.id} is saved.${done ? '' : ' What you typed since then is not.'}`)
      if (done && (here() || !isOpen(name))) keepDraft(name, undefined)
      else keepDraft(name, left)
      if (done && here()) onDone()
      void queries.invalidateQueries({ queryKey: [client.name] })
    },
    onError: async (error, sent) => {
      const conflicts = isProblem(error, 'version_mismatch')
      if (!here()) announce(`Quota ${sent.base.id} is not saved. What you typed is kept on its page.`)
      if (!conflicts) return
      const read = await Promise.all([client.quota(sent.base.id), client.changes({ quotaId: sent.base.id })]).catch(
        () => undefined,
      )
      // It is deleted, or cannot be read now: the refusal itself is shown.
      if (read === undefined) return
      const [now, { items }] = read
      const since = draftOf<Draft>(name)
      if (since === undefined) return
      keepDraft(name, {
        ...since,
        theirs: { quota: now, actor: items.find(({ action }) => action !== 'reset')?.actor },
      })
      announce(`Somebody else has changed quota ${now.id} meanwhile. Nothing of yours is lost.`)
    },
  })
  const conflict = useRef<HTMLElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const inConflict = theirs !== undefined
  useEffect(() => {
    if (inConflict) conflict.current?.focus()
  }, [inConflict])

  const fields = changedFields(typed, base)
  const wrong = mistakes(typed, base.quotaType)
  const refused = fieldErrors(save.error)
  const set = (field: Editable) => (value: string) => setDraft({ ...draft, typed: { ...typed, [field]: value } })
  const leave = (): void => {
    clear()
    onDone()
  }
  const submit = (sent: Draft): void => {
    if (save.isPending) return
    if (Object.keys(wrong).length > 0) {
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
      return
    }
    if (isHalfTyped(form.current)) return
    if (changedFields(sent.typed, sent.base).length === 0) leave()
    else save.mutate(sent)
  }
  /** Keeps the edited fields, and takes the other person's values for all others. */
  const merge = (): void => {
    if (theirs === undefined) return
    const shown = typedOf(theirs.quota)
    const merged = Object.fromEntries(
      editableOf(base).map((field) => [field, fields.includes(field) ? typed[field] : shown[field]]),
    )
    const next: Draft = { base: theirs.quota, typed: { ...shown, ...merged } }
    setDraft(next)
    submit(next)
  }
  const takeTheirs = (): void => {
    if (theirs !== undefined) setDraft({ base: theirs.quota, typed: typedOf(theirs.quota) })
    save.reset()
  }

  return (
    <Panel title="Edit">
      {found && theirs === undefined && (
        <p className="notice" role="status">
          What you typed before is still here, and not saved yet.
        </p>
      )}
      {theirs !== undefined && (
        <section className="conflict" aria-labelledby="conflict-title" ref={conflict} tabIndex={-1}>
          <h3 id="conflict-title">
            <span aria-hidden="true">⚠ </span>
            {theirs.actor === undefined ? 'Somebody' : <b>{theirs.actor}</b>} has saved this quota since you opened it
          </h3>
          <p>Nothing was overwritten. Save yours on top of it, or take it as it is now.</p>
          <ConflictTable base={base} theirs={theirs.quota} typed={typed} fields={fields} wrong={wrong} />
          <div className="actions">
            <button type="button" className="primary" onClick={merge}>
              Save mine on top
            </button>
            <button type="button" onClick={takeTheirs}>
              Take theirs
            </button>
          </div>
        </section>
      )}
      <form
        className="grid"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          submit({ ...draft, base, typed })
        }}
        // The record itself may end after the maximum of a typed time, in zones east of UTC.
        noValidate
      >
        {base.cap !== null && (
          <Field
            label="What it does"
            error={refused['cap']}
            hint={typed.cap === 'observe' ? 'lets everything through, and counts' : 'refuses what goes over'}
          >
            {(ids) => (
              <select {...ids} value={typed.cap} onChange={(event) => set('cap')(event.target.value)}>
                <option value="enforce">limits</option>
                <option value="observe">only watches</option>
              </select>
            )}
          </Field>
        )}
        <SettingFields typed={typed} quotaType={base.quotaType} set={set} errors={{ ...wrong, ...refused }} />
        <Field label="Status">
          {(ids) => (
            <select {...ids} value={typed.status} onChange={(event) => set('status')(event.target.value)}>
              <option value="active">active</option>
              <option value="disabled">disabled</option>
            </select>
          )}
        </Field>
        {base.cap !== null && <Example typed={typed} quotaType={base.quotaType} />}
        {base.follows !== null && fields.length > 0 && (
          <p className="notice">What you change here is its own from then on, and no longer follows #{base.follows}.</p>
        )}
        {base.per === 'member' && base.follows === null && fields.length > 0 && (
          <p className="notice">It changes at once for all members, but for settings that are their own.</p>
        )}
        {fields.includes('windowSeconds') && (
          <p className="notice">Another window begins a new count: what it has counted so far is forgotten.</p>
        )}
        {save.error !== null && !(inConflict && isProblem(save.error, 'version_mismatch')) && (
          <Failure error={save.error} />
        )}
        <div className="actions">
          <button type="submit" className="primary" aria-disabled={save.isPending}>
            {save.isPending ? 'Saving…' : 'Save'}
          </button>
          <button type="button" onClick={leave}>
            Discard
          </button>
          <span className="muted">
            {fields.length === 0
              ? 'Nothing changed yet.'
              : `Changes ${fields.map((field) => fieldName(field).toLowerCase()).join(', ')}.`}
          </span>
        </div>
      </form>
    </Panel>
  )
}

function ConflictTable({
  base,
  theirs,
  typed,
  fields,
  wrong,
}: {
  base: Quota
  theirs: Quota
  typed: Typed
  fields: readonly Editable[]
  wrong: Partial<Record<Editable, string>>
}): ReactNode {
  const mine = settingsOf(typed, editableOf(base)) as Record<string, SettingValue>
  const shownBase = typedOf(base)
  const shownTheirs = typedOf(theirs)
  const rows = editableOf(base).filter((field) => fields.includes(field) || shownTheirs[field] !== shownBase[field])
  const sides = ['Both started from', 'Theirs', 'Yours'] as const
  const as = (quota: Quota, field: Editable): string =>
    settingText(field, field === 'status' ? typedOf(quota).status : quota[field])
  return (
    <table role="table" className="plain conflict-table">
      <thead role="rowgroup">
        <tr role="row">
          {['Setting', ...sides].map((head) => (
            <th key={head} role="columnheader" scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((field) => (
          <tr key={field} role="row">
            <th role="rowheader" scope="row">
              {fieldName(field)}
            </th>
            <td role="cell" data-head={sides[0]}>
              <bdi>{as(base, field)}</bdi>
            </td>
            <td role="cell" data-head={sides[1]}>
              <bdi>{as(theirs, field)}</bdi>
            </td>
            <td role="cell" data-head={sides[2]}>
              {fields.includes(field) ? (
                <bdi>{field in wrong ? typed[field] : settingText(field, mine[field])}</bdi>
              ) : (
                <span className="muted">untouched</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const TOTAL_HINTS: Readonly<Record<QuotaType, string>> = {
  1: 'units until its end',
  2: 'units per cycle',
  3: 'units in any such window',
}

/** The effect of the typed settings, if they are complete. */
export function Example({ typed, quotaType }: { typed: Typed; quotaType: QuotaType }): ReactNode {
  const limit = limitOf(typed, quotaType)
  return <output className="example">{limit === undefined ? '' : exampleOf(limit)}</output>
}

/** The field for thresholds, in percent. */
export function ThresholdsField({
  text,
  onText,
  error,
}: {
  text: string
  onText: (text: string) => void
  error: string | undefined
}): ReactNode {
  const { value = [], mistake } = readThresholds(text)
  return (
    <Field
      label="Notify at"
      error={mistake ?? error}
      hint={
        <>
          {value.length > 0 && <output className="understood">= {thresholdsText(value)} </output>}
          per cents of the total, such as 50 80; may be empty
        </>
      }
    >
      {(ids) => <input {...ids} autoComplete="off" value={text} onChange={(event) => onText(event.target.value)} />}
    </Field>
  )
}

/** The fields that the forms of new and existing quotas share. */
export function SettingFields({
  typed,
  quotaType,
  set,
  errors,
  children,
}: {
  typed: Typed
  quotaType: QuotaType
  set: (field: Editable) => (value: string) => void
  errors: Readonly<Partial<Record<string, string>>>
  /** What belongs to the total. */
  children?: ReactNode
}): ReactNode {
  return (
    <>
      <NumberField
        label="Total"
        text={typed.total}
        reading={readTotal(typed.total)}
        onText={set('total')}
        error={errors['total']}
        hint={TOTAL_HINTS[quotaType]}
      />
      {children}
      {quotaType === 3 && (
        <WindowInput typed={typed.windowSeconds} onChange={set('windowSeconds')} error={errors['windowSeconds']} />
      )}
      <Field label="Label" error={errors['label']} hint="for people; may be empty">
        {(ids) => <input {...ids} value={typed.label} onChange={(event) => set('label')(event.target.value)} />}
      </Field>
      <Field
        label="Ends"
        error={errors['expireAt']}
        hint={quotaType === 1 ? 'in your zone' : 'in your zone; empty: never'}
      >
        {(ids) => (
          <input
            {...ids}
            {...LOCAL_TIME}
            step="1"
            value={typed.expireAt}
            onChange={(event) => set('expireAt')(event.target.value)}
          />
        )}
      </Field>
      {quotaType === 2 && (
        <>
          <Field label="Cycle" error={errors['cycleUnit']}>
            {(ids) => (
              <select {...ids} value={typed.cycleUnit} onChange={(event) => set('cycleUnit')(event.target.value)}>
                {UNITS.map((unit) => (
                  <option key={unit}>{unit}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Next reset" error={errors['cycleResetAt']} hint="in your zone; later ones are counted from it">
            {(ids) => (
              <input
                {...ids}
                {...LOCAL_TIME}
                step="1"
                value={typed.cycleResetAt}
                onChange={(event) => set('cycleResetAt')(event.target.value)}
              />
            )}
          </Field>
          <Field label="Time zone" error={errors['cycleTimeZone']} hint="whose calendar the cycle follows">
            {(ids) => <ZoneInput {...ids} value={typed.cycleTimeZone} onChange={set('cycleTimeZone')} />}
          </Field>
        </>
      )}
      {quotaType !== 3 && (
        <ThresholdsField text={typed.thresholds} onText={set('thresholds')} error={errors['thresholds']} />
      )}
    </>
  )
}
