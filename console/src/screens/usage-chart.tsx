import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { BarChart } from './bar-chart.tsx'
import type { ChannelClient, Quota, Series } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { limitOfDay } from '../axis.ts'
import { dayText } from '../format.tsx'
import { limitText } from '../limits.ts'
import { Csv, Loaded, Panel } from '../parts.tsx'
import { limitOfQuota } from '../settings.ts'

/** The usage of an owner or a quota by day, for the last 30 days. */
export function UsageByDay({
  client,
  of,
  limits = [],
}: {
  client: ChannelClient
  of: { owner: number } | { quotaId: number }
  /** The quotas and caps that limit this usage. */
  limits?: readonly Quota[] | undefined
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
        isEmpty={({ items }) =>
          items.every(({ charged, refunded, refusals }) => charged + refunded + (refusals ?? 0) === 0)
        }
        empty="Nothing was used."
      >
        {({ items }) => <UsageChart days={items} limits={limits} />}
      </Loaded>
    </Panel>
  )
}

function UsageChart({ days, limits }: { days: Series['items']; limits: readonly Quota[] }): ReactNode {
  const sumOf = (name: 'charged' | 'refunded' | 'refused' | 'refusals'): number =>
    days.reduce((sum, day) => sum + (day[name] ?? 0), 0)
  const [charged, refunded, refused] = [sumOf('charged'), sumOf('refunded'), sumOf('refused')]
  const withRefusals = days.some(({ refusals }) => refusals !== null)
  const refusedText = (units: number, attempts: number): string =>
    attempts === 0 ? '' : `, ${amount(units)} refused in ${counted(attempts, 'attempt')}`
  const daily = limits.flatMap((quota) => {
    const size = limitOfDay(quota)
    return size === undefined ? [] : [{ size, text: `limit: ${limitText(limitOfQuota(quota))}` }]
  })
  return (
    <BarChart
      label="Usage day by day"
      unit="units in a day"
      sum={`${amount(charged)} used in ${counted(days.length, 'day')}, ${amount(refunded)} given back${refusedText(refused, sumOf('refusals'))}.`}
      step="day"
      bars={days.map((day) => ({
        at: day.beganAt,
        parts: [
          { kind: 'used', size: day.charged },
          { kind: 'refused', size: day.refused ?? 0 },
        ],
        returned: day.refunded,
        text: `${dayText(day.beganAt)}: ${amount(day.charged)} used, ${amount(day.refunded)} given back${refusedText(day.refused ?? 0, day.refusals ?? 0)}`,
      }))}
      limit={daily.length === 1 ? daily[0] : undefined}
      legend={[
        ['used', 'used'],
        ...(refused > 0 ? [['refused', 'refused'] as const] : []),
        ...(refunded > 0 ? [['returned', 'given back'] as const] : []),
      ]}
      table={
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
      }
    />
  )
}
