import { isProblem } from '@quota-service/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import {
  type AnyChange,
  type Change,
  type ChannelClient,
  given,
  isOfQuota,
  MAX_ROWS,
  type Quota,
} from '../channel-client.ts'
import { amount } from '../amount.ts'
import { fieldName } from '../field-name.ts'
import { fromLocalInput, LOCAL_TIME, now, Time, timeMistake, toLocalInput } from '../format.tsx'
import {
  announce,
  ChangeSetLink,
  Confirm,
  Copied,
  Dialog,
  Csv,
  Field,
  FewOnPhone,
  Filtering,
  GroupLink,
  Loaded,
  NumberField,
  QuotaLink,
  Screen,
  Signed,
  Table,
  useTyped,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import { isOfMembers, Moves } from './group-parts.tsx'
import { Whose } from './quotas.tsx'
import { ACTIONS, type ChangesSearch } from '../search.ts'
import { readId } from '../whole-number.ts'
import { differences, isNothing, sameSetting, type SettingValue, settingText } from '../settings.ts'
import { isUndone, presentOf, undoing } from '../undo.ts'

/** Changes as rows, each with a button that undoes it, if possible. */
export function ChangeTable({
  client,
  rows,
  known = rows,
  quotas = true,
  brief = false,
  as,
}: {
  client: ChannelClient
  as?: 'page'
  rows: readonly AnyChange[]
  /** Changes that may have undone one of the rows. */
  known?: readonly AnyChange[]
  quotas?: boolean
  brief?: boolean
}): ReactNode {
  return (
    <Table
      {...(as === undefined ? {} : { as })}
      caption="Changes, newest first"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        { head: 'When', cell: ({ at }) => <Time at={at} exact={!brief} relative={brief} /> },
        { head: 'Who', cell: ({ actor }) => <b>{actor}</b>, className: 'name' },
        ...(quotas
          ? [
              {
                head: 'Quota',
                cell: ({ quotaId, groupId }: AnyChange) =>
                  quotaId !== undefined ? (
                    <QuotaLink channel={client.name} id={quotaId} row />
                  ) : groupId !== null ? (
                    <GroupLink channel={client.name} id={groupId} row />
                  ) : (
                    <span className="muted">–</span>
                  ),
                className: 'id',
              },
              {
                head: client.Owner,
                cell: (change: AnyChange) =>
                  isOfQuota(change) || change.owner !== 0 ? (
                    <Whose client={client} of={change} />
                  ) : (
                    <span className="muted">–</span>
                  ),
                folds: true,
              },
            ]
          : []),
        {
          head: 'What',
          cell: (change) => (
            <>
              {isOfMembers(change) ? <Moves client={client} change={change} /> : <Difference change={change} />}
              <PartOf client={client} change={change} />
            </>
          ),
          className: 'wide',
        },
        ...(brief
          ? []
          : [
              {
                head: 'Request',
                cell: ({ requestId }: AnyChange) => <Copied what="id" text={requestId} />,
                className: 'request',
                folds: true,
              },
            ]),
        { head: 'Undo', cell: (change) => <Undo client={client} change={change} known={known} />, folds: true },
      ]}
    />
  )
}

/** Links to the change set of a change. */
function PartOf({ client, change: { changeSetId } }: { client: ChannelClient; change: AnyChange }): ReactNode {
  if (changeSetId === undefined) return null
  return (
    <ChangeSetLink channel={client.name} id={changeSetId}>
      with others, change set {changeSetId}
    </ChangeSetLink>
  )
}

/**
 * The values of a quota before and after a change.
 * @param ahead is the change not applied yet?
 * @param named shows the action, too
 */
export function Difference({
  change,
  ahead = false,
  named = true,
}: {
  change: Pick<Change, 'action' | 'before' | 'after'>
  ahead?: boolean
  named?: boolean
}): ReactNode {
  // The action and the time of a deletion are shown already.
  const rows = change.action === 'update' || change.action === 'reset' ? differences(change) : []
  const made =
    change.action === 'create'
      ? differences(change).filter(({ field }) => !isNothing((change.after as Record<string, SettingValue>)[field]))
      : []
  return (
    <div className="difference">
      {named && <span className="action">{change.action}</span>}
      {rows.length > 0 && (
        <ul>
          {rows.map(({ field, was, is }) => (
            <li key={field}>
              {fieldName(field)}: <FromTo was={was} is={is} ahead={ahead} />
            </li>
          ))}
        </ul>
      )}
      {made.length > 0 && (
        <p className="made">
          {made.map(({ field, is }, index) => (
            <span key={field}>
              {index > 0 && ' · '}
              {fieldName(field).toLowerCase()} <bdi>{is}</bdi>
            </span>
          ))}
        </p>
      )}
    </div>
  )
}

function FromTo({ was, is, ahead = false }: { was: string; is: string; ahead?: boolean }): ReactNode {
  return (
    <>
      <del>
        <bdi>{was}</bdi>
      </del>{' '}
      <span aria-hidden="true">→</span>
      <span className="visually-hidden"> {ahead ? 'becomes' : 'is now'} </span>{' '}
      <ins>
        <bdi>{is}</bdi>
      </ins>
    </>
  )
}

/** The recent changes of an owner's quotas, newest first, one sentence each. */
export function LatelyChanged({ client, rows }: { client: ChannelClient; rows: readonly Change[] }): ReactNode {
  return (
    <FewOnPhone of="Changed lately" className="lately">
      {rows.map((change) => (
        <li key={change.id}>
          <span>
            <Deed client={client} change={change} /> <Time at={change.at} relative /> by <b>{change.actor}</b>{' '}
            <PartOf client={client} change={change} />
          </span>
          {canUndo(change) && <Undo client={client} change={change} known={rows} />}
        </li>
      ))}
    </FewOnPhone>
  )
}

const DEEDS: Readonly<Record<Change['action'], string>> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  restore: 'restored',
  reset: 'reset to 0',
  erase: 'cleared of its label',
}

function Deed({ client, change }: { client: ChannelClient; change: Change }): ReactNode {
  const quota = <QuotaLink channel={client.name} id={change.quotaId} />
  const { before, after } = change
  if (change.action !== 'update') {
    return (
      <>
        {quota} {DEEDS[change.action]}
        {change.action === 'create' && after.total !== undefined && ` with ${amount(after.total)}`}
        {change.action === 'create' && after.used !== undefined && `, ${amount(after.used)} used already`}
      </>
    )
  }
  return (
    <>
      {quota}:{' '}
      {differences(change).map(({ field, was, is }, index) => (
        <span key={field}>
          {index > 0 && ', '}
          {field === 'status' ? (
            after.status === 'disabled' ? (
              'disabled'
            ) : (
              'enabled'
            )
          ) : field === 'total' && before.total !== undefined && after.total !== undefined ? (
            `limit ${after.total < before.total ? 'cut' : 'raised'} from ${was} to ${is}`
          ) : (
            <>
              {fieldName(field).toLowerCase()} <FromTo was={was} is={is} />
            </>
          )}
        </span>
      ))}
    </>
  )
}

/** Can the change be undone? A new quota is deleted instead, and a reset is final. */
function canUndo({ action }: Change): boolean {
  return action === 'update' || action === 'delete'
}

/**
 * A button that undoes a change, if possible; one that is undone is marked instead.
 * @param known changes that may have undone it
 */
export function Undo({
  client,
  change,
  known = [],
}: {
  client: ChannelClient
  change: AnyChange
  known?: readonly AnyChange[]
}): ReactNode {
  const [asking, setAsking] = useState(false)
  if (!isOfQuota(change) || !canUndo(change)) return <span className="muted">–</span>
  if (isUndone(change, known)) return <Signed kind="set-reverted" sign="↩" name="undone" />
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        Undo<span className="visually-hidden"> change {change.id}</span>
      </button>
      {asking && <Undoing client={client} change={change} onClose={() => setAsking(false)} />}
    </>
  )
}

/** Asks for confirmation before a change is undone: first reads the quota. */
function Undoing({
  client,
  change,
  onClose,
}: {
  client: ChannelClient
  change: Change
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const { quotaId } = change
  const asked = useQuery({
    queryKey: [client.name, 'quota', quotaId],
    queryFn: ({ signal }) => client.quota(quotaId, signal),
  })
  const title = `Undo the change of quota ${quotaId} by ${change.actor}?`
  const done = async (): Promise<void> => {
    announce('The change is undone.')
    await refreshed(queries, [client.name])
  }
  // The quota as first read: later reads must not change the open question.
  const [quota, setQuota] = useState<Quota | null>()
  if (quota === undefined && !asked.isFetching) {
    if (isProblem(asked.error, 'quota_not_found')) setQuota(null)
    else if (asked.data !== undefined) setQuota(asked.data)
  }
  const deleted = quota === null
  if (change.action === 'delete' && deleted) {
    return (
      <Confirm title={title} verb="Restore it" onClose={onClose} act={async () => client.restore(quotaId).then(done)}>
        <p>Quota {quotaId} is restored as it was, and pays again.</p>
      </Confirm>
    )
  }
  if (quota === undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        <Loaded of={{ ...asked, data: undefined }}>{() => null}</Loaded>
      </Dialog>
    )
  }
  if (deleted || change.action === 'delete') {
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          {deleted
            ? 'The quota is deleted. Restore it first; its page has the button.'
            : 'There is nothing to undo: the quota is restored already.'}
        </p>
      </Dialog>
    )
  }
  const before = change.before as Record<string, SettingValue>
  const after = change.after as Record<string, SettingValue>
  const { fields, follow, patch } = undoing(change, quota)
  if (fields.length + follow.length === 0) {
    return (
      <Dialog title={title} onClose={onClose}>
        <p>There is nothing to undo: the quota is as it was before.</p>
      </Dialog>
    )
  }
  const movesResets = fields.includes('cycleUnit') || fields.includes('cycleTimeZone')
  return (
    <Confirm
      title={title}
      verb="Undo it"
      onClose={onClose}
      act={async () => {
        await client.update(quota.id, patch, quota.version)
        await done()
      }}
    >
      <ul>
        {fields.map((field) => (
          <li key={field}>
            {fieldName(field)}: <bdi>{settingText(field, presentOf(quota, field))}</bdi> →{' '}
            <b>
              <bdi>{settingText(field, before[field])}</bdi>
            </b>
          </li>
        ))}
        {follow.map((field) => (
          <li key={field}>
            {fieldName(field)}: follows that of #{quota.follows} again
          </li>
        ))}
      </ul>
      {movesResets && !fields.includes('cycleResetAt') && (
        <p>The next reset stays when it is; later ones are counted from it.</p>
      )}
      {follow.includes('windowSeconds') && <p>What it has counted by its own window begins anew.</p>}
      {fields.some((field) => !sameSetting(presentOf(quota, field), after[field])) && (
        <p className="notice">
          <span aria-hidden="true">⚠ </span>It was changed again since then; that change goes, too.
        </p>
      )}
    </Confirm>
  )
}

export function ChangesScreen({ client, search }: { client: ChannelClient; search: ChangesSearch }): ReactNode {
  const asked = useQuery({
    queryKey: [client.name, 'changes', search],
    queryFn: ({ signal }) => client.changes(search, signal),
  })
  const { before, ...filter } = search
  const { owner, quotaId } = filter
  // What undid a change may be on another page, or not match the filters.
  const latest = useQuery({
    queryKey: [client.name, 'changes', 'latest', owner, quotaId],
    queryFn: ({ signal }) => client.changes({ owner, quotaId, pageSize: MAX_ROWS }, signal),
    enabled: Object.keys(search).some((name) => !['owner', 'quotaId', 'from'].includes(name)),
  })
  return (
    <Screen
      title={`${client.title}: changes`}
      actions={<Csv file={async () => (await import('../download.ts')).exportChanges(client, filter)} />}
    >
      <Filtering of={filter}>
        <ChangeFilters client={client} filter={filter} />
      </Filtering>
      <Loaded
        of={asked}
        isEmpty={({ items }) => items.length === 0}
        empty={Object.keys(filter).length > 0 ? 'No change matches these filters.' : 'Nobody has changed anything yet.'}
      >
        {({ items }) => (
          <ChangeTable client={client} as="page" rows={items} known={[...items, ...(latest.data?.items ?? [])]} />
        )}
      </Loaded>
      <nav className="pager" aria-label="Pages">
        {before !== undefined && (
          <Link to="/$channel/changes" params={{ channel: client.name }} search={filter}>
            Newest
          </Link>
        )}
        {asked.data?.next != null && (
          <Link
            to="/$channel/changes"
            params={{ channel: client.name }}
            search={{ ...filter, before: asked.data.next }}
          >
            Older
          </Link>
        )}
      </nav>
    </Screen>
  )
}

type Filter = Omit<ChangesSearch, 'before'>

function ChangeFilters({ client, filter }: { client: ChannelClient; filter: Filter }): ReactNode {
  const navigate = useNavigate()
  const [typed, setTyped] = useTyped({
    actor: filter.actor ?? '',
    action: filter.action ?? '',
    owner: filter.owner === undefined ? '' : String(filter.owner),
    quotaId: filter.quotaId === undefined ? '' : String(filter.quotaId),
    requestId: filter.requestId ?? '',
    from: toLocalInput(filter.from ?? null),
    to: toLocalInput(filter.to ?? null),
  })
  const set = (name: keyof typeof typed) => (event: { target: { value: string } }) =>
    setTyped({ ...typed, [name]: event.target.value })
  const wrong = (text: string): boolean => text.trim() !== '' && readId(text).value === undefined
  const go = (search: ChangesSearch): void =>
    void navigate({ to: '/$channel/changes', params: { channel: client.name }, search })
  return (
    <form
      className="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        if (
          wrong(typed.owner) ||
          wrong(typed.quotaId) ||
          (timeMistake(typed.from) ?? timeMistake(typed.to)) !== undefined
        ) {
          event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
          return
        }
        const action = ACTIONS.find((one) => one === typed.action)
        go({
          ...(typed.actor === '' ? {} : { actor: typed.actor.trim() }),
          ...(action === undefined ? {} : { action }),
          ...given({ owner: readId(typed.owner).value, quotaId: readId(typed.quotaId).value }),
          ...(typed.requestId === '' ? {} : { requestId: typed.requestId.trim() }),
          ...(typed.from === '' ? {} : { from: fromLocalInput(typed.from) ?? '' }),
          ...(typed.to === '' ? {} : { to: fromLocalInput(typed.to) ?? '' }),
        })
      }}
    >
      <Field label="Who" className="short">
        {(ids) => <input {...ids} value={typed.actor} onChange={set('actor')} />}
      </Field>
      <Field label="What" className="short">
        {(ids) => (
          <select {...ids} value={typed.action} onChange={set('action')}>
            <option value="">anything</option>
            {ACTIONS.map((action) => (
              <option key={action}>{action}</option>
            ))}
          </select>
        )}
      </Field>
      <NumberField
        label="Quota"
        className="short"
        text={typed.quotaId}
        reading={readId(typed.quotaId)}
        onText={(quotaId) => setTyped({ ...typed, quotaId })}
      />
      <NumberField
        label={client.Owner}
        className="short"
        text={typed.owner}
        reading={readId(typed.owner)}
        onText={(owner) => setTyped({ ...typed, owner })}
      />
      <Field label="From" error={timeMistake(typed.from)}>
        {(ids) => <input {...ids} {...LOCAL_TIME} value={typed.from} onChange={set('from')} />}
      </Field>
      <Field label="Before" error={timeMistake(typed.to)}>
        {(ids) => <input {...ids} {...LOCAL_TIME} value={typed.to} onChange={set('to')} />}
      </Field>
      <Field label="Request id">
        {(ids) => <input {...ids} value={typed.requestId} onChange={set('requestId')} />}
      </Field>
      <div className="actions presets" role="group" aria-label="When">
        {PERIODS.map(({ name, of }) => (
          <button
            key={name}
            type="button"
            className="quiet"
            aria-pressed={sameTime(filter.from, of()[0]) && sameTime(filter.to, of()[1])}
            onClick={() => go({ ...filter, ...given({ from: of()[0], to: of()[1] }) })}
          >
            {name}
          </button>
        ))}
      </div>
      <div className="actions">
        <button type="submit">Filter</button>
        {Object.keys(filter).length > 0 && (
          <button type="button" className="quiet" onClick={() => go({})}>
            Clear
          </button>
        )}
      </div>
    </form>
  )
}

/** The beginning of a day in the browser's time zone, this number of days from today. */
function dayFromToday(days: number): string {
  const date = new Date(now())
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).toISOString()
}

/** Days since the beginning of the week; Monday if the browser does not know the locale's first day. */
function daysIntoWeek(): number {
  const locale = new Intl.Locale(navigator.language) as Intl.Locale & {
    getWeekInfo?: () => { firstDay: number }
    weekInfo?: { firstDay: number }
  }
  const first = (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1
  return (new Date(now()).getDay() - first + 7) % 7
}

/** Common periods; each ends in the future, or where the next one begins. */
const PERIODS: readonly { readonly name: string; readonly of: () => readonly [from: string, to: string] }[] = [
  { name: 'Today', of: () => [dayFromToday(0), dayFromToday(1)] },
  { name: 'Yesterday', of: () => [dayFromToday(-1), dayFromToday(0)] },
  { name: 'This week', of: () => [dayFromToday(-daysIntoWeek()), dayFromToday(7 - daysIntoWeek())] },
  { name: 'Last week', of: () => [dayFromToday(-7 - daysIntoWeek()), dayFromToday(-daysIntoWeek())] },
  { name: 'Last 30 days', of: () => [dayFromToday(-29), dayFromToday(1)] },
]

function sameTime(one: string | undefined, other: string): boolean {
  return one !== undefined && Date.parse(one) === Date.parse(other)
}
