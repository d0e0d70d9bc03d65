import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useState } from 'react'
import { SettingFields } from './edit-form.tsx'
import { type Desk, newKey } from '../desk.ts'
import { HERE, now, toLocalInput } from '../format.tsx'
import { announce, Failure, Field, fieldErrors, Panel, Screen } from '../parts.tsx'
import type { NewSearch } from '../search.ts'
import { editableOf, mistakes, settingsOf, type Typed } from '../settings.ts'
import { useDraft } from '../use-draft.ts'

interface Draft {
  readonly owner: string
  readonly person: string
  readonly quotaType: 1 | 2
  readonly typed: Typed
  /** Of this quota, however often its form is sent. */
  readonly key: string
}

function fresh(owner: number | undefined): Draft {
  const date = new Date(now())
  const nextMonth = toLocalInput(new Date(date.getFullYear(), date.getMonth() + 1, 1).toISOString())
  return {
    owner: owner === undefined ? '' : String(owner),
    person: '',
    quotaType: 2,
    typed: {
      label: '',
      total: '',
      status: 'active',
      expireAt: '',
      cycleUnit: 'month',
      cycleResetAt: nextMonth,
      cycleTimeZone: HERE,
    },
    key: newKey(),
  }
}

function idMistake(text: string, needed: boolean): string | undefined {
  if (text.trim() === '') return needed ? 'is needed' : undefined
  return /^[1-9]\d{0,15}$/.test(text.trim()) ? undefined : 'a number from 1'
}

export function NewQuotaScreen({ desk, search }: { desk: Desk; search: NewSearch }): ReactNode {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [draft, found, keep, clear] = useDraft<Draft>(`${desk.name}/new/${search.owner ?? ''}`, () =>
    fresh(search.owner),
  )
  const [tried, setTried] = useState(false)
  const { typed, quotaType } = draft
  const set = (change: Partial<Draft>): void => keep({ ...draft, ...change, key: newKey() })
  const save = useMutation({
    mutationFn: async () => {
      const { status: _status, ...settings } = settingsOf(typed, editableOf(quotaType))
      // An end that was left empty is none.
      const { expireAt, ...rest } = settings
      return desk.create(
        Number(draft.owner),
        {
          ...rest,
          quotaType,
          total: Number(typed.total),
          ...(expireAt == null ? {} : { expireAt }),
          ...(draft.person.trim() === '' ? {} : { userId: Number(draft.person) }),
        } as never,
        draft.key,
      )
    },
    onSuccess: async ({ id }) => {
      clear()
      announce(`Quota ${id} is made.`)
      await queries.invalidateQueries({ queryKey: [desk.name] })
      await navigate({ to: '/$channel/quotas/$id', params: { channel: desk.name, id: String(id) }, search: {} })
    },
  })
  const told = fieldErrors(save.error)
  const personMistake = desk.namesPerson ? idMistake(draft.person, false) : undefined
  const own = {
    ...mistakes(typed, quotaType),
    ...(idMistake(draft.owner, true) === undefined ? {} : { owner: idMistake(draft.owner, true) }),
    ...(personMistake === undefined ? {} : { person: personMistake }),
  }
  const wrong: Readonly<Partial<Record<string, string | undefined>>> = tried ? own : {}
  const shown = (name: string): string | undefined => wrong[name] ?? told[name]
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    setTried(true)
    if (Object.keys(own).length === 0 && !save.isPending) save.mutate()
    else {
      const form = event.currentTarget
      requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    }
  }
  return (
    <Screen title={`New ${desk.title} quota`}>
      {found && (
        <p className="notice" role="status">
          What you typed before is still here, and not saved yet.
        </p>
      )}
      <Panel title="Settings">
        <form className="grid" onSubmit={submit} noValidate>
          <Field label={desk.Owner} error={shown('owner') ?? told['accountId']}>
            {(ids) => (
              <input
                {...ids}
                inputMode="numeric"
                value={draft.owner}
                onChange={(event) => set({ owner: event.target.value })}
              />
            )}
          </Field>
          {desk.namesPerson && (
            <Field
              label="User"
              hint="whom the account belongs to; may be empty"
              error={shown('person') ?? told['userId']}
            >
              {(ids) => (
                <input
                  {...ids}
                  inputMode="numeric"
                  value={draft.person}
                  onChange={(event) => set({ person: event.target.value })}
                />
              )}
            </Field>
          )}
          <fieldset>
            <legend>Type</legend>
            <label className="check">
              <input type="radio" name="type" checked={quotaType === 2} onChange={() => set({ quotaType: 2 })} />
              <span>
                cycle <span className="muted">so much each day, month …, again and again</span>
              </span>
            </label>
            <label className="check">
              <input type="radio" name="type" checked={quotaType === 1} onChange={() => set({ quotaType: 1 })} />
              <span>
                total <span className="muted">so much until an end, once</span>
              </span>
            </label>
          </fieldset>
          <SettingFields
            typed={typed}
            quotaType={quotaType}
            set={(field) => (value) => set({ typed: { ...typed, [field]: value } })}
            errors={Object.fromEntries(
              ['total', 'label', 'expireAt', 'cycleUnit', 'cycleResetAt', 'cycleTimeZone'].map((name) => [
                name,
                shown(name),
              ]),
            )}
          />
          {save.error !== null && <Failure error={save.error} />}
          <div className="actions">
            <button type="submit" className="primary" aria-disabled={save.isPending}>
              {save.isPending ? 'Making…' : 'Make the quota'}
            </button>
            <button
              type="button"
              onClick={() => {
                keep(fresh(search.owner))
                clear()
                setTried(false)
                save.reset()
              }}
            >
              Start over
            </button>
          </div>
        </form>
      </Panel>
    </Screen>
  )
}
