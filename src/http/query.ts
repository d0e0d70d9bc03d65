import { parse, type ParsedUrlQuery } from 'node:querystring'
import { decodeParameter, NO_TEXT } from './parameter.js'

/**
 * Names and values that encode no text are looked at so often in one query. Each costs an exception, and the first has
 * decided about the request.
 */
const MAX_VIOLATIONS = 50

/** Reads a query's parameters, however many there are: Node's own limit would let the thousandth through unseen. */
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
