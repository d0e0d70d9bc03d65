import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Difference } from './changes.tsx'
import { countsText, OutcomeBadge, SetBadge, Why, Words } from './set-parts.tsx'
import {
  askOf,
  type ChangeSet,
  type ImportDraft,
  importDraft,
  isAtWork,
  manyDraft,
  OUTCOMES,
  ownerOf,
  progressOf,
  type Row,
  type RowOutcome,
  searchOf,
  setsOf,
} from '../change-sets.ts'
import { type ChannelClient, given } from '../channel-client.ts'
import { exportRows } from '../download.ts'
import { amount, counted } from '../amount.ts'
import { Time } from '../format.tsx'
import {
  announce,
  Confirm,
  Download,
  Failure,
  Label,
  Loaded,
  OwnerLink,
  Panel,
  QuotaLink,
  Screen,
  Table,
  useStillHere,
} from '../parts.tsx'
import { answered, refreshed } from '../refresh.ts'
import { FRESH_MS } from '../renewal.ts'
import { type ChangeSetSearch, SET_OUTCOMES } from '../search.ts'
import { leftText, type Look, lookedAgain, secondsLeft } from '../time-left.ts'
import { draftOf, keepDraft } from '../use-draft.ts'

const PAGE_SIZE = 50
/** The interval of reads while the service processes the change set, in milliseconds. */
const LOOK_MS = 700

/** One change set in any state: its preview, progress and result. */
export function ChangeSetScreen({
  client,
  id,
  search,
}: {
  client: ChannelClient
  id: number
  search: ChangeSetSearch
}): ReactNode {
  const asked = useChangeSet(client, id)
  useEnd(client, asked.data)
  return (
    <Screen
      title={
        <>
          Change set {id} {asked.data !== undefined && <SetBadge state={asked.data.state} />}
        </>
      }
      actions={
        <Link to="/$channel/change-sets" params={{ channel: client.name }} search={{}}>
          All change sets
        </Link>
      }
    >
      <Loaded of={asked}>
        {(set) => (
          <>
            <Panel title={set.source === 'import' ? 'Import' : 'What is asked for'}>
              <p className="ask">
                <Words parts={askOf(client, set)} />
              </p>
              <p className="muted">
                Made by <b>{set.actor}</b> <Time at={set.createdAt} relative />
                {set.appliedAt !== null && (
                  <>
                    , applied <Time at={set.appliedAt} relative />
                  </>
                )}
                {set.revertedAt !== null && (
                  <>
                    , undone <Time at={set.revertedAt} relative />
                  </>
                )}
                .
              </p>
              <Standing client={client} set={set} at={asked.dataUpdatedAt} />
            </Panel>
            {set.state !== 'preparing' && (set.state !== 'failed' || set.counts.rows > 0) && (
              <Rows client={client} set={set} search={search} />
            )}
          </>
        )}
      </Loaded>
    </Screen>
  )
}

/** Reads the change set; often while the service processes it. */
export function useChangeSet(client: ChannelClient, id: number) {
  return useQuery({
    queryKey: [client.name, 'change-set', id],
    queryFn: ({ signal }) => setsOf(client).get(id, { signal }),
    refetchInterval: ({ state: { data } }) => (data === undefined ? false : isAtWork(data) ? LOOK_MS : FRESH_MS),
  })
}

/** Announces the result, and renews all data. */
function useEnd(client: ChannelClient, set: ChangeSet | undefined): void {
  const queries = useQueryClient()
  const before = useRef<ChangeSet>(undefined)
  useEffect(() => {
    const earlier = before.current
    before.current = set
    // It may be over before it is seen at work, such as after an answer that was lost.
    if (set === undefined || earlier === undefined || earlier.state === set.state || isAtWork(set)) return
    const what = {
      ready: 'can be applied',
      applied: 'is applied',
      reverted: 'is undone',
      failed: 'has failed',
    } as const
    announce(`Change set ${set.id} ${what[set.state as keyof typeof what]}. ${countsText(set.counts)}.`)
    if (set.state !== 'ready') void queries.invalidateQueries({ queryKey: [client.name] })
  }, [client, set, queries])
}

/**
 * The state, and the possible actions.
 * @param at the time at which it was read, in milliseconds since 1970
 */
function Standing({ client, set, at }: { client: ChannelClient; set: ChangeSet; at: number }): ReactNode {
  const { state, counts } = set
  if (state === 'preparing') {
    return (
      <div className="progress">
        <progress aria-label="Looking at the quotas" />
        <p className="muted">The quotas are looked at; nothing is changed yet.</p>
      </div>
    )
  }
  if (state === 'applying' || state === 'reverting') return <Progress set={set} at={at} />
  if (state === 'failed') return <Failed client={client} set={set} />
  if (state === 'ready') return <Ready client={client} set={set} />
  return (
    <>
      <Result set={set} />
      <div className="actions">
        {state === 'applied' && counts.applied > 0 && <Undo client={client} set={set} />}
        {counts.conflict + counts.invalid > 0 && (
          <Download
            name={`Download what failed (${amount(counts.conflict + counts.invalid)})`}
            quiet
            file={async () => exportRows(client, set.id, ['conflict', 'invalid'], 'failed')}
          />
        )}
        {counts.kept > 0 && (
          <Download
            name={`Download what was kept (${amount(counts.kept)})`}
            quiet
            file={async () => exportRows(client, set.id, ['kept'], 'kept')}
          />
        )}
      </div>
    </>
  )
}

/** The verb of the button that applies the change set. */
function verbOf({ source, change }: ChangeSet): string {
  if (source === 'import') return 'Apply to'
  return change !== null && 'delete' in change ? 'Delete' : change !== null && 'reset' in change ? 'Reset' : 'Change'
}

function objectOf({ source, counts: { planned } }: ChangeSet): string {
  return source === 'import' ? counted(planned, 'row') : counted(planned, 'quota')
}

/** The change set is prepared, and can be applied. */
function Ready({ client, set }: { client: ChannelClient; set: ChangeSet }): ReactNode {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const here = useStillHere()
  const [asking, setAsking] = useState(false)
  const key = [client.name, 'change-set', set.id]
  const { counts, change, source } = set
  const typed = draftOf<ImportDraft>(importDraft(client))
  /** The draft of this change set; undefined if it belongs to another one by now. */
  const own = typed?.checked === set.id ? typed : undefined
  const forgetTyped = (): void => {
    if (source === 'filter') keepDraft(manyDraft(client, searchOf(client, set)), undefined)
    else if (own !== undefined && own.edited !== true) keepDraft(importDraft(client), undefined)
  }
  const applying = async (): Promise<void> => {
    try {
      await answered(queries, key, await setsOf(client).apply(set))
      forgetTyped()
      toHeading()
    } catch (error) {
      await refreshed(queries, key)
      throw error
    }
  }
  const apply = useMutation({ mutationFn: applying })
  const drop = useMutation({
    mutationFn: async () => setsOf(client).delete(set.id),
    onSuccess: async () => {
      announce(`Change set ${set.id} is dropped. Nothing was changed.`)
      if (own !== undefined) keepDraft(importDraft(client), { ...own, checked: undefined })
      void queries.invalidateQueries({ queryKey: [client.name, 'change-sets'] })
      if (!here()) return
      await navigate(
        source === 'import'
          ? { to: '/$channel/import', params: { channel: client.name } }
          : { to: '/$channel/change-sets/new', params: { channel: client.name }, search: searchOf(client, set) },
      )
    },
  })
  const verb = `${verbOf(set)} ${objectOf(set)}`
  const resets = change !== null && 'reset' in change
  const asks = resets || (change !== null && 'delete' in change)
  const { planned } = counts
  return (
    <>
      <p className="result">
        {planned === 0
          ? counts.rows === 0
            ? 'Nothing is found, so there is nothing to do.'
            : 'There is nothing to do.'
          : `${counted(planned, source === 'import' ? 'row' : 'quota')} would be ${source === 'import' ? 'applied' : resets ? 'reset' : asks ? 'deleted' : 'changed'}.`}
        {counts.unchanged > 0 && ` ${amount(counts.unchanged)} ${counts.unchanged === 1 ? 'is' : 'are'} so already.`}
        {counts.invalid > 0 && ` Of ${amount(counts.invalid)} it is not possible.`}
        {counts.conflict > 0 && ` ${amount(counts.conflict)} ${counts.conflict === 1 ? 'is' : 'are'} in conflict.`}
      </p>
      {(apply.error ?? drop.error) !== null && <Failure error={apply.error ?? drop.error} />}
      <div className="actions">
        {planned > 0 && (
          <button
            type="button"
            className={asks ? 'danger' : 'primary'}
            aria-disabled={apply.isPending}
            onClick={() => (asks ? setAsking(true) : !apply.isPending && apply.mutate())}
          >
            {apply.isPending ? 'Beginning…' : verb}
          </button>
        )}
        <button type="button" aria-disabled={drop.isPending} onClick={() => !drop.isPending && drop.mutate()}>
          {source === 'import' ? 'Back to what was typed' : 'Ask for something else'}
        </button>
        {counts.invalid + counts.conflict > 0 && (
          <Download
            name={`Download what is not possible (${amount(counts.invalid + counts.conflict)})`}
            quiet
            file={async () => exportRows(client, set.id, ['invalid', 'conflict'], 'failed')}
          />
        )}
      </div>
      {asking && (
        <Confirm title={`${verb}?`} verb={verb} danger onClose={() => setAsking(false)} act={applying}>
          <p>
            {resets ? (
              <>
                What they have used and held is set to 0. <b>This cannot be undone.</b>
              </>
            ) : (
              'They pay for nothing and bound nothing any more. You can undo this here for 90 days.'
            )}
          </p>
        </Confirm>
      )}
    </>
  )
}

/** The progress, and the estimated remaining time. */
function Progress({ set, at }: { set: ChangeSet; at: number }): ReactNode {
  const { done, total } = progressOf(set)
  const [looks, setLooks] = useState<readonly Look[]>([])
  const now = lookedAgain(looks, { at, done })
  if (now !== looks) setLooks(now)
  const seconds = secondsLeft(now, total)
  const name = set.state === 'reverting' ? 'Undone' : 'Done'
  return (
    <div className="progress">
      <progress aria-label={name} value={done} max={Math.max(1, total)} />
      <p>
        <b>{amount(done)}</b> of {amount(total)} {set.state === 'reverting' ? 'undone' : 'done'}
        <span className="muted">
          {' '}
          · {amount(total - done)} {total - done === 1 ? 'remains' : 'remain'}
          {seconds !== undefined && ` · ${leftText(seconds)} left`}
        </span>
      </p>
      <p className="muted">It goes on by itself, also when you leave this page.</p>
    </div>
  )
}

/** The result. */
function Result({ set }: { set: ChangeSet }): ReactNode {
  const { state, counts, source } = set
  const of = source === 'import' ? 'row' : 'quota'
  return (
    <>
      <p className="result">
        {state === 'applied'
          ? `${counted(counts.applied, of)} ${counts.applied === 1 ? 'was' : 'were'} ${source === 'import' ? 'applied' : 'changed'}.`
          : `${counted(counts.reverted, of)} ${counts.reverted === 1 ? 'is' : 'are'} as before.`}
      </p>
      {counts.conflict > 0 && (
        <p className="notice">
          <span>
            <span aria-hidden="true">⚠ </span>
            {counted(counts.conflict, of)} {counts.conflict === 1 ? 'was' : 'were'} changed or deleted by somebody else
            meanwhile, and left as {counts.conflict === 1 ? 'it is' : 'they are'}.{' '}
            <ToRows set={set} outcome="conflict">
              Look at {counts.conflict === 1 ? 'it' : 'them'}
            </ToRows>
          </span>
        </p>
      )}
      {counts.kept > 0 && (
        <p className="notice">
          <span>
            <span aria-hidden="true">⚠ </span>
            {counted(counts.kept, of)} {counts.kept === 1 ? 'was' : 'were'} kept: changed again since, or not to be put
            back.{' '}
            <ToRows set={set} outcome="kept">
              Look at {counts.kept === 1 ? 'it' : 'them'}
            </ToRows>
          </span>
        </p>
      )}
    </>
  )
}

/** Links to the rows with this outcome, below. */
function ToRows({ set: { id }, outcome, children }: { set: ChangeSet; outcome: RowOutcome; children: ReactNode }) {
  return (
    <Link from="/$channel/change-sets/$id" to="." params={{ id: String(id) }} search={{ outcome }} replace>
      {children}
    </Link>
  )
}

function Undo({ client, set }: { client: ChannelClient; set: ChangeSet }): ReactNode {
  const queries = useQueryClient()
  const [asked, setAsked] = useState<ChangeSet>()
  if (set.change !== null && 'reset' in set.change)
    return <p className="muted">What was counted before a reset is gone: this cannot be undone.</p>
  return (
    <>
      <button type="button" onClick={() => setAsked(set)}>
        Undo {amount(set.counts.applied)}
      </button>
      {asked !== undefined && (
        <Confirm
          title={`Undo change set ${set.id}?`}
          verb={`Undo ${amount(asked.counts.applied)}`}
          onClose={() => setAsked(undefined)}
          act={async () => {
            const key = [client.name, 'change-set', set.id]
            try {
              await answered(queries, key, await setsOf(client).revert(asked))
            } catch (error) {
              await refreshed(queries, key)
              throw error
            }
          }}
        >
          <p>
            {asked.source === 'import'
              ? 'Quotas get the settings back that they had before; those that were made are deleted, and can be restored.'
              : 'They become what they were before.'}{' '}
            Those that were changed again since are kept as they are, and told.
          </p>
        </Confirm>
      )}
    </>
  )
}

/** The reason of a failed preparation. */
function Failed({ client, set }: { client: ChannelClient; set: ChangeSet }): ReactNode {
  const { problem, source, counts } = set
  // Set aside while it was applied or reverted: it keeps its rows.
  if (counts.rows > 0)
    return (
      <>
        <div className="failure">
          <p className="failure-title">
            <span aria-hidden="true">⚠ </span>
            This stopped on the way
          </p>
          <p>{problem !== undefined && <Why problem={problem} />}</p>
          <p>The rows below say what was changed.</p>
        </div>
        {counts.applied > 0 && <Undo client={client} set={set} />}
      </>
    )
  return (
    <>
      <div className="failure">
        <p className="failure-title">
          <span aria-hidden="true">⚠ </span>
          {source === 'import' ? 'The file cannot be read' : 'This cannot be done at once'}
        </p>
        <p>{problem !== undefined && <Why problem={problem} columns />}</p>
        <p>
          {source === 'import'
            ? 'Nothing was changed. Correct it, then check it again.'
            : 'Nothing was changed. Choose fewer quotas by another filter.'}
        </p>
      </div>
      {source === 'import' && (
        <p>
          <Link to="/$channel/import" params={{ channel: client.name }}>
            Back to the import
          </Link>
        </p>
      )}
    </>
  )
}

function Rows({ client, set, search }: { client: ChannelClient; set: ChangeSet; search: ChangeSetSearch }): ReactNode {
  const { outcome, after } = search
  const { counts } = set
  const asked = useQuery({
    // One query for each version; between versions, the counts show the progress.
    queryKey: [client.name, 'change-set', set.id, 'rows', set.version, search],
    queryFn: ({ signal }) =>
      setsOf(client)
        .rows(set.id, { ...search, labels: 'true', pageSize: PAGE_SIZE }, { signal })
        .page(),
    placeholderData: keepPreviousData,
  })
  const shown = SET_OUTCOMES.filter((one) => counts[one] > 0 || one === outcome)
  const here = { from: '/$channel/change-sets/$id', to: '.', replace: true } as const
  return (
    <Panel title={set.state === 'ready' ? 'Preview' : 'Row by row'}>
      <nav className="tabs" aria-label="Rows">
        <Link {...here} search={{}} {...(outcome === undefined ? CURRENT : {})} activeOptions={{ exact: true }}>
          all {amount(counts.rows)}
        </Link>
        {shown.map((one) => (
          <Link
            key={one}
            {...here}
            search={{ outcome: one }}
            {...(outcome === one ? CURRENT : {})}
            activeOptions={{ exact: true }}
          >
            {OUTCOMES[one][1]} {amount(counts[one])}
          </Link>
        ))}
      </nav>
      <Loaded of={asked} isEmpty={({ items }) => items.length === 0} empty="There are no such rows.">
        {({ items }) => (
          <div className={asked.isPlaceholderData ? 'stale' : undefined}>
            <Table
              caption={set.state === 'ready' ? 'What would become of each' : 'What became of each'}
              rows={items}
              idOf={({ row }) => row}
              as="page"
              columns={columnsOf(client, set)}
            />
          </div>
        )}
      </Loaded>
      <nav className="pager" aria-label="Pages">
        {after !== undefined && (
          <Link {...here} search={given({ outcome })}>
            First rows
          </Link>
        )}
        {asked.data?.nextAfter != null && (
          <Link {...here} search={{ ...given({ outcome }), after: asked.data.nextAfter }}>
            Next rows
          </Link>
        )}
      </nav>
    </Panel>
  )
}
const CURRENT = { 'aria-current': 'page' } as const

function columnsOf(client: ChannelClient, set: ChangeSet) {
  const ahead = set.state === 'ready'
  return [
    ...(set.source === 'import'
      ? [{ head: 'Line', cell: ({ line }: Row) => (line === null ? '' : amount(line)), className: 'number' }]
      : []),
    {
      head: 'Quota',
      cell: ({ quotaId, action }: Row) =>
        quotaId === null ? (
          <span className="muted">{action === 'create' ? 'new' : '–'}</span>
        ) : (
          <QuotaLink channel={client.name} id={quotaId} row />
        ),
      className: 'id',
    },
    {
      head: client.Owner,
      cell: (row: Row) => {
        const owner = ownerOf(row)
        return owner === null ? <span className="muted">–</span> : <OwnerLink channel={client.name} owner={owner} />
      },
      folds: true,
    },
    { head: 'Label', cell: ({ label = null }: Row) => <Label text={label} /> },
    {
      head: 'Before and after',
      cell: ({ action, before, after, outcome }: Row) =>
        Object.keys(before).length === 0 && Object.keys(after).length === 0 ? (
          <span className="muted">{outcome === 'unchanged' ? 'nothing differs' : '–'}</span>
        ) : (
          <Difference change={{ action, before, after }} ahead={ahead} named={action !== 'update'} />
        ),
      className: 'wide',
    },
    {
      head: ahead ? 'What would become of it' : 'What became of it',
      cell: ({ outcome, problem }: Row) => (
        <>
          <OutcomeBadge outcome={outcome} />{' '}
          {problem !== null && <Why problem={problem} columns={set.source === 'import'} />}
        </>
      ),
      className: 'became',
    },
  ]
}

/** Moves the focus to the heading, above the state, since the pressed button is gone. */
function toHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus()
}
