import type { ReactNode } from 'react'
import { BarChart } from './bar-chart.tsx'
import type { Refusal } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { Time, timeText } from '../format.tsx'
import { REASONS } from './overview.tsx'

const HOUR_MS = 3_600_000
/** Hours between two labels of the axis. */
const NAMED_EVERY = 12

/** Refusals by hour, as bars and as a table with the numbers. */
export function RefusalChart({
  rows,
  from,
  hours,
}: {
  rows: readonly Refusal[]
  from: string
  hours: number
}): ReactNode {
  const start = Date.parse(from)
  const bars = Array.from({ length: hours }, (_, index) => {
    const hour = start + index * HOUR_MS
    const own = rows.filter((row) => Date.parse(row.hour) === hour)
    return { hour: new Date(hour), count: own.reduce((sum, { count }) => sum + count, 0) }
  })
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const all = rows.reduce((sum, { count }) => sum + count, 0)
  return (
    <>
      <BarChart
        label="Refusals hour by hour"
        sum={`${counted(all, 'refusal')}; at most ${amount(most)} in an hour`}
        bars={bars.map(({ hour, count }, index) => ({
          size: count,
          title: `${timeText(hour.toISOString())}: ${amount(count)}`,
          name: index % NAMED_EVERY === 0 ? timeText(hour.toISOString()) : undefined,
        }))}
      />
      <details>
        <summary>As a table</summary>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Hour from</th>
              <th scope="col">Why</th>
              <th scope="col" className="number">
                Times
              </th>
              <th scope="col" className="number">
                Units asked for
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ hour, code, count, requested }) => (
              <tr key={hour + code}>
                <td>
                  <Time at={hour} />
                </td>
                <td>{REASONS[code]}</td>
                <td className="number">{amount(count)}</td>
                <td className="number">{amount(requested)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  )
}
