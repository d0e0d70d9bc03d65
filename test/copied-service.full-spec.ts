import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { DataSource } from 'typeorm'
import { migrate, prepareCopy, withoutStarts } from '../src/database/migrate.js'
import { type CopySide, StoreCopy } from '../src/database/store-copy.js'
import { ENTITIES } from '../src/entities.js'
import { Webhooks } from '../src/webhook/webhooks.js'
import { TestApp } from './support/app.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { TestClock } from './support/clock.js'
import { COPIED, copying, Opened, sumsOf } from './support/copied.js'
import { temporaryFolder } from './support/opened.js'
import { type Body, bodyOf, stopSweepers } from './support/quota-api.js'
import { Receiver, status } from './support/receiver.js'
import { type Store, STORES } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

const [FILE, OTHER] = [STORES[0]!, STORES.at(-1)!]

type Cursor = string | number | null | undefined

async function until(what: string, is: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await is())) {
    if (performance.now() > end) throw new Error(`not within a minute: ${what}`)
    await sleep(50)
  }
}

describe(`a copy from SQLite to ${OTHER.name} and back`, () => {
  const env: Record<string, string> = { LINK_SECRET: randomBytes(32).toString('base64') }
  const clock = new TestClock(new Date().toISOString())
  const END = '2099-01-01T00:00:00Z'
  let folder: string
  let receiver: Receiver
  let source: Store
  let app: TestApp
  let link: string
  /** Requests with keys, and their answers. */
  const sent: { path: string; body: object; key: string; text: string }[] = []

  const started = async (store: Store): Promise<TestApp> => {
    const made = await TestApp.start(store, { env, clock })
    await stopSweepers(made)
    return made
  }
  const post = async (path: string, body: object, key: string, expected: number): Promise<Body> => {
    const answer = await app.post(path, body, { key })
    const parsed = bodyOf(expected, answer)
    // A refusal is decided anew.
    if (expected < 300) sent.push({ path, body, key, text: answer.text })
    return parsed
  }

  /** Uses everything that leaves rows, in both channels. */
  async function fill(): Promise<void> {
    let keys = 0
    for (const api of [MAIL_API, SMS_API]) {
      const { quotas, usage, owner } = api
      const sets = changeSetSuite(api, () => app)
      const own = (id: number, more: object) => ({ [owner]: id, ...more })
      const quota = async (id: number, more: object) =>
        post(quotas, own(id, { quota_type: 1, total: 100, expire_at: END, ...more }), `key-${(keys += 1)}`, 201)
      const consume = async (id: number, amount: number, expected = 200) =>
        post(api.consume, own(id, { amount }), `key-${(keys += 1)}`, expected)
      const first = await quota(1, { label: 'Ünicode 💡 \\ \' "', thresholds: [10, 50] })
      await quota(1, { total: 1_000, expire_at: '2098-01-01T00:00:00Z' })
      await quota(2, { total: 1e12, used: 1e12 - 10 })
      await quota(3, {
        quota_type: 2,
        expire_at: undefined,
        cycle_unit: 'month',
        cycle_reset_at: '2098-01-31T00:00:00Z',
      })
      await quota(1, { quota_type: 3, total: 60, expire_at: undefined, window_seconds: 3_600, cap: 'enforce' })
      await quota(2, { total: 3, cap: 'observe' })
      bodyOf(200, await app.put(`${quotas}/${first.id}`, { total: 200 }))
      for (const amount of [5, 20]) await consume(1, amount)
      await consume(2, 8)
      for (let n = 0; n < 3; n += 1) await post(api.consume, own(1, { amount: 60 }), `${api.channel}-refused-${n}`, 409)
      const held = [5, 6, 7].map(async (amount) =>
        post(api.reserve, own(3, { amount, ttl_seconds: 3_600 }), `${api.channel}-h${amount}`, 201),
      )
      const [committed, released] = await Promise.all(held)
      await post(`${usage}/${committed.id}/commit`, { amount: 4 }, `${api.channel}-c`, 200)
      bodyOf(200, await app.post(`${usage}/${released.id}/release`))
      const group = bodyOf(201, await app.post(`${quotas}/groups`, { name: 'example.org' }))
      bodyOf(200, await app.post(`${quotas}/groups/${group.id}/members`, { [`${owner}s`]: [4, 5] }))
      await post(
        quotas,
        { group_id: group.id, per: 'group', quota_type: 1, total: 50, expire_at: END },
        `${api.channel}-g`,
        201,
      )
      await post(
        quotas,
        { group_id: group.id, per: 'member', quota_type: 1, total: 20, expire_at: END },
        `${api.channel}-m`,
        201,
      )
      await consume(4, 25)
      const many = await Promise.all(Array.from({ length: 30 }, async (_, n) => quota(100 + n, { total: n })))
      bodyOf(204, await app.delete(`${quotas}/${many[29].id}`))
      const filter = { [owner]: 110 }
      await sets.applied(await sets.madeSet(filter, { update: { total: { add: 7 } } }))
      await sets.madeSet(filter, { update: { label: 'later' } })
      await sets.madeSet({ [owner]: 111 }, { delete: true })
    }
    link = new URL(bodyOf(201, await app.post('/api/v1/quotas/owners/1/link', {})).url).hash.slice(1)
    // Who reads a feed sees all of its events; the endpoint's next turn queues them.
    const feeds = [MAIL_API, SMS_API].map(async ({ quotas }) => app.get(`${quotas}/events?page_size=100`))
    const events = (await Promise.all(feeds)).flatMap((answer) => bodyOf(200, answer).items)
    await until('every event waits, and one was tried', async () => {
      const { waiting, last_attempt } = await hook()
      return waiting === events.length && last_attempt !== null
    })
  }

  const hook = async (): Promise<Body> => bodyOf(200, await app.get('/api/v1/webhooks')).items[0]
  const view = async () => app.get('/api/v1/view', { as: undefined, headers: { Authorization: `Bearer ${link}` } })

  /** What callers see of the store, byte for byte, page after page. */
  async function seen(): Promise<Record<string, string>> {
    const pages: Record<string, string> = {}
    const look = async (path: string): Promise<Body> => {
      const answer = await app.get(path)
      pages[path] = `${answer.headers['etag']} ${answer.text}`
      return bodyOf(200, answer)
    }
    /** All pages of a list, by its cursors. */
    const through = async (path: string, parameter: string, of: (page: Body) => Cursor): Promise<Body[]> => {
      const items: Body[] = []
      for (let cursor: Cursor; ;) {
        const page = await look(cursor == null ? path : `${path}&${parameter}=${cursor}`)
        items.push(...page.items)
        cursor = of(page)
        if (page.items.length === 0 || cursor == null) return items
      }
    }
    for (const { quotas, list, usage, owner, summary } of [MAIL_API, SMS_API]) {
      for (const { id } of await through(`${list}?page_size=7`, 'before_id', ({ items }) => items.at(-1)?.id))
        await look(`${quotas}/${id}`)
      await look(`${list}?deleted=true`)
      await through(`${quotas}/owners?page_size=7`, 'after', (page) => page.next_after)
      await through(`${quotas}/changes?page_size=7`, 'before', (page) => page.next_before)
      await through(`${quotas}/events?page_size=20`, 'after', (page) => page.next_after)
      for (const id of [1, 2, 3, 4]) {
        await look(summary(id))
        await through(`${usage}?${owner}=${id}&page_size=1`, 'before', (page) => page.next_before)
        await look(`${quotas}/refusals?${owner}=${id}`)
      }
      await look(`${quotas}/groups/1/changes`)
      for (const { id } of (await look(`${quotas}/change-sets`)).items) await look(`${quotas}/change-sets/${id}/rows`)
    }
    await look('/api/v1/webhooks')
    return pages
  }

  beforeAll(async () => {
    folder = temporaryFolder('quota-copy-')
    receiver = await Receiver.start()
    receiver.answers.set('/hook', status(500))
    env['WEBHOOKS_FILE'] = join(folder, 'webhooks.json')
    const secrets = [`whsec_${randomBytes(32).toString('base64')}`]
    await writeFile(env['WEBHOOKS_FILE'], JSON.stringify([{ name: 'hook', url: receiver.url('/hook'), secrets }]))
    source = await FILE.open()
    app = await started(source)
    await app.app.get(Webhooks).announce()
    await fill()
    await app.stop()
  })

  afterAll(async () => {
    await receiver.stop()
    await source.drop()
  })

  it('is the same service: replays, cursors, versions, change sets, deliveries and links go on', async () => {
    app = await started(source)
    const before = await seen()
    await app.stop()

    const [target, back] = [await OTHER.openEmpty(), await FILE.openEmpty()]
    const there = await copying(source.url, target.url)
    expect(there).toMatchObject({ code: 0, stderr: '' })
    expect(there.stdout).toMatch(/ 0 contradictions\nThe copy is complete/)
    const again = await copying(target.url, back.url)
    expect(again).toMatchObject({ code: 0, stderr: '' })
    expect(sumsOf(again)).toEqual(sumsOf(there))
    expect(sumsOf(there)).toHaveLength(COPIED.length)
    const full = sumsOf(there)
      .filter((line) => !line.includes(': 0 rows'))
      .map((line) => line.split(':')[0])
    for (const table of [
      'quota',
      'act',
      'operation',
      'allocation',
      'hold',
      'change',
      'event',
      'refusal',
      'spell',
      'caller',
    ])
      expect(full).toEqual(expect.arrayContaining([`mail_${table}`, `sms_${table}`]))
    expect(full).toEqual(expect.arrayContaining(['mail_group', 'sms_change_set_item', 'webhook', 'webhook_delivery']))

    app = await started(target)
    expect(await seen()).toEqual(before)
    for (const { path, body, key, text } of sent) expect((await app.post(path, body, { key })).text).toBe(text)
    expect((await view()).status).toBe(200)
    for (const api of [MAIL_API, SMS_API]) {
      const sets = changeSetSuite(api, () => app)
      const [deletes, labels, applied] = bodyOf(200, await app.get(`${api.quotas}/change-sets`)).items
      expect(await sets.reverted(applied)).toMatchObject({ counts: { reverted: 1 } })
      // It was decided on the version before.
      expect(await sets.applied(labels)).toMatchObject({ counts: { applied: 0, conflict: 1 } })
      expect(await sets.applied(deletes)).toMatchObject({ counts: { applied: 1 } })
    }
    receiver.messages.length = 0
    receiver.answers.delete('/hook')
    const { waiting } = await hook()
    clock.pass(86_400)
    await until('all are delivered', async () => (await hook()).waiting === 0)
    expect(receiver.of('/hook').length).toBeGreaterThanOrEqual(waiting)
    expect(await contradictionsOf(app)).toEqual([])
    await app.stop()
    for (const store of [target, back]) await store.drop()
  })

  it('may end after each page, or lose the answer to each COMMIT: no row is missing, none comes twice', async () => {
    const target = await OTHER.openEmpty()
    await prepareCopy(target.config, ENTITIES, source.url)
    const [from, to] = [await Opened.of(source), await Opened.of(target)]
    const twice: CopySide = {
      read: to.read,
      write: async (unit) => {
        await to.write(unit)
        return to.write(unit)
      },
    }
    let begun = 0
    for (let ended = false; !ended; begun += 1) {
      const copy = new StoreCopy(from, twice, (_, __, rows) => {
        if (rows > 0) throw new Error('killed')
      })
      ended = await (async () => {
        for (const table of from.tables(10)) await copy.copy(table)
        return true
      })().catch((error: unknown) => {
        expect(error).toEqual(new Error('killed'))
        return false
      })
    }
    expect(begun).toBeGreaterThan(40)
    const compared = new StoreCopy(from, to, () => undefined)
    for (const table of from.tables(10)) expect(await compared.compare(table)).toMatchObject({ difference: undefined })
    for (const { name } of from.tables()) expect([name, await to.bytes(name)]).toEqual([name, await from.bytes(name)])
    for (const store of [from, to]) await store.close()
    await target.drop()
  })

  it('keeps instances from starting on the source meanwhile', async () => {
    const order: string[] = []
    let starting: Promise<unknown> = Promise.resolve()
    await withoutStarts(source.config, ENTITIES, async () => {
      starting = migrate(source.config, ENTITIES).then(() => order.push('started'))
      await sleep(300)
      order.push('copied')
    })
    await starting
    expect(order).toEqual(['copied', 'started'])
  })

  it('ends where a server has ended the silent connection that does so', async () => {
    if (OTHER === FILE) return
    const served = await OTHER.open()
    await migrate(served.config, ENTITIES)
    const copied = withoutStarts(served.config, ENTITIES, async (stillLocked) => {
      await stillLocked()
      const other = await createConnection({ uri: served.url })
      const [[lock]] = await other.query<RowDataPacket[]>(
        "SELECT IS_USED_LOCK(CONCAT('quota_service_', LEFT(SHA2(DATABASE(), 256), 40))) AS id",
      )
      await other.query(`KILL ${lock!['id']}`)
      other.destroy()
      await stillLocked()
      return 'copied'
    })
    await expect(copied).rejects.toThrow(/lost: begin again/)
    await served.drop()
  })
})

/** Four values of a column, the extremes among them; they differ where the column may be in a key. */
function extremesOf(column: Column, one: number): string | Buffer {
  const { type, length, charset, isGenerated, databaseName } = column
  if (type === 'datetime')
    return ['0000-01-01 00:00:00.000', '0001-01-01 00:00:00.001', '1969-12-31 23:59:59.999', '9999-12-31 23:59:59.999'][
      one
    ]!
  if (type === 'blob')
    return Buffer.from(
      ['00'.repeat(16), '01'.repeat(15) + '20', 'ff'.repeat(16), '7f0020'.padEnd(32, '0')][one]!,
      'hex',
    )
  if (type === 'varchar' || type === 'text') {
    const size = type === 'text' ? 65_535 : Number(length)
    // Without the character 0: libsql reads no further, so the service stores none.
    const ascii = Array.from({ length: 127 }, (_, code) => String.fromCharCode(code + 1)).join('')
    const many = charset === 'ascii' ? 'x' : '\u{10ffff}'
    // Of the ASCII keys, which are ids and fixed words, a server sorts control characters before their prefix.
    const whole = (
      charset === 'ascii'
        ? Array.from(column.isPrimary ? ascii.slice(0x20) : ascii)
        : Array.from(`é\u{1f4a1}\u{10ffff}\\'"%_\r\n${ascii}`)
    )
      .slice(0, size)
      .join('')
    const most = many.repeat(type === 'text' ? Math.floor(size / Buffer.byteLength(many)) : size)
    return ['', whole, most, column.isPrimary ? 'A' : `a${' '.repeat(size - 1)}`][one]!
  }
  if (type === 'simple-enum') return String(column.enum!.at([0, -1, 1, -2][one]!))
  if (type === 'tinyint' || type === 'smallint' || type === 'int')
    return {
      tinyint: ['-128', '0', '1', '127'],
      smallint: ['-32768', '-1', '0', '32767'],
      int: ['-2147483648', '-1', '0', '2147483647'],
    }[type][one]!
  const counted = isGenerated || ['used', 'reserved', 'total'].includes(databaseName)
  return [counted ? '1' : '-9223372036854775808', '2', '9007199254740993', '9223372036854775806'][one]!
}

type Column = DataSource['entityMetadatas'][number]['columns'][number]

describe(`the values of each column, from SQLite to ${OTHER.name} and back`, () => {
  it('are the same, whatever is stored; ids go on after the last one, also if its row is gone', async () => {
    const stores = [await FILE.openEmpty(), await OTHER.openEmpty(), await FILE.openEmpty()]
    for (const store of stores) await prepareCopy(store.config, ENTITIES, 'a test')
    const [first, ...more] = (await Promise.all(stores.map(Opened.of))) as [Opened, ...Opened[]]
    for (const entity of COPIED) {
      const { tableName, columns } = first.dataSource.getMetadata(entity)
      const stored = columns.filter(({ generatedType }) => generatedType === undefined)
      const rows = [0, 1, 2, 3].map((one) => stored.map((column): string | Buffer | null => extremesOf(column, one)))
      // Of a table with one key column, whose extremes the others are.
      const keys = stored.filter(({ isPrimary }) => isPrimary)
      rows.push(
        stored.map((column) => (column.isNullable ? null : column === keys[0] ? fifth(column) : extremesOf(column, 1))),
      )
      const names = stored.map(({ databaseName }) => `\`${databaseName}\``).join()
      for (const row of rows)
        await first.dataSource.query(`INSERT INTO ${tableName} (${names}) VALUES (${row.map(() => '?').join()})`, row)
      if (stored.some(({ isGenerated }) => isGenerated))
        await first.dataSource.query(
          `DELETE FROM ${tableName} WHERE id = 9223372036854775806`.replace('id', keys[0]!.databaseName),
        )
      // They belong to the store.
      const leases = stored
        .map(({ databaseName }) => databaseName)
        .filter((name) => ['holder', 'held_until'].includes(name))
      if (leases.length === 2) await first.dataSource.query(`UPDATE ${tableName} SET holder = NULL, held_until = NULL`)
    }
    let from = first
    for (const to of more) {
      const copy = new StoreCopy(from, to, () => undefined)
      for (const table of from.tables(2)) {
        await copy.copy(table)
        expect([table.name, await copy.compare(table)]).toEqual([
          table.name,
          expect.objectContaining({ difference: undefined }),
        ])
        expect([table.name, await to.bytes(table.name)]).toEqual([table.name, await from.bytes(table.name)])
        if (table.generatesIds)
          expect(await to.read(async (transaction) => table.lastId(transaction))).toBe(9223372036854775806n)
      }
      from = to
    }
    for (const store of [first, ...more]) await store.close()
    for (const store of stores) await store.drop()
  })
})

/** A key that no other row has. */
function fifth({ type }: Column): string | Buffer {
  if (type === 'blob') return Buffer.alloc(16, 5)
  return type === 'datetime' ? '2026-11-21 12:00:00.000' : type === 'bigint' ? '77' : 'fifth'
}
