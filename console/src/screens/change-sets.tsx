import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { countsText, SetBadge, Words } from './set-parts.tsx'
import { askOf, isAtWork, setsOf, STATES } from '../change-sets.ts'
import { type ChannelClient, given } from '../channel-client.ts'
import { exportSets } from '../download.ts'
import { Time } from '../format.tsx'
import { ChangeSetLink, Csv, Field, Loaded, Screen, Table } from '../parts.tsx'
import { type ChangeSetsSearch, SET_STATES } from '../search.ts'

const PAGE_SIZE = 50

/** All change sets: actor, time, change, number of rows, and state. */
export function ChangeSetsScreen({ client, search }: { client: ChannelClient; search: ChangeSetsSearch }): ReactNode {
  const navigate = useNavigate()
  const asked = useQuery({
    queryKey: [client.name, 'change-sets', search],
    queryFn: ({ signal }) =>
      setsOf(client)
        .list({ ...search, pageSize: PAGE_SIZE }, { signal })
        .page(),
  })
  const { before, ...filter } = search
  const params = { channel: client.name }
  return (
    <Screen
      title={`${client.title}: change sets`}
      actions={
        <>
          <Link className="button" to="/$channel/import" params={params}>
            Import
          </Link>
          <Csv file={async () => exportSets(client, filter)} />
        </>
      }
    >
      <p className="muted">
        Many quotas that were changed as one. To begin one, filter the{' '}
        <Link to="/$channel/quotas" params={params} search={{}}>
          quotas
        </Link>{' '}
        and change all that are shown, or import a file. They are kept for 90 days, unapplied ones for 7.
      </p>
      <form className="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <Field label="State" className="short">
          {(ids) => (
            <select
              {...ids}
              value={filter.state ?? ''}
              onChange={({ target: { value } }) =>
                void navigate({
                  to: '/$channel/change-sets',
                  params,
                  search: given({ state: SET_STATES.find((one) => one === value) }),
                })
              }
            >
              <option value="">any</option>
              {SET_STATES.map((state) => (
                <option key={state} value={state}>
                  {STATES[state][1]}
                </option>
              ))}
            </select>
          )}
        </Field>
      </form>
      <Loaded
        of={asked}
        isEmpty={({ items }) => items.length === 0}
        empty={filter.state === undefined ? 'There is no change set yet.' : 'No change set is in this state.'}
      >
        {({ items }) => (
          <Table
            caption="Change sets, newest first"
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                head: 'Set',
                cell: ({ id }) => (
                  <ChangeSetLink channel={client.name} id={id} row>
                    {id}
                  </ChangeSetLink>
                ),
                className: 'id',
              },
              { head: 'When', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { head: 'Who', cell: ({ actor }) => <b>{actor}</b>, className: 'name', folds: true },
              { head: 'What', cell: (set) => <Words parts={askOf(client, set)} />, className: 'wide' },
              {
                head: 'How many',
                cell: (set) => (isAtWork(set) && set.state === 'preparing' ? '…' : countsText(set.counts)),
              },
              { head: 'State', cell: (set) => <SetBadge state={set.state} /> },
            ]}
          />
        )}
      </Loaded>
      <nav className="pager" aria-label="Pages">
        {before !== undefined && (
          <Link to="/$channel/change-sets" params={params} search={filter}>
            Newest
          </Link>
        )}
        {asked.data?.nextBefore != null && (
          <Link to="/$channel/change-sets" params={params} search={{ ...filter, before: asked.data.nextBefore }}>
            Older
          </Link>
        )}
      </nav>
    </Screen>
  )
}
