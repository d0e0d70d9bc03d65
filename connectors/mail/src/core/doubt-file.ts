import { readFileSync, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAccountId } from './accounts.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import { replaceFile } from './replace-file.js'
import { type Charge, wordsOf } from './spending.js'

/** The longest wait of an answer for the disk, in milliseconds. */
const WRITE_WITHIN_MS = 500
/** The number of outdated lines at which the file is rewritten. */
const MAX_OUTDATED = 10_000
/** The maximum number of entries that wait for a slow disk; beyond, the file is rewritten instead. */
const MAX_WAITING = 10_000
/** Longer texts are written in parts. */
const MAX_AT_ONCE = 100_000
const MAX_FILE_BYTES = 32_000_000

/**
 * A message that was deferred in doubt, or will be if the process ends now: a line of the file. Of several lines with
 * one key, the last is valid.
 */
export interface Entry extends Charge {
  /** The time of the deferral, in milliseconds since 1970. */
  readonly at: number
  /** Absent while the doubt is open. */
  readonly outcome?: 'refunded' | 'not_charged' | 'given_up' | 'answered' | undefined
}

/**
 * Keeps doubts on disk, so that they survive an end of the process. A disk that cannot be written stops no mail: the
 * log and a metric say so, and the next write rewrites the whole file.
 */
export class DoubtFile {
  private readonly path: string
  /** Undefined until the first write, and after a failure. */
  private handle: FileHandle | undefined
  private outdated = 0
  /** Nothing else may be written now: the file is being replaced, or a line may be half written. */
  private locked = false
  /** A file that cannot be read is not replaced: its doubts would be lost. */
  private readable = true
  private failed = false
  private readonly waiting: Entry[] = []
  private turn: Promise<void> = Promise.resolve()

  constructor(
    folder: string,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.path = pathOf(folder)
  }

  /** Was the last write successful? */
  get works(): boolean {
    return !this.failed
  }

  /** The entries of an earlier process. Synchronous, so that no question comes before them. */
  read(): Entry[] {
    try {
      const { entries, damaged } = readDoubts(dirname(this.path))
      if (damaged > 0) this.log.warn({ file: this.path, damaged }, 'lines of the file of doubts were skipped')
      return entries
    } catch (error) {
      this.readable = false
      this.fail(error)
      return []
    }
  }

  /**
   * Resolves when the entry is on disk, or after a while without it; never rejects.
   * @param entry undefined: rewrites the file
   * @param all every entry that is still of use, including this one
   * @returns whether it is on disk
   */
  async write(entry: Entry | undefined, all: () => Entry[]): Promise<boolean> {
    if (entry !== undefined) this.waiting.push(entry)
    if (this.waiting.length > MAX_WAITING) {
      this.waiting.length = 0
      this.outdated = MAX_OUTDATED
    }
    const written = (this.turn = this.turn.then(() => this.flush(all)))
    const late = sleep(WRITE_WITHIN_MS, true, { ref: false })
    if (!(await Promise.race([written.then(() => false), late]))) return !this.failed
    this.fail(new Error(`not within ${WRITE_WITHIN_MS} ms`))
    return false
  }

  /**
   * Writes an entry, of which an earlier line is on disk, without waiting for it: hardly a process ends between this
   * and what its caller does next. An end of the machine may lose it.
   */
  writeNow(entry: Entry, all: () => Entry[]): void {
    try {
      const line = lineOf(entry)
      if (this.handle === undefined || this.locked || this.outdated >= MAX_OUTDATED) void this.write(entry, all)
      else if (writeSync(this.handle.fd, line) < Buffer.byteLength(line)) throw new Error('a part of a line is written')
      this.outdated += 1
    } catch (error) {
      this.fail(error)
      // The file may end within a line: the next write rewrites it.
      this.outdated = MAX_OUTDATED
    }
  }

  /** Waits until everything is written, as long as answers do. */
  async close(): Promise<void> {
    await Promise.race([this.turn.then(() => this.handle?.close()), sleep(WRITE_WITHIN_MS, undefined, { ref: false })])
  }

  private async flush(all: () => Entry[]): Promise<void> {
    const entries = this.waiting.splice(0)
    try {
      if (!this.readable) throw new Error('the file could not be read at start')
      if (this.handle === undefined || this.outdated >= MAX_OUTDATED) {
        this.locked = true
        const next = await replaceFile(this.path, all().map(lineOf).join(''))
        await this.handle?.close()
        this.handle = next
        this.outdated = 0
        this.locked = false
      } else if (entries.length > 0) {
        const text = entries.map(lineOf).join('')
        this.locked = text.length > MAX_AT_ONCE
        await this.handle.appendFile(text)
        this.locked = false
        await this.handle.datasync()
        this.outdated += entries.length
      }
      if (this.failed) this.log.info({ file: this.path }, 'doubts are on disk again')
      this.failed = false
    } catch (error) {
      this.fail(error)
      this.locked = false
      // The file may end within a line.
      await this.handle?.close().catch(() => undefined)
      this.handle = undefined
    }
  }

  private fail(error: unknown): void {
    this.metrics.stateFailures.inc()
    if (!this.failed) this.log.error({ file: this.path, error: wordsOf(error) }, 'doubts are in memory only')
    this.failed = true
  }
}

/**
 * Reads the file of doubts; none is there before the first start.
 * @returns the last entry of each key, oldest first, and the number of lines that are none: a process was killed
 *   while it wrote
 * @throws Error if the file cannot be read
 */
export function readDoubts(folder: string): { entries: Entry[]; damaged: number } {
  const entries = new Map<string, Entry>()
  let damaged = 0
  for (const line of textOf(pathOf(folder)).split('\n')) {
    if (line === '') continue
    const entry = entryOf(line)
    if (entry === undefined) damaged += 1
    else entries.set(entry.key, entry)
  }
  return { entries: [...entries.values()], damaged }
}

function pathOf(folder: string): string {
  return join(folder, 'doubts.jsonl')
}

function textOf(path: string): string {
  try {
    const bytes = readFileSync(path)
    if (bytes.length > MAX_FILE_BYTES) throw new Error(`${path} has more than ${MAX_FILE_BYTES} bytes`)
    return bytes.toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function lineOf({ key, account, amount, queueId, at, outcome }: Entry): string {
  return `${JSON.stringify({ key, account, amount, queueId, at, outcome })}\n`
}

function entryOf(line: string): Entry | undefined {
  try {
    const { key, account, amount, queueId, at, outcome } = JSON.parse(line) as Entry
    const good = [key, queueId].every((text) => typeof text === 'string') && isAccountId(account) && isAccountId(amount)
    return good && Number.isSafeInteger(at) ? { key, account, amount, queueId, at, outcome } : undefined
  } catch {
    return undefined
  }
}
