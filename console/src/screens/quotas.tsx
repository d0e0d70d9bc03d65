import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type ChannelClient, given, type Quota, type QuotaPage } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { Time } from '../format.tsx'
import { roleText, windowText } from '../limits.ts'
import {
  announce,
  Badge,
  BeyondEnd,
  CapBadge,
  type Choice,
  Csv,
  Failure,
  Field,
  Filtering,
  GroupLink,
  Label,
  Loaded,
  NumberField,
  OwnerLink,
  QuotaLink,
  Screen,
  Table,
  UsageBar,
  useTyped,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import { CAP_FILTERS, MAX_CHOSEN, STATUSES, type QuotasSearch } from '../search.ts'
import { readId } from '../whole-number.ts'

const PAGE_SIZE = 50
/** Further pages are read by id: the service would have to skip all rows before a page by number. */
const LAST_PAGE = 1_000

const CYCLES: Readonly<Record<NonNullable<Quota['cycleUnit']>, string>> = {
  hour: 'hourly',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  year: 'yearly',
}

/** The kind of a quota, in a word or two. */
export function kindOf({ quotaType, cycleUnit, windowSeconds }: Quota): string {
  if (quotaType === 3) return `rolling, ${windowText(windowSeconds ?? 0)}`
  return cycleUnit === null ? 'total' : CYCLES[cycleUnit]
}

/** The same, with the mode of a cap, and what a group has to do with it. */
export function Kind({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  return (
    <>
      {kindOf(quota)} {quota.cap !== null && <CapBadge cap={quota.cap} />}
      {isForEach(quota) && <span className="muted"> for each member</span>}
      {quota.follows !== null && (
        <span className="muted">
          {' '}
          as <QuotaLink channel={client.name} id={quota.follows} />
        </span>
      )}
    </>
  )
}

/** Does each member of a group have a count of its own of this quota? */
export function isForEach({ per, follows }: Pick<Quota, 'per' | 'follows'>): boolean {
  return per === 'member' && follows === null
}

/** Whose quota it is: an owner's, or a group's. */
export function Whose({
  client,
  of: { owner, groupId },
}: {
  client: ChannelClient
  of: { readonly owner: number; readonly groupId?: number | null | undefined }
}): ReactNode {
  if (owner === 0 && groupId != null) return <GroupLink channel={client.name} id={groupId} />
  return <OwnerLink channel={client.name} owner={owner} />
}

export function NextEvent({ quota: { cycleResetAt, expireAt, quotaType } }: { quota: Quota }): ReactNode {
  const endsFirst = expireAt !== null && (cycleResetAt === null || expireAt <= cycleResetAt)
  const at = endsFirst ? expireAt : cycleResetAt
  if (at === null) return <span className="muted unbroken">{quotaType === 3 ? 'rolls on' : 'never'}</span>
  return (
    <>
      <span className="muted">{endsFirst ? 'ends' : 'resets'}</span> <Time at={at} />
    </>
  )
}

/** Quotas as rows, on any screen. */
export function QuotaTable({
  client,
  rows,
  caption,
  owners = true,
  last,
  ...more
}: {
  client: ChannelClient
  rows: readonly Quota[]
  caption: string
  owners?: boolean
  last?: (quota: Quota) => ReactNode
  as?: 'page'
  choice?: Choice | undefined
}): ReactNode {
  return (
    <Table
      {...more}
      caption={caption}
      rows={rows}
      idOf={(quota) => quota.id}
      columns={[
        {
          head: 'Quota',
          cell: (quota) => <QuotaLink channel={client.name} id={quota.id} row />,
          className: 'id',
        },
        ...(owners
          ? [
              {
                head: client.Owner,
                cell: (quota: Quota) => <Whose client={client} of={quota} />,
              },
            ]
          : []),
        { head: 'Label', cell: ({ label }) => <Label text={label} /> },
        {
          head: 'Type',
          cell: (quota) => <Kind client={client} quota={quota} />,
          folds: rows.every(({ cap }) => cap === null),
        },
        {
          head: 'Usage',
          cell: (quota) => (isForEach(quota) ? `${amount(quota.total)} for each` : <UsageBar {...quota} />),
          className: 'wide',
        },
        { head: 'Next', cell: (quota) => <NextEvent quota={quota} />, folds: true },
        {
          head: 'Status',
          cell: ({ status, deletedAt }) => <Badge status={deletedAt === undefined ? status : 'deleted'} />,
          // Where all are active, nobody looks for it.
          folds: !owners && rows.every(({ status }) => status === 'active'),
        },
        ...(last === undefined ? [] : [{ head: 'Actions', cell: last }]),
      ]}
    />
  )
}

export function QuotasScreen({ client, search }: { client: ChannelClient; search: QuotasSearch }): ReactNode {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const asked = useQuery({
    queryKey: [client.name, 'quotas', search],
    queryFn: async ({ signal }) => {
      const paged = search.beforeId === undefined ? { page: 1, ...search } : search
      return { ...(await client.quotas({ ...paged, pageSize: PAGE_SIZE }, signal)), of: search }
    },
    placeholderData: keepPreviousData,
  })
  // The count, the choice and the links are of the rows that are shown: until others come, of the previous list.
  const { page, beforeId, ...filter } = asked.data?.of ?? search
  const { page: _page, beforeId: _beforeId, ...wanted } = search
  const pageNumber = page ?? 1
  const restore = useMutation({
    mutationFn: (id: number) => client.restore(id),
    onSuccess: async ({ id }) => {
      announce(`Quota ${id} is restored.`)
      await refreshed(queries, [client.name])
    },
  })
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  // Chosen quotas stay chosen on other pages, not in another list.
  const [list, setList] = useState(filter)
  if (JSON.stringify(list) !== JSON.stringify(filter)) {
    setList(filter)
    setChosen(new Set())
  }
  const choose = (ids: readonly number[], on: boolean): void =>
    setChosen(new Set(on ? [...chosen, ...ids] : [...chosen].filter((id) => !ids.includes(id))))
  const go = (next: QuotasSearch): void =>
    void navigate({ to: '/$channel/quotas', params: { channel: client.name }, search: next })
  const { items = [], total = 0 } = asked.data ?? {}
  const last = items.at(-1)
  const more = beforeId === undefined ? pageNumber * PAGE_SIZE < total : items.length === PAGE_SIZE
  const next: QuotasSearch | undefined =
    !more || last === undefined
      ? undefined
      : beforeId === undefined && pageNumber < LAST_PAGE
        ? { ...filter, page: pageNumber + 1 }
        : { ...filter, beforeId: last.id }
  return (
    <Screen
      title={`${client.title} quotas`}
      actions={
        <>
          <Link className="button" to="/$channel/import" params={{ channel: client.name }}>
            Import
          </Link>
          <Link
            className="button primary"
            to="/$channel/new"
            params={{ channel: client.name }}
            search={filter.owner === undefined ? {} : { owner: filter.owner }}
          >
            New quota
          </Link>
        </>
      }
    >
      <Filtering of={wanted}>
        <Filters client={client} filter={wanted} onChange={go} />
      </Filtering>
      {restore.error !== null && <Failure error={restore.error} />}
      <Loaded
        of={asked}
        isEmpty={({ items: rows }) => rows.length === 0}
        empty={
          total > 0 ? (
            <BeyondEnd
              what={beforeId === undefined ? `page ${amount(pageNumber)}` : `quota below #${beforeId}`}
              last={Math.min(Math.ceil(total / PAGE_SIZE), LAST_PAGE)}
              onGo={(place) => go({ ...filter, ...(place > 1 ? { page: place } : {}) })}
            />
          ) : (
            <>
              <p>{Object.keys(filter).length > 0 ? 'No quota matches these filters.' : 'There is no quota yet.'}</p>
              {Object.keys(filter).length > 0 ? (
                <button type="button" onClick={() => go({})}>
                  Clear the filters
                </button>
              ) : (
                <Link to="/$channel/new" params={{ channel: client.name }} search={{}}>
                  Create the first one
                </Link>
              )}
            </>
          )
        }
      >
        {(data) => (
          <>
            <div className="above">
              <p className="count" role="status">
                {data.totalRelation === 'recent' ? 'about ' : ''}
                {amount(data.total)} {data.total === 1 ? 'quota' : 'quotas'}
                {filter.groupId !== undefined && ` of group ${filter.groupId}`}
                {filter.follows !== undefined && `: the counts that follow #${filter.follows}`}
                {beforeId === undefined ? ` · page ${amount(pageNumber)}` : ` · below #${beforeId}`}
              </p>
              <OfAll client={client} filter={filter} of={data} chosen={chosen} choose={choose} />
            </div>
            <div className={asked.isPlaceholderData ? 'stale' : undefined}>
              <QuotaTable
                client={client}
                as="page"
                rows={data.items}
                caption={`${client.title} quotas, newest first`}
                choice={filter.deleted === true ? undefined : { ids: chosen, choose: (id, on) => choose([id], on) }}
                {...(filter.deleted === true
                  ? {
                      last: (quota: Quota) => (
                        <button
                          type="button"
                          aria-label={`Restore quota ${quota.id}`}
                          onClick={() => restore.mutate(quota.id)}
                        >
                          Restore
                        </button>
                      ),
                    }
                  : {})}
              />
            </div>
          </>
        )}
      </Loaded>
      <nav className="pager" aria-label="Pages">
        {items.length > 0 && (beforeId !== undefined || pageNumber > 1) && (
          <>
            <Link to="/$channel/quotas" params={{ channel: client.name }} search={filter}>
              First page
            </Link>
            {beforeId === undefined ? (
              <Link
                to="/$channel/quotas"
                params={{ channel: client.name }}
                search={pageNumber === 2 ? filter : { ...filter, page: pageNumber - 1 }}
              >
                Previous
              </Link>
            ) : (
              <button type="button" onClick={() => history.back()}>
                Back
              </button>
            )}
          </>
        )}
        {next !== undefined && (
          <Link to="/$channel/quotas" params={{ channel: client.name }} search={next}>
            Next
          </Link>
        )}
      </nav>
    </Screen>
  )
}

type Filter = Omit<QuotasSearch, 'page' | 'beforeId'>

/** The actions on the chosen quotas, and on all that the filters select, on all pages. */
function OfAll({
  client,
  filter,
  of: { items, total, totalRelation },
  chosen,
  choose,
}: {
  client: ChannelClient
  filter: Filter
  of: QuotaPage
  chosen: ReadonlySet<number>
  choose: (ids: readonly number[], on: boolean) => void
}): ReactNode {
  const { deleted, ...shown } = filter
  const here = items.map(({ id }) => id)
  const count = here.filter((id) => chosen.has(id)).length
  const about = totalRelation === 'recent' ? 'about ' : ''
  return (
    <>
      {deleted !== true && (
        <label className="check">
          <input
            type="checkbox"
            ref={(box) => {
              if (box !== null) box.indeterminate = count > 0 && count < here.length
            }}
            checked={count === here.length}
            onChange={(event) => choose(here, event.target.checked)}
          />
          Select all on this page
        </label>
      )}
      <div className="actions">
        {chosen.size > 0 && chosen.size <= MAX_CHOSEN && (
          <Link
            className="button primary"
            to="/$channel/change-sets/new"
            params={{ channel: client.name }}
            search={{ ...shown, ids: [...chosen].sort((a, b) => a - b) }}
          >
            Change the {amount(chosen.size)} chosen
          </Link>
        )}
        {chosen.size > MAX_CHOSEN && (
          <span>
            {amount(chosen.size)} chosen; at most {amount(MAX_CHOSEN)}
          </span>
        )}
        {deleted !== true && (
          <Link className="button" to="/$channel/change-sets/new" params={{ channel: client.name }} search={shown}>
            Change all {about}
            {amount(total)}
          </Link>
        )}
        <Csv file={async () => (await import('../download.ts')).exportQuotas(client, filter)} />
      </div>
    </>
  )
}

function Filters({
  client,
  filter,
  onChange,
}: {
  client: ChannelClient
  filter: Filter
  onChange: (filter: Filter) => void
}): ReactNode {
  const [texts, setTexts] = useTyped(
    {
      owner: filter.owner === undefined ? '' : String(filter.owner),
      label: filter.label ?? '',
      person: filter.person === undefined ? '' : String(filter.person),
    },
    filter,
  )
  const { owner, label, person } = texts
  const set = (name: keyof typeof texts) => (text: string) => setTexts({ ...texts, [name]: text })
  const wrong = [owner, person].some((text) => text.trim() !== '' && readId(text).value === undefined)
  const typed = (): Filter => {
    const { owner: _owner, person: _person, label: _label, ...rest } = filter
    const ids = given({ owner: readId(owner).value, person: readId(person).value })
    return { ...rest, ...ids, ...(label === '' ? {} : { label }) }
  }
  return (
    <form
      className="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        if (wrong) event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
        else onChange(typed())
      }}
    >
      <NumberField label={client.Owner} className="short" text={owner} reading={readId(owner)} onText={set('owner')} />
      {client.namesPerson && (
        <NumberField label="User" className="short" text={person} reading={readId(person)} onText={set('person')} />
      )}
      <Field label="Label begins with">
        {(ids) => <input {...ids} value={label} onChange={(event) => set('label')(event.target.value)} />}
      </Field>
      <Field label="Status" className="short">
        {(ids) => (
          <select
            {...ids}
            value={filter.deleted === true ? 'deleted' : (filter.status ?? '')}
            onChange={({ target: { value } }) => {
              const { status: _status, deleted: _deleted, ...rest } = typed()
              const status = STATUSES.find((one) => one === value)
              onChange({
                ...rest,
                ...(value === 'deleted' ? { deleted: true } : {}),
                ...(status === undefined ? {} : { status }),
              })
            }}
          >
            <option value="">any</option>
            {STATUSES.map((status) => (
              <option key={status}>{status}</option>
            ))}
            <option value="deleted">deleted</option>
          </select>
        )}
      </Field>
      <Field label="What it does" className="short">
        {(ids) => (
          <select
            {...ids}
            value={filter.cap ?? ''}
            onChange={({ target: { value } }) => {
              const { cap: _cap, ...rest } = typed()
              onChange({ ...rest, ...given({ cap: CAP_FILTERS.find((one) => one === value) }) })
            }}
          >
            <option value="">anything</option>
            {CAP_FILTERS.map((cap) => (
              <option key={cap} value={cap}>
                {roleText(cap === 'none' ? null : cap)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <div className="actions">
        <button type="submit">Filter</button>
        {Object.keys(filter).length > 0 && (
          <button type="button" className="quiet" onClick={() => onChange({})}>
            Clear
          </button>
        )}
      </div>
    </form>
  )
}
