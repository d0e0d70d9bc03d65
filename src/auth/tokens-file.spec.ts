import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { SystemClock } from '../common/clock.js'
import { loadConfig } from '../config/config.js'
import { hashOf } from './token.js'
import { TokensFile } from './tokens-file.js'
import { Tokens } from './tokens.js'

const entry = (name: string, token: string) => `${name}:usage:${hashOf(token).toString('hex')}`

describe('the file of tokens', () => {
  let folder: string
  let path: string
  let tokens: Tokens
  let file: TokensFile
  let said: [level: string, text: string][]

  const names = () => tokens.known.map(({ principal }) => principal.name)
  const write = async (...entries: string[]) => writeFile(path, entries.join('\n'))
  /** In place of the file, or beside it. */
  const pipe = async (name = 'tokens'): Promise<string> => {
    await rm(path)
    execFileSync('mkfifo', [join(folder, name)])
    return join(folder, name)
  }
  const lookTwice = async () => {
    await file.look()
    await file.look()
  }
  const start = () => {
    const config = loadConfig({ AUTH_TOKENS_FILE: path })
    tokens = new Tokens(config, new SystemClock())
    file = new TokensFile(config, tokens)
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-tokens-'))
    path = join(folder, 'tokens')
    said = []
    const tell = (level: string) => (text: unknown) => said.push([level, String(text)])
    Logger.overrideLogger({ log: tell('log'), warn: tell('warn'), error: tell('error') })
    await write(entry('a', 'one'))
    start()
  })

  afterEach(async () => {
    Logger.overrideLogger(false)
    await rm(folder, { recursive: true, force: true })
  })

  it('logs nothing while its content is unchanged', async () => {
    for (let n = 0; n < 4; n += 1) await file.look()
    await write('# the same', entry('a', 'one'))
    await lookTwice()
    expect([names(), said, file.changes]).toEqual([['a'], [], { taken: 0, refused: 0 }])
  })

  it('is applied as a whole after two equal reads', async () => {
    const before = tokens.known
    await file.look()
    await write(entry('b', 'two'), entry('c', 'three'))
    await file.look()
    expect(tokens.known).toBe(before)
    await file.look()
    expect(names()).toEqual(['b', 'c'])
    // A request in progress continues with the list with which it began.
    expect(before.map(({ principal }) => principal.name)).toEqual(['a'])
    expect(said).toEqual([['log', 'AUTH_TOKENS_FILE was read again: 2 tokens, 2 new, 1 gone']])
    expect(file.changes).toEqual({ taken: 1, refused: 0 })
    await file.look()
    expect(said).toHaveLength(1)
  })

  it('is not applied while it is being written', async () => {
    await write(entry('a', 'one'), entry('b', 'two'))
    await file.look()
    await write('')
    await file.look()
    await write(entry('b', 'two'))
    await file.look()
    await write(entry('b', 'two'), entry('a', 'one'))
    await file.look()
    expect([names(), said]).toEqual([['a'], []])
    await file.look()
    expect(names()).toEqual(['b', 'a'])
  })

  it('is read at once on request', async () => {
    await write(entry('b', 'two'))
    await file.readAgain()
    expect(names()).toEqual(['b'])
    await file.readAgain()
    expect(said).toEqual([
      ['log', 'AUTH_TOKENS_FILE was read again: 1 tokens, 1 new, 1 gone'],
      ['log', 'AUTH_TOKENS_FILE was read again: 1 tokens, 0 new, 0 gone'],
    ])
    await lookTwice()
    expect(said).toHaveLength(2)
  })

  it.each([
    ['is broken', async () => write(entry('b', 'two'), 'hush:usage:hush'), /line 2: the digest must be/],
    ['is empty', async () => write(''), /holds no entry/],
    ['is gone', async () => rm(path), /ENOENT/],
    ['is a pipe, which would be read until somebody writes to it', async () => pipe(), /is not a regular file/],
    ['is a link to one', async () => symlink(await pipe('tokens.pipe'), path), /is not a regular file/],
  ])('keeps the previous tokens if it %s, and logs that once', async (_how, spoil, why) => {
    await spoil()
    for (let n = 0; n < 5; n += 1) await file.look()
    expect([names(), file.stale, file.changes]).toEqual([['a'], true, { taken: 0, refused: 1 }])
    expect(said).toEqual([['error', expect.stringMatching(why)]])
    expect(said.join()).not.toMatch(/hush|[0-9a-f]{64}/)
    // Broken in another way.
    await rm(path, { force: true })
    await write('x')
    await lookTwice()
    expect([said.length, file.changes.refused]).toEqual([2, 2])
    // The previous content is accepted again.
    await write(entry('a', 'one'))
    await lookTwice()
    expect([names(), file.stale, file.changes.taken]).toEqual([['a'], false, 0])
    expect(said.at(-1)).toEqual(['log', 'AUTH_TOKENS_FILE was read again: 1 tokens, 0 new, 0 gone'])
  })

  it('is followed if a symbolic link in its path is replaced, as in mounted secrets', async () => {
    await rm(path)
    for (const [version, ...entries] of [
      ['v1', entry('a', 'one')],
      ['v2', entry('b', 'two')],
    ] as const) {
      await mkdir(join(folder, version))
      await writeFile(join(folder, version, 'tokens'), entries.join('\n'))
    }
    await symlink('v1', join(folder, '..data'))
    await symlink('..data/tokens', path)
    start()
    await lookTwice()
    expect(names()).toEqual(['a'])
    await symlink('v2', join(folder, '..new'))
    await rename(join(folder, '..new'), join(folder, '..data'))
    await lookTwice()
    expect(names()).toEqual(['b'])
  })

  it('warns of new tokens that have expired', async () => {
    await write(entry('a', 'one'), `${entry('b', 'two')}:2001-01-01T00:00:00Z`)
    await file.readAgain()
    expect(said[0]).toEqual(['warn', 'a token of b is refused: its not_after, 2001-01-01T00:00:00.000Z, has passed'])
    said = []
    start()
    tokens.onModuleInit()
    expect(said).toEqual([['warn', expect.stringContaining('a token of b is refused')]])
  })

  it('is read on SIGHUP; without a file, the signal only logs a line', async () => {
    const signals: (() => void)[] = []
    const host = { on: (_signal: string, listener: () => void) => signals.push(listener) }
    await write(entry('b', 'two'))
    file.obey(host)
    signals[0]?.()
    await file.beforeApplicationShutdown()
    expect(names()).toEqual(['b'])
    said = []
    const config = loadConfig({})
    new TokensFile(config, new Tokens(config, new SystemClock())).obey(host)
    signals[1]?.()
    expect(said).toEqual([['log', 'SIGHUP ignored: AUTH_TOKENS_FILE is not set']])
  })
})
