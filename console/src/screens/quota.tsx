import { camelName, isProblem } from '@quota-service/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { ChangeTable } from './changes.tsx'
import { draftName, EditForm } from './edit-form.tsx'
import { Ledger } from './ledger-table.tsx'
import { ComesBack, SwitchCap } from './limits.tsx'
import { GroupName } from './group-parts.tsx'
import { isForEach, kindOf, Whose } from './quotas.tsx'
import { PassedThresholds } from './thresholds.tsx'
import { RefusalChart } from './refusal-chart.tsx'
import { observed, hoursBack, useRefusals, WEEK_HOURS } from './refusals.ts'
import { UsageByDay } from './usage-chart.tsx'
import { type ChannelClient, newKey, type Quota } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { fieldName } from '../field-name.ts'
import { HERE, Time, timeText } from '../format.tsx'
import { exampleOf, thresholdsText, windowText } from '../limits.ts'
import {
  announce,
  Badge,
  CapBadge,
  Confirm,
  Csv,
  Failure,
  FoldedOnPhone,
  Label,
  Loaded,
  More,
  OwnerLink,
  Panel,
  QuotaLink,
  Screen,
  UsageBar,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import type { QuotaSearch } from '../search.ts'
import { type Resets, nextResets } from '../resets.ts'
import { limitOfQuota } from '../settings.ts'
import { draftOf } from '../use-draft.ts'

const RESETS = 3

export function QuotaScreen({
  client,
  id,
  search,
}: {
  client: ChannelClient
  id: number
  search: QuotaSearch
}): ReactNode {
  const asked = useQuery({ queryKey: [client.name, 'quota', id], queryFn: ({ signal }) => client.quota(id, signal) })
  if (isProblem(asked.error, 'quota_not_found')) return <GoneQuota client={client} id={id} error={asked.error} />
  return (
    <Screen
      title={
        <>
          {asked.data?.cap == null ? 'Quota' : 'Cap'} {id}{' '}
          {asked.data !== undefined && <Badge status={asked.data.status} />}
        </>
      }
      actions={asked.data !== undefined && <Actions client={client} quota={asked.data} />}
    >
      <Loaded of={asked}>
        {(quota) => (
          <Record
            client={client}
            quota={quota}
            editing={search.edit === true || draftOf(draftName(client, id)) !== undefined}
          />
        )}
      </Loaded>
      <History client={client} id={id} quota={asked.data} />
    </Screen>
  )
}

function Record({ client, quota, editing }: { client: ChannelClient; quota: Quota; editing: boolean }): ReactNode {
  const navigate = useNavigate()
  const edit = (on: boolean): void =>
    void navigate({
      to: '/$channel/quotas/$id',
      params: { channel: client.name, id: String(quota.id) },
      search: on ? { edit: true } : {},
      replace: true,
    })
  const [closed, setClosed] = useState(false)
  const open = editing && !closed
  return (
    <>
      <Panel
        title="Settings and usage"
        actions={
          !open && (
            <button
              type="button"
              onClick={() => {
                setClosed(false)
                edit(true)
              }}
            >
              Edit
            </button>
          )
        }
      >
        {isForEach(quota) ? (
          <p>
            Each member has a count of its own:{' '}
            <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ follows: quota.id }}>
              all that exist
            </Link>
            . A member’s begins with what it first takes.
          </p>
        ) : (
          <UsageBar {...quota} wide />
        )}
        {quota.cap !== null && (
          <p>
            {exampleOf(limitOfQuota(quota))} <CapRefill client={client} quota={quota} />
          </p>
        )}
        <dl className="facts">
          {quota.owner !== 0 && (
            <Fact name={client.Owner}>
              <OwnerLink channel={client.name} owner={quota.owner} />
            </Fact>
          )}
          {quota.groupId !== null && (
            <Fact name="Group">
              <GroupName client={client} id={quota.groupId} />
              {quota.follows === null && (isForEach(quota) ? ', for each member' : ', all members together')}
            </Fact>
          )}
          {quota.follows !== null && (
            <Fact name="Follows">
              <QuotaLink channel={client.name} id={quota.follows} />
            </Fact>
          )}
          {client.namesPerson && quota.person != null && (
            <Fact name="User">
              <Link to="/$channel/quotas" params={{ channel: client.name }} search={{ person: quota.person }}>
                User {quota.person}
              </Link>
            </Fact>
          )}
          <Fact name="Label">
            <Label text={quota.label} />
          </Fact>
          {quota.cap !== null && (
            <Fact name="What it does">
              <CapBadge cap={quota.cap} />
            </Fact>
          )}
          <Fact name="Type">
            {quota.quotaType === 1
              ? 'total, until its end'
              : quota.quotaType === 2
                ? `cycle, ${kindOf(quota)}`
                : 'rolling'}
          </Fact>
          {quota.windowSeconds !== null && <Fact name="Window">{windowText(quota.windowSeconds)}</Fact>}
          {quota.thresholds !== null && quota.thresholds.length > 0 && (
            <Fact name="Notify at">{thresholdsText(quota.thresholds)}</Fact>
          )}
          <Fact name="Total">{amount(quota.total)}</Fact>
          <Fact name="Ends">{quota.expireAt === null ? 'never' : <Time at={quota.expireAt} ago />}</Fact>
          <Fact name="Created">
            <Time at={quota.createdAt} />
          </Fact>
          <Fact name="Version">{quota.version}</Fact>
        </dl>
        {quota.status === 'left' && (
          <p className="notice">
            Its {client.owner} has left the group, or the quota that it follows is deleted: it pays and bounds nothing,
            and takes back what is returned. If the group comes back, it goes on.
          </p>
        )}
        {quota.overrides !== null && <Overrides client={client} quota={quota} />}
      </Panel>
      {open && (
        <EditForm
          client={client}
          quota={quota}
          onDone={() => {
            setClosed(true)
            edit(false)
            // The form goes, and the focus with it.
            document.querySelector<HTMLElement>('main h1')?.focus()
          }}
        />
      )}
      {quota.cap === 'observe' && quota.owner !== 0 && <Watched client={client} quota={quota} />}
      {quota.quotaType === 2 && <NextResets quota={quota} />}
      {quota.quotaType !== 3 && (
        <FoldedOnPhone value>
          <PassedThresholds client={client} of={{ quotaId: quota.id }} expected={quota.thresholds?.length !== 0} />
        </FoldedOnPhone>
      )}
    </>
  )
}

/** Settings that are overridden and given back as one. */
const RULE_OF_CYCLE: readonly string[] = ['cycle_unit', 'cycle_reset_at', 'cycle_time_zone']

/** The settings in which a member's count differs from the quota that it follows, and the way back. */
function Overrides({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  const queries = useQueryClient()
  const own = quota.overrides ?? []
  const back = useMutation({
    mutationFn: (names: readonly string[]) =>
      client.update(quota.id, { overrides: own.filter((name) => !names.includes(name)) }, quota.version),
    onSuccess: async () => {
      announce('It follows again.')
      await refreshed(queries, [client.name])
    },
  })
  if (own.length === 0) return <p className="muted">All its settings follow those of #{quota.follows}.</p>
  const names = own.filter((name) => name !== RULE_OF_CYCLE[1] && name !== RULE_OF_CYCLE[2])
  return (
    <section aria-label="Own settings">
      <p>These settings are its own, and do not follow those of #{quota.follows}:</p>
      <ul className="lately">
        {names.map((name) => {
          const text = name === RULE_OF_CYCLE[0] ? 'Cycle' : fieldName(camelName(name))
          return (
            <li key={name}>
              <span>{text}</span>
              <button
                type="button"
                disabled={back.isPending}
                onClick={() => back.mutate(RULE_OF_CYCLE.includes(name) ? RULE_OF_CYCLE : [name])}
              >
                Give back<span className="visually-hidden"> {text}</span>
              </button>
            </li>
          )
        })}
      </ul>
      {back.error !== null && <Failure error={back.error} />}
    </section>
  )
}

/** What a cap that only watches would have refused, by hour: the service counts it for all such caps of an owner. */
function Watched({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  const hours = hoursBack(WEEK_HOURS)
  const asked = useRefusals(client, quota.owner, hours)
  const { data } = useSummary(client, quota)
  const others = data?.caps.filter(({ id, cap }) => cap === 'observe' && id !== quota.id).length ?? 0
  return (
    <Panel
      title="What it would have refused"
      hint={`The last 7 days by hour${others === 0 ? '' : `, with the ${counted(others, 'other cap')} of this ${client.owner} that only watch: the service does not count them apart`}.`}
    >
      <Loaded
        of={{ ...asked, data: asked.data && observed(asked.data) }}
        isEmpty={(rows) => rows.length === 0}
        empty="It would have refused nothing."
      >
        {(rows) => <RefusalChart rows={rows} hours={hours} watched />}
      </Loaded>
    </Panel>
  )
}

/** The summary of the owner of an active quota. */
function useSummary(client: ChannelClient, { owner, status }: Quota) {
  return useQuery({
    queryKey: [client.name, 'owner', owner, 'summary'],
    queryFn: ({ signal }) => client.summary(owner, signal),
    enabled: status === 'active' && owner !== 0,
  })
}

/** The time at which a cap allows more again, from its owner's summary. */
function CapRefill({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  const { data } = useSummary(client, quota)
  const state = data?.caps.find(({ id }) => id === quota.id)
  if (state === undefined) return null
  return (
    <span className="muted">
      Now: <ComesBack cap={state} endsAt={quota.expireAt} />.
    </span>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function NextResets({ quota }: { quota: Quota }): ReactNode {
  const [resets, setResets] = useState<Resets>()
  useEffect(() => {
    let gone = false
    void nextResets(quota, RESETS).then((found) => {
      if (!gone) setResets(found)
    })
    return () => {
      gone = true
    }
  }, [quota])
  if (resets === undefined) return null
  const zone = quota.cycleTimeZone ?? 'UTC'
  return (
    <Panel title="Next resets" hint={quota.status === 'active' ? undefined : 'It stands still while it is not active.'}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">In its own zone ({zone})</th>
            <th scope="col">In yours ({HERE})</th>
          </tr>
        </thead>
        <tbody>
          {resets.map((at) => (
            <tr key={at}>
              <td>
                {timeText(at, zone)}
                {quota.expireAt !== null && at >= quota.expireAt && <span className="muted"> (after its end)</span>}
              </td>
              <td>
                <Time at={at} ago />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

type Asking = 'disable' | 'enable' | 'reset' | 'delete'

function Actions({ client, quota }: { client: ChannelClient; quota: Quota }): ReactNode {
  const queries = useQueryClient()
  // The version at the time of the question: later reads must not make it that of what another person has saved since.
  const [asking, setAsking] = useState<{ what: Asking; key: string; version: number }>()
  const ask = (what: Asking) => () => setAsking({ what, key: newKey(), version: quota.version })
  const close = (): void => setAsking(undefined)
  const done = async (text: string): Promise<void> => {
    announce(text)
    await refreshed(queries, [client.name])
  }
  const { id } = quota
  const idle = quota.cap === null ? 'pays for nothing' : 'bounds nothing'
  return (
    <>
      {quota.cap !== null && <SwitchCap client={client} quota={quota} />}
      <More>
        {quota.status === 'disabled' ? (
          <button type="button" onClick={ask('enable')}>
            Enable
          </button>
        ) : (
          <button type="button" onClick={ask('disable')}>
            Disable
          </button>
        )}
        {!isForEach(quota) && (
          <button type="button" onClick={ask('reset')}>
            Reset
          </button>
        )}
        <button type="button" className="danger" onClick={ask('delete')}>
          Delete
        </button>
      </More>
      {asking?.what === 'disable' && (
        <Confirm
          title={`Disable quota ${id}?`}
          verb="Disable"
          danger
          onClose={close}
          act={async () => {
            await client.update(id, { status: 'disabled' }, asking.version)
            await done(`Quota ${id} is disabled.`)
          }}
        >
          <p>
            It {idle} until it is enabled again. {quota.cap === null && 'Open holds stay open. '}You can undo this.
          </p>
        </Confirm>
      )}
      {asking?.what === 'enable' && (
        <Confirm
          title={`Enable quota ${id}?`}
          verb="Enable"
          onClose={close}
          act={async () => {
            await client.update(id, { status: 'active' }, asking.version)
            await done(`Quota ${id} is enabled.`)
          }}
        >
          <p>{quota.cap === null ? 'It pays again at once.' : exampleOf(limitOfQuota(quota))}</p>
        </Confirm>
      )}
      {asking?.what === 'reset' && (
        <Confirm
          title={`Reset quota ${id}?`}
          verb="Reset to 0"
          danger
          onClose={close}
          act={async () => {
            await client.reset(id, asking.key)
            await done(`Quota ${id} begins again at 0.`)
          }}
        >
          <p>
            {amount(quota.used)} used and {amount(quota.reserved)} held are set to 0.{' '}
            {quota.quotaType === 2 && 'The next reset stays where it is. '}
            <b>This cannot be undone.</b>
          </p>
        </Confirm>
      )}
      {asking?.what === 'delete' && (
        <Confirm
          title={`Delete quota ${id}?`}
          verb="Delete"
          danger
          onClose={close}
          act={async () => {
            await client.delete(id, asking.version)
            announce(`Quota ${id} is deleted. It can be restored on this page.`)
            // The cached record must not stay on the screen.
            void queries.resetQueries({ queryKey: [client.name, 'quota', id] })
            await refreshed(queries, [client.name])
          }}
        >
          <p>
            It {idle} any more and is in no list but that of the deleted ones. Its history stays, and you can restore
            it.
          </p>
        </Confirm>
      )}
    </>
  )
}

/** A quota that is deleted or never existed: its history shows which. */
function GoneQuota({ client, id, error }: { client: ChannelClient; id: number; error: unknown }): ReactNode {
  const queries = useQueryClient()
  const asked = useQuery({
    queryKey: [client.name, 'changes', { quotaId: id }],
    queryFn: ({ signal }) => client.changes({ quotaId: id }, signal),
  })
  const restore = useMutation({
    mutationFn: () => client.restore(id),
    onSuccess: async () => {
      announce(`Quota ${id} is restored.`)
      await refreshed(queries, [client.name])
    },
  })
  const was = asked.data !== undefined && asked.data.items.length > 0
  if (!was) {
    return (
      <Screen title={`Quota ${id}`}>
        <Loaded of={asked}>{() => <Failure error={error} />}</Loaded>
      </Screen>
    )
  }
  return (
    <Screen
      title={
        <>
          Quota {id} <Badge status="deleted" />
        </>
      }
      actions={
        <button type="button" className="primary" onClick={() => restore.mutate()}>
          Restore
        </button>
      }
    >
      {restore.error !== null && <Failure error={restore.error} />}
      <p>
        It is deleted, of {asked.data.items[0]?.owner !== 0 && client.owner}{' '}
        <Whose client={client} of={asked.data.items[0] ?? { owner: 0 }} />. Restored, it is as it was.
      </p>
      <History client={client} id={id} />
    </Screen>
  )
}

function History({ client, id, quota }: { client: ChannelClient; id: number; quota?: Quota | undefined }): ReactNode {
  const changes = useQuery({
    queryKey: [client.name, 'changes', { quotaId: id }],
    queryFn: ({ signal }) => client.changes({ quotaId: id }, signal),
  })
  return (
    <>
      <Panel
        title="Changes"
        actions={
          <Link to="/$channel/changes" params={{ channel: client.name }} search={{ quotaId: id }}>
            All of them, with filters
          </Link>
        }
      >
        <Loaded of={changes} isEmpty={({ items }) => items.length === 0} empty="Nobody has changed it.">
          {({ items }) => <ChangeTable client={client} rows={items} quotas={false} />}
        </Loaded>
      </Panel>
      <FoldedOnPhone value>
        <UsageByDay
          client={client}
          of={{ quotaId: id }}
          limits={quota === undefined || isForEach(quota) ? [] : [quota]}
        />
        <Panel
          title="Usage"
          hint="The operations that it paid for, or counted, newest first."
          actions={
            <Csv of="usage" file={async () => (await import('../download.ts')).exportLedger(client, { quotaId: id })} />
          }
        >
          <Ledger
            client={client}
            of={{ quotaId: id }}
            ofCounts={quota !== undefined && isForEach(quota) && quota.cap === null}
            empty="Nothing was spent or held of it yet."
          />
        </Panel>
      </FoldedOnPhone>
    </>
  )
}
