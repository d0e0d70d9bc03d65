import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useEffect, useState } from 'react'
import { LatelyChanged, Undo } from './changes.tsx'
import { Ledger } from './ledger-table.tsx'
import { HeldUp, InTheWay, Limits, useCheck } from './limits.tsx'
import { ChainLimits, GroupName, GroupPicker, useChain } from './group-parts.tsx'
import { isForEach, kindOf, QuotaTable } from './quotas.tsx'
import { RefusalChart } from './refusal-chart.tsx'
import { countOf, REASONS, really, hoursBack, useRefusals, WEEK_HOURS } from './refusals.ts'
import { SendLink } from './send-link.tsx'
import { PassedThresholds } from './thresholds.tsx'
import { TopUp } from './top-up.tsx'
import { UsageByDay } from './usage-chart.tsx'
import {
  type Change,
  type ChannelClient,
  type Check,
  type Group,
  isOfQuota,
  newKey,
  type Operation,
  type Quota,
  type Refusal,
} from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { fromNow, now, Time } from '../format.tsx'
import {
  announce,
  Confirm,
  Csv,
  Failure,
  FoldedOnPhone,
  Label,
  Loaded,
  More,
  NumberField,
  Panel,
  QuotaLink,
  Screen,
  UsageBar,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import { MAX_AMOUNT, readWhole } from '../whole-number.ts'

const HOURS = 48
const DAY_MS = 86_400_000
/** The period and the maximum number of recent changes. */
const LATELY_MS = 7 * DAY_MS
const LATELY_ROWS = 5
/** The time for which a lost quota may explain refusals; unlimited if no active quota is left. */
const LOST_MS = 31 * DAY_MS
const LOSSES = 3

export function OwnerScreen({ client, owner }: { client: ChannelClient; owner: number }): ReactNode {
  const [toppingUp, setToppingUp] = useState(false)
  const [sendingLink, setSendingLink] = useState(false)
  const week = hoursBack(WEEK_HOURS)
  const hours = week.slice(-HOURS)
  const refusals = useRefusals(client, owner, week)
  const key = [client.name, 'owner', owner]
  const summary = useQuery({ queryKey: [...key, 'summary'], queryFn: ({ signal }) => client.summary(owner, signal) })
  const quotas = useQuery({ queryKey: [...key, 'active'], queryFn: ({ signal }) => client.activeOf(owner, signal) })
  const lost = useQuery({ queryKey: [...key, 'lost'], queryFn: ({ signal }) => client.lostOf(owner, signal) })
  const changes = useQuery({
    queryKey: [...key, 'changes'],
    queryFn: ({ signal }) => client.changes({ owner }, signal),
    select: ({ items, next }) => ({ items: items.filter(isOfQuota), next }),
  })
  const refused = {
    ...refusals,
    data: refusals.data && really(refusals.data).filter(({ hour }) => hours.includes(hour)),
  }
  const payers = quotas.data?.filter(({ cap }) => cap === null)
  const inGroup = summary.data?.groupId ?? null
  const never =
    inGroup === null &&
    quotas.data?.length === 0 &&
    lost.data?.length === 0 &&
    changes.data?.items.length === 0 &&
    changes.data.next === null
  const lately = (changes.data?.items ?? [])
    .filter(({ at }) => now() - Date.parse(at) < LATELY_MS)
    .slice(0, LATELY_ROWS)
  return (
    <Screen
      title={`${client.Owner} ${owner}`}
      actions={
        <>
          <button type="button" className="primary" onClick={() => setToppingUp(true)}>
            Top up
          </button>
          <More>
            <Link to="/$channel/new" params={{ channel: client.name }} search={{ owner }}>
              New quota
            </Link>
            <button type="button" onClick={() => setSendingLink(true)}>
              Send a link
            </button>
          </More>
        </>
      }
    >
      {refused.data !== undefined && (
        <HeldUp client={client} owner={owner} wanted={askedLast(refused.data) ?? 1} quotas={quotas.data ?? []} />
      )}
      {toppingUp && (
        <TopUp
          client={client}
          owner={owner}
          wanted={askedLast(refused.data ?? [])}
          active={payers ?? []}
          onClose={() => setToppingUp(false)}
        />
      )}
      {sendingLink && <SendLink client={client} owner={owner} onClose={() => setSendingLink(false)} />}
      {never && (
        <p className="notice" role="status">
          This {client.owner} never had a quota. Is {owner} the right number?
        </p>
      )}
      <Panel title="Summary">
        <Loaded of={summary}>
          {(data) =>
            data.caps.length > 0 ? (
              <Limits client={client} summary={data} quotas={quotas.data ?? []} refusals={refusals.data} />
            ) : (
              <>
                <UsageBar {...data} wide />
                <p className="muted">of {counted(data.quotaCount, 'active quota')}</p>
              </>
            )
          }
        </Loaded>
        <Loaded of={refused}>
          {(rows) => (
            <>
              <Why
                client={client}
                owner={owner}
                rows={rows}
                active={payers}
                lost={lost.data?.filter(({ cap }) => cap === null) ?? []}
                changes={changes.data?.items ?? []}
              />
              <WouldFit client={client} owner={owner} suggested={askedLast(rows) ?? 1} />
            </>
          )}
        </Loaded>
      </Panel>
      {summary.data !== undefined && (
        <FoldedOnPhone value>
          <InGroup client={client} owner={owner} groupId={inGroup} />
        </FoldedOnPhone>
      )}
      {lately.length > 0 && (
        <Panel
          title="Changed lately"
          actions={
            <Link to="/$channel/changes" params={{ channel: client.name }} search={{ owner }}>
              All changes of this {client.owner}
            </Link>
          }
        >
          <LatelyChanged client={client} rows={lately} />
        </Panel>
      )}
      <Panel
        title="Active quotas"
        hint="In the order in which they pay: what would be lost soonest first."
        actions={
          <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ owner }}>
            All of this {client.owner}, ended ones too
          </Link>
        }
      >
        <Loaded
          of={{ ...quotas, data: payers }}
          isEmpty={(rows) => rows.length === 0}
          empty={
            inGroup === null
              ? `This ${client.owner} has no active quota: everything is refused.`
              : `This ${client.owner} has no active quota of its own.`
          }
        >
          {(rows) => (
            <QuotaTable client={client} rows={rows} caption="Active quotas in draw-down order" owners={false} />
          )}
        </Loaded>
      </Panel>
      <FoldedOnPhone value>
        <PassedThresholds client={client} of={{ owner }} />
        <Panel title="Open holds" hint="Units that are held until they are committed, released, or their time is over.">
          <Holds client={client} owner={owner} />
        </Panel>
        <UsageByDay client={client} of={{ owner }} limits={quotas.data?.filter(({ cap }) => cap === 'enforce')} />
        <Panel
          title="Refusals by hour"
          hint={`The last ${HOURS} hours.`}
          actions={
            <Csv
              of="refusals"
              file={async () => (await import('../download.ts')).exportRefusals(client, owner, week[0] ?? '')}
            />
          }
        >
          <Loaded of={refused} isEmpty={(rows) => rows.length === 0} empty="Nothing was refused.">
            {(rows) => <RefusalChart rows={rows} hours={hours} />}
          </Loaded>
        </Panel>
        <Panel
          title="Ledger"
          hint="Every consume and every hold, newest first."
          actions={
            <Csv of="ledger" file={async () => (await import('../download.ts')).exportLedger(client, { owner })} />
          }
        >
          <Ledger client={client} of={{ owner }} empty="Nothing was spent or held yet." />
        </Panel>
      </FoldedOnPhone>
    </Screen>
  )
}

/** The group of an owner, what it brings, and the way into another one. */
function InGroup({
  client,
  owner,
  groupId,
}: {
  client: ChannelClient
  owner: number
  groupId: number | null
}): ReactNode {
  const [moving, setMoving] = useState(false)
  const chain = useChain(client, groupId)
  const shared = chain.data?.flatMap(({ quotas }) =>
    quotas.filter((quota) => quota.cap === null && quota.status === 'active' && !isForEach(quota)),
  )
  return (
    <Panel
      title="Group"
      hint={groupId === null ? `This ${client.owner} is in no group.` : undefined}
      actions={
        <button type="button" onClick={() => setMoving(true)}>
          {groupId === null ? 'Add to a group' : 'Move'}
        </button>
      }
    >
      {groupId !== null && <ChainLimits client={client} id={groupId} />}
      {shared !== undefined && shared.length > 0 && (
        <>
          <p>These pay after its own, for all members together:</p>
          <QuotaTable client={client} rows={shared} caption="Shared quotas that pay" owners={false} />
        </>
      )}
      {moving && <Move client={client} owner={owner} from={groupId} onClose={() => setMoving(false)} />}
    </Panel>
  )
}

/** Moves an owner into another group, after showing what limits it there. */
function Move({
  client,
  owner,
  from,
  onClose,
}: {
  client: ChannelClient
  owner: number
  from: number | null
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<Group | null>(null)
  const [key] = useState(newKey)
  return (
    <Confirm
      title={`Move ${client.owner} ${owner}`}
      verb={from === null ? 'Add' : 'Move'}
      ready={chosen !== null && chosen.id !== from}
      onClose={onClose}
      act={async () => {
        if (chosen === null) return
        await client.addMembers(chosen.id, [owner], `${key}-${chosen.id}`)
        announce(`${client.Owner} ${owner} is in ${chosen.name} now.`)
        await refreshed(queries, [client.name])
      }}
    >
      <GroupPicker client={client} legend="Into" chosen={chosen} onChoose={setChosen} />
      {from !== null && (
        <>
          <p>
            It leaves <GroupName client={client} id={from} />, and with it:
          </p>
          <ChainLimits client={client} id={from} />
        </>
      )}
      {chosen !== null && (
        <>
          <p>From then on it is limited by:</p>
          <ChainLimits client={client} id={chosen.id} />
          <p className="hint">What it has used of the groups it leaves stays there. Its own quotas stay as they are.</p>
        </>
      )}
    </Confirm>
  )
}

/** The latest refusal: rows of one hour are not in order of time. */
function latestOf(rows: readonly Refusal[]): Refusal | undefined {
  return rows.toSorted((a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt))[0]
}

/** The amount of the last refused request; undefined if it is unknown. */
function askedLast(rows: readonly Refusal[]): number | undefined {
  return latestOf(rows)?.last ?? undefined
}

/** Explains refusals: the requested amount, whether it fits now, and the lost quotas. */
function Why({
  client,
  owner,
  rows,
  active,
  lost,
  changes,
}: {
  client: ChannelClient
  owner: number
  rows: readonly Refusal[]
  active: readonly Quota[] | undefined
  lost: readonly Quota[]
  changes: readonly Change[]
}): ReactNode {
  const latest = latestOf(rows)
  const losses = lost
    .map((quota) => lossOf(quota, changes))
    .filter(({ at }) => now() - Date.parse(at) < LOST_MS || active?.length === 0)
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, LOSSES)
  if (latest === undefined && (active?.length !== 0 || losses.length === 0)) return null
  const count = countOf(rows)
  const amounts = rows.flatMap(({ smallest, largest }) => [smallest ?? [], largest ?? []]).flat()
  const [smallest, largest] = [Math.min(...amounts), Math.max(...amounts)]
  const others = [...new Set([smallest, largest])].filter((one) => Number.isFinite(one) && one !== latest?.last)
  return (
    <div className="why">
      {latest !== undefined && (
        <p>
          <span aria-hidden="true">⚠ </span>
          Refused {counted(count, 'time')} in the last {HOURS} hours, last <Time at={latest.lastAt} ago />:{' '}
          <b>{REASONS[latest.code]}</b>
          {latest.last != null && <>, asked for {amount(latest.last)}</>}.
          {count > 1 && amounts.length > 0 && (
            <>
              {' '}
              {smallest === largest
                ? `Each asked for ${amount(smallest)}.`
                : `They asked for ${amount(smallest)} to ${amount(largest)}.`}
            </>
          )}
        </p>
      )}
      {losses.length > 0 && (
        <ul>
          {losses.map((loss) => (
            <li key={loss.quota.id}>
              <Loss client={client} {...loss} />
            </li>
          ))}
        </ul>
      )}
      {latest !== undefined && others.map((one) => <Fits key={one} client={client} owner={owner} wanted={one} />)}
    </div>
  )
}

interface LostQuota {
  readonly quota: Quota
  readonly what: 'deleted' | 'disabled' | 'expired'
  readonly at: string
  /** The change that caused it, if there is one and it is known. */
  readonly change: Change | undefined
}

/** The time from which a quota no longer pays, and the change that caused it. */
function lossOf(quota: Quota, changes: readonly Change[]): LostQuota {
  const { deletedAt, status, expireAt, updatedAt } = quota
  const what = deletedAt !== undefined ? 'deleted' : status === 'disabled' ? 'disabled' : 'expired'
  const change = changes.find(
    ({ quotaId, action, after }) =>
      quotaId === quota.id &&
      (what === 'deleted'
        ? action === 'delete'
        : action === 'update' && (what === 'disabled' ? after.status === 'disabled' : after.expireAt === expireAt)),
  )
  const at = what === 'deleted' ? deletedAt : what === 'disabled' ? change?.at : expireAt
  // An end that was set to a time in the past takes effect when it is set.
  const since = what === 'expired' && change !== undefined && change.at > (at ?? '') ? change.at : at
  return { quota, what, at: since ?? updatedAt, change }
}

function Loss({ client, quota, what, at, change }: LostQuota & { client: ChannelClient }): ReactNode {
  return (
    <>
      <QuotaLink channel={client.name} id={quota.id} /> {quota.label !== null && <Label text={quota.label} />} (
      {amount(quota.total)}, {kindOf(quota)}) is <b>{what}</b> since <Time at={at} ago />
      {change !== undefined && (
        <>
          , by <b>{change.actor}</b> <Undo client={client} change={change} />
        </>
      )}
    </>
  )
}

/** Whether an amount fits now, and otherwise when, as a sentence. */
function Fits({ client, owner, wanted }: { client: ChannelClient; owner: number; wanted: number }): ReactNode {
  const asked = useCheck(client, owner, wanted)
  if (asked.error !== null) return <Failure error={asked.error} />
  return asked.data === undefined ? null : <Verdict client={client} check={asked.data} />
}

/**
 * A form that checks whether an amount fits, and otherwise when.
 * @param suggested the amount of the last refusal, whose answer is shown at first
 */
function WouldFit({
  client,
  owner,
  suggested,
}: {
  client: ChannelClient
  owner: number
  suggested: number
}): ReactNode {
  const [text, setText] = useState(String(suggested))
  const [wanted, setWanted] = useState(suggested)
  const reading = readWhole(text, { min: 1, max: MAX_AMOUNT })
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    if (reading.value === undefined) event.currentTarget.querySelector('input')?.focus()
    else setWanted(reading.value)
  }
  return (
    <form className="would-fit" onSubmit={submit}>
      <NumberField
        label="Would this many fit?"
        text={text}
        reading={reading}
        onText={setText}
        error={reading.mistake}
        className="short"
      />
      <button type="submit">Ask</button>
      <div className="verdict" role="status">
        <Fits client={client} owner={owner} wanted={wanted} />
      </div>
    </form>
  )
}

function Verdict({ client, check }: { client: ChannelClient; check: Check }): ReactNode {
  const { allowed, requested, remaining, refillsAt, caps } = check
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
      {amount(requested)} would be refused:{' '}
      {caps.length === 0 ? `${amount(remaining)} left` : <InTheWay client={client} check={check} />}.{' '}
      {refillsAt === null ? (
        caps.length === 0 ? (
          'No reset will make it fit; top up.'
        ) : (
          'No reset will make it fit.'
        )
      ) : (
        <>
          It fits from <Time at={refillsAt} ago /> on.
        </>
      )}
    </p>
  )
}

function Holds({ client, owner }: { client: ChannelClient; owner: number }): ReactNode {
  const queries = useQueryClient()
  const [releasing, setReleasing] = useState<Operation>()
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <Ledger
        client={client}
        of={{ owner }}
        state="reserved"
        empty="Nothing is held."
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
            await client.release(releasing.id)
            announce('The hold is released.')
            await refreshed(queries, [client.name])
          }}
        >
          <p>
            {counted(releasing.amount, 'unit returns', 'units return')} to what is left. Whoever made the hold can not
            commit it any more. <b>This cannot be undone.</b>
          </p>
        </Confirm>
      )}
    </>
  )
}
