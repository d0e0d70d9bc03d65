import type { ReactNode } from 'react'
import type { Refusal } from '../desk.ts'
import { amount, counted, Time, timeText } from '../format.tsx'
import { REASONS } from './overview.tsx'

const HOUR_MS = 3_600_000
const WIDTH = 960
const HEIGHT = 140
const FLOOR = 118
const TOP = 14
/** Hours between two names below. */
const NAMED_EVERY = 12

/** Refusals hour by hour as bars; and as a table, for whoever wants the numbers. */
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
  const step = WIDTH / hours
  const all = rows.reduce((sum, { count }) => sum + count, 0)
  return (
    <>
      <div className="chart" role="group" aria-label="Refusals hour by hour" tabIndex={0}>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="img"
          aria-label={`${counted(all, 'refusal')}; at most ${amount(most)} in an hour`}
        >
          <line x1="0" x2={WIDTH} y1={FLOOR + 0.5} y2={FLOOR + 0.5} className="axis" />
          <line x1="0" x2={WIDTH} y1={TOP} y2={TOP} className="grid-line" />
          <text x="0" y={TOP - 3} className="tick">
            {amount(most)}
          </text>
          {bars.map(({ hour, count }, index) => {
            const height = (count / most) * (FLOOR - TOP)
            return (
              <g key={index}>
                <rect x={index * step + 1.5} width={step - 3} y={FLOOR - height} height={height} rx="2" className="bar">
                  <title>{`${timeText(hour.toISOString())}: ${amount(count)}`}</title>
                </rect>
                {index % NAMED_EVERY === 0 && (
                  <>
                    <line x1={index * step + 0.5} x2={index * step + 0.5} y1={FLOOR} y2={FLOOR + 5} className="axis" />
                    <text x={index * step + 3} y={FLOOR + 16} className="tick">
                      {timeText(hour.toISOString())}
                    </text>
                  </>
                )}
              </g>
            )
          })}
        </svg>
      </div>
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
