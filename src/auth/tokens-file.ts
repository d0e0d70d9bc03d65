import { readFile } from 'node:fs/promises'
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common'
import { Config } from '../config/config.js'
import { parseTokensFile, TOKENS_FILE } from '../config/token-entries.js'
import { Tokens } from './tokens.js'

/** Between two looks at the file, in milliseconds. */
const LOOK_EVERY_MS = 2_000

/** What a look has found: the file's text, or why there is none. */
type Sight = { readonly text: string } | { readonly failure: string }

/** What of the process hears signals. */
interface Host {
  on(signal: 'SIGHUP', listener: () => void): unknown
}

/**
 * Reads the tokens again when their file changes, or at SIGHUP.
 *
 * The file is read every other second: a mounted secret changes by a symbolic link that is put in another's place, of
 * which those who watch the file hear nothing. What differs counts once it was seen twice, so that a file that is being
 * written is not taken for one that lacks its end. What cannot be read or has mistakes changes nothing: the tokens from
 * before stay good.
 */
@Injectable()
export class TokensFile implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Tokens')
  private timer: NodeJS.Timeout | undefined
  private turn: Promise<void> = Promise.resolve()
  /** What the last look has seen, and what was last acted upon. */
  private seen: string | undefined
  private decided: string | undefined
  private isStale = false
  private readonly counts = { taken: 0, refused: 0 }

  constructor(
    private readonly config: Config,
    private readonly tokens: Tokens,
  ) {}

  /** Does the file say what cannot be used, so that the tokens from before are the good ones? */
  get stale(): boolean {
    return this.isStale
  }

  /** Changes of the file since the start, by what became of them. */
  get changes(): { readonly taken: number; readonly refused: number } {
    return this.counts
  }

  onApplicationBootstrap(): void {
    if (this.config.tokensFile === undefined) return
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer)
    await this.turn
  }

  /** Reads the file at each SIGHUP, which would end the process otherwise. */
  obey(host: Host = process): void {
    host.on('SIGHUP', () => {
      if (this.config.tokensFile === undefined) this.logger.log(`SIGHUP: ignored, since ${TOKENS_FILE} is not set`)
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
    const { tokensFile } = this.config
    if (tokensFile !== undefined) this.turn = this.turn.then(async () => work(tokensFile))
    return this.turn
  }

  /** @param asked tell also where nothing is different */
  private decide(sight: Sight, asked: boolean): void {
    const wasStale = this.isStale
    this.decided = this.seen = JSON.stringify(sight)
    const { tokens, mistakes } =
      'text' in sight ? parseTokensFile(sight.text) : { tokens: [], mistakes: [`${TOKENS_FILE}: ${sight.failure}`] }
    this.isStale = mistakes.length > 0
    if (this.isStale) {
      this.counts.refused += 1
      this.logger.error(`the tokens from before stay good, since the file cannot be used: ${mistakes.join('; ')}`)
      return
    }
    const { added, gone } = this.tokens.replace(tokens)
    const same = added === 0 && gone === 0
    if (!same) this.counts.taken += 1
    if (asked || wasStale || !same) {
      this.logger.log(`${TOKENS_FILE} was read again: ${tokens.length} tokens, ${added} new, ${gone} gone`)
    }
  }
}

async function read(path: string): Promise<Sight> {
  try {
    return { text: await readFile(path, 'utf8') }
  } catch (error) {
    return { failure: (error as Error).message }
  }
}
