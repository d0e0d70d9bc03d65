/*
 * The session on its way to the next page of this tab, and to other tabs.
 *
 * The next page: only the tab's storage survives a reload. The session is in it from the end of a page until the next
 * one begins, and is valid for a minute. If it stayed there, whoever reopens a closed tab after a sign-out would be
 * signed in again, as in a tab that was discarded meanwhile, or one that the browser restores the next day.
 *
 * Another tab: a new one, or a copy of this one, asks by BroadcastChannel, which reaches only pages of this origin.
 */

/** A session that is passed on. */
export interface Held {
  /** Undefined for a sign-in at the identity provider: each tab gets tokens of its own there, without a question. */
  readonly token: string | undefined
  /** The time of the last activity in any tab, in milliseconds since 1970. */
  readonly touchedAt: number
}

/** What tabs tell each other. */
export type Message =
  /** A new tab asks for the session. */
  | { readonly kind: 'ask' }
  | ({ readonly kind: 'held' } & Held)
  | { readonly kind: 'touched'; readonly touchedAt: number }
  /** @param idle was the person inactive for too long? */
  | { readonly kind: 'signedOut'; readonly idle: boolean }

/** The storage key, and the name of the channel. */
const NAME = 'quota-console-session'
/** The longest way from a page to the next one, in milliseconds. */
export const RELOAD_MS = 60_000

/** The session as text for the next page of this tab. @param at the present */
export function leftAs({ token, touchedAt }: Held, at: number): string {
  return JSON.stringify({ token, touchedAt, leftAt: at })
}

/** The session that the page before has left; undefined if there is none, or it is too old. @param at the present */
export function heldIn(text: string | null, at: number): Held | undefined {
  if (text === null) return undefined
  const { token, touchedAt, leftAt } = JSON.parse(text) as Held & { leftAt: number }
  return Math.abs(at - leftAt) < RELOAD_MS ? { token, touchedAt } : undefined
}

/** Was the person inactive for as long as the service allows? @param minutes 0: for ever */
export function isIdle(touchedAt: number, at: number, minutes: number): boolean {
  return minutes > 0 && at - touchedAt >= minutes * 60_000
}

/** Leaves the session to the next page of this tab. */
export function leaveBehind(held: Held, at: number): void {
  sessionStorage.setItem(NAME, leftAs(held, at))
}

/** Takes the session that the page before has left. */
export function takeLeft(at: number): Held | undefined {
  const text = sessionStorage.getItem(NAME)
  sessionStorage.removeItem(NAME)
  return heldIn(text, at)
}

let channel: BroadcastChannel | undefined

/** Begins to listen to the other tabs. */
export function listen(receive: (message: Message) => void): void {
  channel = new BroadcastChannel(NAME)
  channel.onmessage = ({ data }: MessageEvent<Message>) => receive(data)
}

/** Tells all other tabs. */
export function tell(message: Message): void {
  channel?.postMessage(message)
}
