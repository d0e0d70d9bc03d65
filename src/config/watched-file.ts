import { readFile } from 'node:fs/promises'
import { Logger } from '@nestjs/common'

/** Between two looks at a file, in milliseconds. */
const LOOK_EVERY_MS = 2_000

/** What a look has found: the file's text, or why there is none. */
type Sight = { readonly text: string } | { readonly failure: string }

/** What of the process hears signals. */
export interface SignalHost {
  on(signal: 'SIGHUP', listener: () => void): unknown
}

/** What is read out of a file, and what is wrong with it, one mistake a line and none with a secret in it. */
export interface ParsedFile<T> {
  readonly value: T
  readonly mistakes: readonly string[]
}

/** What a file is for. */
export interface WatchedFileUse<T> {
  /** Names what is configured, for the log. */
  readonly logName: string
  /** The setting that names the file. */
  readonly setting: string
  /** Undefined where the setting is not set: then nothing is read. */
  readonly path: string | undefined
  /** What stays in force where the file cannot be used, for the log. */
  readonly kept: string
  parse(text: string): ParsedFile<T>
  /**
   * Puts what was read in force.
   * @returns whether it differs from what was in force, and what it is, for the log
   */
  take(value: T): { readonly differs: boolean; readonly told: string }
}

/**
 * Reads a file of the configuration again when it changes, or at SIGHUP.
 *
 * The file is read every other second: a mounted secret changes by a symbolic link that is put in another's place, of
 * which those who watch the file hear nothing. What differs counts once it was seen twice, so that a file that is being
 * written is not taken for one that lacks its end. What cannot be read or has mistakes changes nothing: what was read
 * before stays in force.
 */
export class WatchedFile<T> {
  private readonly logger: Logger
  private timer: NodeJS.Timeout | undefined
  private turn: Promise<void> = Promise.resolve()
  /** What the last look has seen, and what was last acted upon. */
  private seen: string | undefined
  private decided: string | undefined
  private isStale = false
  private readonly counts = { taken: 0, refused: 0 }

  constructor(private readonly use: WatchedFileUse<T>) {
    this.logger = new Logger(use.logName)
  }

  /** Does the file say what cannot be used, so that what was read before is in force? */
  get stale(): boolean {
    return this.isStale
  }

  /** Changes of the file since the start, by what became of them. */
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

  /** Reads the file at each SIGHUP, which would end the process otherwise. */
  obey(host: SignalHost = process): void {
    host.on('SIGHUP', () => {
      if (this.use.path === undefined) this.logger.log(`SIGHUP ignored: ${this.use.setting} is not set`)
      else void this.readAgain()
    })
  }

  /** Looks whether the file has changed, and takes what it has said at the look before, too. */
  async look(): Promise<void> {
    return this.inTurn(async (path) => {
      const sight = await read(path)
      const text = JSON.stringify(sight)
      const settled = text === this.seen
      this.seen = text
      if (settled && text !== this.decided) this.decide(sight, false)
    })
  }

  /** Reads the file at once: whoever asks for it has written it. */
  async readAgain(): Promise<void> {
    return this.inTurn(async (path) => this.decide(await read(path), true))
  }

  private async inTurn(work: (path: string) => Promise<void>): Promise<void> {
    const { path } = this.use
    if (path !== undefined) this.turn = this.turn.then(async () => work(path))
    return this.turn
  }

  /** @param asked tell also where nothing is different */
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
    return { text: await readFile(path, 'utf8') }
  } catch (error) {
    return { failure: (error as Error).message }
  }
}
