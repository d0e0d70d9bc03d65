import { afterAll } from '@jest/globals'

const CLOSING_WITHIN_MS = 90_000

/** The close functions of what this test file has opened and not closed, in that order. */
const open = new Set<() => unknown>()

/**
 * Ensures that opened resources are closed at the end of the test file, regardless of failures: if a beforeAll
 * fails, an afterAll that relies on it fails too, and would leave processes, servers and sockets behind, which keep
 * Jest from ending.
 * @param close may be called more than once
 * @returns call it after closing
 */
export function opened(close: () => unknown): () => void {
  open.add(close)
  return () => {
    open.delete(close)
  }
}

// The file's own afterAll hooks run first: only what they could not close is left.
afterAll(async () => {
  const failed: unknown[] = []
  for (const close of [...open].reverse()) {
    try {
      await close()
    } catch (error) {
      failed.push(error)
    }
  }
  open.clear()
  if (failed.length > 0) throw new AggregateError(failed, 'not everything that was opened could be closed')
}, CLOSING_WITHIN_MS)
