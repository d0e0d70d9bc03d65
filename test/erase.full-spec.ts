import { readFile } from 'node:fs/promises'
import { expect, it, jest } from '@jest/globals'
import Database from 'libsql'
import { copyTo } from '../src/database/sqlite-file.js'
import type { ChannelApi } from './support/channel-api.js'
import { runNode } from './support/command.js'
import { Instance } from './support/instance.js'
import { forEveryChannel } from './support/store.js'
import { TcpProxy } from './support/tcp-proxy.js'
import { verified } from './support/verify.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(120_000)

// Needs `npm run build` before.
forEveryChannel('the command that forgets', (kind, [api]) => {
  const ENTRY = 'dist/src/erase.js'
  const option = `--${(api as ChannelApi).channel}`
  const QUOTA = {
    [(api as ChannelApi).owner]: 7,
    quota_type: 1,
    total: 10_000,
    expire_at: '2099-01-01T00:00:00Z',
    label: 'to be forgotten',
  }

  if (kind.name === 'SQLite')
    it('says if the old texts stay in the -wal file, since another process reads, and removes them the next time', async () => {
      const { quotas } = api as ChannelApi
      const store = await kind.open()
      const path = store.url.replace('sqlite:', '')
      const instance = await Instance.start(store.url)
      const reader = new Database(path)
      const inWal = async () => (await readFile(`${path}-wal`)).includes('to be forgotten')
      const run = async () => runNode([ENTRY, option, '7'], { env: { DATABASE_URL: store.url } })
      expect((await instance.post(quotas, QUOTA)).status).toBe(201)
      reader.exec('BEGIN')
      reader.prepare('SELECT COUNT(*) FROM schema_migration').all([])
      const { code, stdout, stderr } = await run()
      expect([code, stderr]).toEqual([1, expect.stringContaining(`-wal file of ${store.url}`)])
      expect(stdout).toMatch(/labels: 1 of 1 erased/)
      expect(await inWal()).toBe(true)
      reader.exec('COMMIT')
      expect(await run()).toMatchObject({ code: 0, stderr: '' })
      expect(await inWal()).toBe(false)
      reader.close()
    })
  else
    it('finds what it has begun if the answer to COMMIT is lost', async () => {
      const { quotas } = api as ChannelApi
      const store = await kind.open()
      const instance = await Instance.start(store.url)
      const proxy = await TcpProxy.start(store.url)
      expect((await instance.post(quotas, QUOTA)).status).toBe(201)
      let lost = 0
      proxy.rule = ({ text, earlier }) => {
        if (lost > 0 || text !== 'COMMIT' || !earlier.some((one) => one.includes('link_generation` ='))) return 'pass'
        lost += 1
        return 'swallow'
      }
      const { code, stderr, stdout } = await runNode([ENTRY, option, '7'], { env: { DATABASE_URL: proxy.url } })
      expect([lost, code, stderr]).toEqual([1, 0, ''])
      expect(stdout).toMatch(/labels: 1 of 1 erased/)
      // The erasure, and the quota's label.
      const { text } = await instance.get(`${quotas}/changes?action=erase`)
      expect(JSON.parse(text).items).toHaveLength(2)
      expect(await verified(store.url)).toEqual([])
    })

  it('erases beside the service, says what remains to be seen to, and refuses what it does not know', async () => {
    const { quotas, consume, owner } = api as ChannelApi
    const store = await kind.open()
    const env = { DATABASE_URL: store.url }
    const instance = await Instance.start(store.url)
    const run = async (...args: string[]) => runNode([ENTRY, ...args], { env })
    expect((await instance.post(quotas, QUOTA)).status).toBe(201)
    const spend = async (key: string) => instance.post(consume, { [owner]: 7, amount: 1 }, key)
    const first = await spend('first')

    const mistaken = await Promise.all([run(option, '07', option, 'x', option, '7'), run(), run('--fax', '7')])
    for (const one of mistaken)
      expect(one).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('usage:') })
    expect(mistaken[0].stderr).toContain(`${option} 07, ${option} x\n`)
    const unknown = await run(option, '7', option, '8')
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(/nothing was erased: \w+ 8\n$/)])
    expect((await spend('first')).text).toBe(first.text)

    let ended = false as boolean
    const running = run(option, '7').finally(() => (ended = true))
    let calls = 0
    for (; !ended; calls += 1) expect((await spend(`during-${calls}`)).status).toBe(200)
    const { code, stdout, stderr } = await running
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      / 7: .*labels: 1 of \d+ erased.*acts: \d+ of \d+ erased.*\n.*backups.*binary logs.*webhooks/s,
    )
    const again = await spend('first')
    expect([again.status, again.text === first.text]).toEqual([200, false])
    const list = JSON.parse((await instance.get(`${quotas}/changes?action=erase`)).text)
    expect(list.items).toHaveLength(2)
    expect(await verified(store.url)).toEqual([])
    if (kind.name === 'SQLite') {
      const path = store.url.replace('sqlite:', '')
      copyTo(path, `${path}.copy`)
      expect((await readFile(`${path}.copy`)).includes('to be forgotten')).toBe(false)
    }
  })
})
