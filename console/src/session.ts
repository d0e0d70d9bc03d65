import { isProblem, type Me, type Attempt, OutcomeUnknown, QuotaClient } from '@quota-service/client'
import { useSyncExternalStore } from 'react'
import { now } from './format.tsx'
import { type Held, isIdle, leaveBehind, listen, type Message, takeLeft, tell } from './hand-over.ts'
import { Notice } from './notice.ts'
import { comeBack, endSession, type Grant, isReturn, leave, type Provider, renew } from './provider.ts'

/** The state of the sign-in. */
export type Session =
  /** `why`: the reason for the sign-out, or why the session could not be resumed. */
  | { readonly state: 'signedOut'; readonly why?: unknown }
  /** A session is being resumed, or other tabs are asked for one. */
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

/** The prefix of the storage keys of drafts (use-draft.ts); a sign-out removes them. */
export const DRAFTS = 'quota-console-draft:'

/** Not in a component's state, so that developer tools do not show it. */
let token = ''
/** The identity provider's grant of the token; undefined for a static token. */
let grant: Grant | undefined
/** The session that this tab passes on; undefined if nobody is signed in. */
let held: Pick<Held, 'token'> | undefined
/** The time of the last activity in any tab. */
let touchedAt = 0
/** Does this tab still wait for the session of another one? */
let asking = false
let renewing: Promise<void> | undefined
/** Did a person without a role come back? Then the provider must ask for another account. */
let hadNoRole = false
/** An access token that expires within this time is renewed before its use, in milliseconds. */
const RENEW_BEFORE_MS = 30_000
/** The pause after a renewal that the provider did not answer, in milliseconds. */
const RENEW_AGAIN_MS = 5_000
/** Not earlier than this is the token renewed. */
let renewAgainAt = 0

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
 * @param by the grant of the token, if it comes from the identity provider
 * @throws Problem unauthenticated, or another error of the request
 */
export async function signIn(given: string, by?: Grant): Promise<void> {
  const before = { token, grant, held }
  asking = false
  token = given
  // Otherwise the next renewal would replace this token with one of the identity provider.
  grant = undefined
  try {
    const me = await client.me({ deadlineMs: 20_000 })
    // The person may have signed out in another tab meanwhile.
    if (held !== before.held) return
    if (held === undefined) touchedAt = now()
    held = { token: by === undefined ? given : undefined }
    grant = by
    tell({ kind: 'touched', touchedAt })
    session.set({ state: 'signedIn', me })
  } catch (error) {
    if (held === before.held) ({ token, grant } = before)
    throw error
  }
}

/** Navigates to the identity provider; drafts are kept. */
export async function signInByProvider(): Promise<void> {
  asking = false
  if (provider !== undefined) await leave(provider, hadNoRole ? 'login' : undefined)
}

/**
 * Signs out in all tabs, and ends the session at the identity provider, if the person signed in there.
 * @param idle was the person inactive for too long?
 */
export function signOut(idle = false): void {
  const isByProvider = held !== undefined && held.token === undefined
  const idToken = grant?.idToken
  forget(idle)
  tell({ kind: 'signedOut', idle })
  if (provider !== undefined && isByProvider) {
    const leaving = (): void => {
      if (idle) sessionStorage.setItem(IDLE, 'true')
    }
    endSession(provider, idToken, leaving).catch(() => {
      const what = 'The session at the identity provider could not be ended: it does not answer.'
      const why = new Notice('You are signed out here alone', what, 'Sign out there, too, or close the browser.')
      session.set({ state: 'signedOut', why })
    })
  }
}

/** Removes the session and all drafts of this tab. */
function forget(idle: boolean): void {
  token = ''
  grant = undefined
  held = undefined
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFTS)) sessionStorage.removeItem(name)
  session.set(idle ? idleFor() : { state: 'signedOut' })
}

/** Begins: with the session of the page before, with a return from the identity provider, or with another tab's. */
export function start(): void {
  const left = takeLeft(now())
  listen(receive)
  addEventListener('pagehide', () => {
    if (held !== undefined) leaveBehind({ ...held, touchedAt }, now())
  })
  // A page that is shown again has not heard of a sign-out meanwhile: it begins anew.
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    held = takeLeft(now())
    location.reload()
  })
  watchIdleness()
  if (sessionStorage.getItem(IDLE) !== null) {
    sessionStorage.removeItem(IDLE)
    session.set(idleFor())
  } else if (left !== undefined) take(left)
  else if (isReturn()) {
    touchedAt = now()
    void resume()
  } else {
    asking = true
    session.set({ state: 'checking' })
    tell({ kind: 'ask' })
    setTimeout(() => {
      if (asking) session.set({ state: 'signedOut' })
    }, ANSWER_MS)
  }
}

function take(given: Held): void {
  held = { token: given.token }
  touchedAt = Math.min(given.touchedAt, now())
  if (!signOutIdle()) void resume()
}

function receive(message: Message): void {
  switch (message.kind) {
    case 'ask':
      signOutIdle()
      if (held !== undefined && session.get().state === 'signedIn') tell({ kind: 'held', ...held, touchedAt })
      break
    case 'held':
      // A late answer is welcome until the person signs in here.
      if (asking) take(message)
      break
    case 'touched':
      touchedAt = Math.max(touchedAt, Math.min(message.touchedAt, now()))
      break
    case 'signedOut':
      if (held !== undefined) forget(message.idle)
  }
}

/** Resumes the session: with its token, or at the identity provider, which asks nothing. */
export async function resume(): Promise<void> {
  asking = false
  session.set({ state: 'checking' })
  try {
    if (provider !== undefined && isReturn()) {
      // Otherwise a refusal would be asked for again.
      held = undefined
      await signInWith(await comeBack(provider))
    } else if (held?.token !== undefined) await signIn(held.token)
    else if (provider !== undefined) await leave(provider, 'none')
    else session.set({ state: 'signedOut' })
  } catch (error) {
    const isInvalid = held?.token !== undefined && isProblem(error, 'unauthenticated')
    if (isInvalid) held = undefined
    session.set(isInvalid ? { state: 'signedOut' } : { state: 'signedOut', why: error })
  }
}

async function signInWith(found: Grant | undefined): Promise<void> {
  if (found === undefined) {
    const what = 'The identity provider asks you to sign in again.'
    throw new Notice('Your session has ended', what, 'What you typed is kept.')
  }
  held = { token: undefined }
  try {
    await signIn(found.token, found)
  } catch (error) {
    if (!isProblem(error, 'forbidden')) throw error
    hadNoRole = true
    held = undefined
    const what = 'The identity provider knows you, but gives you no role in this service.'
    const todo = 'Ask whoever runs the identity provider for one, or sign in as somebody else.'
    throw new Notice('You may not use this console', what, todo, { cause: error })
  }
}

/**
 * The token, renewed if it expires soon. A token that cannot be renewed is used until it expires; if the provider did
 * not answer, it is asked again after a pause.
 */
async function freshToken(): Promise<string> {
  const { endsAt = Infinity, refreshToken } = grant ?? {}
  const isDue = endsAt - now() < RENEW_BEFORE_MS && now() >= renewAgainAt
  if (provider !== undefined && grant !== undefined && refreshToken !== undefined && isDue) {
    const before = grant
    renewing ??= renew(provider, before)
      .then((renewed = { ...before, refreshToken: undefined }) => {
        // The person may have signed out meanwhile.
        if (grant !== before) return
        grant = renewed
        token = renewed.token
      })
      .catch(() => {
        renewAgainAt = now() + RENEW_AGAIN_MS
      })
      .finally(() => {
        renewing = undefined
      })
    await renewing
  }
  return token
}

/** How long a new tab shows nothing while it waits for other tabs, in milliseconds. */
const ANSWER_MS = 200
const IDLE_LOOK_MS = 5_000
/** Activity is noted, and told to other tabs, this often at most, in milliseconds. */
const TOUCH_MS = 1_000
/** Set while the provider ends the session of an inactive person. */
const IDLE = 'quota-console-idle'

function idleFor(): Session {
  const what = `Nothing was touched for ${settings.idleMinutes ?? 0} minutes.`
  return { state: 'signedOut', why: new Notice('You were signed out', what, 'Sign in again to go on.') }
}

/** Signs out a person who is inactive for the time that the service allows. */
function watchIdleness(): void {
  if (settings.idleMinutes === undefined || settings.idleMinutes === 0) return
  const touch = (): void => {
    // First: after a sleep of the machine, this may come before the next look.
    signOutIdle()
    if (held === undefined || Math.abs(now() - touchedAt) < TOUCH_MS) return
    touchedAt = now()
    tell({ kind: 'touched', touchedAt })
  }
  for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
    addEventListener(kind, touch, { passive: true, capture: true })
  setInterval(signOutIdle, IDLE_LOOK_MS)
}

/** @returns whether the person was inactive for too long, and is signed out now */
function signOutIdle(): boolean {
  const isTooLong = held !== undefined && isIdle(touchedAt, now(), settings.idleMinutes ?? 0)
  if (isTooLong) signOut(true)
  return isTooLong
}

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content.trim() ?? ''
}

/** Called with every failure: if the token is no longer valid, the person must sign in again. */
export function noteFailure(error: unknown): void {
  const current = session.get()
  // After a lost answer, the 401 is the cause.
  const refused = error instanceof OutcomeUnknown ? error.cause : error
  if (isProblem(refused, 'unauthenticated') && current.state === 'signedIn')
    session.set({ state: 'expired', me: current.me })
}

/** The time after its pause for which a call without news counts as waiting: a quick answer continues its notice. */
const SILENCE_MS = 1_000

function follow({ requestId, status, waitMs }: Attempt): void {
  stopWaiting((one) => one.requestId === requestId)
  if (waitMs === undefined) return
  const call: Waiting = { requestId, status, until: performance.now() + waitMs }
  waiting.set([...waiting.get(), call])
  // A call that is aborted in its pause tells nothing more.
  setTimeout(() => stopWaiting((one) => one === call), waitMs + SILENCE_MS)
}

function stopWaiting(is: (call: Waiting) => boolean): void {
  const others = waiting.get().filter((one) => !is(one))
  if (others.length < waiting.get().length) waiting.set(others)
}
