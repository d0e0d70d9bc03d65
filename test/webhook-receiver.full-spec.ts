import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type Connection, createConnection } from 'mysql2/promise'
import { Webhook } from 'standardwebhooks'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { opened, temporaryFolder } from './support/opened.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OF_TEST = JSON.stringify({
  type: 'webhook.test',
  timestamp: '2026-11-27T22:32:56.711Z',
  data: { webhook: 'ops' },
})

// It keeps events on a server.
const onServer = HAS_SERVER ? describe : describe.skip

onServer('the receiver in docs/webhooks.md', () => {
  let database: TestDatabase
  let db: Connection
  let folder: string
  let receiver: ChildProcess
  let url: string

  const send = async (id: string, body: string, secret = SECRET): Promise<number> => {
    const at = new Date()
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  const kept = async (): Promise<unknown> => (await db.query('SELECT id, body FROM events ORDER BY id'))[0]

  beforeAll(async () => {
    database = await TestDatabase.open()
    const server = database.url.replace(/^\w+:/, 'mysql:')
    db = await createConnection(server)
    opened(() => {
      db.destroy()
    })
    const page = await readFile('docs/webhooks.md', 'utf8')
    const table = /`(CREATE TABLE events [^`]*)`/.exec(page)?.[1] ?? ''
    await db.query(table)
    const code = /^```js\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? ''
    folder = temporaryFolder('quota-receiver-')
    await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
    const said = '.listen(0, function () { console.log(this.address().port) })'
    await writeFile(join(folder, 'receiver.mjs'), code.replace('.listen(8080)', said))
    receiver = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: SECRET, DATABASE_URL: server },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    opened(() => receiver.kill())
    const [port] = (await once(receiver.stdout!, 'data')) as [Buffer]
    url = `http://127.0.0.1:${Number(String(port))}/`
  })

  it('keeps an event once, and that of a test', async () => {
    const body = JSON.stringify({ type: 'quota.created', timestamp: '2026-11-27T22:00:00.000Z', data: { id: 'a' } })
    expect([await send('a', body), await send('a', body), await send('b', OF_TEST)]).toEqual([204, 204, 204])
    const rows = (await kept()) as { id: string; body: unknown }[]
    const textOf = (value: unknown) => (typeof value === 'string' ? JSON.parse(value) : value)
    expect(rows.map((row) => [row.id, textOf(row.body)])).toEqual([
      ['a', JSON.parse(body)],
      ['b', JSON.parse(OF_TEST)],
    ])
  })

  it('refuses what is not signed with its secret', async () => {
    expect(await send('c', OF_TEST, `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(401)
  })

  it('asks to send again what it could not keep', async () => {
    await db.query('RENAME TABLE events TO elsewhere')
    expect(await send('d', OF_TEST)).toBe(500)
    await db.query('RENAME TABLE elsewhere TO events')
    expect(await send('d', OF_TEST)).toBe(204)
  })
})
