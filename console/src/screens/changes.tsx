import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Change, Desk, Quota } from '../desk.ts'
import { fromLocalInput, Time, toLocalInput } from '../format.tsx'
import { announce, Confirm, Copied, Field, fieldName, Loaded, OwnerLink, QuotaLink, Screen, Table } from '../parts.tsx'
import { ACTIONS, type ChangesSearch } from '../search.ts'
import { differences, EDITABLE, type SettingValue, settingText } from '../settings.ts'

/** Changes as rows. @param undoIn the quota as it is now: its updates can be undone from here */
export function ChangeTable({
  desk,
  rows,
  quotas = true,
  undoIn,
  brief = false,
}: {
  desk: Desk
  rows: readonly Change[]
  quotas?: boolean
  undoIn?: Quota
  brief?: boolean
}): ReactNode {
  return (
    <Table
      caption="Changes, newest first"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        { head: 'When', cell: ({ at }) => <Time at={at} exact={!brief} /> },
        { head: 'Who', cell: ({ actor }) => <b>{actor}</b> },
        ...(quotas
          ? [
              {
                head: 'Quota',
                cell: ({ quotaId }: Change) => <QuotaLink channel={desk.name} id={quotaId} row />,
                className: 'id',
              },
              { head: desk.Owner, cell: ({ owner }: Change) => <OwnerLink channel={desk.name} owner={owner} /> },
            ]
          : []),
        { head: 'What', cell: (change) => <Difference change={change} />, className: 'wide' },
        ...(brief
          ? []
          : [
              {
                head: 'Request',
                cell: ({ requestId }: Change) => <Copied what="id" text={requestId} />,
                className: 'request',
              },
            ]),
        ...(undoIn === undefined
          ? []
          : [{ head: 'Undo', cell: (change: Change) => <Undo desk={desk} change={change} quota={undoIn} /> }]),
      ]}
    />
  )
}

function Difference({ change }: { change: Change }): ReactNode {
  // That it was deleted, and when, is told already.
  const rows = change.action === 'update' || change.action === 'reset' ? differences(change) : []
  const made =
    change.action === 'create'
      ? differences(change).filter(({ field }) => (change.after as Record<string, SettingValue>)[field] !== null)
      : []
  return (
    <div className="difference">
      <span className="action">{change.action}</span>
      {rows.length > 0 && (
        <ul>
          {rows.map(({ field, was, is }) => (
            <li key={field}>
              {fieldName(field)}: <del>{was}</del> <span aria-hidden="true">→</span>
              <span className="visually-hidden"> is now </span> <ins>{is}</ins>
            </li>
          ))}
        </ul>
      )}
      {made.length > 0 && (
        <p className="made">{made.map(({ field, is }) => `${fieldName(field).toLowerCase()} ${is}`).join(' · ')}</p>
      )}
    </div>
  )
}

function Undo({ desk, change, quota }: { desk: Desk; change: Change; quota: Quota }): ReactNode {
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  if (change.action !== 'update') return <span className="muted">–</span>
  const before = change.before as Record<string, SettingValue>
  const after = change.after as Record<string, SettingValue>
  const fields = EDITABLE.filter((field) => field in before)
  const isNow = (field: (typeof EDITABLE)[number]): SettingValue =>
    field === 'status' ? (quota.status === 'disabled' ? 'disabled' : 'active') : quota[field]
  const sinceThen = fields.some((field) => isNow(field) !== after[field])
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        Undo
      </button>
      {asking && (
        <Confirm
          title={`Undo the change by ${change.actor}?`}
          verb="Undo it"
          onClose={() => setAsking(false)}
          act={async () => {
            await desk.update(
              quota.id,
              Object.fromEntries(fields.map((field) => [field, before[field]])),
              quota.version,
            )
            announce('The change is undone.')
            await queries.invalidateQueries({ queryKey: [desk.name] })
          }}
        >
          <ul>
            {fields.map((field) => (
              <li key={field}>
                {fieldName(field)}: {settingText(field, isNow(field))} → <b>{settingText(field, before[field])}</b>
              </li>
            ))}
          </ul>
          {sinceThen && (
            <p className="notice">
              <span aria-hidden="true">⚠ </span>It was changed again since then; that change goes, too.
            </p>
          )}
        </Confirm>
      )}
    </>
  )
}

export function ChangesScreen({ desk, search }: { desk: Desk; search: ChangesSearch }): ReactNode {
  const asked = useQuery({
    queryKey: [desk.name, 'changes', search],
    queryFn: ({ signal }) => desk.changes(search, signal),
  })
  const { before, ...filter } = search
  return (
    <Screen title={`Changes of ${desk.title} quotas`}>
      <ChangeFilters key={JSON.stringify(filter)} desk={desk} filter={filter} />
      <Loaded
        of={asked}
        isEmpty={({ items }) => items.length === 0}
        empty={Object.keys(filter).length > 0 ? 'No change matches these filters.' : 'Nobody has changed anything yet.'}
      >
        {({ items }) => <ChangeTable desk={desk} rows={items} />}
      </Loaded>
      <nav className="pager" aria-label="Pages">
        {before !== undefined && (
          <Link to="/$channel/changes" params={{ channel: desk.name }} search={filter}>
            Newest
          </Link>
        )}
        {asked.data?.next != null && (
          <Link to="/$channel/changes" params={{ channel: desk.name }} search={{ ...filter, before: asked.data.next }}>
            Older
          </Link>
        )}
      </nav>
    </Screen>
  )
}

type Filter = Omit<ChangesSearch, 'before'>

function ChangeFilters({ desk, filter }: { desk: Desk; filter: Filter }): ReactNode {
  const navigate = useNavigate()
  const [typed, setTyped] = useState({
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
  const wrong = (text: string): string | undefined =>
    text === '' || /^[1-9]\d{0,15}$/.test(text.trim()) ? undefined : 'a number from 1'
  const go = (search: ChangesSearch): void =>
    void navigate({ to: '/$channel/changes', params: { channel: desk.name }, search })
  return (
    <form
      className="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        if (wrong(typed.owner) !== undefined || wrong(typed.quotaId) !== undefined) return
        const action = ACTIONS.find((one) => one === typed.action)
        go({
          ...(typed.actor === '' ? {} : { actor: typed.actor.trim() }),
          ...(action === undefined ? {} : { action }),
          ...(typed.owner === '' ? {} : { owner: Number(typed.owner) }),
          ...(typed.quotaId === '' ? {} : { quotaId: Number(typed.quotaId) }),
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
      <Field label="Quota" className="short" error={wrong(typed.quotaId)}>
        {(ids) => <input {...ids} inputMode="numeric" value={typed.quotaId} onChange={set('quotaId')} />}
      </Field>
      <Field label={desk.Owner} className="short" error={wrong(typed.owner)}>
        {(ids) => <input {...ids} inputMode="numeric" value={typed.owner} onChange={set('owner')} />}
      </Field>
      <Field label="From">
        {(ids) => <input {...ids} type="datetime-local" value={typed.from} onChange={set('from')} />}
      </Field>
      <Field label="Before">
        {(ids) => <input {...ids} type="datetime-local" value={typed.to} onChange={set('to')} />}
      </Field>
      <Field label="Request id">
        {(ids) => <input {...ids} value={typed.requestId} onChange={set('requestId')} />}
      </Field>
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
