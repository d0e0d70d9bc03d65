import type { ReactNode } from 'react'
import { BarChart } from './bar-chart.tsx'
import { countOf, REASONS } from './refusals.ts'
import type { Refusal } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { Time, timeText } from '../format.tsx'

/** Refusals by hour. */
export function RefusalChart({
  rows,
  hours,
  watched = false,
}: {
  rows: readonly Refusal[]
  /** The beginnings of the hours. */
  hours: readonly string[]
  /** Are they those that a cap that only watches would have caused? */
  watched?: boolean
}): ReactNode {
  const bars = hours.map((at) => {
    const own = rows.filter(({ hour }) => hour === at)
    const reasons = own.map(({ code, count }) => `${REASONS[code]}: ${amount(count)}`)
    const requested = own.reduce((sum, row) => sum + row.requested, 0)
    return {
      at,
      parts: [{ kind: watched ? ('observed' as const) : ('refused' as const), size: countOf(own) }],
      text: `${timeText(at)}: ${own.length === 0 ? 'none' : `${reasons.join(', ')}; ${counted(requested, 'unit')} asked for`}`,
    }
  })
  const most = Math.max(...bars.map(({ parts }) => parts[0]?.size ?? 0))
  return (
    <BarChart
      label={watched ? 'What would have been refused, hour by hour' : 'Refusals hour by hour'}
      unit={watched ? 'times in an hour' : 'refusals in an hour'}
      sum={`${watched ? `${counted(countOf(rows), 'time')} it would have refused` : counted(countOf(rows), 'refusal')}; at most ${amount(most)} in an hour.`}
      step="hour"
      bars={bars}
      legend={[]}
      table={
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
      }
    />
  )
}
