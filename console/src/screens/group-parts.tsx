import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type AnyChange, type ChannelClient, type Group, type Quota } from '../channel-client.ts'
import { counted } from '../amount.ts'
import { Time } from '../format.tsx'
import { limitText } from '../limits.ts'
import { CapBadge, Failure, Field, GroupLink, Label, Loaded, QuotaLink, Table } from '../parts.tsx'
import { limitOfQuota } from '../settings.ts'
import { isForEach } from './quotas.tsx'

/*
 * What several screens show of groups.
 */

/** The most groups that a search by name shows. */
const FOUND = 8
/** The most owners of a change that are named. */
const NAMED = 10

/** A group by its name, as a link. */
export function GroupName({ client, id }: { client: ChannelClient; id: number }): ReactNode {
  const { data } = useQuery({
    queryKey: [client.name, 'group', id],
    queryFn: ({ signal }) => client.group(id, signal),
  })
  return (
    <GroupLink channel={client.name} id={id}>
      {data === undefined ? undefined : <Label text={data.name} />}
    </GroupLink>
  )
}

/** A group and its parents, each with its limits. */
export function useChain(client: ChannelClient, id: number | null | undefined) {
  return useQuery({
    queryKey: [client.name, 'chain', id],
    queryFn: async ({ signal }) => {
      const groups = await client.chainOf(id ?? 0, signal)
      return Promise.all(groups.map(async (group) => ({ group, quotas: await client.quotasOfGroup(group.id, signal) })))
    },
    enabled: id != null,
  })
}

/** The limits that each group of a chain brings, the nearest group first. */
export function ChainLimits({ client, id }: { client: ChannelClient; id: number }): ReactNode {
  const chain = useChain(client, id)
  return (
    <Loaded of={chain}>
      {(levels) => (
        <ul className="lately">
          {levels.map(({ group, quotas }) => (
            <li key={group.id}>
              <span>
                <GroupLink channel={client.name} id={group.id}>
                  <Label text={group.name} />
                </GroupLink>
                {group.default && <span className="muted"> (default)</span>}
                {': '}
                {quotas.length === 0 && <span className="muted">no limits of its own</span>}
                {quotas.map((quota, place) => (
                  <span key={quota.id}>
                    {place > 0 && ' · '}
                    <GroupLimit client={client} quota={quota} />
                  </span>
                ))}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function GroupLimit({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  return (
    <>
      <QuotaLink channel={client.name} id={quota.id}>
        {limitText(limitOfQuota(quota))}
      </QuotaLink>{' '}
      {isForEach(quota) ? 'for each' : 'together'} {quota.cap !== null && <CapBadge cap={quota.cap} />}
      {quota.status !== 'active' && <span className="muted">({quota.status})</span>}
    </>
  )
}

/**
 * Chooses a group by the beginning of its name.
 * @param none the text of the choice of no group; absent: there is no such choice
 */
export function GroupPicker({
  client,
  legend,
  chosen,
  except,
  onChoose,
  none,
  error,
}: {
  client: ChannelClient
  legend: string
  chosen: Group | null
  /** The group that is none of the choices. */
  except?: number | undefined
  onChoose: (group: Group | null) => void
  none?: string
  error?: string | undefined
}): ReactNode {
  const [text, setText] = useState('')
  const filter = { ...(text.trim() === '' ? {} : { name: text.trim() }), pageSize: FOUND }
  const found = useQuery({
    queryKey: [client.name, 'groups', filter],
    queryFn: ({ signal }) => client.groups(filter, signal),
  })
  const others = (found.data?.items ?? []).filter(({ id }) => id !== chosen?.id && id !== except)
  const choices = [...(none === undefined ? [] : [null]), ...(chosen === null ? [] : [chosen]), ...others]
  return (
    <fieldset>
      <legend>{legend}</legend>
      <Field label={`${legend}: name begins with`} error={error}>
        {(ids) => (
          <input
            {...ids}
            value={text}
            onChange={(event) => setText(event.target.value)}
            // It searches already, and must not send the form around it.
            onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          />
        )}
      </Field>
      {choices.map((group) => (
        <label key={group?.id ?? 0} className="check">
          <input type="radio" name={legend} checked={group?.id === chosen?.id} onChange={() => onChoose(group)} />
          <span>{group === null ? none : <Label text={group.name} />}</span>
        </label>
      ))}
      {found.error !== null && <Failure error={found.error} retry={() => found.refetch()} />}
      {found.data !== undefined && found.data.total > FOUND && (
        <p className="hint">More begin so; type more of the name.</p>
      )}
    </fieldset>
  )
}

type SettingsChange = AnyChange & { readonly action: Exclude<AnyChange['action'], 'members'> }

/** Did it change the members of a group? */
export function isOfMembers(change: AnyChange): change is Exclude<AnyChange, SettingsChange> {
  return change.action === 'members'
}

/** The owners that a change made members, or no longer members. */
export function Moves({ client, change }: { client: ChannelClient; change: AnyChange }): ReactNode {
  const {
    added = [],
    moved = [],
    removed = [],
  } = change.after as {
    added?: number[]
    moved?: [owner: number, from: number][]
    removed?: number[]
  }
  const few = (owners: readonly number[]): string =>
    `${owners.slice(0, NAMED).join(', ')}${owners.length > NAMED ? ' …' : ''}`
  return (
    <ul className="moves">
      {added.length > 0 && <li>{`${counted(added.length, client.owner)} added: ${few(added)}`}</li>}
      {moved.length > 0 && (
        <li>{`${counted(moved.length, client.owner)} moved here: ${few(moved.map(([owner]) => owner))}`}</li>
      )}
      {removed.length > 0 && <li>{`${counted(removed.length, client.owner)} removed: ${few(removed)}`}</li>}
    </ul>
  )
}

export function GroupTable({ client, rows }: { client: ChannelClient; rows: readonly Group[] }): ReactNode {
  return (
    <Table
      caption="Groups, newest first"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          head: 'Group',
          cell: ({ id, name }) => (
            <GroupLink channel={client.name} id={id} row>
              <Label text={name} />
            </GroupLink>
          ),
        },
        {
          head: 'Part of',
          cell: ({ parentId }) =>
            parentId === null ? <span className="muted">–</span> : <GroupName client={client} id={parentId} />,
        },
        {
          head: 'Default',
          cell: (group) => (group.default ? 'for whoever is in none' : <span className="muted">–</span>),
        },
        { head: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, folds: true },
      ]}
    />
  )
}
