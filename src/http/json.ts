import { ServiceError, validationFailed } from '../common/service-error.js'

/** The size in bytes up to which a body is parsed unchanged: whatever it contains, that takes a few milliseconds. */
const HARMLESS = 100_000

/** Deeper than any rule reads. */
const MAX_DEPTH = 16

/** The maximum number of member names: several times that of the largest valid body. */
const MAX_NAMES = 20_000

const [QUOTE, BACKSLASH, COLON, BLANK, ZERO] = [0x22, 0x5c, 0x3a, 0x20, 0x30]
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Refuses other bytes, which it would otherwise replace: a text would be stored changed. */
const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a body. A scalar is valid JSON too; the DTO refuses it.
 * @throws ServiceError malformed_json; validation_failed if parsing would take too long
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {}
  if (bytes.length > HARMLESS) lighten(bytes)
  try {
    return JSON.parse(UTF8.decode(bytes))
  } catch (error) {
    throw new ServiceError('malformed_json', `the body is not JSON: ${(error as Error).message}`)
  }
}

/**
 * Overwrites the deeply nested parts of a large body, which no rule reads and which would block the event loop for a
 * tenth of a second: each is replaced by a zero and blanks.
 */
function lighten(bytes: Buffer): void {
  let depth = 0
  let names = 0
  let quoted = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    let outside = depth <= MAX_DEPTH
    if (byte === QUOTE) quoted = !quoted
    else if (quoted) {
      if (byte === BACKSLASH) {
        if (!outside) bytes[at] = BLANK
        at += 1
      }
    } else if (byte === BRACE || byte === BRACKET) {
      depth += 1
      if (depth === MAX_DEPTH + 1) {
        bytes[at] = ZERO
        outside = true
      }
    } else if (byte === BRACE_END || byte === BRACKET_END) depth -= 1
    else if (byte === COLON) names += 1
    if (!outside) bytes[at] = BLANK
  }
  if (names > MAX_NAMES) {
    throw validationFailed([
      { field: 'body', message: `may contain at most ${MAX_NAMES} member names, in all its objects` },
    ])
  }
}
