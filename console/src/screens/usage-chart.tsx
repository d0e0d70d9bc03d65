import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { BarChart } from './bar-chart.tsx'
import type { ChannelClient, Series } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { dayText } from '../format.tsx'
import { Csv, Loaded, Panel } from '../parts.tsx'

/** Days between two labels of the axis. */
const NAMED_EVERY = 5

/** The usage of an owner or a quota by day, for the last 30 days. */
export function UsageByDay({
  client,
  of,
}: {
  client: ChannelClient
  of: { owner: number } | { quotaId: number }
}): ReactNode {
  const key = 'owner' in of ? [client.name, 'owner', of.owner, 'series'] : [client.name, 'quota', of.quotaId, 'series']
  const series = useQuery({ queryKey: key, queryFn: ({ signal }) => client.series(of, signal) })
  return (
    <Panel
      title="Usage by day"
      hint="The last 30 days, each from midnight to midnight UTC."
      actions={<Csv of="usage by day" file={async () => (await import('../download.ts')).exportSeries(client, of)} />}
    >
      <Loaded
        of={series}
        isEmpty={({ items }) => items.every(({ charged, refunded }) => charged + refunded === 0)}
        empty="Nothing was used."
      >
        {({ items }) => <UsageChart days={items} />}
      </Loaded>
    </Panel>
  )
}

function UsageChart({ days }: { days: Series['items'] }): ReactNode {
  const charged = days.reduce((sum, day) => sum + day.charged, 0)
  const refunded = days.reduce((sum, day) => sum + day.refunded, 0)
  const withRefusals = days.some(({ refusals }) => refusals !== null)
  return (
    <>
      <BarChart
        label="Usage day by day"
        sum={`${amount(charged)} units used in ${counted(days.length, 'day')}, ${amount(refunded)} given back`}
        bars={days.map((day, index) => ({
          size: Math.max(day.charged, day.refunded),
          part: day.refunded,
          title: `${dayText(day.beganAt)}: ${amount(day.charged)} used, ${amount(day.refunded)} given back`,
          name: index % NAMED_EVERY === 0 ? dayText(day.beganAt) : undefined,
        }))}
      />
      <p className="muted">
        {amount(charged)} used, {amount(refunded)} given back{refunded > 0 ? ': the narrow bars.' : '.'}
      </p>
      <details>
        <summary>As a table</summary>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" className="number">
                Used
              </th>
              <th scope="col" className="number">
                Given back
              </th>
              {withRefusals && (
                <th scope="col" className="number">
                  Refused
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map((day) => (
              <tr key={day.beganAt}>
                <td>{dayText(day.beganAt)}</td>
                <td className="number">{amount(day.charged)}</td>
                <td className="number">{amount(day.refunded)}</td>
                {withRefusals && (
                  <td className="number">
                    {amount(day.refused ?? 0)} in {counted(day.refusals ?? 0, 'attempt')}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  )
}
