import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useState } from 'react'
import { SettingFields } from './edit-form.tsx'
import { type Desk, newKey } from '../desk.ts'
import { HERE, now, toLocalInput } from '../format.tsx'
import { announce, Failure, fieldErrors, NumberField, Panel, Screen, useStillHere } from '../parts.tsx'
import type { NewSearch } from '../search.ts'
import { editableOf, mistakes, readTotal, settingsOf, type Typed } from '../settings.ts'
import { draftOf, useDraft } from '../use-draft.ts'
import { readId } from '../whole-number.ts'

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

/** What is wrong with a number of somebody; one that may be left out is fine where it is. */
function idMistake(text: string, needed: boolean): string | undefined {
  return text.trim() === '' && !needed ? undefined : readId(text).mistake
}

export function NewQuotaScreen({ desk, search }: { desk: Desk; search: NewSearch }): ReactNode {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const name = `${desk.name}/new/${search.owner ?? ''}`
  const [draft, found, keep, clear] = useDraft<Draft>(name, () => fresh(search.owner))
  const here = useStillHere()
  const [tried, setTried] = useState(false)
  const { typed, quotaType } = draft
  const set = (change: Partial<Draft>): void => keep({ ...draft, ...change, key: newKey() })
  const save = useMutation({
    mutationFn: async ({ typed, quotaType, owner, person, key }: Draft) => {
      const { status: _status, ...settings } = settingsOf(typed, editableOf(quotaType))
      // An end that was left empty is none.
      const { expireAt, ...rest } = settings
      return desk.create(
        readId(owner).value ?? 0,
        {
          ...rest,
          quotaType,
          total: readTotal(typed.total).value ?? 0,
          ...(expireAt == null ? {} : { expireAt }),
          ...(person.trim() === '' ? {} : { userId: readId(person).value }),
        } as never,
        key,
      )
    },
    onSuccess: ({ id }, sent) => {
      // What was typed since then is another quota's.
      const same = draftOf<Draft>(name)?.key === sent.key
      if (same) clear()
      announce(`Quota ${id} is made.`)
      void queries.invalidateQueries({ queryKey: [desk.name] })
      if (same && here())
        void navigate({ to: '/$channel/quotas/$id', params: { channel: desk.name, id: String(id) }, search: {} })
    },
    onError: () => {
      if (!here()) announce('The new quota is not made. What you typed is kept.')
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
    if (Object.keys(own).length === 0 && !save.isPending) save.mutate(draft)
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
          <NumberField
            label={desk.Owner}
            text={draft.owner}
            reading={readId(draft.owner)}
            onText={(owner) => set({ owner })}
            error={shown('owner') ?? told['accountId']}
          />
          {desk.namesPerson && (
            <NumberField
              label="User"
              text={draft.person}
              reading={readId(draft.person)}
              onText={(person) => set({ person })}
              hint="whom the account belongs to; may be empty"
              error={shown('person') ?? told['userId']}
            />
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
