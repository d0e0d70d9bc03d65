/** The number of characters that are collected before a write. */
const GATHERED = 8_192
/** The maximum time that a line waits for others, in milliseconds. */
const MAX_WAIT_MS = 50
/** The maximum number of waiting characters while nobody reads: some seconds of a busy service's log. */
const MAX_WAITING = 8_000_000
/** The time that the end of the process waits for the log's reader, in milliseconds. */
const LAST_WAIT_MS = 1_000

/** Accepts complete log lines. */
export interface Output {
  /** Accepts a line, or drops and counts it if too much waits. Never blocks. */
  write(line: string): void
  /** Writes the collected lines. */
  flush(): void
  /** Called with the number of dropped lines when lines are read again. */
  onRecovered?: (dropped: number) => void
}

/** The used part of a stream: `process.stdout`, on which pipes and sockets do not block. */
export type LogStream = Pick<NodeJS.WritableStream, 'on'> & {
  readonly writableLength: number
  write(text: string, taken: (error?: Error | null) => void): boolean
}

/**
 * The process's standard output; open it once. Lines are collected for a moment and written together: a system call for
 * each line of a busy service costs as much as the request that it describes.
 *
 * If the log's reader stops, lines wait, up to a limit, and further lines are dropped and counted. The service
 * continues. Neither of pino's streams can do this: written synchronously, a full pipe stops the process;
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
    // The reader has disconnected: the lines count as dropped.
    stream.on('error', () => undefined)
  }

  /** Opens it. The lines collected when the process ends are written, also after an exception. */
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

  /** Writes everything. @returns when it has been read, or after a second if nobody reads */
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
