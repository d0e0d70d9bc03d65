import sonicBoom from 'sonic-boom'

/** Bytes that gather before they are written. */
const GATHERED_BYTES = 8_192
/** How long a line waits for others, in milliseconds, at most. */
const LONGEST_WAIT_MS = 50

/**
 * The process's standard output. Lines gather for a moment and are written together: a system call for each line of a busy service costs as much as
 * the request that it tells of. What has gathered is written when the process ends, also by an exception; only a kill loses it.
 */
export class Stdout {
  private readonly destination = new sonicBoom.SonicBoom({
    fd: 1,
    minLength: GATHERED_BYTES,
    periodicFlush: LONGEST_WAIT_MS,
    sync: true,
  })

  constructor() {
    // Nobody reads it any more: the service goes on.
    this.destination.on('error', () => undefined)
    process.once('exit', () => this.flush())
  }

  /** Takes a text, to be written soon. */
  write(text: string): void {
    this.destination.write(text)
  }

  /** Writes what has gathered. */
  flush(): void {
    this.destination.flushSync()
  }
}
