import { type WebhookEndpoint, webhookEndpoints } from '@quota-service/client/events'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { amount, counted } from '../amount.ts'
import { fromLocalInput, HERE, LOCAL_TIME, now, Time, timeMistake, toLocalInput } from '../format.tsx'
import { announce, Badge, Confirm, Copied, Failure, Field, Loaded, Screen, Table } from '../parts.tsx'
import { refreshed } from '../refresh.ts'
import { client } from '../session.ts'

/* Endpoints that are told of events: their state, and the actions of an administrator. */

const KEY = ['webhooks']
const endpoints = webhookEndpoints(client)
const DAY_MS = 86_400_000

/** A file with one endpoint of each kind for people. */
const EXAMPLE = JSON.stringify(
  [
    {
      name: 'chat',
      kind: 'slack',
      url: 'https://hooks.slack.com/services/…',
      types: ['quota.threshold_reached', 'owner.refused'],
    },
    {
      name: 'people',
      kind: 'mail',
      to: ['ops@example.org'],
      from: 'quota@example.org',
      smtp: 'smtp://mail.example.org:587',
      digest: 'daily',
    },
  ],
  null,
  2,
)

export function WebhooksScreen(): ReactNode {
  const asked = useQuery({ queryKey: KEY, queryFn: ({ signal }) => endpoints.list({ signal }) })
  return (
    <Screen title="Notifications">
      <p className="muted">
        The service tells these endpoints what happens: programs, chats and mailboxes. Whoever runs the service lists
        them in a file (WEBHOOKS_FILE).
      </p>
      <Loaded of={asked} isEmpty={(rows) => rows.length === 0} empty={<NoEndpoints />}>
        {(rows) => (
          <Table
            caption="Endpoints"
            rows={rows}
            idOf={({ name }) => name}
            columns={[
              {
                head: 'Endpoint',
                cell: ({ name, url }) => (
                  <>
                    <b>{name}</b> {url !== null && <code className="url">{url}</code>}
                  </>
                ),
                className: 'wide',
              },
              { head: 'Kind', cell: ({ kind }) => kind ?? '' },
              { head: 'State', cell: ({ state }) => <Badge status={state} /> },
              { head: 'Last answer', cell: (hook) => <LastAnswer hook={hook} /> },
              { head: 'Delivered', cell: ({ delivered }) => amount(delivered), className: 'number' },
              { head: 'Given up', cell: ({ failed }) => amount(failed), className: 'number' },
              { head: 'Waiting', cell: (hook) => <Waits hook={hook} />, className: 'number' },
              {
                head: 'Events',
                cell: ({ types, channels }) => (
                  <>
                    {types.map((type) => type.replace('quota.', '').replace(/[._]/, ' ')).join(', ')}{' '}
                    <span className="muted">({channels.join(', ')})</span>
                  </>
                ),
                folds: true,
              },
              { head: 'Actions', cell: (hook) => <Deeds hook={hook} /> },
            ]}
          />
        )}
      </Loaded>
    </Screen>
  )
}

function NoEndpoints(): ReactNode {
  return (
    <>
      <p>Nobody is told yet. A file like this one tells a chat and a mailbox; WEBHOOKS_FILE names it.</p>
      <pre className="sample">{EXAMPLE}</pre>
      <Copied what="file" text={EXAMPLE} shown={false} />
    </>
  )
}

/** The result of an attempt in words: a status of HTTP or mail, or the error. */
function answerText(status: number | null, error: string | null): string {
  if (status === null) return error ?? 'no answer'
  return error === null ? `${status}, received` : `${status}, refused`
}

function LastAnswer({ hook: { lastAttempt } }: { hook: WebhookEndpoint }): ReactNode {
  if (lastAttempt === null) return <span className="muted">none yet</span>
  const { at, status, error } = lastAttempt
  return (
    <>
      {answerText(status, error)},{' '}
      <span className="muted">
        <Time at={at} relative />
      </span>
    </>
  )
}

function Waits({ hook: { waiting, oldestWaitingAt } }: { hook: WebhookEndpoint }): ReactNode {
  return (
    <>
      {amount(waiting)}
      {oldestWaitingAt !== null && (
        <span className="muted">
          , the oldest <Time at={oldestWaitingAt} relative />
        </span>
      )}
    </>
  )
}

/** The time 24 hours ago, the default of the form. */
function lastDay(): string {
  return toLocalInput(new Date(Math.floor((now() - DAY_MS) / 60_000) * 60_000).toISOString())
}

function Deeds({ hook: { name, state } }: { hook: WebhookEndpoint }): ReactNode {
  const queries = useQueryClient()
  const [asking, setAsking] = useState<'enable' | 'replay'>()
  const [from, setFrom] = useState(lastDay)
  const [to, setTo] = useState('')
  const close = (): void => setAsking(undefined)
  const done = async (said: string): Promise<void> => {
    announce(said)
    await refreshed(queries, KEY)
  }
  const test = useMutation({
    mutationFn: async () => endpoints.test(name),
    onSuccess: async ({ status, error, ms }) =>
      done(
        status === null
          ? `The test of ${name} failed after ${amount(ms)} ms: ${answerText(status, error)}.`
          : `${name} answered the test: ${answerText(status, error)}, after ${amount(ms)} ms.`,
      ),
  })
  const active = state === 'active'
  return (
    <>
      <div className="actions">
        {active && (
          <button type="button" aria-disabled={test.isPending} onClick={() => !test.isPending && test.mutate()}>
            {test.isPending ? 'Testing…' : 'Test'}
            <span className="visually-hidden"> {name}</span>
          </button>
        )}
        {active && (
          <button type="button" onClick={() => setAsking('replay')}>
            Replay<span className="visually-hidden"> to {name}</span>
          </button>
        )}
        {state === 'disabled' && (
          <button type="button" onClick={() => setAsking('enable')}>
            Enable<span className="visually-hidden"> {name}</span>
          </button>
        )}
        {state === 'removed' && <span className="muted">in no file</span>}
      </div>
      {test.data !== undefined && (
        <p className="answer">
          {test.data.status === null ? 'Test failed' : 'Test'}: {answerText(test.data.status, test.data.error)},{' '}
          {amount(test.data.ms)} ms
        </p>
      )}
      {test.error !== null && <Failure error={test.error} />}
      {asking === 'enable' && (
        <Confirm
          title={`Enable ${name}?`}
          verb="Enable"
          onClose={close}
          act={async () => {
            await endpoints.enable(name)
            await done(`${name} is enabled.`)
          }}
        >
          <p>It is told of what happens from now on. What happened meanwhile is sent by “Replay”.</p>
        </Confirm>
      )}
      {asking === 'replay' && (
        <Confirm
          title={`Send events to ${name} again?`}
          verb="Send again"
          ready={fromLocalInput(from) !== null && timeMistake(to) === undefined}
          onClose={close}
          act={async () => {
            const events = await endpoints.replay(name, {
              from: fromLocalInput(from) ?? '',
              to: fromLocalInput(to) ?? undefined,
            })
            await done(`${counted(events, 'event')} ${events === 1 ? 'is' : 'are'} sent to ${name} again.`)
          }}
        >
          <p>Each event keeps its id, so that a receiver knows those that it has.</p>
          <Field
            label="Happened from"
            hint={`in your zone (${HERE})`}
            error={from === '' ? 'from when on' : timeMistake(from)}
          >
            {(ids) => <input {...ids} {...LOCAL_TIME} value={from} onChange={(event) => setFrom(event.target.value)} />}
          </Field>
          <Field label="Until" hint="empty: until now" error={timeMistake(to)}>
            {(ids) => <input {...ids} {...LOCAL_TIME} value={to} onChange={(event) => setTo(event.target.value)} />}
          </Field>
        </Confirm>
      )}
    </>
  )
}
