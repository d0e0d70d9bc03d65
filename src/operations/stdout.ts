/** Characters that gather before they are handed to the system. */
const GATHERED = 8_192
/** How long a line waits for others, in milliseconds, at most. */
const MAX_WAIT_MS = 50
/** Characters that wait at most while nobody reads: some seconds of a busy service's log. */
const MAX_WAITING = 8_000_000
/** How long the end of the process waits for whoever reads the log, in milliseconds. */
const LAST_WAIT_MS = 1_000

/** Takes finished lines of the log. */
export interface Output {
  /** Takes a line, or drops and counts it where too much waits. Never blocks. */
  write(line: string): void
  /** Hands what has gathered to the system. */
  flush(): void
  /** Is told once lines are read again after some were dropped, with their number. */
  onRecovered?: (dropped: number) => void
}

/** What of a stream the log uses: `process.stdout`, on which pipes and sockets do not block. */
export type LogStream = Pick<NodeJS.WritableStream, 'on'> & {
  readonly writableLength: number
  write(text: string, taken: (error?: Error | null) => void): boolean
}

/**
 * The process's standard output, to be opened once. Lines gather for a moment and are written together: a system call
 * for each line of a busy service costs as much as the request that it tells of.
 *
 * Whoever reads the log may stop: what is then written waits, up to a limit, and further lines are dropped and counted.
 * The service goes on. Neither pino's stream can do this: written synchronously, a full pipe stops the process;
 * asynchronously, it holds a thread of the pool, and its last flush waits without end.
 */
export class Stdout implements Output {
  onRecovered?: (dropped: number) => void
  private gathered = ''
  private lines = 0
  private timer: NodeJS.Timeout | undefined
  private droppedLines = 0
  private told = 0

  constructor(private readonly stream: LogStream) {
    // Whoever reads has gone: the lines are counted as dropped.
    stream.on('error', () => undefined)
  }

  /** Opens it. What has gathered when the process ends is handed over, also after an exception. */
  static open(): Stdout {
    const stdout = new Stdout(process.stdout)
    process.once('exit', () => stdout.flush())
    return stdout
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.droppedLines
  }

  write(line: string): void {
    if (this.stream.writableLength + this.gathered.length + line.length > MAX_WAITING) {
      this.droppedLines += 1
      return
    }
    this.gathered += line
    this.lines += 1
    if (this.gathered.length >= GATHERED) this.flush()
    else this.timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS).unref()
  }

  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const { gathered, lines } = this
    if (lines === 0) return
    this.gathered = ''
    this.lines = 0
    this.stream.write(gathered, (error) => {
      if (error != null) this.droppedLines += lines
      else if (this.stream.writableLength === 0) this.recover()
    })
  }

  /** Hands everything over. @returns when it has been read, or a second later where nobody reads */
  async end(): Promise<void> {
    this.flush()
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, LAST_WAIT_MS)
      this.stream.write('', () => {
        clearTimeout(late)
        resolve()
      })
    })
  }

  private recover(): void {
    const dropped = this.droppedLines - this.told
    if (dropped === 0) return
    this.told = this.droppedLines
    this.onRecovered?.(dropped)
  }
}
