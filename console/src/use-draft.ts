import { useCallback, useState, useSyncExternalStore } from 'react'
import { DRAFTS } from './session.ts'

/*
 * What somebody types in a form. It outlives the form, the loading of the page and signing in again: it is kept for
 * this tab until it is saved, thrown away, or its owner signs out. Each draft has a name, so that an answer which comes
 * when its form is long gone finds what is typed by then.
 */

/** Forms that are open, and by the name of their draft. */
const open = new Map<string, Set<() => void>>()
/** What was read, by its text: the same object as long as the text is the same. */
const known = new Map<string, { readonly text: string; readonly draft: unknown }>()

/** Somebody's draft of that name, as far as it goes. */
export function draftOf<T>(name: string): T | undefined {
  const text = sessionStorage.getItem(DRAFTS + name)
  if (text === null) return undefined
  const last = known.get(name)
  if (last?.text === text) return last.draft as T
  const draft = JSON.parse(text) as T
  known.set(name, { text, draft })
  return draft
}

/** Keeps a draft, or forgets it where it is undefined; an open form shows it. */
export function keepDraft(name: string, draft: unknown): void {
  if (draft === undefined) {
    sessionStorage.removeItem(DRAFTS + name)
    known.delete(name)
  } else sessionStorage.setItem(DRAFTS + name, JSON.stringify(draft))
  for (const look of open.get(name) ?? []) look()
}

/** Is there a form on the screen for it? */
export function isOpen(name: string): boolean {
  return (open.get(name)?.size ?? 0) > 0
}

/**
 * @param name of the form
 * @param initial what the form begins with
 * @returns the draft, whether it was found from before, a setter, and an end to it
 */
export function useDraft<T>(
  name: string,
  initial: () => T,
): [draft: T, found: boolean, set: (draft: T) => void, clear: () => void] {
  const [{ first, found }] = useState(() => ({ first: initial(), found: draftOf(name) !== undefined }))
  const subscribe = useCallback(
    (look: () => void) => {
      const forms = open.get(name) ?? new Set()
      open.set(name, forms.add(look))
      return () => {
        forms.delete(look)
        if (forms.size === 0) open.delete(name)
      }
    },
    [name],
  )
  const kept = useSyncExternalStore(subscribe, () => draftOf<T>(name))
  const set = useCallback((next: T) => keepDraft(name, next), [name])
  const clear = useCallback(() => keepDraft(name, undefined), [name])
  return [kept ?? first, found && kept !== undefined, set, clear]
}
