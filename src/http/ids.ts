/** The largest identifier, 2^53-1: every JSON parser represents integers up to it exactly. */
export const MAX_ID = Number.MAX_SAFE_INTEGER

/** Returns whether the text is a decimal integer without sign or leading zero (contract, §2). */
export function isDecimalInteger(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,15})$/.test(text)
}

/** Parses an identifier, 1 … 2^53-1; returns undefined for any other text. */
export function parseId(text: string): number | undefined {
  if (!isDecimalInteger(text)) return undefined
  const id = Number(text)
  return id >= 1 && id <= MAX_ID ? id : undefined
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** Returns whether the text is a UUIDv7 (RFC 9562), in any case. */
export function isOperationId(text: string): boolean {
  return UUID_V7.test(text)
}
