import { readFile, stat } from 'node:fs/promises'
import { BlockList, isIP } from 'node:net'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import { accountIdOf, MAX_SENDER_LENGTH, type Accounts, type Payer } from './accounts.js'
import type { Log } from './log.js'
import { replaceFile } from './replace-file.js'

/** The maximum size of the file in bytes, and the maximum numbers of lines that are tried in sequence. */
export const MAX_FILE_BYTES = 10_000_000
export const MAX_PATTERNS = 100
export const MAX_NETWORKS = 1_000
/** The maximum number of mistakes in a message; a file in the wrong format has one in every line. */
const MAX_MISTAKES = 20
/** The interval between two checks of the file, in milliseconds. */
const LOOK_EVERY_MS = 2_000

/** The entries of a file: addresses first, then domains, patterns in file order, and networks, narrowest first. */
export class AccountTable implements Accounts {
  /** Addresses, and domains with their `@`, in lower case and Unicode's form NFC. */
  private readonly names = new Map<string, number>()
  private readonly patterns: { readonly pattern: RE2JS; readonly account: number }[] = []
  private readonly networks: { readonly list: BlockList; readonly prefix: number; readonly account: number }[] = []

  get size(): number {
    return this.names.size + this.patterns.length + this.networks.length
  }

  /**
   * Lines `SENDER ACCOUNT`; a line that begins with `#` is a comment. A sender is `user@example.org` or another login,
   * `@example.org`, `/a RE2 pattern/` that matches the whole sender, or `192.0.2.0/24`.
   * @throws Error with every mistake and its line, but no sender: the log names none
   */
  static parse(text: string): AccountTable {
    const table = new AccountTable()
    const mistakes: string[] = []
    for (const [index, line] of text.split('\n').entries()) {
      const trimmed = line.trim()
      if (trimmed === '' || trimmed.startsWith('#')) continue
      // Not at the first blank: a pattern may contain blanks.
      const [sender, id] = cutAtLastBlank(trimmed.normalize())
      try {
        const account = accountIdOf(id)
        if (account === undefined) throw new Error('no account id at its end, after a blank')
        table.add(sender.toLowerCase(), sender, account)
      } catch (error) {
        // Its message would repeat the pattern.
        const message = error instanceof RE2JSSyntaxException ? error.getDescription() : (error as Error).message
        mistakes.push(`line ${index + 1}: ${message}`)
      }
    }
    if (table.size === 0 && mistakes.length === 0) mistakes.push('it names nobody')
    if (mistakes.length > MAX_MISTAKES) mistakes.splice(MAX_MISTAKES, Infinity, 'and more')
    if (mistakes.length > 0) throw new Error(mistakes.join('; '))
    table.networks.sort((one, other) => other.prefix - one.prefix)
    return table
  }

  async find({ kind, name }: Payer): Promise<number | undefined> {
    if (name === '' || name.length > MAX_SENDER_LENGTH) return undefined
    if (kind === 'network') {
      const family = isIP(name) === 6 ? 'ipv6' : 'ipv4'
      return isIP(name) === 0 ? undefined : this.networks.find(({ list }) => list.check(name, family))?.account
    }
    const lower = name.toLowerCase()
    const at = lower.lastIndexOf('@')
    return (
      this.names.get(lower) ??
      (at === -1 ? undefined : this.names.get(lower.slice(at))) ??
      this.patterns.find(({ pattern }) => pattern.matches(name))?.account
    )
  }

  private add(name: string, given: string, account: number): void {
    if (given.length > 1 && given.startsWith('/') && given.endsWith('/')) {
      if (this.patterns.length === MAX_PATTERNS) throw new Error(`more than ${MAX_PATTERNS} patterns`)
      this.patterns.push({ pattern: RE2JS.compile(given.slice(1, -1), RE2JS.CASE_INSENSITIVE), account })
      return
    }
    const [address = '', bits] = name.split('/')
    const family = isIP(address)
    if (family !== 0) {
      if (this.networks.length === MAX_NETWORKS) throw new Error(`more than ${MAX_NETWORKS} networks`)
      const most = family === 4 ? 32 : 128
      const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
      if (prefix > most) throw new Error('it is no network')
      const list = new BlockList()
      list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
      this.networks.push({ list, prefix, account })
      return
    }
    if (name === '' || /\s/.test(name) || name.length > MAX_SENDER_LENGTH) throw new Error('it is not "SENDER ACCOUNT"')
    if (this.names.has(name)) throw new Error('its sender is there already')
    this.names.set(name, account)
  }
}

/**
 * The accounts of a file, which is read again when it changes: every other second, since a mounted file is replaced
 * without a notice. A change takes effect after it is seen twice, so that a file that is being written is not read
 * without its end. A file that cannot be read or has mistakes changes nothing: the last good one stays in force, also
 * at a start, for which there is a copy.
 */
export class AccountFile implements Accounts {
  private timer: NodeJS.Timeout | undefined
  /** The file's state at the last check, and the last state that was processed. */
  private seen: string | undefined
  private decided: string | undefined
  private isStale = false
  /** The last failure in the log. */
  private told: string | undefined
  private looking: Promise<void> = Promise.resolve()
  private table = new AccountTable()

  private constructor(
    private readonly path: string,
    private readonly copy: string,
    private readonly log: Log,
  ) {}

  /**
   * @param copy the path of the copy of the last good file
   * @throws Error with the reason if the file cannot be used, and there is no copy
   */
  static async open(path: string, copy: string, log: Log): Promise<AccountFile> {
    const file = new AccountFile(path, copy, log)
    file.decided = await stateOf(path)
    try {
      await file.load()
    } catch (error) {
      const good = read(copy).then((text) => AccountTable.parse(text))
      file.table = await good.catch(() => Promise.reject(error as Error))
      file.reject(error as Error)
    }
    file.timer = setInterval(() => void file.look(), LOOK_EVERY_MS).unref()
    return file
  }

  /** The number of entries in force. */
  get size(): number {
    return this.table.size
  }

  /** Is the file unusable, so that the last good entries are in force? */
  get stale(): boolean {
    return this.isStale
  }

  find(payer: Payer): Promise<number | undefined> {
    return this.table.find(payer)
  }

  close(): void {
    clearInterval(this.timer)
  }

  /**
   * Looks one after the other: a slow one would put an older file into force again.
   * @param atOnce without a second check: the caller has finished writing the file
   */
  look(atOnce = false): Promise<void> {
    return (this.looking = this.looking.then(() => this.lookNow(atOnce)))
  }

  private async lookNow(atOnce: boolean): Promise<void> {
    const state = await stateOf(this.path)
    const settled = atOnce || state === this.seen
    this.seen = state
    // On request, a file that could not be read is tried again: it may be good.
    if (!settled || (state === this.decided && !(atOnce && this.isStale))) return
    this.decided = state
    try {
      await this.load()
      this.log.info({ file: this.path, entries: this.table.size }, 'the accounts were read again')
    } catch (error) {
      this.reject(error as Error)
    }
  }

  private async load(): Promise<void> {
    const text = await read(this.path)
    this.table = AccountTable.parse(text)
    this.isStale = false
    this.told = undefined
    try {
      await (await replaceFile(this.copy, text)).close()
    } catch (error) {
      this.log.warn(
        { file: this.copy, error: (error as Error).message },
        'there is no copy of the accounts for a start',
      )
    }
  }

  private reject({ message, code }: NodeJS.ErrnoException): void {
    this.isStale = true
    // What could not be read may be good, and is tried again. Mistakes stay until the file changes.
    if (code !== undefined) {
      this.decided = undefined
      if (message === this.told) return
    }
    this.told = message
    this.log.error({ file: this.path, error: message }, 'the last good accounts stay in force')
  }
}

/** Changes if the file changes, or the target of its name. */
async function stateOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path)
    return [ino, size, mtimeMs, ctimeMs].join()
  } catch (error) {
    return (error as Error).message
  }
}

async function read(path: string): Promise<string> {
  const bytes = await readFile(path)
  if (bytes.length > MAX_FILE_BYTES) throw new Error(`more than ${MAX_FILE_BYTES} bytes`)
  return bytes.toString('utf8')
}

function cutAtLastBlank(text: string): [string, string] {
  const at = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\t'))
  return [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1)]
}
