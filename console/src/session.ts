import { isProblem, type Me, type Attempt, QuotaClient } from '@quota-service/client'
import { useSyncExternalStore } from 'react'

/** Who uses the console, as far as is known. */
export type Session =
  /** `why`: what kept a token that this tab keeps from being looked at. */
  | { readonly state: 'signedOut'; readonly why?: unknown }
  /** A token that was kept is being looked at. */
  | { readonly state: 'checking' }
  | { readonly state: 'signedIn'; readonly me: Me }
  /** The service has stopped taking the token; what is on the screen stays until somebody signs in again. */
  | { readonly state: 'expired'; readonly me: Me }

/** A call that waits for its next attempt. */
export interface Waiting {
  readonly requestId: string
  /** The status that made it wait; undefined where no answer came. */
  readonly status: number | undefined
  /** When it tries again, in milliseconds of `performance.now()`. */
  readonly until: number
}

/** A value that components follow. */
class Store<T> {
  private readonly listeners = new Set<() => void>()
  constructor(private current: T) {}
  readonly get = (): T => this.current
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
  set(value: T): void {
    this.current = value
    for (const listener of this.listeners) listener()
  }
}

const session = new Store<Session>({ state: 'signedOut' })
const waiting = new Store<readonly Waiting[]>([])

/** Where the token is kept if its owner asked for that: for this tab, until it is closed. */
const KEPT = 'quota-console-token'
/** What was typed and not saved, by form (use-draft.ts); it goes when somebody signs out. */
export const DRAFTS = 'quota-console-draft:'

/** In no component's state, so that no tool that shows those shows it. */
let token = ''

/** Where the service is: where the page comes from, unless the page says otherwise (index.html). */
const baseUrl = document.querySelector<HTMLMetaElement>('meta[name="quota-service"]')?.content.trim() || location.origin

export const client = new QuotaClient({ baseUrl, token: async () => token, onAttempt: follow })

/** Is the service ready to work? Its own word, which needs no token. */
export async function isReady(signal: AbortSignal): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/health/ready`, { signal, cache: 'no-store' }).catch((error: unknown) => {
    if (signal.aborted) throw error
    return undefined
  })
  return answer?.ok === true
}

export function useSession(): Session {
  return useSyncExternalStore(session.subscribe, session.get)
}

/** The calls that wait for their next attempt. */
export function useWaiting(): readonly Waiting[] {
  return useSyncExternalStore(waiting.subscribe, waiting.get)
}

/**
 * Signs in.
 * @param keep for this tab, so that loading the page anew does not ask for it again
 * @throws Problem unauthenticated, or whatever kept the service from saying who it is
 */
export async function signIn(given: string, keep: boolean): Promise<Me> {
  const before = token
  token = given
  try {
    const me = await client.me({ deadlineMs: 20_000 })
    if (keep) sessionStorage.setItem(KEPT, given)
    else sessionStorage.removeItem(KEPT)
    session.set({ state: 'signedIn', me })
    return me
  } catch (error) {
    token = before
    throw error
  }
}

/** Forgets the token and all that was typed. */
export function signOut(): void {
  token = ''
  sessionStorage.removeItem(KEPT)
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFTS)) sessionStorage.removeItem(name)
  session.set({ state: 'signedOut' })
}

/** Goes on with the token that was kept, if there is one. */
export async function resume(): Promise<void> {
  const kept = sessionStorage.getItem(KEPT)
  if (kept === null) return
  session.set({ state: 'checking' })
  try {
    await signIn(kept, true)
  } catch (error) {
    const refused = isProblem(error, 'unauthenticated')
    if (refused) sessionStorage.removeItem(KEPT)
    session.set(refused ? { state: 'signedOut' } : { state: 'signedOut', why: error })
  }
}

/** To be told of every failure: where the token is not taken any more, somebody has to sign in again. */
export function noteFailure(error: unknown): void {
  const now = session.get()
  if (isProblem(error, 'unauthenticated') && now.state === 'signedIn') session.set({ state: 'expired', me: now.me })
}

function follow({ requestId, status, waitMs }: Attempt): void {
  const others = waiting.get().filter((one) => one.requestId !== requestId)
  if (waitMs !== undefined) waiting.set([...others, { requestId, status, until: performance.now() + waitMs }])
  else if (others.length < waiting.get().length) waiting.set(others)
}
