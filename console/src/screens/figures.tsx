import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PartKind } from './bar-chart.tsx'
import { countOf, DAY_HOURS, observed, really, since, TOP_ROWS, hoursBack, useTopRefusals } from './refusals.ts'
import { useNearTheLimit } from './thresholds.tsx'
import type { ChannelClient, Refusal } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { HOUR_MS } from '../axis.ts'
import { now } from '../format.tsx'

/** The days of usage that are shown, the running one last; as midnight is for whoever looks. */
const DAYS = 7
/** An owner counts as blocked for this long after a refusal, as in the events of refusals. */
const BLOCKED_MS = 3_600_000

/** The figures at the top of the overview, each with a link to what explains it. */
export function Figures({ client }: { client: ChannelClient }): ReactNode {
  // At each reading: the page may stay open over midnight.
  const midnights = lastMidnights()
  const hours = hoursBack(DAY_HOURS)
  // The keys name no time: another hour must not empty the figures.
  const usage = useQuery({
    queryKey: [client.name, 'used', 'by hour'],
    queryFn: ({ signal }) => client.allUsage(new Date(lastMidnights()[0] ?? 0).toISOString(), signal),
  })
  // The hour in which the first day begins may have begun before.
  const begin = (midnights[0] ?? 0) - HOUR_MS
  const used = usage.data
    ?.map(({ beganAt, ...units }) => ({ ...units, at: Date.parse(beganAt) }))
    .filter(({ at }) => at > begin)
  const byDay = midnights.map((from, index) =>
    sumOf((used ?? []).filter(({ at }) => at >= from && at < (midnights[index + 1] ?? Infinity))),
  )
  const back = (used ?? []).reduce((sum, { refunded }) => sum + refunded, 0)
  const refusals = useQuery({
    queryKey: [client.name, 'refused', 'by hour'],
    queryFn: ({ signal }) => client.allRefusals(hoursBack(DAY_HOURS)[0] ?? '', signal),
    select: (rows) => since(rows, hours),
  })
  const top = useTopRefusals(client)
  const near = useNearTheLimit(client)
  const watching = useQuery({
    queryKey: [client.name, 'watching'],
    queryFn: ({ signal }) => client.quotas({ cap: 'observe', status: 'active', pageSize: 1 }, signal),
  })
  const [refused, watched] = [really(refusals.data ?? []), observed(refusals.data ?? [])]
  const byHour = (rows: readonly Refusal[]): number[] =>
    hours.map((hour) => countOf(rows.filter((row) => row.hour === hour)))
  const [midnight = 0] = midnights.slice(-1)
  const blocked = new Set(
    really(top.data ?? [])
      .filter(({ lastAt }) => now() - Date.parse(lastAt) < BLOCKED_MS)
      .map(({ owner }) => owner),
  )
  const operations = (name: string): ReactNode => (
    <Link to="/$channel/operations" params={{ channel: client.name }} search={{}}>
      {name}
    </Link>
  )
  const below = (hash: string) => (name: string) => (
    <Link to="/$channel" params={{ channel: client.name }} search={{}} hash={hash}>
      {name}
    </Link>
  )
  return (
    <ul className="figures" aria-label="Figures">
      <Figure
        name="Units today"
        value={used && byDay.at(-1)}
        note={`${amount(sumOf((used ?? []).slice(-DAY_HOURS)))} in ${DAY_HOURS} hours`}
        link={operations}
        bars={(used ?? []).slice(-DAY_HOURS).map(({ charged }) => charged)}
      />
      <Figure
        name={`Units in ${DAYS} days`}
        value={used && sumOf(used)}
        note={`${amount(back)} given back`}
        link={operations}
        bars={byDay}
      />
      <Figure
        name="Refused today"
        value={refusals.data && countOf(refused.filter(({ hour }) => Date.parse(hour) >= midnight))}
        note={`${amount(countOf(refused))} in ${DAY_HOURS} hours`}
        link={below('refused')}
        bars={byHour(refused)}
        kind="refused"
      />
      <Figure
        name={`${client.Owner}s blocked now`}
        value={top.data && blocked.size}
        more={top.data?.length === TOP_ROWS}
        note="refused within the last hour"
        link={below('refused')}
      />
      <Figure
        name="Quotas near the limit"
        value={near.data?.items.length}
        more={near.data?.more}
        note="over one of their thresholds"
        link={below('near')}
      />
      <Figure
        name="Caps that only watch"
        value={watching.data?.total}
        note={`would have refused ${counted(countOf(watched), 'time')} in ${DAY_HOURS} hours`}
        link={(name) => (
          <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ cap: 'observe', status: 'active' }}>
            {name}
          </Link>
        )}
        bars={byHour(watched)}
        kind="observed"
      />
    </ul>
  )
}

/** The midnights with which the days that are shown begin. */
function lastMidnights(): readonly number[] {
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(now())
    day.setDate(day.getDate() + 1 + index - DAYS)
    return day.setHours(0, 0, 0, 0)
  })
}

function sumOf(hours: readonly { readonly charged: number }[]): number {
  return hours.reduce((sum, { charged }) => sum + charged, 0)
}

function Figure({
  name,
  value,
  more = false,
  note,
  link,
  bars = [],
  kind = 'used',
}: {
  name: string
  /** Undefined while it is not known. */
  value: number | undefined
  /** Is the value a lower bound? */
  more?: boolean | undefined
  note: string
  link: (name: string) => ReactNode
  /** The course of the value, by hour or day; the note says what it is about. */
  bars?: readonly number[]
  kind?: PartKind
}): ReactNode {
  const most = Math.max(...bars)
  return (
    <li className="figure">
      {link(name)}
      <b>
        {value === undefined ? '–' : amount(value)}
        {more && ' or more'}
      </b>
      {value !== undefined && <p className="hint">{note}</p>}
      {most > 0 && (
        <svg viewBox={`0 0 ${bars.length * 4} 24`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
          <line x1="0" x2={bars.length * 4} y1="24" y2="24" className="axis" />
          {bars.map((size, index) => (
            <rect
              key={index}
              x={index * 4}
              width="3"
              y={24 - (size / most) * 24}
              height={(size / most) * 24}
              className={`bar-${kind}`}
            />
          ))}
        </svg>
      )}
    </li>
  )
}
