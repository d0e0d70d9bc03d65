import pino from 'pino'

/** Bytes that gather before they are written. */
const GATHERED_BYTES = 8_192
/** How long a line waits for others, in milliseconds, at most. */
const MAX_WAIT_MS = 50

/** Where finished lines go, soon; `flushSync` writes what has gathered at once. */
export interface Output {
  write(text: string): void
  flushSync(): void
}

/**
 * The process's standard output, to be opened once. Lines gather for a moment and are written together: a system call
 * for each line of a busy service costs as much as the request that it tells of. What has gathered is written when the
 * process ends, also by an exception; only a kill loses it.
 */
export function openStdout(): Output {
  const stdout = pino.destination({
    dest: 1,
    minLength: GATHERED_BYTES,
    periodicFlush: MAX_WAIT_MS,
    sync: true,
  })
  // Nobody reads it any more: the service goes on.
  stdout.on('error', () => undefined)
  process.once('exit', () => stdout.flushSync())
  return stdout
}
