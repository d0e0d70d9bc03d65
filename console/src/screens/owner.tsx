import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useEffect, useState } from 'react'
import { LedgerTable } from './ledger-table.tsx'
import { REASONS } from './overview.tsx'
import { QuotaTable } from './quotas.tsx'
import { RefusalChart } from './refusal-chart.tsx'
import { TopUp } from './top-up.tsx'
import { UsageByDay } from './usage-chart.tsx'
import type { Check, Desk, Operation, Refusal } from '../desk.ts'
import { amount, counted, fromNow, now, Time } from '../format.tsx'
import { announce, Confirm, Failure, Field, Loaded, Panel, Screen, UsageBar } from '../parts.tsx'

const HOURS = 48
const HOUR_MS = 3_600_000

export function OwnerScreen({ desk, owner }: { desk: Desk; owner: number }): ReactNode {
  const [toppingUp, setToppingUp] = useState(false)
  // Whole hours, so that the key stays the same while the screen does.
  const [from] = useState(() => new Date(Math.floor(now() / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS).toISOString())
  const key = [desk.name, 'owner', owner]
  const summary = useQuery({ queryKey: [...key, 'summary'], queryFn: ({ signal }) => desk.summary(owner, signal) })
  const quotas = useQuery({ queryKey: [...key, 'active'], queryFn: ({ signal }) => desk.activeOf(owner, signal) })
  const holds = useQuery({
    queryKey: [...key, 'holds'],
    queryFn: ({ signal }) => desk.ledger({ owner, state: 'reserved' }, signal),
  })
  const refusals = useQuery({
    queryKey: [...key, 'refusals', from],
    queryFn: ({ signal }) => desk.refusals(owner, from, signal),
  })
  const ledger = useQuery({
    queryKey: [...key, 'ledger'],
    queryFn: ({ signal }) => desk.ledger({ owner, pageSize: 20 }, signal),
  })
  return (
    <Screen
      title={`${desk.Owner} ${owner}`}
      actions={
        <>
          <button type="button" className="primary" onClick={() => setToppingUp(true)}>
            Top up
          </button>
          <Link className="button" to="/$channel/new" params={{ channel: desk.name }} search={{ owner }}>
            New quota
          </Link>
        </>
      }
    >
      {toppingUp && <TopUp desk={desk} owner={owner} active={quotas.data ?? []} onClose={() => setToppingUp(false)} />}
      <Panel title="Now">
        <Loaded of={summary}>
          {(data) => (
            <>
              <UsageBar {...data} wide />
              <p className="muted">of {counted(data.quotaCount, 'active quota')}</p>
            </>
          )}
        </Loaded>
        <Loaded of={refusals}>
          {(rows) => (
            <>
              <Why rows={rows} />
              <WouldFit desk={desk} owner={owner} suggested={askedOnAverage(rows) ?? 1} />
            </>
          )}
        </Loaded>
      </Panel>
      <Panel
        title="Active quotas"
        hint="In the order in which they pay: what would be lost soonest first."
        actions={
          <Link to="/$channel/quotas" params={{ channel: desk.name }} search={{ owner }}>
            All of this {desk.owner}, ended ones too
          </Link>
        }
      >
        <Loaded
          of={quotas}
          isEmpty={(rows) => rows.length === 0}
          empty={`This ${desk.owner} has no active quota: everything is refused.`}
        >
          {(rows) => <QuotaTable desk={desk} rows={rows} caption="Active quotas in draw-down order" owners={false} />}
        </Loaded>
      </Panel>
      <Panel title="Open holds" hint="Units that are held until they are committed, released, or their time is over.">
        <Loaded of={holds} isEmpty={({ items }) => items.length === 0} empty="Nothing is held.">
          {({ items }) => <Holds desk={desk} rows={items} />}
        </Loaded>
      </Panel>
      <UsageByDay desk={desk} of={{ owner }} />
      <Panel title="Refusals by hour" hint={`The last ${HOURS} hours.`}>
        <Loaded of={refusals} isEmpty={(rows) => rows.length === 0} empty="Nothing was refused.">
          {(rows) => <RefusalChart rows={rows} from={from} hours={HOURS} />}
        </Loaded>
      </Panel>
      <Panel title="Ledger" hint="The latest 20 operations.">
        <Loaded of={ledger} isEmpty={({ items }) => items.length === 0} empty="Nothing was spent or held yet.">
          {({ items }) => <LedgerTable desk={desk} rows={items} />}
        </Loaded>
      </Panel>
    </Screen>
  )
}

/** Units that a refused request wanted; undefined where none was refused. */
function askedOnAverage(rows: readonly Refusal[]): number | undefined {
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  return count === 0 ? undefined : Math.max(1, Math.round(rows.reduce((sum, row) => sum + row.requested, 0) / count))
}

/** The answer to "why was it refused?", in a sentence. */
function Why({ rows }: { rows: readonly Refusal[] }): ReactNode {
  const [latest] = rows
  if (latest === undefined) return null
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  return (
    <p className="why">
      <span aria-hidden="true">⚠ </span>
      Refused {counted(count, 'time')} in the last {HOURS} hours, last <Time at={latest.lastAt} ago />:{' '}
      {REASONS[latest.code]}. On average {amount(askedOnAverage(rows) ?? 0)} units were asked for.
    </p>
  )
}

/**
 * Asks the service whether an amount would fit, and if not, when.
 * @param suggested what was refused, so that the answer stands there unasked
 */
function WouldFit({ desk, owner, suggested }: { desk: Desk; owner: number; suggested: number }): ReactNode {
  const [text, setText] = useState(String(suggested))
  const [wanted, setWanted] = useState(suggested)
  const asked = useQuery({
    queryKey: [desk.name, 'owner', owner, 'check', wanted],
    queryFn: ({ signal }) => desk.check(owner, wanted, signal),
  })
  const value = Number(text)
  const wrong = !Number.isInteger(value) || value < 1 || value > 1e12
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (!wrong) setWanted(value)
  }
  return (
    <form className="would-fit" onSubmit={submit}>
      <Field label="Would this many fit?" error={wrong ? 'a whole number from 1' : undefined} className="short">
        {(ids) => <input {...ids} inputMode="numeric" value={text} onChange={(event) => setText(event.target.value)} />}
      </Field>
      <button type="submit">Ask</button>
      <div className="verdict" role="status">
        {asked.error !== null ? (
          <Failure error={asked.error} />
        ) : (
          asked.data !== undefined && <Verdict check={asked.data} />
        )}
      </div>
    </form>
  )
}

function Verdict({ check: { allowed, requested, remaining, refillsAt } }: { check: Check }): ReactNode {
  if (allowed) {
    return (
      <p className="yes">
        <span aria-hidden="true">✓ </span>
        {amount(requested)} would fit now.
      </p>
    )
  }
  return (
    <p className="no">
      <span aria-hidden="true">✕ </span>
      {amount(requested)} would be refused: {amount(remaining)} left.{' '}
      {refillsAt === null ? (
        'No reset will make it fit; top up.'
      ) : (
        <>
          It fits from <Time at={refillsAt} ago /> on.
        </>
      )}
    </p>
  )
}

function Holds({ desk, rows }: { desk: Desk; rows: readonly Operation[] }): ReactNode {
  const queries = useQueryClient()
  const [releasing, setReleasing] = useState<Operation>()
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <LedgerTable
        desk={desk}
        rows={rows}
        last={{
          head: 'Time left',
          cell: (hold) => (
            <span className="hold">
              {hold.expiresAt !== null && (
                <time dateTime={hold.expiresAt} title={hold.expiresAt}>
                  {fromNow(hold.expiresAt)}
                </time>
              )}
              <button
                type="button"
                aria-label={`Release the hold of ${amount(hold.amount)}`}
                onClick={() => setReleasing(hold)}
              >
                Release
              </button>
            </span>
          ),
        }}
      />
      {releasing !== undefined && (
        <Confirm
          title="Release this hold?"
          verb="Release"
          danger
          onClose={() => setReleasing(undefined)}
          act={async () => {
            await desk.release(releasing.id)
            announce('The hold is released.')
            await queries.invalidateQueries({ queryKey: [desk.name] })
          }}
        >
          <p>
            {amount(releasing.amount)} units return to what is left. Whoever made the hold can not commit it any more.{' '}
            <b>This cannot be undone.</b>
          </p>
        </Confirm>
      )}
    </>
  )
}
