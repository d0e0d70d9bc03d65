import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ChangeTable } from './changes.tsx'
import { Figures } from './figures.tsx'
import { isForEach, Whose } from './quotas.tsx'
import { DAY_HOURS, REASONS, useTopRefusals } from './refusals.ts'
import { NearTheLimit } from './thresholds.tsx'
import type { ChannelClient } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { Time } from '../format.tsx'
import { Csv, Label, Loaded, OwnerLink, Panel, QuotaLink, Screen, Table, UsageBar } from '../parts.tsx'
import type { OverviewSearch } from '../search.ts'
import { isReady } from '../session.ts'

/** The owners with most refusals that are shown. */
const REFUSED_ROWS = 10
const DAYS = 7
/** The interval of readiness checks, in milliseconds. */
const LOOK_EVERY_MS = 30_000

export function OverviewScreen({ client, search }: { client: ChannelClient; search: OverviewSearch }): ReactNode {
  const refused = useTopRefusals(client)
  const expiring = useQuery({
    queryKey: [client.name, 'expiring', search.cursor],
    queryFn: ({ signal }) => client.expiring({ days: DAYS, cursor: search.cursor }, signal),
  })
  const changes = useQuery({
    queryKey: [client.name, 'changes', 'latest'],
    queryFn: ({ signal }) => client.changes({ pageSize: 8 }, signal),
  })
  return (
    <Screen title={`${client.title} overview`} actions={<Readiness />}>
      <Figures client={client} />
      <div className="halves">
        <div>
          <Panel
            title="Refused most"
            anchor="refused"
            hint={`In the last ${DAY_HOURS} hours. Counts are up to five seconds old.`}
            actions={
              <Csv
                of="refused most"
                file={async () => (await import('../download.ts')).exportTopRefusals(client, DAY_HOURS)}
              />
            }
          >
            <Loaded of={refused} isEmpty={(rows) => rows.length === 0} empty="Nobody was refused.">
              {(rows) => (
                <Table
                  caption={`Refused most in the last ${DAY_HOURS} hours`}
                  rows={rows.slice(0, REFUSED_ROWS)}
                  idOf={({ owner, code }) => `${owner} ${code}`}
                  columns={[
                    {
                      head: client.Owner,
                      cell: ({ owner }) => (
                        <OwnerLink channel={client.name} owner={owner} row>{`${client.Owner} ${owner}`}</OwnerLink>
                      ),
                      className: 'unbroken',
                    },
                    { head: 'Why', cell: ({ code }) => REASONS[code] },
                    { head: 'Times', cell: ({ count }) => amount(count), className: 'number' },
                    {
                      head: 'Units asked for',
                      cell: ({ requested }) => amount(requested),
                      className: 'number',
                      folds: true,
                    },
                    {
                      head: 'Last',
                      cell: ({ lastAt }) => <Time at={lastAt} relative />,
                      className: 'unbroken',
                      folds: true,
                    },
                  ]}
                />
              )}
            </Loaded>
          </Panel>
          <Panel
            title="Latest changes"
            actions={
              <Link to="/$channel/changes" params={{ channel: client.name }} search={{}}>
                All changes
              </Link>
            }
          >
            <Loaded of={changes} isEmpty={({ items }) => items.length === 0} empty="Nobody has changed anything yet.">
              {({ items }) => <ChangeTable client={client} rows={items} brief />}
            </Loaded>
          </Panel>
        </div>
        <div>
          <NearTheLimit client={client} />
          <Panel
            title={`Ending within ${DAYS} days`}
            hint="Active quotas, soonest first."
            actions={
              <Csv
                of="ending quotas"
                file={async () => (await import('../download.ts')).exportExpiring(client, DAYS)}
              />
            }
          >
            <Loaded
              of={expiring}
              isEmpty={({ items }) => items.length === 0}
              empty={`No active quota ends within ${DAYS} days.`}
            >
              {({ items, next }) => (
                <>
                  <Table
                    caption={`Quotas that end within ${DAYS} days`}
                    rows={items}
                    idOf={({ id }) => id}
                    columns={[
                      {
                        head: 'Quota',
                        cell: ({ id }) => <QuotaLink channel={client.name} id={id} row />,
                        className: 'id',
                      },
                      { head: client.Owner, cell: (quota) => <Whose client={client} of={quota} /> },
                      { head: 'Label', cell: ({ label }) => <Label text={label} />, folds: true },
                      {
                        head: 'Usage',
                        cell: (quota) =>
                          isForEach(quota) ? `${amount(quota.total)} for each` : <UsageBar {...quota} />,
                        className: 'wide',
                      },
                      { head: 'Ends', cell: ({ expireAt }) => expireAt !== null && <Time at={expireAt} relative /> },
                    ]}
                  />
                  {(next !== null || search.cursor !== undefined) && (
                    <nav className="pager" aria-label="Pages of ending quotas">
                      {search.cursor !== undefined && (
                        <Link to="/$channel" params={{ channel: client.name }} search={{}}>
                          Soonest
                        </Link>
                      )}
                      {next !== null && (
                        <Link to="/$channel" params={{ channel: client.name }} search={{ cursor: next }}>
                          Later
                        </Link>
                      )}
                    </nav>
                  )}
                </>
              )}
            </Loaded>
          </Panel>
        </div>
      </div>
    </Screen>
  )
}

function Readiness(): ReactNode {
  const { data } = useQuery({
    queryKey: ['ready'],
    queryFn: ({ signal }) => isReady(signal),
    refetchInterval: LOOK_EVERY_MS,
  })
  if (data === undefined) return null
  return (
    <p className={data ? 'ready' : 'ready not-ready'} role="status">
      <span aria-hidden="true">{data ? '✓ ' : '⚠ '}</span>
      {data ? 'The service is ready' : 'The service is not ready'}
    </p>
  )
}
