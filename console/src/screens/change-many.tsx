import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useState } from 'react'
import { ThresholdsField } from './edit-form.tsx'
import { Words } from './set-parts.tsx'
import { WindowInput } from './window-input.tsx'
import { ZoneInput } from './zone-input.tsx'
import { type How, HOWS, readBy, totalOf } from '../ask.ts'
import { type Change, filterOf, manyDraft, sentenceOf, setsOf } from '../change-sets.ts'
import { type ChannelClient, newKey } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { HERE, LOCAL_TIME, timeMistake } from '../format.tsx'
import { readThresholds, readWindow } from '../limits.ts'
import { Failure, Field, isHalfTyped, NumberField, Panel, Screen, useStillHere } from '../parts.tsx'
import { UNITS } from '../resets.ts'
import type { ManySearch } from '../search.ts'
import { EDITABLE, type Editable, settingsOf, type Typed } from '../settings.ts'
import { draftOf, keepDraft, useDraft } from '../use-draft.ts'

type What = keyof typeof WHATS

interface Draft {
  readonly what: What
  /** The settings to change. */
  readonly chosen: readonly Editable[]
  readonly how: How
  readonly typed: Typed
  /** The idempotency key of this request, for every attempt. */
  readonly key: string
}

const WHATS = {
  update: ['change settings', 'total, label, end …; can be undone'],
  delete: ['delete', 'they can be restored, all at once or one by one'],
  reset: ['reset to 0', 'used and held begin again at 0; this cannot be undone'],
} as const

const HOW_NAMES: Readonly<Record<How, string>> = {
  percentMore: '% more',
  percentLess: '% less',
  more: 'units more',
  less: 'units less',
  to: 'units, whatever it is now',
}

/** The name of each setting, and the quotas to which it is limited. */
const NAMES: Readonly<Record<Editable, readonly [name: string, only?: string]>> = {
  total: ['Total'],
  label: ['Label'],
  status: ['Status'],
  expireAt: ['End'],
  thresholds: ['Thresholds'],
  cap: ['What it does', 'caps'],
  windowSeconds: ['Window', 'rolling caps'],
  cycleUnit: ['Cycle', 'cycle quotas'],
  cycleResetAt: ['Next reset', 'cycle quotas'],
  cycleTimeZone: ['Time zone', 'cycle quotas'],
}
const IN_ORDER: readonly Editable[] = ['total', ...EDITABLE.filter((field) => field !== 'total')]

function fresh(): Draft {
  const typed: Typed = {
    label: '',
    total: '',
    status: 'disabled',
    cap: 'enforce',
    windowSeconds: '24 hour',
    thresholds: '',
    expireAt: '',
    cycleUnit: 'month',
    cycleResetAt: '',
    cycleTimeZone: HERE,
  }
  return { what: 'update', chosen: ['total'], how: 'percentMore', typed, key: newKey() }
}

/** The mistakes that prevent sending, by field. */
function mistakes({ what, chosen, how, typed }: Draft): Readonly<Partial<Record<Editable | 'chosen', string>>> {
  if (what !== 'update') return {}
  const all: Partial<Record<Editable, string | undefined>> = {
    total: readBy(how, typed.total).mistake,
    windowSeconds: readWindow(typed.windowSeconds).mistake,
    thresholds: readThresholds(typed.thresholds).mistake,
    expireAt: timeMistake(typed.expireAt),
    cycleResetAt: typed.cycleResetAt === '' ? 'choose a time' : timeMistake(typed.cycleResetAt),
    cycleTimeZone: typed.cycleTimeZone.trim() === '' ? 'the name of a zone, such as Europe/Berlin' : undefined,
  }
  const found = chosen.flatMap((field) => (all[field] === undefined ? [] : [[field, all[field]] as const]))
  return { ...Object.fromEntries(found), ...(chosen.length === 0 ? { chosen: 'choose what is to change' } : {}) }
}

function changeOf({ what, chosen, how, typed }: Draft): Change {
  if (what === 'delete') return { delete: true }
  if (what === 'reset') return { reset: true }
  const settings = settingsOf(
    typed,
    IN_ORDER.filter((field) => chosen.includes(field)),
  )
  const total = chosen.includes('total') ? { total: totalOf(how, readBy(how, typed.total).value ?? 0) } : {}
  return { update: { ...settings, ...total } } as Change
}

/** Requests a change of chosen quotas, or of all that a list's filters select, and shows its preview. */
export function ChangeManyScreen({ client, search }: { client: ChannelClient; search: ManySearch }): ReactNode {
  const navigate = useNavigate()
  const here = useStillHere()
  const { ids, ...filter } = search
  const name = manyDraft(client, search)
  const [draft, found, set, clear] = useDraft<Draft>(name, fresh)
  const [tried, setTried] = useState(false)
  const own = mistakes(draft)
  const wrong = tried ? own : {}
  const asked = useQuery({
    queryKey: [client.name, 'quotas', { ...search, count: true }],
    queryFn: ({ signal }) => client.quotas({ ...filter, page: 1, pageSize: 1 }, signal),
    enabled: ids === undefined,
  })
  const preview = useMutation({
    mutationFn: async (sent: Draft) =>
      setsOf(client).create({ filter: filterOf(client, search), change: changeOf(sent) }, { key: sent.key }),
    onSuccess: ({ id }, sent) => {
      // The draft stays, with later input and a new key, for another request; after a sign-out, there is none.
      const since = draftOf<Draft>(name)
      if (since !== undefined) keepDraft(name, { ...since, key: newKey() })
      if (since?.key === sent.key && here())
        void navigate({ to: '/$channel/change-sets/$id', params: { channel: client.name, id: String(id) }, search: {} })
    },
  })
  const change = (next: Partial<Draft>): void => set({ ...draft, ...next, key: newKey() })
  const choose = (field: Editable, on: boolean): void =>
    change({ chosen: on ? [...draft.chosen, field] : draft.chosen.filter((one) => one !== field) })
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    setTried(true)
    const form = event.currentTarget
    if (Object.keys(own).length > 0)
      requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    else if (!preview.isPending && !isHalfTyped(form)) preview.mutate(draft)
  }
  const { data } = asked
  return (
    <Screen title={`Change many ${client.title} quotas`} takesFocus={false}>
      {found && (
        <p className="notice" role="status">
          What you typed before is still here.
        </p>
      )}
      <Panel title="What is to be done">
        <form onSubmit={submit} noValidate>
          <fieldset>
            <legend className="visually-hidden">What is to be done</legend>
            {(Object.keys(WHATS) as What[]).map((what) => (
              <label key={what} className="check">
                <input type="radio" name="what" checked={draft.what === what} onChange={() => change({ what })} />
                <span>
                  {WHATS[what][0]} <span className="muted">{WHATS[what][1]}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {draft.what === 'update' && (
            <>
              <fieldset aria-describedby="chosen-more">
                <legend>Which settings</legend>
                <div className="chosen">
                  {IN_ORDER.map((field, place) => (
                    <label key={field} className="check">
                      <input
                        type="checkbox"
                        checked={draft.chosen.includes(field)}
                        aria-invalid={place === 0 && wrong.chosen !== undefined}
                        onChange={(event) => choose(field, event.target.checked)}
                      />
                      <span>
                        {NAMES[field][0]}
                        {NAMES[field][1] !== undefined && <span className="muted"> of {NAMES[field][1]}</span>}
                      </span>
                    </label>
                  ))}
                </div>
                <p id="chosen-more" className="hint">
                  {wrong.chosen !== undefined && (
                    <span className="field-error">
                      <span aria-hidden="true">⚠ </span>
                      {wrong.chosen}
                    </span>
                  )}
                </p>
              </fieldset>
              <Settings draft={draft} wrong={wrong} change={change} />
            </>
          )}
          <output className="example">
            {Object.keys(own).length === 0 && <Words parts={sentenceOf(client, search, changeOf(draft))} />}
          </output>
          {preview.error !== null && <Failure error={preview.error} />}
          <p className="muted">
            {data !== undefined &&
              ids === undefined &&
              `${data.totalRelation === 'recent' ? 'About ' : ''}${amount(data.total)} ${data.total === 1 ? 'quota is' : 'quotas are'} found now. `}
            Nothing is changed yet: you see first what would become of each.
          </p>
          <div className="actions">
            <button type="submit" className="primary" aria-disabled={preview.isPending}>
              {preview.isPending ? 'Asking…' : 'Preview'}
            </button>
            <button
              type="button"
              onClick={() => {
                clear()
                void navigate({ to: '/$channel/quotas', params: { channel: client.name }, search: filter })
              }}
            >
              Cancel
            </button>
            <Link to="/$channel/quotas" params={{ channel: client.name }} search={filter}>
              Choose other quotas
            </Link>
          </div>
        </form>
      </Panel>
    </Screen>
  )
}

/** The fields of the settings that were chosen. */
function Settings({
  draft: { chosen, how, typed },
  wrong,
  change,
}: {
  draft: Draft
  wrong: Readonly<Partial<Record<Editable, string>>>
  change: (next: Partial<Draft>) => void
}): ReactNode {
  const set = (field: Editable) => (value: string) => change({ typed: { ...typed, [field]: value } })
  const on = (field: Editable): boolean => chosen.includes(field)
  const select = (field: Editable, label: string, options: readonly (readonly [value: string, name: string])[]) =>
    on(field) && (
      <Field label={label} error={wrong[field]}>
        {(ids) => (
          <select {...ids} value={typed[field]} onChange={(event) => set(field)(event.target.value)}>
            {options.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    )
  const time = (field: Editable, label: string, hint: string) =>
    on(field) && (
      <Field label={label} hint={hint} error={wrong[field]}>
        {(ids) => (
          <input
            {...ids}
            {...LOCAL_TIME}
            step="1"
            value={typed[field]}
            onChange={(event) => set(field)(event.target.value)}
          />
        )}
      </Field>
    )
  return (
    <div className="grid">
      {on('total') && (
        <div className="beside">
          <NumberField
            label={how === 'to' ? 'New total' : 'By how much'}
            text={typed.total}
            reading={readBy(how, typed.total)}
            onText={set('total')}
            error={wrong.total}
            autoFocus
          />
          <Field label="How">
            {(ids) => (
              <select
                {...ids}
                value={how}
                onChange={(event) => change({ how: HOWS.find((one) => one === event.target.value) ?? how })}
              >
                {HOWS.map((one) => (
                  <option key={one} value={one}>
                    {HOW_NAMES[one]}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
      )}
      {on('label') && (
        <Field label="New label" hint="empty: none">
          {(ids) => <input {...ids} value={typed.label} onChange={(event) => set('label')(event.target.value)} />}
        </Field>
      )}
      {select('status', 'New status', [
        ['disabled', 'disabled'],
        ['active', 'active'],
      ])}
      {time('expireAt', 'Ends', 'in your zone; empty: never')}
      {on('thresholds') && (
        <ThresholdsField text={typed.thresholds} onText={set('thresholds')} error={wrong.thresholds} />
      )}
      {select('cap', 'What it does', [
        ['enforce', 'limits'],
        ['observe', 'only watches'],
      ])}
      {on('windowSeconds') && (
        <WindowInput typed={typed.windowSeconds} onChange={set('windowSeconds')} error={wrong.windowSeconds} />
      )}
      {select(
        'cycleUnit',
        'Cycle',
        UNITS.map((unit) => [unit, unit] as const),
      )}
      {time('cycleResetAt', 'Next reset', 'in your zone; later ones are counted from it')}
      {on('cycleTimeZone') && (
        <Field label="Time zone" error={wrong.cycleTimeZone} hint="whose calendar the cycle follows">
          {(ids) => <ZoneInput {...ids} value={typed.cycleTimeZone} onChange={set('cycleTimeZone')} />}
        </Field>
      )}
    </div>
  )
}
