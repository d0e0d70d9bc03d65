import { Malformed } from '../core/question.js'

/** The maximum bytes of a string that are kept; logins and addresses of an account are shorter. */
export const MAX_STRING_BYTES = 4_000
/** The maximum bytes that are kept of a body. */
export const MAX_KEPT_BYTES = 500_000
/** The maximum bytes of a body: Stalwart sends the message within it. */
export const MAX_BODY_BYTES = 256_000_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const UNICODE = 0x75

/** The body has more bytes than it may have. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Reads JSON as it arrives, and keeps the beginnings of its strings: a message within it takes no memory. */
export class JsonShortener {
  private readonly kept: Buffer[] = []
  private total = 0
  private size = 0
  private inString = false
  /** Bytes of the string so far. */
  private length = 0
  /** Is the string long enough, so that the rest is dropped? Changes only between characters. */
  private full = false
  /** Within an escape: 1 before its letter, then 5 to 2 before its digits. */
  private escape = 0

  constructor(private readonly maxBytes = MAX_BODY_BYTES) {}

  /** @throws TooLarge */
  read(chunk: Buffer): void {
    this.total += chunk.length
    if (this.total > this.maxBytes) throw new TooLarge(`a body of more than ${this.maxBytes} bytes`)
    const kept = Buffer.alloc(chunk.length)
    let count = 0
    for (const byte of chunk) if (this.keeps(byte)) kept[count++] = byte
    this.size += count
    if (this.size > MAX_KEPT_BYTES) throw new TooLarge(`more than ${MAX_KEPT_BYTES} bytes beside the message`)
    // A copy: a slice would keep the whole larger buffer of the chunk in memory.
    if (count > 0) this.kept.push(Buffer.from(kept.subarray(0, count)))
  }

  /** @throws Malformed if it is no JSON; the error of the parser would repeat a part of it */
  value(): unknown {
    try {
      return JSON.parse(Buffer.concat(this.kept).toString('utf8'))
    } catch {
      throw new Malformed('the body is no JSON')
    }
  }

  private keeps(byte: number): boolean {
    if (!this.inString) {
      this.inString = byte === QUOTE
      this.length = 0
      this.full = false
      return true
    }
    if (this.escape === 1) this.escape = byte === UNICODE ? 5 : 0
    else if (this.escape > 1) this.escape = this.escape === 2 ? 0 : this.escape - 1
    else if (byte === QUOTE) {
      this.inString = false
      return true
    } else {
      this.full = this.length >= MAX_STRING_BYTES
      if (byte === BACKSLASH) this.escape = 1
    }
    this.length += 1
    return !this.full
  }
}
