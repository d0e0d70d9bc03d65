import { type SubmitEvent, type ReactNode, useRef, useState } from 'react'
import { Notice } from '../notice.ts'
import { Failure, Field } from '../parts.tsx'
import { provider, signIn, signInByProvider } from '../session.ts'

/** Asks for a token, which is sent only in request headers. Where it is kept: hand-over.ts. */
export function SignInForm({ autoFocus = false, onDone }: { autoFocus?: boolean; onDone?: () => void }): ReactNode {
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const token = field.current?.value.trim() ?? ''
    if (token === '' || busy) {
      field.current?.focus()
      return
    }
    if (/[^ -~]/.test(token)) {
      setError(new Notice('This is no token', 'It has a character that no token has.', 'Copy the whole token again.'))
      field.current?.focus()
      return
    }
    setBusy(true)
    setError(undefined)
    signIn(token).then(onDone, (reason: unknown) => {
      setBusy(false)
      setError(reason)
      field.current?.focus()
    })
  }
  const byProvider = (): void => {
    setBusy(true)
    setError(undefined)
    signInByProvider().catch((reason: unknown) => {
      setBusy(false)
      setError(reason)
    })
  }
  return (
    <form onSubmit={submit} className="sign-in">
      {provider !== undefined && (
        <div className="by-provider">
          <button type="button" className="primary" onClick={byProvider} aria-disabled={busy} autoFocus={autoFocus}>
            Sign in with {new URL(provider.issuer).host}
          </button>
          <p className="muted">or with a token</p>
        </div>
      )}
      <Field label="Token" hint="Your own one, so that the history of changes names you. It begins with qs_.">
        {(ids) => (
          <input
            {...ids}
            ref={field}
            type="password"
            autoComplete="off"
            spellCheck={false}
            autoFocus={autoFocus && provider === undefined}
          />
        )}
      </Field>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        <button type="submit" className={provider === undefined ? 'primary' : undefined} aria-disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </div>
    </form>
  )
}
