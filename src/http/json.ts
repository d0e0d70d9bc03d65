import { ServiceError, validationFailed } from '../error/service-error.js'

/** Bytes up to which a body is parsed as it is: however it is made, that takes a few milliseconds. */
const HARMLESS = 100_000

/** Deeper than anything that is looked at in a body. */
const MAX_DEPTH = 16

/** Names of members, at most: several times those of the largest good body. */
const MAX_NAMES = 20_000

const [QUOTE, BACKSLASH, COLON, BLANK, ZERO] = [0x22, 0x5c, 0x3a, 0x20, 0x30]
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d]

const UTF8 = new TextDecoder()

/**
 * Parses a body. A scalar at the top is JSON all the same; the DTO then says what is wrong with it.
 * @throws ServiceError malformed_json; validation_failed for one that would take too long
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
 * Takes out of a large body what would hold the process for a tenth of a second and is of no use: whatever is nested so
 * deep that no rule looks at it gives way to a zero and blanks.
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
    throw validationFailed([{ field: 'body', message: `may have ${MAX_NAMES} names of members, in all its objects` }])
  }
}
