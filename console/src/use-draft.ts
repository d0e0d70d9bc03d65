import { useCallback, useState, useSyncExternalStore } from 'react'
import { DRAFTS } from './session.ts'

/*
 * Drafts: the unsaved input of forms. A draft survives the form, a reload of the page and a new sign-in: this tab keeps
 * it until it is saved or discarded, or the person signs out. Each draft has a name, so that an answer that arrives
 * after its form was closed finds the current draft.
 */

/** The listeners of open forms, by the name of their draft. */
const open = new Map<string, Set<() => void>>()
/** The drafts read last, by name: the same object as long as the text is the same. */
const known = new Map<string, { readonly text: string; readonly draft: unknown }>()

/** The draft with this name; undefined if there is none. */
export function draftOf<T>(name: string): T | undefined {
  const text = sessionStorage.getItem(DRAFTS + name)
  if (text === null) return undefined
  const last = known.get(name)
  if (last?.text === text) return last.draft as T
  const draft = JSON.parse(text) as T
  known.set(name, { text, draft })
  return draft
}

/** Stores a draft, or removes it if it is undefined; an open form shows the change. */
export function keepDraft(name: string, draft: unknown): void {
  if (draft === undefined) {
    sessionStorage.removeItem(DRAFTS + name)
    known.delete(name)
  } else sessionStorage.setItem(DRAFTS + name, JSON.stringify(draft))
  for (const listener of open.get(name) ?? []) listener()
}

/** Is a form with this draft on the screen? */
export function isOpen(name: string): boolean {
  return (open.get(name)?.size ?? 0) > 0
}

/**
 * @param name of the form
 * @param initial the initial values of the form
 * @returns the draft, whether it existed before, a setter, and a function that removes it
 */
export function useDraft<T>(
  name: string,
  initial: () => T,
): [draft: T, found: boolean, set: (draft: T) => void, clear: () => void] {
  const [{ first, found }] = useState(() => ({ first: initial(), found: draftOf(name) !== undefined }))
  const subscribe = useCallback(
    (listener: () => void) => {
      const forms = open.get(name) ?? new Set()
      open.set(name, forms.add(listener))
      return () => {
        forms.delete(listener)
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
