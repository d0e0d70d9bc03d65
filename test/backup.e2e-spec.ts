import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import Database from 'libsql'
import { runNode } from './support/command.js'
import { HttpClient } from './support/http-client.js'
import { Instance } from './support/instance.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(120_000)

// Needs `npm run build` before.
const ENTRY = join(process.cwd(), 'dist/src/backup.js')
const QUOTA = { account_id: 7, quota_type: 1, total: 1_000_000, expire_at: '2099-01-01T00:00:00Z' }
const CONSUME = '/api/v1/quotas/usage/consume'

let folder: string
let client: HttpClient
const at = (name: string): string => join(folder, name)

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quota-backup-'))
  client = new HttpClient()
})

afterEach(async () => {
  client.close()
  await rm(folder, { recursive: true, force: true })
})

describe('the backup command', () => {
  it('copies what was answered before, as one consistent state, while the service goes on writing', async () => {
    const env = { DATABASE_URL: `sqlite:${at('quota.db')}` }
    const instance = await Instance.start(env.DATABASE_URL, client)
    let consumed = 0
    let ended = false as boolean
    try {
      expect((await instance.post('/api/v1/quotas', QUOTA)).status).toBe(201)
      const consume = async () => {
        const { status } = await instance.post(CONSUME, { account_id: 7, amount: 1 }, `key-${consumed}`)
        expect(status).toBe(200)
        consumed += 1
      }
      while (consumed < 50) await consume()
      const running = runNode([ENTRY, 'copy.db'], { cwd: folder, env }).finally(() => {
        ended = true
      })
      while (!ended) await consume()
      expect(await running).toMatchObject({ code: 0, stderr: '' })
    } finally {
      await instance.kill()
    }
    const copy = new Database(at('copy.db'))
    const { used } = copy.prepare('SELECT used FROM mail_quota').get([]) as { used: number }
    const { acts } = copy.prepare("SELECT COUNT(*) AS acts FROM mail_act WHERE kind = 'consume'").get([]) as {
      acts: number
    }
    copy.close()
    expect(used).toBeGreaterThanOrEqual(50)
    expect(used).toBeLessThanOrEqual(consumed)
    expect(acts).toBe(used)
    expect((await stat(at('copy.db'))).mode & 0o777).toBe(0o600)

    const restored = await Instance.start(`sqlite:${at('copy.db')}`, client)
    try {
      expect(JSON.parse((await restored.get('/api/v1/quotas/summary/7')).text)).toMatchObject({ used })
    } finally {
      await restored.kill()
    }
  })

  it('refuses without touching anything: no file, one that is there, a server', async () => {
    const copyOf = async (url: string) => runNode([ENTRY, 'copy.db'], { cwd: folder, env: { DATABASE_URL: url } })
    const missing = await copyOf('sqlite:./none.db')
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toContain(`${at('none.db')} does not exist`)
    expect(await readdir(folder)).toEqual([])

    await writeFile(at('quota.db'), '')
    await writeFile(at('copy.db'), 'the last copy')
    expect(await copyOf('sqlite:./quota.db')).toMatchObject({ code: 1, stdout: '' })
    expect((await stat(at('copy.db'))).size).toBe('the last copy'.length)
    await rm(at('copy.db'))

    const server = await copyOf('mysql://someone:geheim@127.0.0.1:1/quota')
    expect(server).toMatchObject({ code: 1, stdout: '' })
    expect(server.stderr).toMatch(/mysql:\/\/someone@127\.0\.0\.1:1\/quota.*mariadb-dump/)
    expect(server.stderr).not.toContain('geheim')
    expect(await runNode([ENTRY], { cwd: folder })).toMatchObject({ code: 2, stdout: '' })
    expect(existsSync(at('copy.db'))).toBe(false)
  })
})
