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
/** What the identity provider gave with it; undefined for a static token. */
let grant: Grant | undefined
let renewing: Promise<void> | undefined
/** Was somebody without a role sent back? Then the provider is to ask who it is. */
let refused = false
/** An access token that ends within this time is renewed first, in milliseconds. */
const RENEW_BEFORE_MS = 30_000

/** What the service says of signing in; a page that comes from elsewhere knows of tokens alone. */
const told = JSON.parse(metaContent('quota-sign-in') || '{}') as { provider?: Provider; idleMinutes?: number }

/** Where people sign in by name; undefined where there is no such place. */
export const provider = told.provider

/** Where the service is: where the page comes from, unless the page says otherwise (index.html). */
const baseUrl = metaContent('quota-service') || location.origin

export const client = new QuotaClient({ baseUrl, token: freshToken, onAttempt: follow })

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
  const before = { token, grant }
  token = given
  // Else the next renewal would put a token of the identity provider in the place of this one.
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

/** Leaves for the identity provider; what is typed is there when its owner comes back. */
export async function signInByProvider(): Promise<void> {
  if (provider !== undefined) await leave(provider, refused ? 'login' : undefined)
}

/**
 * Forgets the token and all that was typed, and ends the session at the identity provider, if it comes from there.
 * @param idle nothing was touched for too long
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

/** Goes on where the identity provider sends back, or with what this tab was signed in by. */
export async function resume(): Promise<void> {
  if (sessionStorage.getItem(IDLE) !== null) {
    sessionStorage.removeItem(IDLE)
    session.set(idleFor())
    return
  }
  if (provider !== undefined && (isReturn() || signedInByProvider())) {
    session.set({ state: 'checking' })
    try {
      if (isReturn()) await take(await comeBack(provider))
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
    const refused = isProblem(error, 'unauthenticated')
    if (refused) sessionStorage.removeItem(KEPT)
    session.set(refused ? { state: 'signedOut' } : { state: 'signedOut', why: error })
  }
}

async function take(found: Grant | undefined): Promise<void> {
  if (found === undefined) {
    const what = 'The identity provider asks you to sign in again.'
    session.set({ state: 'signedOut', why: new Notice('Your session has ended', what, 'What you typed is kept.') })
    return
  }
  try {
    await signIn(found.token, false)
  } catch (error) {
    if (!isProblem(error, 'forbidden')) throw error
    refused = true
    forgetProvider()
    const what = 'The identity provider knows you, but gives you no role in this service.'
    const todo = 'Ask whoever runs the identity provider for one, or sign in as somebody else.'
    throw new Notice('You may not use this console', what, todo, { cause: error })
  }
  grant = found
}

/** The token, renewed where it ends soon. One that cannot be renewed is used for as long as it is good. */
async function freshToken(): Promise<string> {
  const { endsAt = Infinity, refreshToken } = grant ?? {}
  if (provider !== undefined && grant !== undefined && refreshToken !== undefined && endsAt - now() < RENEW_BEFORE_MS) {
    const before = grant
    renewing ??= renew(provider, before)
      .then((renewed) => {
        // Not where somebody has signed out meanwhile.
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
/** Set while the page is away at the provider to end the session of somebody who was idle. */
const IDLE = 'quota-console-idle'

function idleFor(): Session {
  const what = `Nothing was touched for ${told.idleMinutes ?? 0} minutes.`
  return { state: 'signedOut', why: new Notice('You were signed out', what, 'Sign in again to go on.') }
}

/** Signs out whoever has touched nothing for as long as the service allows. */
export function watchIdleness(): void {
  const minutes = told.idleMinutes ?? 0
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

/** To be told of every failure: where the token is not taken any more, somebody has to sign in again. */
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
