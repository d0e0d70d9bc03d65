import { isProblem } from '@quota-service/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type SubmitEvent, type ReactNode, useState } from 'react'
import { CapLinks, Ledger, LedgerTable } from './ledger-table.tsx'
import { ANYBODY, type ChannelClient, newKey, type Operation } from '../channel-client.ts'
import { amount, counted } from '../amount.ts'
import { Time } from '../format.tsx'
import {
  announce,
  Badge,
  Confirm,
  Copied,
  Field,
  Loaded,
  NumberField,
  OwnerLink,
  Panel,
  QuotaLink,
  Screen,
  Table,
  useTyped,
} from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import type { OperationsSearch } from '../search.ts'
import { useDraft } from '../use-draft.ts'
import { readWhole } from '../whole-number.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The latest operations, and a search by id or key. */
export function OperationsScreen({ client, search }: { client: ChannelClient; search: OperationsSearch }): ReactNode {
  const navigate = useNavigate()
  const [typed, setTyped] = useTyped({ text: search.key ?? '', caller: search.caller ?? '' })
  const { text, caller } = typed
  const asked = useQuery({
    queryKey: [client.name, 'ledger', search],
    queryFn: ({ signal }) => client.ledger({ idempotencyKey: search.key, caller: search.caller ?? ANYBODY }, signal),
    enabled: search.key !== undefined,
  })
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const sought = text.trim()
    if (sought === '') return
    if (UUID.test(sought))
      void navigate({ to: '/$channel/operations/$id', params: { channel: client.name, id: sought.toLowerCase() } })
    else
      void navigate({
        to: '/$channel/operations',
        params: { channel: client.name },
        search: { key: sought, ...(caller.trim() === '' ? {} : { caller: caller.trim() }) },
      })
  }
  return (
    <Screen title={`${client.title}: operations`}>
      <form className="filters" aria-label="Find" onSubmit={submit}>
        <Field label="Identifier or idempotency key" className="long" hint="of the message that went out, or did not">
          {(ids) => (
            <input
              {...ids}
              value={text}
              maxLength={255}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped({ ...typed, text: event.target.value })}
            />
          )}
        </Field>
        <Field label="Sent by" hint="the name of the sender’s token; empty: anybody who has spent lately">
          {(ids) => (
            <input
              {...ids}
              value={caller}
              autoComplete="off"
              onChange={(event) => setTyped({ ...typed, caller: event.target.value })}
            />
          )}
        </Field>
        <div className="actions">
          <button type="submit" className="primary">
            Find
          </button>
        </div>
      </form>
      {search.key === undefined ? (
        <Panel title="Latest" hint={`Every consume and every hold, newest first, whichever ${client.owner} it is of.`}>
          <Ledger client={client} of={{ all: 'true' }} empty="Nothing was spent or held yet." />
        </Panel>
      ) : (
        <Loaded
          of={asked}
          isEmpty={({ items }) => items.length === 0}
          empty={
            <>
              <p>
                No operation has the key <code>{search.key}</code>
                {search.caller === undefined ? ', whoever sent it' : ` of ${search.caller}`}: it did not go out, or
                {search.caller === undefined ? ' its sender has spent nothing for 31 days' : ' somebody else sent it'}.
              </p>
              {search.caller === undefined && <p>Such a sender is found by the name of its token.</p>}
            </>
          }
        >
          {({ items }) => <LedgerTable client={client} rows={items} owners />}
        </Loaded>
      )}
    </Screen>
  )
}

export function OperationScreen({ client, id }: { client: ChannelClient; id: string }): ReactNode {
  const asked = useQuery({
    queryKey: [client.name, 'operation', id],
    queryFn: ({ signal }) => client.operation(id, signal),
  })
  const acts = useQuery({
    queryKey: [client.name, 'acts', id],
    queryFn: ({ signal }) => client.acts(id, signal),
    enabled: asked.data !== undefined,
  })
  return (
    <Screen
      title={<>Operation {asked.data !== undefined && <Badge status={asked.data.state} />}</>}
      actions={asked.data !== undefined && <Actions client={client} operation={asked.data} />}
    >
      {isProblem(asked.error, 'operation_not_found') && (
        <p>
          Request ids look the same:{' '}
          <Link to="/$channel/search" params={{ channel: client.name }} search={{ q: id }}>
            what else is called so
          </Link>
        </p>
      )}
      <Loaded of={asked}>
        {(operation) => (
          <>
            <Panel title="Summary">
              <dl className="facts">
                <Fact name="Identifier">
                  <Copied what="identifier" text={operation.id} named={false} />
                </Fact>
                <Fact name={client.Owner}>
                  <OwnerLink channel={client.name} owner={operation.owner} />
                </Fact>
                <Fact name="Kind">{operation.kind === 'consume' ? 'spent at once' : 'held first'}</Fact>
                <Fact name="Amount">{amount(operation.amount)}</Fact>
                <Fact name="Charged">{amount(operation.charged)}</Fact>
                <Fact name="Refunded">{amount(operation.refunded)}</Fact>
                <Fact name="When">
                  <Time at={operation.createdAt} exact />
                </Fact>
                {operation.expiresAt !== null && (
                  <Fact name="Hold ends">
                    <Time at={operation.expiresAt} ago />
                  </Fact>
                )}
              </dl>
            </Panel>
            <Panel title="Paid by" hint="In the order in which it was drawn.">
              <Table
                caption="What each quota paid"
                rows={operation.allocations}
                idOf={({ quotaId }) => quotaId}
                columns={[
                  { head: 'Quota', cell: ({ quotaId }) => <QuotaLink channel={client.name} id={quotaId} row /> },
                  { head: 'Amount', cell: (allocation) => amount(allocation.amount), className: 'number' },
                ]}
              />
            </Panel>
            {operation.caps !== undefined && (
              <Panel title="Counted by" hint="Caps that counted its whole amount.">
                <CapLinks client={client} caps={operation.caps} />
              </Panel>
            )}
            <Panel title="What was done with it">
              <Loaded of={acts} isEmpty={(rows) => rows.length === 0} empty="Nothing is known.">
                {(rows) => (
                  <Table
                    caption="Acts, oldest first"
                    rows={rows}
                    idOf={({ at, kind }) => at + kind}
                    columns={[
                      { head: 'When', cell: ({ at }) => <Time at={at} exact /> },
                      { head: 'What', cell: ({ kind }) => kind },
                      { head: 'Who', cell: ({ actor }) => <b>{actor}</b>, className: 'name' },
                      { head: 'Amount', cell: (act) => amount(act.amount), className: 'number' },
                      {
                        head: 'Key',
                        cell: ({ idempotencyKey }) =>
                          idempotencyKey === null ? <span className="muted">–</span> : <code>{idempotencyKey}</code>,
                        className: 'key',
                      },
                      {
                        head: 'Request',
                        cell: ({ requestId }) => <Copied what="id" text={requestId} />,
                        className: 'request',
                      },
                    ]}
                  />
                )}
              </Loaded>
            </Panel>
          </>
        )}
      </Loaded>
    </Screen>
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

type Asking = 'commit' | 'release' | 'refund'

/** A refund that was sent, and may have taken effect. */
interface Sent {
  readonly amount: number
  readonly key: string
}

function Actions({ client, operation }: { client: ChannelClient; operation: Operation }): ReactNode {
  const queries = useQueryClient()
  const [asking, setAsking] = useState<Asking>()
  const [text, setText] = useState('')
  const { id, state, charged, refunded } = operation
  const left = state === 'reserved' ? operation.amount : charged - refunded
  // Until there is an answer, the same amount is the same refund, also after a reload.
  const [sent, , setSent, forget] = useDraft<readonly Sent[]>(`${client.name}/operations/${id}/refund`, () => [])
  // As the question was opened: what took effect without an answer must not make its repetition invalid.
  const [most, setMost] = useState(left)
  const ask = (what: Asking) => () => {
    const last = what === 'refund' ? sent.at(-1)?.amount : undefined
    setText(String(last ?? left))
    setMost(Math.max(left, last ?? 0))
    setAsking(what)
  }
  const reading = readWhole(text, { min: 1, max: most })
  const value = reading.value ?? 0
  const good = reading.value !== undefined
  const close = (): void => setAsking(undefined)
  const done = async (said: string): Promise<void> => {
    announce(said)
    await refreshed(queries, [client.name])
  }
  const field = (
    <NumberField
      label="Amount"
      hint={`1 to ${amount(most)}`}
      text={text}
      reading={reading}
      error={reading.mistake}
      onText={setText}
    />
  )
  return (
    <>
      {state === 'reserved' && (
        <>
          <button type="button" onClick={ask('commit')}>
            Commit
          </button>
          <button type="button" className="danger" onClick={ask('release')}>
            Release
          </button>
        </>
      )}
      {(state === 'consumed' || state === 'committed') && left > 0 && (
        <button type="button" onClick={ask('refund')}>
          Refund
        </button>
      )}
      {asking === 'commit' && (
        <Confirm
          title="Commit this hold?"
          verb="Commit"
          ready={good}
          onClose={close}
          act={async () => {
            await client.commit(id, value)
            await done('The hold is committed.')
          }}
        >
          {field}
          <p>So much is spent; the rest of the hold returns. What is committed can be refunded.</p>
        </Confirm>
      )}
      {asking === 'release' && (
        <Confirm
          title="Release this hold?"
          verb="Release"
          danger
          onClose={close}
          act={async () => {
            await client.release(id)
            await done('The hold is released.')
          }}
        >
          <p>
            {counted(operation.amount, 'unit returns', 'units return')} to what is left. Whoever made the hold can not
            commit it any more. <b>This cannot be undone.</b>
          </p>
        </Confirm>
      )}
      {asking === 'refund' && (
        <Confirm
          title="Refund this operation?"
          verb="Refund"
          ready={good}
          onClose={close}
          act={async () => {
            const { key } = sent.find((one) => one.amount === value) ?? { key: newKey() }
            setSent([...sent.filter((one) => one.amount !== value), { amount: value, key }])
            await client.refund(id, value, key).catch((reason: unknown) => {
              if (isProblem(reason, 'refund_exceeds_charge')) forget()
              throw reason
            })
            forget()
            await done('The operation is refunded.')
          }}
        >
          {field}
          <p>So much returns to the quotas that paid, if their cycle still runs. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  )
}
