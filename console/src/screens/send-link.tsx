import { useMutation } from '@tanstack/react-query'
import { type SubmitEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { type ChannelClient } from '../channel-client.ts'
import { Time } from '../format.tsx'
import { announce, Confirm, Copied, Dialog, Failure, Field } from '../parts.tsx'

const DAY_SECONDS = 86_400
/** The offered lifetimes of a link, in seconds. */
const LIFETIMES: readonly (readonly [number, string])[] = [
  [DAY_SECONDS, 'a day'],
  [7 * DAY_SECONDS, 'a week'],
  [30 * DAY_SECONDS, '30 days'],
  [365 * DAY_SECONDS, 'a year'],
]

/** Makes a link with which an owner sees what it has left, shows it once, and ends the links made before. */
export function SendLink({
  client,
  owner,
  onClose,
}: {
  client: ChannelClient
  owner: number
  onClose: () => void
}): ReactNode {
  const [seconds, setSeconds] = useState(30 * DAY_SECONDS)
  const [revoking, setRevoking] = useState(false)
  const made = useMutation({
    mutationFn: async () => client.link(owner, seconds),
    onSuccess: () => announce('The link is created. It is shown only here.'),
  })
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (!made.isPending) made.mutate()
  }
  const link = useRef<HTMLParagraphElement>(null)
  const isMade = made.data !== undefined
  // The button that had the focus is gone.
  useEffect(() => {
    if (isMade) link.current?.querySelector('button')?.focus()
  }, [isMade])
  const name = `${client.owner} ${owner}`
  if (revoking) {
    return (
      <Confirm
        title={`End all links of ${name}?`}
        verb="End them"
        danger
        onClose={onClose}
        act={async () => {
          await client.revokeLinks(owner)
          announce(`All links of ${name} that were made before are ended.`)
        }}
      >
        <p>Whoever has one sees nothing more. You can make new links, but not undo this.</p>
      </Confirm>
    )
  }
  return (
    <Dialog title={`Send a link for ${name}`} onClose={onClose}>
      <form onSubmit={submit} className="grid">
        <p>Whoever has the link sees what is left, what limits it, refusals and usage, without a sign-in.</p>
        {made.data === undefined ? (
          <Field label="It works for">
            {(ids) => (
              <select {...ids} value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
                {LIFETIMES.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
        ) : (
          <>
            <p ref={link}>
              <Copied what="link" text={made.data.url} named={false} />
            </p>
            <p className="muted">
              Copy it now: it is not kept. It works until <Time at={made.data.expiresAt} />.
            </p>
          </>
        )}
        {made.error !== null && <Failure error={made.error} />}
        <div className="actions">
          {made.data === undefined && (
            <button type="submit" className="primary" aria-disabled={made.isPending}>
              {made.isPending ? 'Working…' : 'Create link'}
            </button>
          )}
          <button type="button" className="danger" onClick={() => setRevoking(true)}>
            End all links…
          </button>
          <button type="button" onClick={onClose}>
            {made.data === undefined ? 'Cancel' : 'Close'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
