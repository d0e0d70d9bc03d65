import { accountIdOf, type Accounts, MAX_SENDER_LENGTH, type Payer } from './accounts.js'
import { wordsOf } from './spending.js'
import { within } from './within.js'

/** The timeout of a connection attempt, and of a question. */
export const TIMEOUT_MS = 1_500
/** The maximum number of lookups at a time; further ones fail at once. */
const MAX_AT_ONCE = 1_000
const MAX_CACHED = 10_000

/** The parts of a name, which queries and filters refer to. */
export const PARTS = ['user', 'local', 'domain'] as const
/** A reference, such as `:user`. */
export const REFERENCE = new RegExp(`:(${PARTS.join('|')})\\b`, 'g')
/** The whole name, in the case in which it was given, and what is before and after its last `@`. */
export type Name = Readonly<Record<(typeof PARTS)[number], string>>

/** A value as a source gives it. */
export type Found = string | number | Buffer | null | undefined

/** A place that is asked about each name, and compares it: a database, or a directory. */
export interface AccountSource {
  /**
   * @returns what it has for the name: an account, or nothing
   * @throws Error if it has no answer within `TIMEOUT_MS`
   */
  ask(name: Name): Promise<readonly Found[]>
  close(): Promise<void>
}

/** The accounts of a source, whose answers are cached. */
export class AccountQuery implements Accounts {
  /** Oldest first. */
  private cache = new Map<string, { readonly account: number | undefined; readonly until: number }>()
  private atOnce = 0

  /**
   * @param now milliseconds since an arbitrary moment
   * @param cacheMs how long a result is valid, also if there is no account
   */
  constructor(
    private readonly source: AccountSource,
    private readonly cacheMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  async find({ name }: Payer): Promise<number | undefined> {
    // PostgreSQL takes no NUL; no login has one.
    if (name === '' || name.length > MAX_SENDER_LENGTH || name.includes('\0')) return undefined
    // An answer that was asked for before `forget` goes into the cache of that time.
    const { cache } = this
    const cached = cache.get(name)
    if (cached !== undefined && cached.until > this.now()) return cached.account
    const account = await this.ask(name)
    cache.delete(name)
    cache.set(name, { account, until: this.now() + this.cacheMs })
    const [oldest] = cache.keys()
    if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest)
    return account
  }

  /** Clears the cache. */
  forget(): void {
    this.cache = new Map()
  }

  /** A source that does not answer is not waited for. */
  async close(): Promise<void> {
    await within(TIMEOUT_MS, this.source.close()).catch(() => undefined)
  }

  private async ask(user: string): Promise<number | undefined> {
    if (this.atOnce >= MAX_AT_ONCE) throw new Error(`more than ${MAX_AT_ONCE} lookups at a time`)
    const at = user.lastIndexOf('@')
    const parts = { user, local: at === -1 ? user : user.slice(0, at), domain: at === -1 ? '' : user.slice(at + 1) }
    let values: readonly Found[]
    this.atOnce += 1
    try {
      values = await this.source.ask(parts)
    } catch (error) {
      // A source may repeat the name, also in lower case.
      const named = [parts.user, parts.local].filter((part) => part !== '')
      const hidden = named.flatMap((part) => [part, part.toLowerCase()])
      throw new Error(
        hidden.reduce((words, part) => words.replaceAll(part, '…'), wordsOf(error)),
        { cause: error },
      )
    } finally {
      this.atOnce -= 1
    }
    if (values.length > 1) throw new Error(`there are ${values.length} accounts for one sender`)
    const [value] = values
    if (value === undefined || value === null) return undefined
    const account = accountIdOf(String(value))
    if (account === undefined) throw new Error('what is found for a sender is no account id')
    return account
  }
}
