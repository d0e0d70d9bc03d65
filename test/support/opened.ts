import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from '@jest/globals'

const CLOSING_WITHIN_MS = 90_000

/** The close functions of what is open, in the order of opening. */
const open = new Set<() => unknown>()

/**
 * Ensures that opened resources are closed at the end of the suite on a store (`onEveryStore`), or of the test file,
 * regardless of failures: if a beforeAll fails, an afterAll that relies on it fails too, and would leave processes,
 * servers and sockets behind, which keep Jest from ending. So suites need not close what lasts until their end.
 * @param close may be called more than once
 * @returns call it after closing
 */
export function opened(close: () => unknown): () => void {
  open.add(close)
  return () => {
    open.delete(close)
  }
}

/** Makes an empty folder that is removed with what is `opened`. @returns its path */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  opened(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Closes what has been opened since, the latest first. */
async function closeAllBut(earlier: ReadonlySet<() => unknown>): Promise<void> {
  const failed: unknown[] = []
  for (const close of [...open].reverse()) {
    if (earlier.has(close)) continue
    open.delete(close)
    try {
      await close()
    } catch (error) {
      failed.push(error)
    }
  }
  if (failed.length > 0) throw new AggregateError(failed, 'not everything that was opened could be closed')
}

/** Runs the body of a `describe`, at whose end what it has opened is closed. Its own afterAll hooks run before. */
export function closingAtTheEnd(suite: () => void): void {
  let earlier: ReadonlySet<() => unknown> = new Set()
  beforeAll(() => {
    earlier = new Set(open)
  })
  suite()
  afterAll(async () => closeAllBut(earlier), CLOSING_WITHIN_MS)
}

// The file's own afterAll hooks run first: only what they could not close is left.
afterAll(async () => closeAllBut(new Set()), CLOSING_WITHIN_MS)
