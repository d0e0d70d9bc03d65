import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { figure } from './support/figures.js'
import { ADMIN, Instance, OTHER } from './support/instance.js'
import { type Store, STORES } from './support/store.js'
import { cycleQuota, MAIL } from './support/wire.js'

const MB = 1_000_000
const LIMIT_MB = 512
const HEADER = 'account_id,quota_type,total,label\n'
/** Large enough to kill an instance of 1 GiB that keeps what it reads. */
const LARGE = 49 * MB

const filled = (bytes: number, pattern: string, before = HEADER): Buffer =>
  Buffer.concat([Buffer.from(before), Buffer.alloc(bytes, pattern)])

const gzip = (file: Buffer): Buffer => gzipSync(file, { level: 1 })
const brotli = (file: Buffer): Buffer => brotliCompressSync(file, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

/** Each: what it is, the file, its coding, and the answer: a status, or the state of the set. */
const BOMBS: readonly [string, () => Buffer, string, number | 'failed' | 'ready'][] = [
  ['commas on one line', () => gzip(filled(LARGE, ',')), 'gzip', 'failed'],
  ['commas on one line, of 20 MB', () => gzip(filled(20 * MB, ',')), 'gzip', 'failed'],
  ['commas on one line, plain', () => filled(LARGE, ','), '', 'failed'],
  ['commas on one line, deflated', () => deflateSync(filled(LARGE, ','), { level: 1 }), 'deflate', 'failed'],
  ['commas on one line, with brotli', () => brotli(filled(LARGE, ',')), 'br', 'failed'],
  ['commas in the header', () => gzip(filled(LARGE, ',', '')), 'gzip', 'failed'],
  ['9,900 commas in the header', () => gzip(filled(9_900, ',', '')), 'gzip', 400],
  ['lines of 9,900 commas', () => gzip(filled(5 * MB, `${','.repeat(9_900)}\n`)), 'gzip', 'ready'],
  ['many lines of 9,900 commas', () => gzip(filled(LARGE, `${','.repeat(9_900)}\n`)), 'gzip', 'ready'],
  ['a quote that is never closed', () => gzip(filled(LARGE, 'x', `${HEADER}"`)), 'gzip', 'failed'],
  ['quotes', () => gzip(filled(LARGE, '"')), 'gzip', 'failed'],
  ['empty cells in quotes', () => gzip(filled(LARGE, '"",')), 'gzip', 'failed'],
  ['line ends within quotes', () => gzip(filled(LARGE, '\n', `${HEADER}"`)), 'gzip', 'failed'],
  ['a large cell', () => gzip(filled(LARGE, 'x')), 'gzip', 'failed'],
  ['blank lines', () => gzip(filled(LARGE, '\n')), 'gzip', 'ready'],
  ['blank lines alone', () => gzip(filled(LARGE, '\r\n', '')), 'gzip', 400],
  ['lines of one comma', () => gzip(filled(LARGE, ',\n')), 'gzip', 'failed'],
  ['zeros', () => gzip(filled(LARGE, '\0')), 'gzip', 'failed'],
  ['more than is accepted', () => gzip(filled(400 * MB, '\n')), 'gzip', 413],
]

describe('an import of a small file that becomes large', () => {
  let store: Store
  let instance: Instance
  /** Another caller, all the time: its answers. */
  const others: number[] = []
  let over = false
  let load: Promise<void>

  beforeAll(async () => {
    store = await STORES[0]!.open()
    instance = await Instance.start(store.url, {
      NODE_OPTIONS: '--max-old-space-size=256',
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
    })
    expect((await instance.post(MAIL.quotas, cycleQuota(MAIL, 1, 1e9))).status).toBe(201)
    load = (async () => {
      for (let n = 0; !over; n += 1) {
        const body = { account_id: 1, amount: 1 }
        const sent = { token: OTHER, key: `other ${n}`, body }
        others.push((await instance.send('POST', `${MAIL.usage}/consume`, sent)).status)
        await sleep(20)
      }
    })()
  })

  afterAll(async () => {
    over = true
    await load.catch(() => undefined)
  })

  const peakMb = (): number =>
    Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${instance.pid}/status`, 'utf8'))?.[1] ?? NaN) / 1000

  const upload = async (file: Buffer, coding: string): Promise<{ status: number; body: Record<string, unknown> }> => {
    const answer = await fetch(`${instance.url}${MAIL.quotas}/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ADMIN}`,
        'content-type': 'text/csv',
        ...(coding === '' ? {} : { 'content-encoding': coding }),
      },
      body: file,
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  it.each(BOMBS)(
    'is refused, and nobody else waits: %s',
    async (what, bomb, coding, expected) => {
      const before = others.length
      const file = bomb()
      const { status, body } = await upload(file, coding)
      if (typeof expected === 'number') expect(status).toBe(expected)
      else {
        expect(status).toBe(202)
        let { state } = body
        while (state === 'preparing') {
          await sleep(50)
          state = (
            JSON.parse((await instance.get(`${MAIL.quotas}/change-sets/${String(body['id'])}`)).text) as typeof body
          )['state']
        }
        expect(state).toBe(expected)
        expect(body['counts']).toMatchObject({ applied: 0 })
      }
      figure(`an import of ${what}`, { kB: Math.round(file.length / 1000), peak_MB: Math.round(peakMb()) })
      expect(peakMb()).toBeLessThan(LIMIT_MB)
      while (others.length === before) await sleep(20)
      expect(new Set(others)).toEqual(new Set([200]))
    },
    300_000,
  )

  it('has left a line when it began', async () => {
    instance.readLog(true)
    const socket = connect(Number(new URL(instance.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `POST ${MAIL.quotas}/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN}\r\nContent-Type: text/csv\r\n` +
        'X-Request-Id: large-one\r\nContent-Length: 2000000\r\n\r\nid\n',
    )
    const line = (): string | undefined => instance.log.split('\n').find((one) => one.includes('"large-one"'))
    while (line() === undefined) await sleep(20)
    expect(JSON.parse(line()!)).toMatchObject({
      message: 'a body of more than 1 MB begins',
      method: 'POST',
      route: `${MAIL.quotas}/import`,
      principal: 'admin',
      request_id: 'large-one',
    })
    socket.destroy()
  })
})
