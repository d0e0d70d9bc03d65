import { Logger } from '@nestjs/common'
import { readRegular } from './regular-file.js'

/** The interval between reads of a file, in milliseconds. */
const LOOK_EVERY_MS = 2_000

/** The result of a read: the file's text, or the failure. */
type Sight = { readonly text: string } | { readonly failure: string }

/** The part of the process that receives signals. */
export interface SignalHost {
  on(signal: 'SIGHUP', listener: () => void): unknown
}

/** The parsed content of a file, and its mistakes, one per line and without secrets. */
export interface ParsedFile<T> {
  readonly value: T
  readonly mistakes: readonly string[]
}

/** The use of a file. */
export interface WatchedFileUse<T> {
  /** The name of the content, for the log. */
  readonly logName: string
  /** The configuration variable that names the file. */
  readonly setting: string
  /** Undefined if the variable is not set: then nothing is read. */
  readonly path: string | undefined
  /** The content that stays in force if the file is unusable, for the log. */
  readonly kept: string
  parse(text: string): ParsedFile<T>
  /**
   * Applies the content.
   * @returns whether it differs from the previous one, and its description for the log
   */
  take(value: T): { readonly differs: boolean; readonly told: string }
}

/**
 * Reads a configuration file again when it changes, or on SIGHUP.
 *
 * The file is read every other second: a mounted secret changes when a symbolic link is replaced, of which file
 * watchers are not notified. The service applies a change after two consecutive reads return the same content, so that
 * a partly written file is not applied. A file that cannot be read or has mistakes changes nothing.
 */
export class WatchedFile<T> {
  private readonly logger: Logger
  private timer: NodeJS.Timeout | undefined
  private turn: Promise<void> = Promise.resolve()
  /** The result of the last read, and of the one that was last applied. */
  private seen: string | undefined
  private decided: string | undefined
  private isStale = false
  private readonly counts = { taken: 0, refused: 0 }

  constructor(private readonly use: WatchedFileUse<T>) {
    this.logger = new Logger(use.logName)
  }

  /** Is the file unusable, so that its previous content is in force? */
  get stale(): boolean {
    return this.isStale
  }

  /** Changes of the file since the start, by result. */
  get changes(): { readonly taken: number; readonly refused: number } {
    return this.counts
  }

  start(): void {
    if (this.use.path === undefined) return
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.turn
  }

  /** Reads the file on each SIGHUP; says so if there is none. */
  obey(host: SignalHost = process): void {
    host.on('SIGHUP', () => {
      if (this.use.path === undefined) this.logger.log(`SIGHUP ignored: ${this.use.setting} is not set`)
      else void this.readAgain()
    })
  }

  /** Checks whether the file has changed, and applies the content that the previous read already returned. */
  async look(): Promise<void> {
    return this.inTurn(async (path) => {
      const sight = await read(path)
      const text = JSON.stringify(sight)
      const settled = text === this.seen
      this.seen = text
      if (settled && text !== this.decided) this.decide(sight, false)
    })
  }

  /** Reads the file at once: the requester has finished writing it. */
  async readAgain(): Promise<void> {
    return this.inTurn(async (path) => this.decide(await read(path), true))
  }

  private async inTurn(work: (path: string) => Promise<void>): Promise<void> {
    const { path } = this.use
    if (path !== undefined) this.turn = this.turn.then(async () => work(path))
    return this.turn
  }

  /** @param asked log also if nothing differs */
  private decide(sight: Sight, asked: boolean): void {
    const { setting, kept } = this.use
    const wasStale = this.isStale
    this.decided = this.seen = JSON.stringify(sight)
    const parsed = 'text' in sight ? this.use.parse(sight.text) : undefined
    const mistakes = parsed?.mistakes ?? [`${setting}: ${'failure' in sight ? sight.failure : ''}`]
    this.isStale = mistakes.length > 0
    if (parsed === undefined || this.isStale) {
      this.counts.refused += 1
      this.logger.error(`${kept}, since the file cannot be used: ${mistakes.join('; ')}`)
      return
    }
    const { differs, told } = this.use.take(parsed.value)
    if (differs) this.counts.taken += 1
    if (asked || wasStale || differs) this.logger.log(`${setting} was read again: ${told}`)
  }
}

async function read(path: string): Promise<Sight> {
  try {
    return { text: await readRegular(path) }
  } catch (error) {
    return { failure: (error as Error).message }
  }
}
