import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useRef, useState } from 'react'
import { Example, SettingFields } from './edit-form.tsx'
import { GroupName } from './group-parts.tsx'
import { TryCap } from './try-cap.tsx'
import { type ChannelClient, newKey } from '../channel-client.ts'
import { HERE, now, toLocalInput } from '../format.tsx'
import { announce, Failure, fieldErrors, isHalfTyped, NumberField, Panel, Screen, useStillHere } from '../parts.tsx'
import type { CapMode, QuotaType } from '../limits.ts'
import type { NewSearch } from '../search.ts'
import { capOf, EDITABLE, editableOf, mistakes, readTotal, settingsOf, type Typed } from '../settings.ts'
import { draftOf, useDraft } from '../use-draft.ts'
import { readId } from '../whole-number.ts'

interface Draft {
  readonly owner: string
  readonly person: string
  /** Of a group's quota: do its members share it, or does each have a count of its own? */
  readonly per?: 'group' | 'member'
  readonly quotaType: QuotaType
  readonly typed: Typed
  /** The opening balance; empty for none. */
  readonly used?: string
  /** The idempotency key of this quota, for every attempt. */
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
      cap: '',
      windowSeconds: '24 hour',
      thresholds: '',
      expireAt: '',
      cycleUnit: 'month',
      cycleResetAt: nextMonth,
      cycleTimeZone: HERE,
    },
    key: newKey(),
  }
}

/** The roles of quotas, in plain words. */
const ROLES: readonly { readonly cap: CapMode | null; readonly name: string; readonly more: string }[] = [
  { cap: null, name: 'pays', more: 'units that may be used; several quotas add up' },
  { cap: 'enforce', name: 'limits', more: 'a cap: refuses what goes over it, however much there is to pay with' },
  { cap: 'observe', name: 'only watches', more: 'a cap on trial: refuses nothing, tells what it would have refused' },
]
/** The two counts of a group's quota, in plain words. */
const PERS = [
  { per: 'group', name: 'all together', more: 'one count, which the members share' },
  { per: 'member', name: 'each', more: 'every member has a count of its own, and settings follow' },
] as const
const TYPES: readonly { readonly quotaType: QuotaType; readonly name: string; readonly more: string }[] = [
  { quotaType: 3, name: 'rolling', more: 'so much in any 24 hours, in any hour …' },
  { quotaType: 2, name: 'cycle', more: 'so much each day, month …, again and again' },
  { quotaType: 1, name: 'total', more: 'so much until an end, once' },
]

const USED_HINTS: Readonly<Record<QuotaType, string>> = {
  1: 'units of it that were used elsewhere; may be empty',
  2: 'units used elsewhere in the cycle that runs now; may be empty',
  3: 'units used elsewhere in such a window; they count as if used now; may be empty',
}

/** The mistake in the id of an owner or user; an optional one may be empty. */
function idMistake(text: string, needed: boolean): string | undefined {
  return text.trim() === '' && !needed ? undefined : readId(text).mistake
}

export function NewQuotaScreen({ client, search }: { client: ChannelClient; search: NewSearch }): ReactNode {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { group } = search
  const name = `${client.name}/new/${group === undefined ? (search.owner ?? '') : `group-${group}`}`
  const [draft, found, keep, clear] = useDraft<Draft>(name, () => fresh(search.owner))
  const here = useStillHere()
  const [tried, setTried] = useState(false)
  const { quotaType } = draft
  // A draft of an earlier version of the console has fewer settings.
  const typed = { ...fresh(undefined).typed, ...draft.typed }
  const cap = capOf(typed)
  /** Each member's count begins at 0. */
  const countsItself = group === undefined || draft.per !== 'member'
  const used = countsItself ? (draft.used ?? '') : ''
  const readUsed = readTotal(used)
  const set = (change: Partial<Draft>): void => keep({ ...draft, ...change, key: newKey() })
  /** Changes the role. A cap is rolling by default, and only a cap can be rolling. */
  const setRole = (next: CapMode | null): void =>
    set({
      typed: { ...typed, cap: next ?? '' },
      quotaType: next === null ? (quotaType === 3 ? 2 : quotaType) : cap === null ? 3 : quotaType,
    })
  const save = useMutation({
    mutationFn: async ({ typed, quotaType, owner, person, per = 'group', used = '', key }: Draft) => {
      const { status: _status, ...settings } = settingsOf(typed, editableOf({ quotaType, cap: capOf(typed) }))
      // An empty end is omitted.
      const { expireAt, ...rest } = settings
      return client.create(
        group === undefined ? (readId(owner).value ?? 0) : undefined,
        {
          ...rest,
          ...(group === undefined ? {} : { groupId: group, per }),
          quotaType,
          total: readTotal(typed.total).value ?? 0,
          ...(used.trim() === '' ? {} : { used: readTotal(used).value }),
          ...(expireAt == null ? {} : { expireAt }),
          ...(person.trim() === '' ? {} : { userId: readId(person).value }),
        } as never,
        key,
      )
    },
    onSuccess: ({ id }, sent) => {
      // Later input belongs to another quota.
      const same = draftOf<Draft>(name)?.key === sent.key
      if (same) clear()
      announce(`Quota ${id} is created.`)
      void queries.invalidateQueries({ queryKey: [client.name] })
      if (same && here())
        void navigate({ to: '/$channel/quotas/$id', params: { channel: client.name, id: String(id) }, search: {} })
    },
    onError: () => {
      if (!here()) announce('The new quota is not created. What you typed is kept.')
    },
  })
  const refused = fieldErrors(save.error)
  const ofOwner = group === undefined
  const personMistake = ofOwner && client.namesPerson ? idMistake(draft.person, false) : undefined
  const isOver = cap !== 'observe' && Number(readUsed.value) > Number(readTotal(typed.total).value)
  const usedMistake = used.trim() === '' ? undefined : isOver ? 'at most the total' : readUsed.mistake
  const ownerMistake = ofOwner ? idMistake(draft.owner, true) : undefined
  const own = {
    ...mistakes(typed, quotaType),
    ...(usedMistake === undefined ? {} : { used: usedMistake }),
    ...(ownerMistake === undefined ? {} : { owner: ownerMistake }),
    ...(personMistake === undefined ? {} : { person: personMistake }),
  }
  const wrong: Readonly<Partial<Record<string, string | undefined>>> = tried ? own : {}
  const shown = (name: string): string | undefined => wrong[name] ?? refused[name]
  const form = useRef<HTMLFormElement>(null)
  const [startsAtOwner] = useState(ofOwner && draft.owner === '')
  /** Has the form no mistake? Otherwise it shows them. */
  const isReady = (): boolean => {
    setTried(true)
    if (Object.keys(own).length === 0) return !isHalfTyped(form.current)
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    return false
  }
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    if (isReady() && !save.isPending) save.mutate({ ...draft, typed, used })
  }
  return (
    <Screen title={`New ${client.title} quota`} takesFocus={!startsAtOwner}>
      {found && (
        <p className="notice" role="status">
          What you typed before is still here, and not saved yet.
        </p>
      )}
      <Panel title="Settings">
        <form className="grid" ref={form} onSubmit={submit} noValidate>
          {group === undefined ? (
            <>
              <NumberField
                label={client.Owner}
                text={draft.owner}
                reading={readId(draft.owner)}
                onText={(owner) => set({ owner })}
                error={shown('owner') ?? refused['accountId']}
                autoFocus={startsAtOwner}
              />
              {client.namesPerson && (
                <NumberField
                  label="User"
                  text={draft.person}
                  reading={readId(draft.person)}
                  onText={(person) => set({ person })}
                  hint="whom the account belongs to; may be empty"
                  error={shown('person') ?? refused['userId']}
                />
              )}
            </>
          ) : (
            <fieldset>
              <legend>
                For the members of <GroupName client={client} id={group} />
              </legend>
              {PERS.map(({ per, name, more }) => (
                <label key={per} className="check">
                  <input
                    type="radio"
                    name="per"
                    checked={(draft.per ?? 'group') === per}
                    onChange={() => set({ per })}
                  />
                  <span>
                    {name} <span className="muted">{more}</span>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
          <fieldset>
            <legend>What it does</legend>
            {ROLES.map((role) => (
              <label key={role.name} className="check">
                <input type="radio" name="role" checked={cap === role.cap} onChange={() => setRole(role.cap)} />
                <span>
                  {role.name} <span className="muted">{role.more}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <fieldset>
            <legend>Type</legend>
            {TYPES.filter((type) => cap !== null || type.quotaType !== 3).map((type) => (
              <label key={type.quotaType} className="check">
                <input
                  type="radio"
                  name="type"
                  checked={quotaType === type.quotaType}
                  onChange={() => set({ quotaType: type.quotaType })}
                />
                <span>
                  {type.name} <span className="muted">{type.more}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <SettingFields
            typed={typed}
            quotaType={quotaType}
            set={(field) => (value) => set({ typed: { ...typed, [field]: value } })}
            errors={Object.fromEntries(EDITABLE.map((name) => [name, shown(name)]))}
          >
            {countsItself && (
              <NumberField
                label="Already used"
                text={used}
                reading={readUsed}
                onText={(used) => set({ used })}
                error={shown('used')}
                hint={USED_HINTS[quotaType]}
              />
            )}
          </SettingFields>
          <Example typed={typed} quotaType={quotaType} />
          {cap !== null && (group === undefined || draft.per !== 'member') && (
            <TryCap
              key={JSON.stringify([draft.owner, quotaType, typed])}
              client={client}
              of={group === undefined ? { owner: readId(draft.owner).value ?? 0 } : { groupId: group }}
              typed={typed}
              quotaType={quotaType}
              isReady={isReady}
            />
          )}
          {save.error !== null && <Failure error={save.error} />}
          <div className="actions">
            <button type="submit" className="primary" aria-disabled={save.isPending}>
              {save.isPending ? 'Creating…' : 'Create quota'}
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
