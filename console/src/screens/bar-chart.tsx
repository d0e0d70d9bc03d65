import type { ReactNode } from 'react'
import { amount } from '../amount.ts'

const WIDTH = 960
const HEIGHT = 140
const FLOOR = 118
const TOP = 14

/** One bar: a span of time. */
export interface Bar {
  readonly size: number
  /** A part of `size`, drawn within the bar. */
  readonly part?: number
  /** The tooltip. */
  readonly title: string
  /** The label below the bar. */
  readonly name?: string | undefined
}

/** A bar chart over time; a table beside it contains the numbers. */
export function BarChart({
  label,
  sum,
  bars,
}: {
  /** The accessible name of the chart. */
  label: string
  /** A summary, for screen readers. */
  sum: string
  bars: readonly Bar[]
}): ReactNode {
  const most = Math.max(1, ...bars.map(({ size }) => size))
  const step = WIDTH / bars.length
  const high = (size: number): number => (size / most) * (FLOOR - TOP)
  return (
    <div className="chart" role="group" aria-label={label} tabIndex={0}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={sum}>
        <line x1="0" x2={WIDTH} y1={FLOOR + 0.5} y2={FLOOR + 0.5} className="axis" />
        <line x1="0" x2={WIDTH} y1={TOP} y2={TOP} className="grid-line" />
        <text x="0" y={TOP - 3} className="tick">
          {amount(most)}
        </text>
        {bars.map(({ size, part = 0, title, name }, index) => (
          <g key={index}>
            <rect
              x={index * step + 1.5}
              width={step - 3}
              y={FLOOR - high(size)}
              height={high(size)}
              rx="2"
              className="bar"
            />
            {part > 0 && (
              <rect
                x={index * step + step / 3}
                width={step / 3}
                y={FLOOR - high(part)}
                height={high(part)}
                className="bar-part"
              />
            )}
            {name !== undefined && (
              <>
                <line x1={index * step + 0.5} x2={index * step + 0.5} y1={FLOOR} y2={FLOOR + 5} className="axis" />
                <text x={index * step + 3} y={FLOOR + 16} className="tick">
                  {name}
                </text>
              </>
            )}
            {/* The full height, so that a small bar is easy to point at. */}
            <rect x={index * step} width={step} y={0} height={FLOOR} className="bar-target">
              <title>{title}</title>
            </rect>
          </g>
        ))}
      </svg>
    </div>
  )
}
