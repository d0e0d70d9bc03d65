import { type KeyboardEvent, type PointerEvent, type ReactNode, useCallback, useId, useState } from 'react'
import { amount } from '../amount.ts'
import { fitsAbove, highestOf, namedTimes, type Step, ticksTo } from '../axis.ts'
import { barNames } from '../format.tsx'

const HEIGHT = 180
const FLOOR = 152
const TOP = 26
/** The width before the chart has been measured. */
const WIDTH = 960
const MIN_WIDTH = 200
/** The room of a name below the axis, and of a digit beside it. */
const NAME_WIDTH = 64
const DIGIT_WIDTH = 7

/** What a part of a bar is, which selects its colour. */
export type PartKind = 'used' | 'refused' | 'observed' | 'returned'

/** One bar: a step of time. */
export interface Bar {
  readonly at: string
  /** From the axis upwards. What is too large for the picture is cut. */
  readonly parts: readonly { readonly kind: PartKind; readonly size: number }[]
  /** A narrow bar before the others. */
  readonly returned?: number
  /** Its values, in words. */
  readonly text: string
}

/**
 * A bar chart over time. The values of a bar are shown where the pointer is, and with the arrow keys; a table has the
 * same numbers.
 */
export function BarChart({
  label,
  unit,
  sum,
  step,
  bars,
  limit,
  legend,
  table,
}: {
  /** The accessible name of the chart. */
  label: string
  /** What the axis counts. */
  unit: string
  /** A summary. */
  sum: string
  step: Step
  bars: readonly Bar[]
  /** A line across all bars, if there is one limit for each of them. */
  limit?: { readonly size: number; readonly text: string } | undefined
  /** The names of the colours, if there are several. */
  legend: readonly (readonly [PartKind, string])[]
  table: ReactNode
}): ReactNode {
  const id = useId()
  const [width, setWidth] = useState(WIDTH)
  const [chosen, setChosen] = useState<number>()
  const measured = useCallback((chart: HTMLDivElement) => {
    const observer = new ResizeObserver(() => setWidth(Math.max(MIN_WIDTH, chart.clientWidth)))
    observer.observe(chart)
    return () => observer.disconnect()
  }, [])
  const highest = highestOf(
    bars.map(({ parts, returned = 0 }) => ({ low: Math.max(parts[0]?.size ?? 0, returned), high: sizeOf(parts) })),
  )
  const line = limit !== undefined && fitsAbove(limit.size, highest) ? limit : undefined
  const ticks = ticksTo(Math.max(highest, line?.size ?? 0))
  const top = ticks.at(-1) ?? 1
  const isCut = (parts: Bar['parts']): boolean => sizeOf(parts) > top
  const left = Math.max(...ticks.map((tick) => amount(tick).length)) * DIGIT_WIDTH + 8
  const wide = (width - left) / bars.length
  const gap = Math.min(3, wide / 4)
  const y = (size: number): number => FLOOR - (Math.min(size, top) / top) * (FLOOR - TOP)
  const starts = bars.map(({ at }) => Date.parse(at))
  const names = barNames(starts, step)
  const named = namedTimes(starts, step, Math.max(2, Math.floor((width - left) / NAME_WIDTH)), offsetOf)
  const point = ({ clientX, currentTarget }: PointerEvent): void => {
    const index = Math.floor((clientX - currentTarget.getBoundingClientRect().left - left) / wide)
    setChosen(index >= 0 && index < bars.length ? index : undefined)
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') return setChosen(undefined)
    const last = bars.length - 1
    const to: Readonly<Record<string, number>> = {
      ArrowLeft: chosen === undefined ? last : Math.max(0, chosen - 1),
      ArrowRight: chosen === undefined ? 0 : Math.min(last, chosen + 1),
      Home: 0,
      End: last,
    }
    const index = to[event.key]
    if (index === undefined) return
    event.preventDefault()
    setChosen(index)
  }
  return (
    <div>
      {(legend.length > 1 || line !== undefined) && (
        <ul className="legend">
          {legend.map(([kind, text]) => (
            <li key={kind} className={`legend-${kind}`}>
              {text}
            </li>
          ))}
          {line !== undefined && <li className="legend-limit">{line.text}</li>}
        </ul>
      )}
      {/* An application, so that screen readers leave the arrow keys to it. */}
      <div
        ref={measured}
        className="chart"
        role="application"
        aria-roledescription="chart"
        aria-label={label}
        aria-describedby={`${id}sum ${id}keys`}
        tabIndex={0}
        onKeyDown={press}
        onBlur={() => setChosen(undefined)}
      >
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          aria-hidden="true"
          focusable="false"
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setChosen(undefined)}
        >
          <text x="0" y="11" className="tick">
            {unit}
          </text>
          {ticks.map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width} y1={y(tick)} y2={y(tick)} className={tick === 0 ? 'axis' : 'grid-line'} />
              <text x={left - 6} y={y(tick) + 4} className="tick tick-beside">
                {amount(tick)}
              </text>
            </g>
          ))}
          {chosen !== undefined && (
            <rect x={left + chosen * wide} width={wide} y={TOP} height={FLOOR - TOP} className="bar-chosen" />
          )}
          {bars.map(({ at, parts, returned = 0 }, index) => {
            const x = left + index * wide
            let below = 0
            return (
              <g key={at}>
                {parts.map(({ kind, size }) => {
                  const from = below
                  below += size
                  return (
                    size > 0 && (
                      <rect
                        key={kind}
                        x={x + gap / 2}
                        width={wide - gap}
                        y={y(below)}
                        height={Math.max(1, y(from) - y(below))}
                        className={`bar-${kind}`}
                      />
                    )
                  )
                })}
                {isCut(parts) && <path d={`M${x + wide / 2} ${TOP - 9}l4 6h-8z`} className="bar-refused" />}
                {returned > 0 && (
                  <rect
                    x={x + wide / 3}
                    width={wide / 3}
                    y={y(returned)}
                    height={FLOOR - y(returned)}
                    className="bar-returned"
                  />
                )}
              </g>
            )
          })}
          {named.map((index) => (
            <g key={index}>
              <line x1={left + index * wide} x2={left + index * wide} y1={FLOOR} y2={FLOOR + 5} className="axis" />
              {left + index * wide + NAME_WIDTH <= width + DIGIT_WIDTH && (
                <text x={left + index * wide + 1} y={FLOOR + 18} className="tick">
                  {names[index]}
                </text>
              )}
            </g>
          ))}
          {line !== undefined && (
            <line x1={left} x2={width} y1={y(line.size)} y2={y(line.size)} className="limit-line" />
          )}
        </svg>
      </div>
      {/* In the place of the summary, so that nothing below moves. */}
      <p className={chosen === undefined ? 'visually-hidden' : 'readout'} aria-live="polite">
        {chosen === undefined ? '' : bars[chosen]?.text}
      </p>
      <p id={`${id}sum`} className={chosen === undefined ? 'muted' : 'visually-hidden'}>
        {sum}
        {bars.some(({ parts }) => isCut(parts)) && ' Where ▲ stands, more was refused than the picture has room for.'}
        {limit !== undefined && line === undefined && ` Far below the ${limit.text}.`}
      </p>
      <p id={`${id}keys`} className="visually-hidden">
        Arrow keys show each {step}.
      </p>
      <details>
        <summary>Show as table</summary>
        {table}
      </details>
    </div>
  )
}

function sizeOf(parts: Bar['parts']): number {
  return parts.reduce((all, { size }) => all + size, 0)
}

/** The offset of the browser's time zone. */
function offsetOf(at: number): number {
  return -new Date(at).getTimezoneOffset() * 60_000
}
