import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Connector, milterPacket, questionText } from './support/connector.js'
import { ADMIN, Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const PATIENCE_MS = 240_000
const COUNT = 10_000
const AT_ONCE = 40
/** Far below what the noise has in all. */
const MAX_GROWTH_BYTES = 80_000_000
const USER = 'user-1@example.org'

const noise = fc.uint8Array({ minLength: 1, maxLength: 30_000 }).map((bytes) => Buffer.from(bytes))
const question = questionText({ sasl_username: USER, recipient_count: 3 })
/** A good conversation up to the end of the message. */
const envelope = Buffer.concat([
  milterPacket('O', Buffer.from([0, 0, 0, 6, ...times(4).map(() => 0), 0, 0x1f, 0xff, 0xff])),
  milterPacket('D', `M{auth_authen}\0${USER}\0`),
  milterPacket('M', '<ann@example.org>\0'),
  milterPacket('R', '<bob@example.org>\0'),
])

describe('the connector under noise', () => {
  it.each([
    [
      'policy questions',
      'port' as const,
      // Not the last line: its end would be a question.
      fc.tuple(fc.nat({ max: question.length - 2 }), noise).map(([length, bytes]) => {
        const begun = Buffer.from(question.slice(0, length))
        return Buffer.concat([begun, Buffer.from('\0\n'), bytes])
      }),
    ],
    [
      'packets of milters',
      'milter' as const,
      fc.tuple(fc.nat({ max: envelope.length }), noise).map(([length, bytes]) =>
        // Behind a whole packet, one of four gigabytes.
        Buffer.concat([envelope.subarray(0, length), Buffer.alloc(5, 0xff), bytes]),
      ),
    ],
  ])(
    'of 10,000 broken %s charges nothing, and takes no memory',
    async (_, front, broken) => {
      const service = await Instance.start((await STORES[0]!.open()).url)
      const folder = temporaryFolder('quota-noise-')
      await writeFile(join(folder, 'accounts'), `${USER} 1\n`)
      const connector = await Connector.start({
        QUOTA_URL: service.url,
        QUOTA_TOKEN: ADMIN,
        ACCOUNTS_FILE: join(folder, 'accounts'),
      })
      const quota = { account_id: 1, quota_type: 1, total: 100, expire_at: '2999-01-01T00:00:00Z' }
      expect(await service.post(MAIL.quotas, quota)).toMatchObject({ status: 201 })
      const send = async (bytes: Buffer): Promise<void> => {
        const socket = connect(connector[front], '127.0.0.1')
        socket.on('error', () => undefined).resume()
        const closed = once(socket, 'close')
        socket.end(bytes)
        await closed
      }
      const inputs = fc.sample(broken, COUNT)
      const memory = async (): Promise<number> => connector.metric('process_resident_memory_bytes')
      let before = 0
      for (let n = 0; n < COUNT; n += AT_ONCE) {
        await Promise.all(inputs.slice(n, n + AT_ONCE).map(send))
        if (n === COUNT / 10) before = await memory()
      }
      expect((await memory()) - before).toBeLessThan(MAX_GROWTH_BYTES)
      expect(await connector.metric('quota_postfix_connections ')).toBe(0)
      expect(await connector.metric('quota_postfix_connections_closed_total', 'malformed')).toBeGreaterThan(COUNT / 10)
      expect(bodyOf(await service.get('/api/v1/quotas/summary/1')).used).toBe(0)
      connector.signal('SIGTERM')
      expect(await connector.exited).toBe(0)
    },
    PATIENCE_MS,
  )
})
