import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ChangeTable } from './changes.tsx'
import { GroupTable } from './group-parts.tsx'
import { LedgerTable } from './ledger-table.tsx'
import { QuotaTable } from './quotas.tsx'
import { ANYBODY, type ChannelClient } from '../channel-client.ts'
import { Loaded, Panel, Screen } from '../parts.tsx'
import type { EverythingSearch } from '../search.ts'

const ROWS = 5
/** The forms of idempotency keys and request ids. Any text may be a label, and a name from the identity provider. */
const KEY = /^[\x20-\x7e]{1,255}$/
const REQUEST = /^[A-Za-z0-9._-]{1,128}$/
const LONGEST_LABEL = 120
const LONGEST_NAME = 64

/** Finds a text among keys of recent callers, labels, names of groups and of people, and request ids. */
export function EverythingScreen({
  client,
  search: { q = '' },
}: {
  client: ChannelClient
  search: EverythingSearch
}): ReactNode {
  const key = [client.name, 'everything', q]
  const { length } = Array.from(q)
  // A label, or the name of a group.
  const isLabel = q !== '' && length <= LONGEST_LABEL && !/\p{Cc}/u.test(q)
  const operations = useQuery({
    queryKey: [...key, 'operations'],
    queryFn: ({ signal }) => client.ledger({ idempotencyKey: q, caller: ANYBODY }, signal),
    enabled: KEY.test(q),
  })
  const quotas = useQuery({
    queryKey: [...key, 'quotas'],
    queryFn: ({ signal }) => client.quotas({ label: q, page: 1, pageSize: ROWS }, signal),
    enabled: isLabel,
  })
  const groups = useQuery({
    queryKey: [...key, 'groups'],
    queryFn: ({ signal }) => client.groups({ name: q, page: 1, pageSize: ROWS }, signal),
    enabled: isLabel,
  })
  const byName = useQuery({
    queryKey: [...key, 'actor'],
    queryFn: ({ signal }) => client.changes({ actor: q, pageSize: ROWS }, signal),
    enabled: q !== '' && length <= LONGEST_NAME,
  })
  const byRequest = useQuery({
    queryKey: [...key, 'request'],
    queryFn: ({ signal }) => client.changes({ requestId: q, pageSize: ROWS }, signal),
    enabled: REQUEST.test(q),
  })
  const all = [operations, quotas, groups, byName, byRequest]
  const nothing =
    all.every(({ isLoading, error }) => !isLoading && error === null) &&
    all.every(({ data }) => data === undefined || data.items.length === 0)
  return (
    <Screen title="Search">
      <p>
        What is called <bdi className="label sought">{q}</bdi>, in {client.title}:
      </p>
      {nothing && (
        <div className="empty">
          <p>
            Nothing: no operation has this key, no quota has a label and no group a name that begins so, and nobody of
            this name has changed anything.
          </p>
          <p>
            {client.Owner}s are found by their number, quotas by # and theirs, operations by their whole identifier.
            Keys of senders who have spent nothing for 31 days are found under <b>Operations</b>.
          </p>
        </div>
      )}
      <Found of={operations} title="Operations with this key">
        {({ items }) => <LedgerTable client={client} rows={items} owners />}
      </Found>
      <Found of={quotas} title="Quotas whose label begins so">
        {({ items, total }) => (
          <>
            <QuotaTable client={client} rows={items} caption="Quotas with this label" />
            {total > items.length && (
              <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ label: q }}>
                All of them
              </Link>
            )}
          </>
        )}
      </Found>
      <Found of={groups} title="Groups whose name begins so">
        {({ items, total }) => (
          <>
            <GroupTable client={client} rows={items} />
            {total > items.length && (
              <Link to="/$channel/groups" params={{ channel: client.name }} search={{ name: q }}>
                All of these groups
              </Link>
            )}
          </>
        )}
      </Found>
      <Found of={byName} title={`Changes by ${q}`}>
        {({ items, next }) => (
          <>
            <ChangeTable client={client} rows={items} brief />
            {next !== null && (
              <Link to="/$channel/changes" params={{ channel: client.name }} search={{ actor: q }}>
                All changes by {q}
              </Link>
            )}
          </>
        )}
      </Found>
      <Found of={byRequest} title="Changes of this request">
        {({ items }) => <ChangeTable client={client} rows={items} brief />}
      </Found>
    </Screen>
  )
}

/** One kind of results; nothing if there are none. */
function Found<T extends { readonly items: readonly unknown[] }>({
  of,
  title,
  children,
}: {
  of: {
    readonly data: T | undefined
    readonly error: unknown
    readonly isLoading: boolean
    readonly refetch: () => unknown
  }
  title: string
  children: (data: T) => ReactNode
}): ReactNode {
  if (!of.isLoading && of.error === null && (of.data === undefined || of.data.items.length === 0)) return null
  return (
    <Panel title={title}>
      <Loaded of={of}>{children}</Loaded>
    </Panel>
  )
}
