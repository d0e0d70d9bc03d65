import { useCallback, useState } from 'react'
import { DRAFTS } from './session.ts'

/**
 * What somebody types in a form. It outlives the form, the loading of the page and signing in again: it is kept for
 * this tab until it is saved, thrown away, or its owner signs out.
 * @param name of the form
 * @param initial what the form begins with
 * @returns the draft, whether it was found from before, a setter, and an end to it
 */
export function useDraft<T>(
  name: string,
  initial: () => T,
): [draft: T, found: boolean, set: (draft: T) => void, clear: () => void] {
  const key = DRAFTS + name
  const [{ draft, found }, setState] = useState(() => {
    const kept = read<T>(key)
    return { draft: kept ?? initial(), found: kept !== undefined }
  })
  const set = useCallback(
    (next: T) => {
      sessionStorage.setItem(key, JSON.stringify(next))
      setState((last) => ({ draft: next, found: last.found }))
    },
    [key],
  )
  const clear = useCallback(() => sessionStorage.removeItem(key), [key])
  return [draft, found, set, clear]
}

/** Is something kept of a form? */
export function hasDraft(name: string): boolean {
  return sessionStorage.getItem(DRAFTS + name) !== null
}

function read<T>(key: string): T | undefined {
  const text = sessionStorage.getItem(key)
  return text === null ? undefined : (JSON.parse(text) as T)
}
