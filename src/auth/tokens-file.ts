import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import { CONFIG, type Config } from '../config/config.js'
import { parseTokensFile, type TokenEntry, TOKENS_FILE } from '../config/token-entries.js'
import { WatchedFile } from '../config/watched-file.js'
import { Tokens } from './tokens.js'

/** The file of static tokens. It is read again when it changes. */
@Injectable()
export class TokensFile
  extends WatchedFile<readonly TokenEntry[]>
  implements OnApplicationBootstrap, BeforeApplicationShutdown
{
  constructor(@Inject(CONFIG) config: Config, tokens: Tokens) {
    super({
      logName: 'Tokens',
      setting: TOKENS_FILE,
      path: config.tokensFile,
      kept: 'the previous tokens stay valid',
      parse: (text) => {
        const { tokens: value, mistakes } = parseTokensFile(text)
        return { value, mistakes }
      },
      take: (value) => {
        const { added, gone } = tokens.replace(value)
        return {
          differs: added > 0 || gone > 0,
          told: `${value.length} tokens, ${added} new, ${gone} gone`,
        }
      },
    })
  }

  onApplicationBootstrap(): void {
    this.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.stop()
  }
}
