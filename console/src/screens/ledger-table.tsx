import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ChannelClient, Operation } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { Time } from '../format.tsx'
import { Badge, Loaded, OperationLink, OwnerLink, QuotaLink, Table } from '../parts.tsx'
import { renewal } from '../renewal.ts'

const ROWS = 20
/** The most pages that are renewed by themselves. */
const MOST_RENEWED = 3

interface Last {
  readonly head: string
  readonly cell: (operation: Operation) => ReactNode
}

/** The operations of an owner, of a quota, or all, newest first, with a button for older ones. */
export function Ledger({
  client,
  of,
  state,
  empty,
  last,
  ofCounts = false,
}: {
  client: ChannelClient
  of: { owner: number } | { quotaId: number } | { all: 'true' }
  state?: Operation['state']
  empty: string
  last?: Last
  /** Is it of a quota of which each member has a count? The counts paid, and are named. */
  ofCounts?: boolean
}): ReactNode {
  const asked = useInfiniteQuery({
    queryKey: [client.name, 'ledger', of, state],
    queryFn: ({ signal, pageParam: before }) => client.ledger({ ...of, state, before, pageSize: ROWS }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    // A renewal reads all pages, one after the other: of whoever has gone far back, only on request.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > MOST_RENEWED ? false : renewal(query)),
  })
  return (
    <Loaded
      of={asked}
      isEmpty={({ pages }) => !asked.hasNextPage && pages.every(({ items }) => items.length === 0)}
      empty={empty}
    >
      {({ pages }) => (
        <>
          <LedgerTable
            client={client}
            rows={pages.flatMap(({ items }) => items)}
            {...('quotaId' in of && !ofCounts ? { quotaId: of.quotaId } : { owners: ofCounts || 'all' in of })}
            {...(last === undefined ? {} : { last })}
          />
          {asked.hasNextPage && (
            <button
              type="button"
              className="older"
              aria-disabled={asked.isFetchingNextPage}
              onClick={() => void asked.fetchNextPage()}
            >
              {asked.isFetchingNextPage ? 'Loading…' : `Show ${ROWS} older ones`}
            </button>
          )}
        </>
      )}
    </Loaded>
  )
}

/**
 * Operations as rows.
 * @param quotaId shows this quota's part of each, and omits columns that are the same in all rows
 * @param owners shows the owners
 */
export function LedgerTable({
  client,
  rows,
  quotaId,
  owners = quotaId !== undefined,
  last,
}: {
  client: ChannelClient
  rows: readonly Operation[]
  quotaId?: number
  owners?: boolean
  last?: Last
}): ReactNode {
  const paid = (operation: Operation): number | undefined =>
    operation.allocations.find((one) => one.quotaId === quotaId)?.amount
  return (
    <Table
      caption="Operations, newest first"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        { head: 'Operation', cell: ({ id }) => <OperationLink channel={client.name} id={id} row />, className: 'id' },
        { head: 'When', cell: ({ createdAt }) => <Time at={createdAt} exact /> },
        { head: 'State', cell: ({ state }) => <Badge status={state} />, folds: true },
        { head: 'Amount', cell: (operation) => amount(operation.amount), className: 'number' },
        ...(owners
          ? [
              {
                head: client.Owner,
                cell: ({ owner }: Operation) => <OwnerLink channel={client.name} owner={owner} />,
                folds: true,
              },
            ]
          : []),
        { head: 'Sender', cell: ({ madeBy }) => <b>{madeBy?.actor ?? '–'}</b>, className: 'name', folds: true },
        {
          head: 'Key',
          cell: ({ madeBy }) =>
            madeBy?.idempotencyKey == null ? <span className="muted">–</span> : <code>{madeBy.idempotencyKey}</code>,
          className: 'key',
        },
        ...(quotaId === undefined && rows.some(({ caps }) => caps !== undefined)
          ? [
              {
                head: 'Counted by',
                cell: ({ caps = [] }: Operation) => <CapLinks client={client} caps={caps} />,
                folds: true,
              },
            ]
          : []),
        quotaId === undefined
          ? {
              head: 'Paid by',
              cell: ({ allocations }: Operation) => (
                <ul className="inline">
                  {allocations.map((one) => (
                    <li key={one.quotaId}>
                      <QuotaLink channel={client.name} id={one.quotaId} />{' '}
                      <span className="muted">{amount(one.amount)}</span>
                    </li>
                  ))}
                </ul>
              ),
              folds: true,
            }
          : {
              head: 'Of this quota',
              // A cap pays nothing: it counts the whole amount.
              cell: (operation: Operation) => amount(paid(operation) ?? operation.amount),
              className: 'number',
              folds: true,
            },
        {
          head: 'Refunded',
          cell: ({ refunded }) => (refunded === 0 ? <span className="muted">–</span> : amount(refunded)),
          className: 'number',
          folds: true,
        },
        ...(last === undefined ? [] : [last]),
      ]}
    />
  )
}

/** The caps that counted an operation. */
export function CapLinks({ client, caps }: { client: ChannelClient; caps: readonly number[] }): ReactNode {
  if (caps.length === 0) return <span className="muted">–</span>
  return (
    <ul className="inline side">
      {caps.map((id) => (
        <li key={id}>
          <QuotaLink channel={client.name} id={id} />
        </li>
      ))}
    </ul>
  )
}
