import { isProblem, type Me, type Attempt, QuotaClient } from '@quota-service/client'
import { useSyncExternalStore } from 'react'
import { now } from './format.tsx'
import { Notice } from './notice.ts'
import {
  comeBack,
  endSession,
  forgetProvider,
  type Grant,
  isReturn,
  leave,
  type Provider,
  renew,
  signedInByProvider,
} from './provider.ts'

/** The state of the sign-in. */
export type Session =
  /** `why`: the reason for the sign-out, or why the stored token could not be checked. */
  | { readonly state: 'signedOut'; readonly why?: unknown }
  /** A stored token is being checked. */
  | { readonly state: 'checking' }
  | { readonly state: 'signedIn'; readonly me: Me }
  /** The service no longer accepts the token; the screen stays until the person signs in again. */
  | { readonly state: 'expired'; readonly me: Me }

/** A call that waits for its next attempt. */
export interface Waiting {
  readonly requestId: string
  /** The status of the last answer; undefined without an answer. */
  readonly status: number | undefined
  /** The time of the next attempt, by `performance.now()`. */
  readonly until: number
}

/** A value to which components subscribe. */
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

/** The storage key of the token, if the person asked to keep it: for this tab, until it is closed. */
const KEPT = 'quota-console-token'
/** The prefix of the storage keys of drafts (use-draft.ts); a sign-out removes them. */
export const DRAFTS = 'quota-console-draft:'

/** Not in a component's state, so that developer tools do not show it. */
let token = ''
/** The identity provider's grant of the token; undefined for a static token. */
let grant: Grant | undefined
let renewing: Promise<void> | undefined
/** Did a person without a role come back? Then the provider must ask for another account. */
let hadNoRole = false
/** An access token that expires within this time is renewed before its use, in milliseconds. */
const RENEW_BEFORE_MS = 30_000

/** The service's sign-in settings; a page from another origin accepts only tokens. */
const settings = JSON.parse(metaContent('quota-sign-in') || '{}') as { provider?: Provider; idleMinutes?: number }

/** The identity provider; undefined if none is configured. */
export const provider = settings.provider

/** The URL of the service: the page's origin, unless the page names another one (index.html). */
const baseUrl = metaContent('quota-service') || location.origin

export const client = new QuotaClient({ baseUrl, token: freshToken, onAttempt: follow })

/** Is the service ready? Needs no token. */
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
 * @param keep stores the token for this tab, so that a reload of the page does not ask for it again
 * @throws Problem unauthenticated, or another error of the request
 */
export async function signIn(given: string, keep: boolean): Promise<Me> {
  const before = { token, grant }
  token = given
  // Otherwise the next renewal would replace this token with one of the identity provider.
  grant = undefined
  try {
    const me = await client.me({ deadlineMs: 20_000 })
    if (keep) sessionStorage.setItem(KEPT, given)
    else sessionStorage.removeItem(KEPT)
    session.set({ state: 'signedIn', me })
    return me
  } catch (error) {
    ;({ token, grant } = before)
    throw error
  }
}

/** Navigates to the identity provider; drafts are kept. */
export async function signInByProvider(): Promise<void> {
  if (provider !== undefined) await leave(provider, hadNoRole ? 'login' : undefined)
}

/**
 * Removes the token and all drafts, and ends the session at the identity provider, if the token comes from there.
 * @param idle was the person inactive for too long?
 */
export function signOut(idle = false): void {
  const given = grant
  token = ''
  grant = undefined
  sessionStorage.removeItem(KEPT)
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFTS)) sessionStorage.removeItem(name)
  session.set(idle ? idleFor() : { state: 'signedOut' })
  if (provider !== undefined && given !== undefined) {
    const leaving = (): void => {
      if (idle) sessionStorage.setItem(IDLE, 'true')
    }
    endSession(provider, given.idToken, leaving).catch(() => {
      const what = 'The session at the identity provider could not be ended: it does not answer.'
      const why = new Notice('You are signed out here alone', what, 'Sign out there, too, or close the browser.')
      session.set({ state: 'signedOut', why })
    })
  }
}

/** Completes a sign-in at the identity provider, or repeats the last sign-in of this tab. */
export async function resume(): Promise<void> {
  if (sessionStorage.getItem(IDLE) !== null) {
    sessionStorage.removeItem(IDLE)
    session.set(idleFor())
    return
  }
  if (provider !== undefined && (isReturn() || signedInByProvider())) {
    session.set({ state: 'checking' })
    try {
      if (isReturn()) await signInWith(await comeBack(provider))
      else await leave(provider, 'none')
    } catch (why) {
      session.set({ state: 'signedOut', why })
    }
    return
  }
  const kept = sessionStorage.getItem(KEPT)
  if (kept === null) return
  session.set({ state: 'checking' })
  try {
    await signIn(kept, true)
  } catch (error) {
    const isInvalid = isProblem(error, 'unauthenticated')
    if (isInvalid) sessionStorage.removeItem(KEPT)
    session.set(isInvalid ? { state: 'signedOut' } : { state: 'signedOut', why: error })
  }
}

async function signInWith(found: Grant | undefined): Promise<void> {
  if (found === undefined) {
    const what = 'The identity provider asks you to sign in again.'
    session.set({ state: 'signedOut', why: new Notice('Your session has ended', what, 'What you typed is kept.') })
    return
  }
  try {
    await signIn(found.token, false)
  } catch (error) {
    if (!isProblem(error, 'forbidden')) throw error
    hadNoRole = true
    forgetProvider()
    const what = 'The identity provider knows you, but gives you no role in this service.'
    const todo = 'Ask whoever runs the identity provider for one, or sign in as somebody else.'
    throw new Notice('You may not use this console', what, todo, { cause: error })
  }
  grant = found
}

/** The token, renewed if it expires soon. A token that cannot be renewed is used until it expires. */
async function freshToken(): Promise<string> {
  const { endsAt = Infinity, refreshToken } = grant ?? {}
  if (provider !== undefined && grant !== undefined && refreshToken !== undefined && endsAt - now() < RENEW_BEFORE_MS) {
    const before = grant
    renewing ??= renew(provider, before)
      .then((renewed) => {
        // The person may have signed out meanwhile.
        if (grant !== before) return
        grant = renewed
        token = renewed.token
      })
      .catch(() => {
        if (grant === before) grant = { ...before, refreshToken: undefined }
      })
      .finally(() => {
        renewing = undefined
      })
    await renewing
  }
  return token
}

const IDLE_LOOK_MS = 5_000
/** Set while the provider ends the session of an inactive person. */
const IDLE = 'quota-console-idle'

function idleFor(): Session {
  const what = `Nothing was touched for ${settings.idleMinutes ?? 0} minutes.`
  return { state: 'signedOut', why: new Notice('You were signed out', what, 'Sign in again to go on.') }
}

/** Signs out a person who is inactive for the time that the service allows. */
export function watchIdleness(): void {
  const minutes = settings.idleMinutes ?? 0
  if (minutes === 0) return
  let touched = now()
  for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
    addEventListener(
      kind,
      () => {
        touched = now()
      },
      { passive: true, capture: true },
    )
  setInterval(() => {
    const { state } = session.get()
    if (state === 'signedOut' || now() - touched < minutes * 60_000) return
    signOut(true)
  }, IDLE_LOOK_MS)
}

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content.trim() ?? ''
}

/** Called with every failure: if the token is no longer valid, the person must sign in again. */
export function noteFailure(error: unknown): void {
  const current = session.get()
  if (isProblem(error, 'unauthenticated') && current.state === 'signedIn')
    session.set({ state: 'expired', me: current.me })
}

function follow({ requestId, status, waitMs }: Attempt): void {
  const others = waiting.get().filter((one) => one.requestId !== requestId)
  if (waitMs !== undefined) waiting.set([...others, { requestId, status, until: performance.now() + waitMs }])
  else if (others.length < waiting.get().length) waiting.set(others)
}
