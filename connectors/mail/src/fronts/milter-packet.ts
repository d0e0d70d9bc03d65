import type { PartReader } from '../core/listen.js'
import { Malformed } from '../core/question.js'

// The protocol between a mail server and a filter, version 6, as Sendmail's libmilter and Postfix speak it.

/** The maximum bytes of a packet; Postfix sends up to 65,536 of a body, and by default 102,400 of a header. */
export const MAX_BYTES = 1_048_576
const PREFIX_BYTES = 4
const NEWLINE = 0x0a

/** A packet of the mail server. */
export interface Packet {
  /** A letter, such as `M` for `MAIL FROM`. */
  readonly command: string
  /** What follows. */
  readonly data: Buffer
}

/** Reads packets from the bytes of one connection; keeps one unfinished packet. */
export class PacketReader implements PartReader<Packet> {
  private rest: Buffer = Buffer.alloc(0)

  get unfinished(): boolean {
    return this.rest.length > 0
  }

  read(chunk: Buffer): Packet[] {
    const packets: Packet[] = []
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    while (bytes.length >= PREFIX_BYTES) {
      const length = bytes.readUInt32BE(0)
      if (length < 1 || length > MAX_BYTES) throw new Malformed(`a packet of ${length} bytes`)
      const end = PREFIX_BYTES + length
      if (bytes.length < end) break
      const [command, data] = [bytes.toString('latin1', PREFIX_BYTES, PREFIX_BYTES + 1), PREFIX_BYTES + 1]
      packets.push({ command, data: bytes.subarray(data, end) })
      bytes = bytes.subarray(end)
    }
    // A copy: a slice would keep the whole larger buffer of the chunk in memory.
    this.rest = Buffer.from(bytes)
    return packets
  }
}

/** A packet to the mail server. */
export function packetOf(command: string, data: string | Buffer = ''): Buffer {
  const body = Buffer.concat([Buffer.from(command, 'latin1'), Buffer.from(data)])
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(body.length)
  return Buffer.concat([prefix, body])
}

/** The texts of a packet, each of which ends in NUL. @throws Malformed if the last one does not */
export function textsOf(data: Buffer): string[] {
  if (data.length === 0) return []
  if (data.at(-1) !== 0) throw new Malformed('a text without an end')
  return data.toString('utf8', 0, data.length - 1).split('\0')
}

/** The steps that a filter may leave out, or not answer: bits of the option negotiation. */
export const STEPS = {
  noHelo: 0x2,
  noBody: 0x10,
  noHeaders: 0x20,
  noEndOfHeaders: 0x40,
  headersUnanswered: 0x80,
  noUnknown: 0x100,
  connectUnanswered: 0x1000,
  mailUnanswered: 0x4000,
  recipientUnanswered: 0x8000,
  bodyUnanswered: 0x80000,
  headersWithSpace: 0x100000,
} as const

/** What the mail server offers at the beginning. @throws Malformed */
export function offerOf(data: Buffer): { version: number; steps: number } {
  if (data.length < 12) throw new Malformed('a negotiation that is too short')
  const version = data.readUInt32BE(0)
  if (version < 2) throw new Malformed(`version ${version} of the protocol`)
  return { version, steps: data.readUInt32BE(8) }
}

/** The answer: no changes of messages, and the steps. */
export function agreementOf(version: number, steps: number): Buffer {
  const data = Buffer.alloc(12)
  data.writeUInt32BE(version, 0)
  data.writeUInt32BE(steps, 8)
  return packetOf('O', data)
}

/** The client from `host NUL family port address NUL`: its IP address and port, empty and 0 if it has none. */
export function clientOf(data: Buffer): { address: string; port: number } {
  const end = data.indexOf(0)
  if (end === -1 || end + 1 >= data.length) throw new Malformed('a connection without a client')
  const family = String.fromCharCode(data[end + 1] ?? 0)
  if (family !== '4' && family !== '6') return { address: '', port: 0 }
  const [address = ''] = textsOf(data.subarray(end + 4))
  return { address: address.replace(/^IPv6:/i, ''), port: data.length < end + 4 ? 0 : data.readUInt16BE(end + 2) }
}

/** A reply of SMTP. The mail server reads `%%` as `%`. */
export function replyOf(text: string): Buffer {
  return packetOf('y', `${text.replaceAll('%', '%%')}\0`)
}

/** The bytes of a header, sent as `name NUL value NUL`, in a message, where it is `name:value CRLF` with LF as CRLF. */
export function sizeOfHeader(data: Buffer): number {
  return data.length + 1 + data.filter((byte) => byte === NEWLINE).length
}
