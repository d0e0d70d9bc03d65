/** The number of bytes of a stored id or hash. */
const LENGTH = 16

/** Less than every id; stored as the nil UUID. */
export const BEFORE_EVERY_ID = ''
/** Greater than every id: ids are of version 7. */
export const AFTER_EVERY_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const NIL = Buffer.alloc(LENGTH)
const NIL_HEX = NIL.toString('hex')
const DASH = 45
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const NIL_ID = '00000000-0000-0000-0000-000000000000'

/** By the code of a hexadecimal digit in lower case. */
const DIGITS = Uint8Array.from({ length: 103 }, (_, code) =>
  Math.max(0, '0123456789abcdef'.indexOf(String.fromCharCode(code))),
)

/**
 * Converts an id, a UUID in lower case, to the 16 bytes that are stored; texts and their bytes have the same order.
 * Also converts a hash of 32 hexadecimal digits. It takes a third of the time of `Buffer.from` without the dashes.
 */
export function bytesToStore(text: string): Buffer {
  if (text === BEFORE_EVERY_ID) return NIL
  const bytes = Buffer.allocUnsafe(LENGTH)
  for (let n = 0, at = 0; n < LENGTH; n += 1, at += 2) {
    if (text.charCodeAt(at) === DASH) at += 1
    bytes[n] = ((DIGITS[text.charCodeAt(at)] ?? 0) << 4) | (DIGITS[text.charCodeAt(at + 1)] ?? 0)
  }
  return bytes
}

/** Returns whether the text is a UUID in lower case, and not the nil UUID: it returns from the store as it is. */
export function isId(text: string): boolean {
  return UUID.test(text) && text !== NIL_ID
}

/** Converts the stored bytes of an id to its text. */
export function idFromStore(bytes: unknown): string {
  const hex = hexFromStore(bytes)
  if (hex === NIL_HEX) return BEFORE_EVERY_ID
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Converts stored bytes to hexadecimal digits. */
export function hexFromStore(bytes: unknown): string {
  return bytesFromStore(bytes).toString('hex')
}

/** Stored bytes, to be bound again. mysql2 returns a Buffer, libsql an ArrayBuffer. */
export function bytesFromStore(bytes: unknown): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes as ArrayBuffer)
}

/** An SQL expression for the text of an id; null for null. */
export function idText(dialect: 'mysql' | 'sqlite', column: string): string {
  const parts = [
    [1, 8],
    [9, 4],
    [13, 4],
    [17, 4],
    [21, 12],
  ].map(([from, length]) => `SUBSTR(HEX(${column}), ${from}, ${length})`)
  return dialect === 'mysql'
    ? `LOWER(CONCAT(${parts.join(", '-', ")}))`
    : `NULLIF(LOWER(${parts.join(" || '-' || ")}), '----')`
}
