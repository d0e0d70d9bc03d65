import { parse, type ParsedUrlQuery, unescape } from 'node:querystring'

/** Replaces bytes that are not UTF-8: a lone surrogate, which valid text cannot contain. */
const NO_TEXT = '\ud800'
const REPLACEMENT = /\ufffd/g

/**
 * The maximum number of undecodable names and values that are examined in one query. Each costs an exception, and the
 * first one already decides that the request is refused.
 */
const MAX_VIOLATIONS = 50

/** Parses the parameters of a query, without Node's limit, which would ignore those after the thousandth. */
export function parseQuery(text: string | null | undefined): ParsedUrlQuery {
  let violations = 0
  return parse(text ?? '', '&', '=', {
    maxKeys: 0,
    decodeURIComponent: (encoded) => {
      if (violations === MAX_VIOLATIONS) return encoded
      const decoded = decodeParameter(encoded)
      if (decoded.includes(NO_TEXT)) violations += 1
      return decoded
    },
  })
}

/**
 * Decodes a name or a value of a query. Bytes that are not UTF-8 become a lone surrogate, which every rule for text
 * refuses, and not the replacement character, which a caller may send.
 */
function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that encodes nothing is kept.
    return unescape(text).replace(REPLACEMENT, NO_TEXT)
  }
}
