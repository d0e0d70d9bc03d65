import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ChannelClient, Passed } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { Time } from '../format.tsx'
import { thresholdsText } from '../limits.ts'
import { Csv, Label, Loaded, OperationLink, Panel, QuotaLink, Table, UsageBar } from '../parts.tsx'
import { Whose } from './quotas.tsx'

/* Passed thresholds, and the quotas that are over one now. */

const ROWS = 10

/** The thresholds that a quota, or an owner's quotas, have passed; nothing if there are none. */
export function PassedThresholds({
  client,
  of,
  expected = false,
}: {
  client: ChannelClient
  of: { owner: number } | { quotaId: number }
  /** Is the panel shown even if no threshold was passed? */
  expected?: boolean
}): ReactNode {
  const asked = useQuery({
    queryKey: [client.name, 'passed', of],
    queryFn: ({ signal }) => client.passed(of, signal),
  })
  if (!expected && asked.data?.items.length === 0) return null
  if (!expected && asked.data === undefined) return null
  const ofOne = 'quotaId' in of
  return (
    <Panel
      title="Thresholds passed"
      hint="In the last 31 days, newest first."
      actions={<Csv of="thresholds" file={async () => (await import('../download.ts')).exportPassed(client, of)} />}
    >
      <Loaded of={asked} isEmpty={({ items }) => items.length === 0} empty="None was passed.">
        {({ items, more }) => (
          <>
            <Table
              caption="Thresholds that were passed, newest first"
              rows={items.slice(0, ROWS)}
              idOf={({ id }) => id}
              columns={[
                { head: 'When', cell: ({ at }) => <Time at={at} ago /> },
                ...(ofOne
                  ? []
                  : [
                      {
                        head: 'Quota',
                        cell: ({ quotaId }: Passed) => <QuotaLink channel={client.name} id={quotaId} row />,
                        className: 'id',
                      },
                    ]),
                { head: 'Passed', cell: ({ data }) => <b>{thresholdsText(data.crossed)}</b> },
                {
                  head: 'Used then',
                  cell: ({ data }) => `${amount(data.used)} of ${amount(data.total)}`,
                  className: 'number',
                },
                {
                  head: 'By',
                  cell: ({ data: { operationId } }) =>
                    operationId === null ? (
                      'an edit'
                    ) : (
                      <OperationLink channel={client.name} id={operationId} row={ofOne} />
                    ),
                  folds: true,
                },
              ]}
            />
            <Cut shown={Math.min(ROWS, items.length)} of={items.length} more={more} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

/** A note on rows that are not shown. */
function Cut({ shown, of, more }: { shown: number; of: number; more: boolean }): ReactNode {
  if (more) return <p className="muted">More was passed than is read here; the newest may be missing.</p>
  return of > shown ? <p className="muted">And {amount(of - shown)} before.</p> : null
}

/** The quotas that are over a threshold now. */
export function useNearTheLimit(client: ChannelClient) {
  return useQuery({ queryKey: [client.name, 'near'], queryFn: ({ signal }) => client.nearLimit(signal) })
}

const MORE_PASSED = 'More quotas passed a threshold lately than are looked at here.'

export function NearTheLimit({ client }: { client: ChannelClient }): ReactNode {
  const asked = useNearTheLimit(client)
  return (
    <Panel
      title="Near the limit"
      anchor="near"
      hint="Active quotas that are over one of their thresholds now, most used first."
      actions={<Csv of="near the limit" file={async () => (await import('../download.ts')).exportNearLimit(client)} />}
    >
      <Loaded
        of={asked}
        isEmpty={({ items }) => items.length === 0}
        empty={asked.data?.more === true ? MORE_PASSED : 'No quota is over a threshold.'}
      >
        {({ items, more }) => (
          <>
            <Table
              caption="Quotas over a threshold"
              rows={items}
              idOf={({ quota }) => quota.id}
              columns={[
                {
                  head: 'Quota',
                  cell: ({ quota }) => <QuotaLink channel={client.name} id={quota.id} row />,
                  className: 'id',
                },
                { head: client.Owner, cell: ({ quota }) => <Whose client={client} of={quota} /> },
                { head: 'Label', cell: ({ quota }) => <Label text={quota.label} />, folds: true },
                { head: 'Usage', cell: ({ quota }) => <UsageBar {...quota} />, className: 'wide' },
                {
                  head: 'Passed',
                  cell: ({ threshold, since }) => (
                    <>
                      <b className="unbroken">{threshold} %</b>{' '}
                      <span className="unbroken">
                        <Time at={since} relative />
                      </span>
                    </>
                  ),
                },
              ]}
            />
            {more && <p className="muted">{MORE_PASSED}</p>}
          </>
        )}
      </Loaded>
    </Panel>
  )
}
