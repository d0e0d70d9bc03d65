/** The protocol between a mail server and a filter, version 6, as Sendmail's libmilter and Postfix speak it. */

/** The maximum bytes of a packet that is kept; the longest are macros with names of certificates. */
export const MAX_KEPT_BYTES = 65_536
/** The maximum bytes of a header or a part of a body, which are only counted; Postfix sends up to 65,535 of a body. */
export const MAX_COUNTED_BYTES = 16_777_216
const PREFIX_BYTES = 4
const NEWLINE = 0x0a

/** A packet of the mail server. */
export interface Packet {
  /** A letter, such as `M` for `MAIL FROM`. */
  readonly command: string
  /** What follows; empty of headers and bodies. */
  readonly data: Buffer
  /** Of headers and bodies: their bytes in a message, where a header's lines end in CRLF. */
  readonly bytes: number
}

/** The input is no packet. There is no answer to that: close the connection. */
export class MalformedPacket extends Error {
  override readonly name = 'MalformedPacket'
}

/** Reads packets from the bytes of one connection; keeps one unfinished packet, and nothing of headers and bodies. */
export class PacketReader {
  private rest: Buffer = Buffer.alloc(0)
  /** A header or a part of a body that is being counted. */
  private counted: { readonly command: 'L' | 'B'; left: number; bytes: number } | undefined

  /** Is there an incomplete packet? */
  get unfinished(): boolean {
    return this.counted !== undefined || this.rest.length > 0
  }

  /**
   * @returns the packets that these bytes complete, in order
   * @throws MalformedPacket; the packets before it in the same bytes are lost with it
   */
  read(chunk: Buffer): Packet[] {
    const packets: Packet[] = []
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    for (;;) {
      if (this.counted !== undefined) {
        const part = bytes.subarray(0, this.counted.left)
        bytes = bytes.subarray(part.length)
        this.counted.left -= part.length
        this.counted.bytes += part.length + (this.counted.command === 'L' ? newlinesIn(part) : 0)
        if (this.counted.left > 0) break
        packets.push({ command: this.counted.command, data: Buffer.alloc(0), bytes: this.counted.bytes })
        this.counted = undefined
      }
      if (bytes.length <= PREFIX_BYTES) break
      const length = bytes.readUInt32BE(0)
      const command = String.fromCharCode(bytes[PREFIX_BYTES] ?? 0)
      const isCounted = command === 'L' || command === 'B'
      if (length < 1 || length > (isCounted ? MAX_COUNTED_BYTES : MAX_KEPT_BYTES))
        throw new MalformedPacket(`a packet of ${length} bytes`)
      if (isCounted) {
        // A header is sent as `name NUL value NUL`, and stands as `name:value CRLF` in the message.
        this.counted = { command, left: length - 1, bytes: command === 'L' ? 1 : 0 }
        bytes = bytes.subarray(PREFIX_BYTES + 1)
      } else {
        if (bytes.length < PREFIX_BYTES + length) break
        const data = Buffer.from(bytes.subarray(PREFIX_BYTES + 1, PREFIX_BYTES + length))
        packets.push({ command, data, bytes: 0 })
        bytes = bytes.subarray(PREFIX_BYTES + length)
      }
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

/** The texts of a packet, each of which ends in NUL. @throws MalformedPacket if the last one does not */
export function textsOf(data: Buffer): string[] {
  if (data.length === 0) return []
  if (data.at(-1) !== 0) throw new MalformedPacket('a text without an end')
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

/** What the mail server offers at the beginning. */
export interface Offer {
  readonly version: number
  readonly steps: number
}

/** @throws MalformedPacket */
export function offerOf(data: Buffer): Offer {
  if (data.length < 12) throw new MalformedPacket('a negotiation that is too short')
  const version = data.readUInt32BE(0)
  if (version < 2) throw new MalformedPacket(`version ${version} of the protocol`)
  return { version, steps: data.readUInt32BE(8) }
}

/** The answer: no changes of messages, and the steps. */
export function agreementOf(version: number, steps: number): Buffer {
  const data = Buffer.alloc(12)
  data.writeUInt32BE(version, 0)
  data.writeUInt32BE(steps, 8)
  return packetOf('O', data)
}

/** The client's IP address from a connection's packet: `host NUL family port address NUL`; empty if it has none. */
export function addressOf(data: Buffer): string {
  const end = data.indexOf(0)
  if (end === -1 || end + 1 >= data.length) throw new MalformedPacket('a connection without a client')
  const family = String.fromCharCode(data[end + 1] ?? 0)
  if (family !== '4' && family !== '6') return ''
  const [address = ''] = textsOf(data.subarray(end + 4))
  return address.replace(/^IPv6:/i, '')
}

/** A reply of SMTP. The mail server reads `%%` as `%`. */
export function replyOf(text: string): Buffer {
  return packetOf('y', `${text.replaceAll('%', '%%')}\0`)
}

function newlinesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}
