import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Malformed } from '../core/question.js'
import {
  agreementOf,
  clientOf,
  MAX_BYTES,
  offerOf,
  type Packet,
  packetOf,
  PacketReader,
  replyOf,
  sizeOfHeader,
  STEPS,
  textsOf,
} from './milter-packet.js'

const reading = (bytes: Buffer): Packet[] => new PacketReader().read(bytes)
const prefix = (length: number, command: string): Buffer => {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(length)
  bytes.write(command, 4, 'latin1')
  return bytes
}

describe('packets of a mail server', () => {
  it('are the same however their bytes arrive', () => {
    const packet = fc.record({
      command: fc.constantFrom('O', 'D', 'C', 'M', 'R', 'T', 'L', 'B', 'E', 'A', 'Q'),
      data: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    })
    fc.assert(
      fc.property(
        fc.array(packet, { maxLength: 20 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 60 })),
        (all, cuts) => {
          const bytes = Buffer.concat(all.map(({ command, data }) => packetOf(command, data)))
          const reader = new PacketReader()
          const found: Packet[] = []
          for (let at = 0; at < bytes.length;) {
            const end = at + (cuts.next().value as number)
            found.push(...reader.read(bytes.subarray(at, end)))
            at = end
          }
          expect(found).toEqual(all)
          expect(reader.unfinished).toBe(false)
        },
      ),
    )
  })

  it('count a header as it stands in the message', () => {
    expect(sizeOfHeader(Buffer.from('Subject\0 a\n\tb\0'))).toBe('Subject: a\r\n\tb\r\n'.length)
  })

  it.each([
    ['without a command', prefix(0, 'M')],
    ['that are too long', prefix(MAX_BYTES + 1, 'B')],
    ['that are no packets', Buffer.from('GET / HTTP/1.1\r\n')],
  ])('%s are refused at once', (_, bytes) => {
    expect(() => reading(bytes)).toThrow(Malformed)
  })

  it('keep at most one packet in memory', () => {
    const reader = new PacketReader()
    const kept = (): number =>
      Object.values(reader).reduce<number>((sum, value) => sum + (Buffer.isBuffer(value) ? value.length : 0), 0)
    reader.read(prefix(MAX_BYTES, 'B'))
    for (let n = 1; n < 8; n += 1) expect(reader.read(Buffer.alloc(MAX_BYTES / 8))).toEqual([])
    expect(kept()).toBe(5 + (MAX_BYTES / 8) * 7)
    expect(reader.read(Buffer.alloc(MAX_BYTES / 8))).toMatchObject([{ command: 'B' }])
    expect(kept()).toBe(1)
  })

  it('of which 10,000 are broken: each is read or refused, and nothing else', () => {
    const good = ['O', 'D', 'C', 'M', 'R', 'E'].map((command) => packetOf(command, 'a\0b\0c\0'))
    const broken = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc
        .tuple(fc.constantFrom(...good), fc.nat(), fc.integer({ min: 0, max: 255 }))
        .map(([packet, at, byte]) => Buffer.from(packet).fill(byte, at % packet.length, (at % packet.length) + 1)),
    )
    fc.assert(
      fc.property(broken, (bytes) => {
        try {
          for (const { data } of reading(bytes)) for (const parse of [textsOf, offerOf, clientOf]) parse(data)
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
        }
      }),
      { numRuns: 10_000 },
    )
  })
})

describe('the negotiation', () => {
  it('has a version, and the steps that are offered', () => {
    const data = Buffer.alloc(12)
    data.writeUInt32BE(6, 0)
    data.writeUInt32BE(0x1fffff, 8)
    expect(offerOf(data)).toEqual({ version: 6, steps: 0x1fffff })
    const [answer] = reading(agreementOf(6, STEPS.noBody))
    expect(offerOf(answer!.data)).toEqual({ version: 6, steps: STEPS.noBody })
    data.writeUInt32BE(1, 0)
    expect(() => offerOf(data)).toThrow(Malformed)
  })
})

describe('the client of a connection', () => {
  it.each([
    ['mail.test\x004\x00\x19192.0.2.7\0', { address: '192.0.2.7', port: 25 }],
    ['mail.test\x006\x01\x02IPv6:2001:db8::7\0', { address: '2001:db8::7', port: 258 }],
    ['localhost\x004\0\x00127.0.0.1\0', { address: '127.0.0.1', port: 0 }],
    ['localhost\0L\0\0/run/mail\0', { address: '', port: 0 }],
    ['unknown\0U', { address: '', port: 0 }],
    ['cut\x004\0', { address: '', port: 0 }],
  ])('of %j is %j', (text, client) => {
    expect(clientOf(Buffer.from(text, 'latin1'))).toEqual(client)
  })
})

describe('a reply', () => {
  it('has its per cent signs doubled', () => {
    expect(replyOf('550 5.7.1 a%20b').toString('latin1', 4)).toBe('y550 5.7.1 a%%20b\0')
  })
})
