import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Cap, Check, ChannelClient, Quota, Refusal, Summary } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { Time } from '../format.tsx'
import { exampleOf, limitText } from '../limits.ts'
import { announce, CapBadge, Confirm, Label, QuotaLink, UsageBar } from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import { limitOfQuota } from '../settings.ts'
import { GroupName } from './group-parts.tsx'
import { countOf, observed } from './refusals.ts'

/*
 * The limits of an owner: the quotas that pay, and the caps.
 */

/** A notice if caps refuse the amount of the last refusal, or a single unit. */
export function HeldUp({
  client,
  owner,
  wanted,
  quotas,
}: {
  client: ChannelClient
  owner: number
  wanted: number
  quotas: readonly Quota[]
}): ReactNode {
  const { data } = useCheck(client, owner, wanted)
  if (data === undefined || data.allowed || data.caps.length === 0) return null
  const { caps, payable, refillsAt } = data
  return (
    <section className="notice held-up" aria-label="Held up">
      <p>
        <span aria-hidden="true">⊤ </span>
        <b>
          This {client.owner} is held up by {caps.length === 1 ? 'a cap' : counted(caps.length, 'cap')}.
        </b>{' '}
        {amount(wanted)} {wanted === 1 ? 'unit' : 'units'} would be refused
        {payable >= wanted
          ? `, though its quotas could pay ${amount(payable)}.`
          : `, and its quotas could pay no more than ${amount(payable)}.`}
      </p>
      <ul>
        {caps.map((cap, n) => (
          <li key={cap.id ?? `new ${n}`}>
            <CapName client={client} cap={cap} quotas={quotas} />: <b>{amount(cap.remaining)} left</b>
            {cap.reserved > 0 && <> ({amount(cap.reserved)} held)</>}
          </li>
        ))}
      </ul>
      <p>
        {refillsAt === null ? (
          caps.every(({ total }) => total >= wanted) ? (
            'Waiting does not help: raise the cap, let it only watch, or reset it.'
          ) : (
            'Waiting does not help, nor does a reset: raise the cap, or let it only watch.'
          )
        ) : (
          <>
            It fits from <Time at={refillsAt} ago /> on, if nothing else is taken.
          </>
        )}
      </p>
    </section>
  )
}

/** Checks whether an amount fits now. Parts of a screen share the answer for the same amount. */
export function useCheck(client: ChannelClient, owner: number, wanted: number) {
  return useQuery({
    queryKey: [client.name, 'owner', owner, 'check', wanted],
    queryFn: ({ signal }) => client.check(owner, wanted, signal),
  })
}

/** The limits that refuse an amount, as the end of a sentence. */
export function InTheWay({ client, check }: { client: ChannelClient; check: Check }): ReactNode {
  const { caps, payable, requested } = check
  return (
    <>
      {caps.map(({ id, groupId, remaining }, index) => (
        <span key={id ?? `new ${index}`}>
          {index > 0 && ', '}
          {id === null ? 'a cap' : 'cap '}
          {id !== null && <QuotaLink channel={client.name} id={id} />}
          {groupId !== null && (
            <>
              {' '}
              of <GroupName client={client} id={groupId} />
            </>
          )}{' '}
          leaves {amount(remaining)}
        </span>
      ))}
      {payable < requested && `, and the quotas ${amount(payable)}`}
    </>
  )
}

/** The number of a cap, as a link; a member's count of its group's cap has none before its first consume. */
function CapLink({ client, id }: { client: ChannelClient; id: number | null }): ReactNode {
  if (id === null) return 'Cap'
  return <QuotaLink channel={client.name} id={id}>{`Cap #${id}`}</QuotaLink>
}

type Bound = Pick<Cap, 'id' | 'groupId' | 'total'>

/** The group that bounds an owner by a cap: by one of its own, or by one that all members share. */
function Bounding({
  client,
  cap,
  record,
}: {
  client: ChannelClient
  cap: Bound
  record: Quota | undefined
}): ReactNode {
  if (cap.groupId === null) return null
  return (
    <>
      {' '}
      of <GroupName client={client} id={cap.groupId} />
      {cap.id === null || record?.follows != null ? ', for each member' : ', all members together'}
    </>
  )
}

/** The record of a cap: one of the owner's, or read for itself, since it is a group's. */
function useRecord(client: ChannelClient, { id, groupId }: Bound, quotas: readonly Quota[]): Quota | undefined {
  const known = quotas.find((quota) => quota.id === id)
  const { data } = useQuery({
    queryKey: [client.name, 'quota', id],
    queryFn: ({ signal }) => client.quota(id ?? 0, signal),
    enabled: known === undefined && id !== null && groupId !== null,
  })
  return known ?? data
}

/** A cap by its number and, if its record is known, its label and limit. */
function CapName({ client, cap, quotas }: { client: ChannelClient; cap: Bound; quotas: readonly Quota[] }): ReactNode {
  const record = useRecord(client, cap, quotas)
  return (
    <>
      <CapLink client={client} id={cap.id} />
      {record?.label != null && (
        <>
          {' '}
          <Label text={record.label} />
        </>
      )}
      <Bounding client={client} cap={cap} record={record} /> (
      {record === undefined ? amount(cap.total) : limitText(limitOfQuota(record))})
    </>
  )
}

/** The payers together and each cap, with the remaining units and the time of the refill. */
export function Limits({
  client,
  summary,
  quotas,
  refusals,
}: {
  client: ChannelClient
  summary: Summary
  quotas: readonly Quota[]
  /** The refusals of the last week; undefined while they are loading. */
  refusals: readonly Refusal[] | undefined
}): ReactNode {
  const { caps, available, remaining, quotaCount } = summary
  const watching = caps.filter(({ cap }) => cap === 'observe').length
  return (
    <>
      <p className="available">
        <b>{amount(available)}</b> can be taken now{available < remaining && ': a cap allows no more'}.
      </p>
      <ul className="limits">
        <li className="limit">
          {quotaCount === 0 && available > 0 ? (
            <h3>Its group pays</h3>
          ) : (
            <>
              <h3>{counted(quotaCount, 'quota pays', 'quotas pay')}</h3>
              <UsageBar {...summary} />
            </>
          )}
        </li>
        {caps.map((cap, n) => (
          <CapCard
            key={cap.id ?? `new ${n}`}
            client={client}
            cap={cap}
            quotas={quotas}
            observed={refusals === undefined ? undefined : observed(refusals)}
            alone={watching === 1}
          />
        ))}
      </ul>
    </>
  )
}

function CapCard({
  client,
  cap,
  quotas,
  observed,
  alone,
}: {
  client: ChannelClient
  cap: Cap
  quotas: readonly Quota[]
  observed: readonly Refusal[] | undefined
  /** Is it the only cap that only observes? */
  alone: boolean
}): ReactNode {
  const watches = cap.cap === 'observe'
  const record = useRecord(client, cap, quotas)
  return (
    <li className={watches ? 'limit limit-observe' : 'limit'}>
      <h3>
        <CapLink client={client} id={cap.id} /> <CapBadge cap={cap.cap} />
      </h3>
      {cap.groupId !== null && (
        <p>
          <Bounding client={client} cap={cap} record={record} />
        </p>
      )}
      {record !== undefined && (
        <p>
          {limitText(limitOfQuota(record))}
          {record.label !== null && (
            <>
              {' · '}
              <Label text={record.label} />
            </>
          )}
        </p>
      )}
      <UsageBar {...cap} />
      <p className="muted">
        <ComesBack cap={cap} endsAt={record?.expireAt ?? null} />
      </p>
      {watches && <WouldHaveRefused rows={observed} alone={alone} />}
      {watches && record !== undefined && <SwitchCap client={client} quota={record} />}
    </li>
  )
}

/** When a cap allows more again. */
export function ComesBack({
  cap: { quotaType, refillsAt, used, reserved },
  endsAt,
}: {
  cap: Pick<Cap, 'quotaType' | 'refillsAt' | 'used' | 'reserved'>
  endsAt: string | null
}): ReactNode {
  if (refillsAt !== null) {
    return (
      <>
        {quotaType === 3 ? 'some comes back' : 'begins again'} <Time at={refillsAt} ago />
      </>
    )
  }
  if (quotaType === 3 && used + reserved === 0) return 'nothing counts in its window now'
  if (endsAt === null) return 'nothing comes back by itself'
  return (
    <>
      nothing comes back before it ends <Time at={endsAt} ago />
    </>
  )
}

function WouldHaveRefused({ rows, alone }: { rows: readonly Refusal[] | undefined; alone: boolean }): ReactNode {
  if (rows === undefined) return null
  const count = countOf(rows)
  if (count === 0) return <p>Would have refused nothing this week.</p>
  const requested = rows.reduce((sum, row) => sum + row.requested, 0)
  return (
    <p>
      {alone ? 'Would have refused' : 'With the others that only watch, would have refused'}{' '}
      <b>{counted(count, 'time')} this week</b> <span className="muted">({counted(requested, 'unit')})</span>
    </p>
  )
}

/** Switches a cap between refusing and observing, after a confirmation. */
export function SwitchCap({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  const queries = useQueryClient()
  // The record at the time of the question.
  const [asked, setAsked] = useState<Quota>()
  const enforce = quota.cap === 'observe'
  return (
    <>
      <button type="button" onClick={() => setAsked(quota)}>
        {enforce ? 'Enforce it' : 'Only watch'}
        <span className="visually-hidden"> (cap {quota.id})</span>
      </button>
      {asked !== undefined && (
        <Confirm
          title={asked.cap === 'observe' ? `Enforce cap ${asked.id}?` : `Let cap ${asked.id} only watch?`}
          verb={asked.cap === 'observe' ? 'Enforce it' : 'Only watch'}
          danger={asked.cap === 'observe'}
          onClose={() => setAsked(undefined)}
          act={async () => {
            const cap = asked.cap === 'observe' ? 'enforce' : 'observe'
            await client.update(asked.id, { cap }, asked.version)
            announce(`Cap ${asked.id} ${cap === 'enforce' ? 'limits from now on' : 'only watches from now on'}.`)
            await refreshed(queries, [client.name])
          }}
        >
          <p>{exampleOf({ ...limitOfQuota(asked), cap: asked.cap === 'observe' ? 'enforce' : 'observe' })}</p>
          {asked.cap === 'observe' && (
            <p>
              It has counted {amount(asked.used + asked.reserved)} of {amount(asked.total)}
              {asked.remaining === 0 ? ': everything is refused at first.' : '.'}
            </p>
          )}
          {asked.groupId !== null && asked.follows === null && (
            <p>
              It is a cap of <GroupName client={client} id={asked.groupId} />: this is about all its members.
            </p>
          )}
          {asked.follows !== null && <p>It is of this member alone, and no longer follows #{asked.follows} in this.</p>}
          <p>What it has counted stays. You can undo this.</p>
        </Confirm>
      )}
    </>
  )
}
