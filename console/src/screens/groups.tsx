import { isProblem } from '@quota-service/client'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type ChannelClient, type Group, type Member, newKey } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { Time } from '../format.tsx'
import { limitText } from '../limits.ts'
import { Notice } from '../notice.ts'
import {
  announce,
  BeyondEnd,
  CapBadge,
  Confirm,
  Failure,
  Field,
  FoldedOnPhone,
  fieldErrors,
  Label,
  Loaded,
  More,
  OwnerLink,
  Panel,
  QuotaLink,
  Screen,
  Table,
  UsageBar,
  useStillHere,
  useTyped,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import type { GroupSearch, GroupsSearch } from '../search.ts'
import { limitOfQuota } from '../settings.ts'
import { draftOf, useDraft } from '../use-draft.ts'
import { readIds } from '../whole-number.ts'
import { Difference } from './changes.tsx'
import { ChainLimits, GroupName, GroupPicker, GroupTable, isOfMembers, Moves } from './group-parts.tsx'
import { REASONS } from './refusals.ts'
import { isForEach, QuotaTable } from './quotas.tsx'
import { UsageByDay } from './usage-chart.tsx'

const PAGE_SIZE = 50
const MEMBERS = 20
const WEEK_HOURS = 7 * 24
/** The most owners of one request. */
const AT_ONCE = 1_000
/** The owners of a list whose present group is shown before they are added. */
const PREVIEWED = 10

export function GroupsScreen({ client, search }: { client: ChannelClient; search: GroupsSearch }): ReactNode {
  const navigate = useNavigate()
  const [making, setMaking] = useState(false)
  const [name, setName] = useTyped(search.name ?? '')
  const page = search.page ?? 1
  const asked = useQuery({
    queryKey: [client.name, 'groups', search],
    queryFn: ({ signal }) => client.groups({ ...search, page, pageSize: PAGE_SIZE }, signal),
    placeholderData: keepPreviousData,
  })
  const go = (next: GroupsSearch): void =>
    void navigate({ to: '/$channel/groups', params: { channel: client.name }, search: next })
  return (
    <Screen
      title={`${client.title} groups`}
      actions={
        <button type="button" className="primary" onClick={() => setMaking(true)}>
          New group
        </button>
      }
    >
      <p className="hint">
        A group limits many {client.owner}s by one rule: a domain, a plan, a customer. Its members share some quotas,
        and have a count of their own of others.
      </p>
      {making && <GroupForm client={client} onClose={() => setMaking(false)} />}
      <form
        className="filters"
        aria-label="Filters"
        onSubmit={(event) => {
          event.preventDefault()
          go(name === '' ? {} : { name })
        }}
      >
        <Field label="Name begins with">
          {(ids) => <input {...ids} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <div className="actions">
          <button type="submit">Filter</button>
        </div>
      </form>
      <Loaded
        of={asked}
        isEmpty={({ items }) => items.length === 0}
        empty={
          asked.data !== undefined && asked.data.total > 0 ? (
            <BeyondEnd
              what={`page ${amount(page)}`}
              last={Math.ceil(asked.data.total / PAGE_SIZE)}
              onGo={(place) => go({ ...search, page: place })}
            />
          ) : search.name === undefined ? (
            'There is no group yet.'
          ) : (
            'No group’s name begins so.'
          )
        }
      >
        {({ items, total }) => (
          <>
            <p className="count" role="status">
              {counted(total, 'group')} · page {amount(page)}
            </p>
            <GroupTable client={client} rows={items} />
            <nav className="pager" aria-label="Pages of groups">
              {page > 1 && (
                <button type="button" onClick={() => go({ ...search, page: page - 1 })}>
                  Newer
                </button>
              )}
              {page * PAGE_SIZE < total && (
                <button type="button" onClick={() => go({ ...search, page: page + 1 })}>
                  Older
                </button>
              )}
            </nav>
          </>
        )}
      </Loaded>
    </Screen>
  )
}

interface Draft {
  /** The group as the form was filled in; absent for a new one. */
  readonly base?: Group | undefined
  readonly name: string
  /** Undefined: not chosen yet. */
  readonly parent?: Group | null
  readonly isDefault: boolean
}

/** Makes a group, or changes one. */
function GroupForm({
  client,
  group,
  onClose,
}: {
  client: ChannelClient
  group?: Group
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const navigate = useNavigate()
  // Later reads must not make its version that of what another person has saved since.
  const named = `${client.name}/groups/${group?.id ?? 'new'}`
  const [draft, , setDraft, clear] = useDraft<Draft>(named, () => ({
    base: group,
    name: group?.name ?? '',
    isDefault: group?.default ?? false,
  }))
  const { base, name, parent, isDefault } = draft
  const keyOf = useKeys()
  const [error, setError] = useState<unknown>()
  const [tried, setTried] = useState(false)
  const here = useStillHere()
  const known = useQuery({
    queryKey: [client.name, 'group', base?.parentId],
    queryFn: ({ signal }) => client.group(base?.parentId ?? 0, signal),
    enabled: base?.parentId != null,
  })
  const chosen = parent === undefined ? (known.data ?? null) : parent
  const refused = fieldErrors(error)
  const settings = {
    name,
    default: isDefault,
    ...(parent === undefined ? {} : { parentId: parent?.id ?? null }),
  }
  return (
    <Confirm
      title={base === undefined ? 'New group' : `Edit group ${base.name}`}
      verb={base === undefined ? 'Create group' : 'Save'}
      ready={name.trim() !== ''}
      onUnready={() => setTried(true)}
      onClose={() => {
        clear()
        onClose()
      }}
      act={async () => {
        const saved = await (
          base === undefined
            ? client.createGroup(settings, keyOf(settings))
            : client.updateGroup(base.id, settings, base.version)
        ).catch(async (reason: unknown) => {
          setError(reason)
          if (base === undefined || !isProblem(reason, 'version_mismatch')) throw reason
          const theirs = await client.group(base.id).catch(() => {
            throw reason
          })
          if (here()) setDraft(rebased(draftOf<Draft>(named) ?? draft, base, theirs))
          throw new Notice(
            'Somebody changed it meanwhile',
            `${savedText(base, theirs)} What you have changed here stays, the rest is as they saved it.`,
            'Look at it, then save it.',
          )
        })
        announce(`Group ${saved.name} is saved.`)
        await refreshed(queries, [client.name])
        // The person may have closed the form and gone on elsewhere.
        if (base === undefined && here()) {
          const params = { channel: client.name, id: String(saved.id) }
          void navigate({ to: '/$channel/groups/$id', params, search: {} })
        }
      }}
    >
      <Field
        label="Name"
        error={tried && name.trim() === '' ? 'a name' : refused['name']}
        hint="a domain, a plan, a customer; unlike those of the others"
      >
        {(ids) => (
          <input {...ids} value={name} onChange={(event) => setDraft({ ...draft, name: event.target.value })} />
        )}
      </Field>
      <GroupPicker
        client={client}
        legend="Part of"
        none="no other group"
        chosen={chosen}
        except={base?.id}
        onChoose={(choice) => setDraft({ ...draft, parent: choice })}
        error={refused['parentId']}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={isDefault}
          onChange={(event) => setDraft({ ...draft, isDefault: event.target.checked })}
        />
        <span>
          default <span className="muted">the group of every {client.owner} that is in none</span>
        </span>
      </label>
    </Confirm>
  )
}

/** The draft of a change of what somebody else has saved meanwhile. */
function rebased(draft: Draft, base: Group, theirs: Group): Draft {
  return {
    ...draft,
    base: theirs,
    name: draft.name === base.name ? theirs.name : draft.name,
    isDefault: draft.isDefault === base.default ? theirs.default : draft.isDefault,
  }
}

/** What somebody else has saved of a group. */
function savedText(base: Group, theirs: Group): string {
  const parts = [
    theirs.name === base.name ? '' : `Its name is “${theirs.name}” now.`,
    theirs.default === base.default ? '' : `It is ${theirs.default ? '' : 'no longer '}the default group.`,
    theirs.parentId === base.parentId ? '' : 'It is part of another group.',
  ]
  return parts.filter((part) => part !== '').join(' ')
}

/** Idempotency keys by what is sent: the same again takes effect once, and what has changed is another request. */
function useKeys(): (sent: unknown) => string {
  const [keys] = useState(() => new Map<string, string>())
  return (sent) => {
    const content = JSON.stringify(sent)
    const key = keys.get(content) ?? newKey()
    keys.set(content, key)
    return key
  }
}

export function GroupScreen({
  client,
  id,
  search,
}: {
  client: ChannelClient
  id: number
  search: GroupSearch
}): ReactNode {
  const asked = useQuery({ queryKey: [client.name, 'group', id], queryFn: ({ signal }) => client.group(id, signal) })
  const gone = isProblem(asked.error, 'group_not_found')
  return (
    <Screen
      title={<>Group {asked.data === undefined ? id : <Label text={asked.data.name} />}</>}
      actions={asked.data !== undefined && !gone && <GroupActions client={client} group={asked.data} />}
    >
      {gone ? (
        <Failure error={asked.error} />
      ) : (
        <Loaded of={asked}>{(group) => <GroupBody client={client} group={group} search={search} />}</Loaded>
      )}
      <GroupHistory client={client} id={id} />
    </Screen>
  )
}

function GroupActions({ client, group }: { client: ChannelClient; group: Group }): ReactNode {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [editing, setEditing] = useState(false)
  // As it was when the question was asked: a later read must not confirm what another person has saved since.
  const [deleting, setDeleting] = useState<Group>()
  const here = useStillHere()
  return (
    <>
      <Link
        className="button primary"
        to="/$channel/new"
        params={{ channel: client.name }}
        search={{ group: group.id }}
      >
        New quota
      </Link>
      <More>
        <button type="button" onClick={() => setEditing(true)}>
          Edit
        </button>
        <button type="button" className="danger" onClick={() => setDeleting(group)}>
          Delete
        </button>
      </More>
      {editing && <GroupForm client={client} group={group} onClose={() => setEditing(false)} />}
      {deleting !== undefined && (
        <Confirm
          title={`Delete group ${deleting.name}?`}
          verb="Delete"
          danger
          onClose={() => setDeleting(undefined)}
          act={async () => {
            await client.deleteGroup(deleting.id, deleting.version)
            announce(`Group ${deleting.name} is deleted.`)
            // The person may have closed the dialog and gone on elsewhere.
            if (here()) void navigate({ to: '/$channel/groups', params: { channel: client.name }, search: {} })
            await refreshed(queries, [client.name])
          }}
        >
          <p>This is possible only while it has no members, no groups below it, and no quotas.</p>
        </Confirm>
      )}
    </>
  )
}

function GroupBody({ client, group, search }: { client: ChannelClient; group: Group; search: GroupSearch }): ReactNode {
  const key = [client.name, 'group', group.id]
  const summary = useQuery({
    queryKey: [...key, 'summary'],
    queryFn: ({ signal }) => client.groupSummary(group.id, signal),
  })
  const quotas = useQuery({
    queryKey: [...key, 'quotas'],
    queryFn: ({ signal }) => client.quotasOfGroup(group.id, signal),
  })
  const below = useQuery({
    queryKey: [client.name, 'groups', { parentId: group.id }],
    queryFn: ({ signal }) => client.groups({ parentId: group.id }, signal),
  })
  const refused = useQuery({
    queryKey: [...key, 'refused'],
    queryFn: ({ signal }) => client.topRefusals({ hours: WEEK_HOURS, groupId: group.id }, signal),
  })
  const shared = quotas.data?.filter((quota) => !isForEach(quota))
  const each = quotas.data?.filter(isForEach)
  return (
    <>
      <Panel title="Summary">
        {group.default && (
          <p>This is the default group: it limits every {client.owner} that is in no group, by name or not.</p>
        )}
        <Loaded of={summary}>
          {(data) => (
            <>
              <p className="available">
                <b>{amount(data.available)}</b> could be taken now by a member that has nothing of its own.
              </p>
              {data.quotaCount > 0 && <UsageBar {...data} wide />}
              <ul className="limits">
                {data.caps.map((cap) => {
                  const record = shared?.find(({ id }) => id === cap.id)
                  return (
                    <li key={cap.id} className="limit">
                      <h3>
                        <QuotaLink channel={client.name} id={cap.id ?? 0}>{`Cap #${cap.id}`}</QuotaLink>{' '}
                        <CapBadge cap={cap.cap} />
                      </h3>
                      {record !== undefined && <p>{limitText(limitOfQuota(record))}, all members together</p>}
                      <UsageBar {...cap} />
                    </li>
                  )
                })}
              </ul>
            </>
          )}
        </Loaded>
      </Panel>
      {group.parentId !== null && (
        <Panel title="Part of" hint="Members are limited by these groups as well.">
          <ChainLimits client={client} id={group.parentId} />
        </Panel>
      )}
      <Panel title="All members together" hint="Quotas that the members share.">
        <Loaded of={{ ...quotas, data: shared }} isEmpty={(rows) => rows.length === 0} empty="Nothing is shared.">
          {(rows) => <QuotaTable client={client} rows={rows} caption="Shared quotas" owners={false} />}
        </Loaded>
      </Panel>
      <Panel title="Each member" hint="Quotas of which each member has a count of its own.">
        <Loaded
          of={{ ...quotas, data: each }}
          isEmpty={(rows) => rows.length === 0}
          empty="No quota is for each member."
        >
          {(rows) => (
            <QuotaTable
              client={client}
              rows={rows}
              caption="Quotas for each member"
              owners={false}
              last={({ id }) => (
                <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ follows: id }}>
                  Counts
                </Link>
              )}
            />
          )}
        </Loaded>
      </Panel>
      <Members
        client={client}
        group={group}
        after={search.after ?? 0}
        count={summary.data?.members}
        shared={shared?.map(({ id }) => id) ?? []}
      />
      {(below.data?.items.length ?? 0) > 0 && (
        <Panel title="Groups below">
          <GroupTable client={client} rows={below.data?.items ?? []} />
        </Panel>
      )}
      <Panel title="Refused most" hint="Present members, in the last 7 days.">
        <Loaded of={refused} isEmpty={(rows) => rows.length === 0} empty="No member was refused.">
          {(rows) => (
            <Table
              caption="Members that were refused most"
              rows={rows}
              idOf={({ owner, code }) => `${owner} ${code}`}
              columns={[
                {
                  head: client.Owner,
                  cell: ({ owner }) => <OwnerLink channel={client.name} owner={owner} row />,
                },
                { head: 'Why', cell: ({ code }) => REASONS[code] },
                { head: 'Times', cell: ({ count }) => amount(count), className: 'number' },
                { head: 'Last', cell: ({ lastAt }) => <Time at={lastAt} ago />, folds: true },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <FoldedOnPhone value>
        {shared?.map((quota) => (
          <UsageByDay key={quota.id} client={client} of={{ quotaId: quota.id }} limits={[quota]} />
        ))}
      </FoldedOnPhone>
    </>
  )
}

function Members({
  client,
  group,
  after,
  count,
  shared,
}: {
  client: ChannelClient
  group: Group
  after: number
  count: number | undefined
  /** The quotas that all members share. */
  shared: readonly number[]
}): ReactNode {
  const queries = useQueryClient()
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Member>()
  const asked = useQuery({
    queryKey: [client.name, 'group', group.id, 'members', after],
    queryFn: ({ signal }) => client.members(group.id, after, MEMBERS, signal),
    placeholderData: keepPreviousData,
  })
  const page = (search: GroupSearch, text: string): ReactNode => (
    <Link to="/$channel/groups/$id" params={{ channel: client.name, id: String(group.id) }} search={search}>
      {text}
    </Link>
  )
  return (
    <Panel
      title="Members"
      hint={count === undefined ? undefined : counted(count, 'member')}
      actions={
        <button type="button" onClick={() => setAdding(true)}>
          Add members
        </button>
      }
    >
      {adding && <AddMembers client={client} group={group} onClose={() => setAdding(false)} />}
      <Loaded of={asked} isEmpty={({ items }) => items.length === 0 && after === 0} empty="It has no member by name.">
        {({ items, next }) => (
          <>
            <Table
              caption="Members, by number"
              rows={items}
              idOf={({ owner }) => owner}
              columns={[
                { head: client.Owner, cell: ({ owner }) => <OwnerLink channel={client.name} owner={owner} row /> },
                {
                  head: 'Usage',
                  cell: ({ owner }) => <MemberUsage client={client} owner={owner} group={group.id} shared={shared} />,
                  className: 'wide',
                },
                { head: 'Since', cell: ({ since }) => <Time at={since} />, folds: true },
                {
                  head: 'Actions',
                  cell: (member) => (
                    <button
                      type="button"
                      aria-label={`Remove ${client.owner} ${member.owner}`}
                      onClick={() => setRemoving(member)}
                    >
                      Remove
                    </button>
                  ),
                },
              ]}
            />
            <nav className="pager" aria-label="Pages of members">
              {after > 0 && page({}, 'From the beginning')}
              {next !== null && page({ after: next }, 'More')}
            </nav>
          </>
        )}
      </Loaded>
      {removing !== undefined && (
        <Confirm
          title={`Remove ${client.owner} ${removing.owner} from ${group.name}?`}
          verb="Remove"
          danger
          onClose={() => setRemoving(undefined)}
          act={async () => {
            await client.removeMember(group.id, removing.owner)
            announce(`${client.Owner} ${removing.owner} is no longer a member.`)
            await refreshed(queries, [client.name])
          }}
        >
          <p>
            The group no longer limits it, and pays nothing for it. Its counts are kept: if it comes back, they go on.
          </p>
        </Confirm>
      )}
    </Panel>
  )
}

/** What a member has taken of its count of the first cap for each; without one, of its own quotas and counts. */
function MemberUsage({
  client,
  owner,
  group,
  shared,
}: {
  client: ChannelClient
  owner: number
  group: number
  shared: readonly number[]
}): ReactNode {
  const { data } = useQuery({
    queryKey: [client.name, 'owner', owner, 'summary'],
    queryFn: ({ signal }) => client.summary(owner, signal),
  })
  if (data === undefined) return null
  const count = data.caps.find(({ id, groupId }) => groupId === group && (id === null || !shared.includes(id)))
  if (count !== undefined) return <UsageBar {...count} />
  return data.quotaCount > 0 ? <UsageBar {...data} /> : <span className="muted">nothing of its own</span>
}

/** Adds members from a pasted list, after showing which group each of them leaves. */
function AddMembers({
  client,
  group,
  onClose,
}: {
  client: ChannelClient
  group: Group
  onClose: () => void
}): ReactNode {
  const queries = useQueryClient()
  const [text, , setText, clear] = useDraft(`${client.name}/groups/${group.id}/members`, () => '')
  const keyOf = useKeys()
  const { ids, wrong } = readIds(text)
  const mistake = wrong.length > 0 ? `not a number, or not clear which: ${wrong.slice(0, 5).join(' ')}` : undefined
  return (
    <Confirm
      title={`Add members to ${group.name}`}
      verb={ids.length === 0 ? 'Add' : `Add ${counted(ids.length, client.owner)}`}
      ready={ids.length > 0 && mistake === undefined}
      onClose={() => {
        clear()
        onClose()
      }}
      act={async () => {
        const sum = { added: 0, moved: 0, unchanged: 0 }
        for (let from = 0; from < ids.length; from += AT_ONCE) {
          const part = ids.slice(from, from + AT_ONCE)
          const did = await client.addMembers(group.id, part, keyOf(part))
          sum.added += did.added
          sum.moved += did.moved
          sum.unchanged += did.unchanged
        }
        announce(`${amount(sum.added)} added, ${amount(sum.moved)} moved, ${amount(sum.unchanged)} were there.`)
        await refreshed(queries, [client.name])
      }}
    >
      <Field
        label={`Numbers of ${client.owner}s`}
        error={text.trim() === '' ? undefined : mistake}
        hint={`paste a list, with blanks or lines between; ${counted(ids.length, 'number')} so far`}
      >
        {(ids) => <textarea {...ids} rows={6} value={text} onChange={(event) => setText(event.target.value)} />}
      </Field>
      {ids.length > 0 && (
        <>
          <p>From now on they are limited by:</p>
          <ChainLimits client={client} id={group.id} />
          <ul className="lately">
            {ids.slice(0, PREVIEWED).map((owner) => (
              <li key={owner}>
                <ComesFrom client={client} owner={owner} to={group.id} />
              </li>
            ))}
          </ul>
          {ids.length > PREVIEWED && <p className="hint">and {amount(ids.length - PREVIEWED)} more</p>}
        </>
      )}
    </Confirm>
  )
}

function ComesFrom({ client, owner, to }: { client: ChannelClient; owner: number; to: number }): ReactNode {
  const { data } = useQuery({
    queryKey: [client.name, 'owner', owner, 'summary'],
    queryFn: ({ signal }) => client.summary(owner, signal),
  })
  return (
    <span>
      {client.Owner} {owner}
      {data !== undefined &&
        (data.groupId === null ? (
          ' is in no group'
        ) : data.groupId === to ? (
          ' is there already'
        ) : (
          <>
            {' '}
            leaves <GroupName client={client} id={data.groupId} />
          </>
        ))}
    </span>
  )
}

function GroupHistory({ client, id }: { client: ChannelClient; id: number }): ReactNode {
  const changes = useQuery({
    queryKey: [client.name, 'group', id, 'changes'],
    queryFn: ({ signal }) => client.groupChanges(id, signal),
  })
  return (
    <FoldedOnPhone value>
      <Panel title="Changes" hint="Of its settings and members, newest first.">
        <Loaded of={changes} isEmpty={(rows) => rows.length === 0} empty="Nobody has changed it.">
          {(rows) => (
            <Table
              caption="Changes of the group, newest first"
              rows={rows}
              idOf={({ id: change }) => change}
              columns={[
                { head: 'When', cell: ({ at }) => <Time at={at} exact /> },
                { head: 'Who', cell: ({ actor }) => <b>{actor}</b>, className: 'name' },
                {
                  head: 'What',
                  cell: (change) =>
                    isOfMembers(change) ? <Moves client={client} change={change} /> : <Difference change={change} />,
                  className: 'wide',
                },
              ]}
            />
          )}
        </Loaded>
      </Panel>
    </FoldedOnPhone>
  )
}
