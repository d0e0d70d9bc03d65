import { afterAll } from '@jest/globals'

const CLOSING_WITHIN_MS = 90_000

/** What this test file has opened and not closed, in that order. */
const open = new Set<() => unknown>()

/**
 * Sees to it that what is opened is closed at the end of the test file, however far its suites came: where a beforeAll
 * fails, an afterAll that relies on it fails too, and would leave processes, servers and sockets behind, which keep
 * Jest from ending.
 * @param close as often as one likes
 * @returns to be called when it is closed
 */
export function opened(close: () => unknown): () => void {
  open.add(close)
  return () => {
    open.delete(close)
  }
}

// The file's own afterAll hooks come first: what is left then is what they could not close.
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
