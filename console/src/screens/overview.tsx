import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ChangeTable } from './changes.tsx'
import { QuotaTable } from './quotas.tsx'
import { NearTheLimit } from './thresholds.tsx'
import type { ChannelClient, Refusal } from '../channel-client.ts'
import { amount } from '../amount.ts'
import { Time } from '../format.tsx'
import { Csv, Loaded, OwnerLink, Panel, Screen, Table } from '../parts.tsx'
import type { OverviewSearch } from '../search.ts'
import { isReady } from '../session.ts'

const HOURS = 24
const DAYS = 7
/** The interval of readiness checks, in milliseconds. */
const LOOK_EVERY_MS = 30_000

/** The reasons of refusals, in words. */
export const REASONS: Readonly<Record<Refusal['code'], string>> = {
  quota_exceeded: 'quota exceeded',
  no_active_quota: 'no active quota',
  quota_observed: 'let through: a cap that only watches would have refused',
}

export function OverviewScreen({ client, search }: { client: ChannelClient; search: OverviewSearch }): ReactNode {
  const refused = useQuery({
    queryKey: [client.name, 'refused', HOURS],
    queryFn: ({ signal }) => client.topRefusals({ hours: HOURS }, signal),
  })
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
      <Panel
        title="Refused most"
        hint={`In the last ${HOURS} hours. Counts are up to five seconds old.`}
        actions={
          <Csv of="refused most" file={async () => (await import('../download.ts')).exportTopRefusals(client, HOURS)} />
        }
      >
        <Loaded of={refused} isEmpty={(rows) => rows.length === 0} empty="Nobody was refused.">
          {(rows) => (
            <Table
              caption={`Refused most in the last ${HOURS} hours`}
              rows={rows}
              idOf={({ owner, code }) => `${owner} ${code}`}
              columns={[
                {
                  head: client.Owner,
                  cell: ({ owner }) => (
                    <OwnerLink channel={client.name} owner={owner} row>{`${client.Owner} ${owner}`}</OwnerLink>
                  ),
                },
                { head: 'Why', cell: ({ code }) => REASONS[code] },
                { head: 'Times', cell: ({ count }) => amount(count), className: 'number' },
                { head: 'Units asked for', cell: ({ requested }) => amount(requested), className: 'number' },
                { head: 'Last', cell: ({ lastAt }) => <Time at={lastAt} ago /> },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <NearTheLimit client={client} />
      <Panel
        title={`Ending within ${DAYS} days`}
        hint="Active quotas, soonest first."
        actions={
          <Csv of="ending quotas" file={async () => (await import('../download.ts')).exportExpiring(client, DAYS)} />
        }
      >
        <Loaded
          of={expiring}
          isEmpty={({ items }) => items.length === 0}
          empty={`No active quota ends within ${DAYS} days.`}
        >
          {({ items, next }) => (
            <>
              <QuotaTable client={client} rows={items} caption={`Quotas that end within ${DAYS} days`} />
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
