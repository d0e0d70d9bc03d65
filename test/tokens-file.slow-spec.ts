import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { hashOf, newToken } from '../src/auth/token.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'

// Processes, on a machine that may be busy.
jest.setTimeout(120_000)

const entry = (name: string, role: string, token: string): string => `${name}:${role}:${hashOf(token).toString('hex')}`

describe('tokens in a file', () => {
  let folder: string
  let instance: Instance
  let version = 0

  /** Puts a new version in the place of the last one, as Kubernetes does with a mounted secret. */
  const mount = async (...entries: string[]): Promise<void> => {
    version += 1
    await mkdir(join(folder, `v${version}`))
    await writeFile(join(folder, `v${version}`, 'tokens'), `${entries.join('\n')}\n`)
    await symlink(`v${version}`, join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  const admin = entry('admin', 'admin', ADMIN)
  const statusFor = async (token: string): Promise<number> =>
    (await instance.send('GET', '/api/v1/me', { token })).status
  const until = async (reached: () => Promise<boolean> | boolean): Promise<void> => {
    while (!(await reached())) await sleep(20)
  }
  const metrics = async (): Promise<string> => (await instance.get('/metrics')).text

  beforeAll(async () => {
    folder = temporaryFolder('quota-tokens-')
    await mount(admin)
    await symlink('..data/tokens', join(folder, 'tokens'))
    instance = await Instance.start(`sqlite:${join(folder, 'quota.db')}`, {
      AUTH_TOKENS: '',
      AUTH_TOKENS_FILE: join(folder, 'tokens'),
      LOG_LEVEL: 'info',
    })
  })

  afterAll(async () => {
    await instance.kill()
  })

  it('are valid as soon as they are in the file and until they are removed, and no valid one is refused meanwhile', async () => {
    const late = newToken('usage')
    const heard: number[] = []
    let over = false as boolean
    const asking = (async () => {
      while (!over) heard.push(await statusFor(ADMIN))
    })()
    expect(await statusFor(late)).toBe(401)
    await mount(entry('late', 'usage', late), admin)
    await until(async () => (await statusFor(late)) === 200)
    await mount(admin)
    await until(async () => (await statusFor(late)) === 401)
    over = true
    await asking
    expect(heard.length).toBeGreaterThan(20)
    expect(new Set(heard)).toEqual(new Set([200]))
    await until(async () => (await metrics()).includes('auth_tokens_changes_total{result="taken"} 2'))
  })

  it('stay valid while the file is invalid, which the log and a metric report', async () => {
    await mount(admin, 'hush:usage:hush')
    await until(async () => (await metrics()).includes('auth_tokens_stale 1'))
    expect(await statusFor(ADMIN)).toBe(200)
    await until(() => instance.log.includes('AUTH_TOKENS_FILE, line 2: the digest must be'))
    expect(instance.log).not.toContain('hush')
    await mount(admin)
    await until(async () => (await metrics()).includes('auth_tokens_stale 0'))
  })

  it('are read at SIGHUP, and show their expiry', async () => {
    const ending = newToken('usage')
    await mount(admin, `${entry('ending', 'usage', ending)}:2999-01-01T00:00:00Z`)
    process.kill(instance.pid!, 'SIGHUP')
    await until(async () => (await statusFor(ending)) === 200)
    await until(() => instance.log.includes('AUTH_TOKENS_FILE was read again: 2 tokens'))
    const end = Date.UTC(2999, 0, 1) / 1000
    // A scrape is shared by all who ask within a second.
    const told = `auth_token_ends_timestamp_seconds{principal="ending"} ${end}`
    await until(async () => (await metrics()).includes(told))
  })
})

describe('SIGHUP', () => {
  it('does nothing without such a file', async () => {
    const folder = temporaryFolder('quota-signal-')
    const instance = await Instance.start(`sqlite:${join(folder, 'quota.db')}`, { LOG_LEVEL: 'info' })
    process.kill(instance.pid!, 'SIGHUP')
    while (!instance.log.includes('SIGHUP ignored')) await sleep(20)
    expect((await instance.get('/api/v1/me')).status).toBe(200)
    expect(await instance.terminate()).toBe(0)
  })
})
